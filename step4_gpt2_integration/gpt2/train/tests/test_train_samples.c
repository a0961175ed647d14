/* gpt2 train --sample-every: texts on the way, which change nothing in the run; samples.txt after kills and a full disk. */
#define _GNU_SOURCE
#include "train_program.h"

TestSuite(train_samples, .init = begin, .fini = end, .timeout = 600);

#define SAMPLED LEARNER "--batch 2 --lr 1e-2 --sample-prompt 'And God' --sample-tokens 5 "

/* ---- what they are ---- */

/* A sample is what generate draws from the same weights, and it is printed too. The last one is of the last step. */
Test(train_samples, are_texts_of_the_weights_of_their_step) {
    char sampled[1024], heads[256];
    succeeds(SAMPLED "--out @/run --steps 5 --sample-every 2");
    strcpy(sampled, output);
    succeeds("grep -a '^--- step' @/run/samples.txt | cut -d, -f1");
    strcpy(heads, output);
    cr_assert_str_eq(heads, "--- step 2\n--- step 4\n--- step 5\n");
    succeeds(GPT2 " generate --model @/run --prompt 'And God' --tokens 5 --temperature 0.8 --kernels naive --quiet");
    char *last = strstr(sampled, "step 5/5  sample:\n");
    cr_assert(last && strncmp(last + strlen("step 5/5  sample:\n"), output, strlen(output)) == 0, "%s\n%s", sampled,
              output);
    succeeds("tail -n 1 @/run/samples.txt > @/last; " GPT2
             " generate --model @/run --prompt 'And God' --tokens 5 --temperature 0.8 --kernels naive --quiet | cmp - "
             "@/last");
}

/* The same number of bytes as its heading says, also where the text has lines like headings. */
Test(train_samples, a_text_that_looks_like_a_heading) {
    succeeds(LEARNER
             "--batch 2 --out @/run --steps 4 --save-every 2 --sample-every 1 --sample-tokens 2 --sample-prompt "
             "'--- step 9'");
    succeeds("cp @/run/samples.txt @/all && LC_ALL=C sed -i 's/\"step\":\"4\"/\"step\":\"2\"/' "
             "@/run/latest/optimizer.safetensors && " GPT2
             " train --out @/run --resume && grep -ac '^--- step [1-4], ' "
             "@/run/samples.txt");
    says("4\n");
    succeeds("grep -a '^--- step [12],' -A 2 @/all | head -c 60 > @/a; head -c 60 @/run/samples.txt | cmp - @/a");
}

Test(train_samples, end_where_the_context_is_full) {
    succeeds(LEARNER "--batch 2 --out @/run --steps 1 --sample-every 1 --sample-prompt And --sample-tokens 1000 "
                     "--sample-temperature 0");
    succeeds(GPT2 " generate --model @/run --prompt And --tokens 1000 --no-stop --kernels naive --quiet > @/text1; "
                  "sed -n '2,$p' @/run/samples.txt | cmp - @/text1");
}

/* ---- nothing else changes ---- */

Test(train_samples, the_run_has_the_same_bytes) {
    static const char *const kinds[] = {"", "--type bf16 --dropout 0.1 --val @/other --val-every 2"};
    for (int i = 0; i < 2; i++) {
        char command[2048];
        snprintf(command, sizeof command,
                 "rm -rf @/with @/without; " SAMPLED "%s --out @/with --steps 5 --sample-every 1 && " LEARNER
                 "--batch 2 --lr 1e-2 %s --out @/without --steps 5",
                 kinds[i], kinds[i]);
        succeeds(command);
        succeeds("cmp @/with/loss.csv @/without/loss.csv && cd @/with/latest && "
                 "cmp model.safetensors ../../without/latest/model.safetensors && test -s ../samples.txt && "
                 "test ! -e ../../without/samples.txt");
    }
}

/* Memory for the weights and the KV cache is there before the first step. */
Test(train_samples, memory_is_counted_at_the_start) {
    double without, with;
    succeeds(LEARNER "--batch 2 --out @/a --steps 1");
    without = strtod(strstr(output, "212 tokens, ") + strlen("212 tokens, "), NULL);
    succeeds(LEARNER "--batch 2 --out @/b --steps 1 --sample-every 1");
    with = strtod(strstr(output, "212 tokens, ") + strlen("212 tokens, "), NULL);
    cr_assert(with > without + 32.0 && with < without + 40.0, "%g MB, %g with samples", without, with);
}

/* ---- kills, full disks ---- */

/* A kill cuts a text off anywhere, also in its heading. */
Test(train_samples, a_text_that_was_cut_off_is_written_again) {
    succeeds(SAMPLED "--out @/whole --steps 3 --sample-every 1");
    succeeds(SAMPLED "--out @/run --steps 2 --sample-every 1");
    for (int bytes = 1; bytes < 40; bytes += 4) {
        char command[512];
        snprintf(command, sizeof command,
                 "rm -rf @/cut && cp -a @/run @/cut && head -c %d @/whole/samples.txt | sed 's/step 1/step 3/' "
                 ">> @/cut/samples.txt && " GPT2
                 " train --out @/cut --resume && cmp @/run/samples.txt @/cut/samples.txt",
                 bytes);
        succeeds(command);
    }
    succeeds("mkdir @/new && printf -- '--- st' > @/new/samples.txt");
    succeeds(SAMPLED "--out @/new --steps 2 --sample-every 1");
    succeeds("cmp @/run/samples.txt @/new/samples.txt");
}

/* The limit of a file's size stands for a full disk. The checkpoint before stays, and the run resumes from it. */
Test(train_samples, a_full_disk_is_one_error) {
    succeeds(SAMPLED "--out @/whole --steps 4 --sample-every 1");
    succeeds(SAMPLED "--out @/run --steps 4 --sample-every 1 --save-every 2");
    succeeds("cd @/run && LC_ALL=C sed -i 's/\"step\":\"4\"/\"step\":\"2\"/' latest/optimizer.safetensors && "
             "{ echo '--- step 1, 1999900 bytes ---'; head -c 1999900 /dev/zero | tr '\\0' x; echo; } > samples.txt");
    cr_assert_eq(run("ulimit -f 1953; " GPT2 " train --out @/run --resume"), 2, "%s", output);
    says("run/samples.txt: cannot be written: File too large");
    cr_assert(strchr(strstr(output, "gpt2: "), '\n') == output + strlen(output) - 1, "not one line: %s", output);
    succeeds("grep '\"status\":' @/run/run.json");
    says("samples.txt: cannot be written");
    succeeds(GPT2 " train --out @/run --resume");
    says("resuming after step 2");
    succeeds("grep -ac '^--- step [1-4], ' @/run/samples.txt");
    cr_assert_str_eq(output, "3\n");
    succeeds("tail -n 1 @/run/samples.txt > @/a; tail -n 1 @/whole/samples.txt | cmp - @/a");
}

/* ---- refusals ---- */

Test(train_samples, bad_input_is_one_error_before_the_first_step) {
    cr_assert_eq(run("mkdir @/own && echo mine > @/own/samples.txt; " SAMPLED "--out @/own --steps 1 --sample-every 1"),
                 2);
    says("own/samples.txt: not the samples of a run; move it away");
    succeeds("cat @/own/samples.txt");
    cr_assert_str_eq(output, "mine\n");
    cr_assert_eq(run(LEARNER "--batch 2 --out @/x --steps 1 --sample-every 1 --sample-prompt \"$(cat @/text)\""), 2);
    says("tokens, which leaves no room in the model's context of 16");
    cr_assert(strstr(output, "step 1/1") == NULL, "%s", output);
    /* A tokenizer without <|endoftext|>. */
    succeeds("cp -r @/tok @/plain && cd @/plain && sed -i 's/, \"<|endoftext|>\": [0-9]*//' vocab.json");
    cr_assert_eq(run(GPT2 " train --kernels naive --data @/text --tokenizer @/plain --layers 1 --heads 1 --channels 8 "
                          "--context 16 --batch 2 --out @/x --steps 1 --sample-every 1"),
                 2);
    says("--sample-prompt is missing");
}
