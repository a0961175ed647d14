/* gpt2 train: learning, and refusing bad input with one line. */
#define _GNU_SOURCE
#include "train_program.h"

TestSuite(train_program, .init = begin, .fini = end, .timeout = 600);

/* ---- learning ---- */

/* The texts have the same words in another order, so the next word is predictable only with attention and right gradients. */
Test(train_program, overfits_and_the_checkpoint_writes_the_text) {
    succeeds(LEARNER "--out @/run --steps 100 --batch 8 --lr 1e-2 --warmup 10 --weight-decay 0 --val @/text.bin");
    double loss = last_number("validation loss ");
    cr_assert(loss < 0.1, "%s", output);
    cr_assert(last_number("lr ") == 1e-3, "%s", output);
    cr_assert(strstr(strstr(output, " MB of device memory") + 1, " MB of device memory") == NULL, "%s", output);
    succeeds(GPT2 " eval --model @/run/latest --file @/text --context 16 --quiet");
    cr_assert(last_number("loss ") < loss + 0.3, "%s",
              output); /* the last tokens fill no window, so they are never learned */
    succeeds(GPT2 " generate --model @/run/latest --prompt 'In the' --tokens 8 --quiet");
    says("In the beginning God");
    succeeds(LEARNER "--out @/more --steps 1 --batch 8 --length 16 --lr 1e-9 --seed 3"); /* untrained, for comparison */
    cr_assert(fabs(last_number("loss ") - log(300.0)) < 0.2, "%s", output);
    succeeds(GPT2
             " train --kernels naive --data @/text.bin --model @/run/latest --out @/on --steps 1 --lr 0 --val @/text");
    cr_assert(fabs(last_number("validation loss ") - loss) < 1e-4, "%s", output);
}

/* The validation loss falls and rises again: the best checkpoint is neither the first nor the last measured one. */
Test(train_program, keeps_the_checkpoint_with_the_lowest_validation_loss) {
    succeeds(LEARNER "--out @/run --steps 60 --lr 1e-2 --val @/other --val-every 5");
    double lowest = INFINITY, loss = 0.0;
    long best = 0;
    for (const char *at = output; (at = strstr(at, "  validation loss ")) != NULL; at++) {
        loss = strtod(at + strlen("  validation loss "), NULL);
        const char *line = at;
        while (line > output && line[-1] != '\n') { line--; }
        bool lower = loss < lowest, marked = strstr(at, "  lowest so far\n") == strchr(at, '\n') - 15;
        cr_assert_eq(lower, marked, "%s", line);
        if (lower) { lowest = loss, best = strtol(line + strlen("step "), NULL, 10); }
    }
    cr_assert(best > 5 && best < 60, "step %ld of: %s", best, output);
    char line[128], folders[128];
    snprintf(line, sizeof line, "step %ld, of the lowest validation loss, %.4f, is in %s/run/best\n", best, lowest,
             folder);
    says(line);
    succeeds("cd @/run && ls -d best latest step-* && readlink best latest");
    snprintf(folders, sizeof folders, "best\nlatest\nstep-%08ld\nstep-00000060\nstep-%08ld\nstep-00000060\n", best,
             best);
    cr_assert_str_eq(output, folders);
    succeeds(GPT2 " train --data @/text --model @/run/best --out @/on --steps 1 --lr 0 --val @/other");
    cr_assert(fabs(last_number("validation loss ") - lowest) < 2e-4, "%s", output);
    succeeds(GPT2 " convert --from @/run/best --to @/best.bin"); /* and best_tokenizer.bin */
    succeeds(GPT2 " train --data @/text --model @/best.bin --out @/of_file --steps 1 --lr 0 --val @/other");
    cr_assert(fabs(last_number("validation loss ") - lowest) < 2e-4, "%s", output);
}

/* ---- batches that do not fit the data ---- */

/* Data of one window for any batch; an update of more windows than the data has starts over. */
Test(train_program, a_validation_file_shorter_than_a_batch) {
    double losses[2];
    for (int i = 0; i < 2; i++) {
        char command[512];
        snprintf(command, sizeof command, LEARNER "--out @/%d --steps 1 --lr 0 --batch %d --val @/one", i, 7 * i + 1);
        succeeds(command);
        losses[i] = last_number("validation loss ");
    }
    cr_assert(fabs(losses[0] - losses[1]) < 2e-4, "%g, %g", losses[0], losses[1]);
}

Test(train_program, accumulated_batches_are_a_larger_one) {
    static const char *const sizes[] = {"--batch 15", "--batch 5 --accumulate 3", "--batch 3 --accumulate 5"};
    double losses[3], norms[3];
    for (int i = 0; i < 3; i++) {
        char command[512];
        snprintf(command, sizeof command, LEARNER "--out @/%d --steps 2 --lr 1e-2 %s", i, sizes[i]);
        succeeds(command);
        says("from step 0: 0.04 M weights, 2.31 epochs of 212 tokens, "); /* of 13 windows */
        losses[i] = last_number("loss "), norms[i] = last_number("norm ");
        cr_assert(fabs(losses[i] - losses[0]) < 1e-3 && fabs(norms[i] - norms[0]) < 1e-2 * norms[0], "%s", output);
    }
}

/* One window, and no learning: each batch of an update has the masks that a step of its own would have. */
Test(train_program, accumulated_batches_have_masks_of_their_own) {
    double losses[3];
    succeeds(GPT2 " train --kernels naive --data @/one " SIZES
                  "--batch 1 --lr 0 --dropout 0.5 --steps 2 --out @/apart");
    succeeds("cut -d, -f2 @/apart/loss.csv");
    cr_assert_eq(sscanf(output, "loss %lf %lf", &losses[0], &losses[1]), 2, "%s", output);
    succeeds(GPT2 " train --kernels naive --data @/one " SIZES
                  "--batch 1 --lr 0 --dropout 0.5 --steps 1 --accumulate 2 --out @/together");
    succeeds("cut -d, -f2 @/together/loss.csv");
    cr_assert_eq(sscanf(output, "loss %lf", &losses[2]), 1, "%s", output);
    cr_assert(fabs(losses[0] - losses[1]) > 1e-4, "%g, %g", losses[0], losses[1]);
    cr_assert(fabs(losses[2] - 0.5 * (losses[0] + losses[1])) < 1e-6, "%g, not %g", losses[2],
              0.5 * (losses[0] + losses[1]));
}

/* Masks are of training: a measurement has none. */
Test(train_program, a_measurement_has_no_dropout) {
    double losses[2];
    for (int i = 0; i < 2; i++) {
        char command[512];
        snprintf(command, sizeof command, LEARNER "--out @/%d --steps 1 --lr 0 --val @/other --dropout %s", i,
                 i == 0 ? "0" : "0.5");
        succeeds(command);
        losses[i] = last_number("validation loss ");
    }
    cr_assert_eq(losses[0], losses[1]);
}

/* ---- the output ---- */

Test(train_program, help_is_about_training) {
    succeeds(GPT2 " train --help");
    says("usage: gpt2 train --data FILE --out DIR --steps N");
    says("--accumulate");
    cr_assert(strstr(output, "--prompt") == NULL, "%s", output);
}

/* ---- refusals ---- */

Test(train_program, bad_input_is_one_line_and_status_2) {
    static const struct {
        const char *arguments, *message;
    } cases[] = {
        {"", "--out is missing"},
        {"--out @/x", "--data is missing"},
        {"--out @/x --data @/text", "--steps is missing"},
        {"--out @/x --resume", "/x: there is no run to resume"},
        {"--out --data @/text", "--out needs a value: DIR"},
        {"--out '' --data @/text", "--out is empty: DIR"},
        {"--out @/x --data @/text --steps 0", "--steps 0: a whole number from 1 to 1000000000 is needed"},
        {"--out @/x --data @/text --steps 3x", "--steps 3x: a whole number from 1"},
        {"--out @/x --data @/text --steps 3 --val-every 1", "--val is missing"},
        {"--out @/x --data @/text --steps 3 --val-batches 1", "--val is missing"},
        {"--out @/x --data @/text --steps 3 --patience 1", "--val is missing"},
        {"--out @/x --data @/text --steps 3 --sample-tokens 1", "--sample-every is missing"},
        {"--out @/x --data @/text --steps 3 --dropout 1", "--dropout 1: a number from 0 to 0.99 is needed"},
        {"--out @/x --data @/text --steps 3 --best " SIZES, "--best needs --model: the folder of a run"},
        {"--out @/x --data @/text --steps 3 --lr", "--lr needs a value"},
        {"--out @/x --data @/text --steps 3 --fast", "train has no option '--fast'; the nearest is "},
        {"--out @/x --data @/text --steps 3", "--model is missing; or"},
        {"--out @/x --data @/text --steps 3 --layers 1 --heads 1 --channels 8 --context 8", "--tokenizer is missing"},
        {"--out @/x --data @/text --steps 3 " SIZES "--heads 3", "--heads 3 does not divide --channels 32"},
        {"--out @/x --data @/text --steps 3 " SIZES "--model @/m", "--model determines the sizes"},
        {"--out @/x --data @/text --steps 3 " SIZES "--type f16", "--type f16: small gradients would underflow"},
        {"--out @/x --data @/text --steps 3 " SIZES "--type f8", "--type f8: f32, tf32 or bf16"},
        {"--out @/x --data @/text --steps 3 " SIZES "--attention flat", "--attention flat: auto, taught or fused"},
        {"--out @/x --data @/text --steps 3 " SIZES "--attention fused", "attention cannot be fused in training here"},
        {"--out @/x --data @/text --steps 3 " SIZES "--warmup 4", "--warmup 4 is more than --steps 3"},
        {"--out @/x --data @/text --steps 3 " SIZES "--min-lr 1", "--min-lr 1 is more than --lr"},
        {"--out @/x --data @/text --steps 3 " SIZES "--length 17", "the model's context is 16"},
        {"--out @/x --data @/short --steps 3 " SIZES, "tokens, where a window of --length 16 needs 17"},
        {"--out @/x --data @/absent --steps 3 " SIZES, "absent"},
        {"--out @/x --data @/binary --steps 3 " SIZES, "binary: neither a text, for it has zero bytes, nor tokens"},
        {"--out @/x --data @/text --val @/binary --steps 3 " SIZES, "binary: neither a text"},
        {"--out @/x --data @/text --val @/short --steps 3 " SIZES, "tokens, where a window"},
        {"--out @/x --data @/text --steps 3 " SIZES "--kernels none", "no such kernel set"},
        {"--out @/x --data @/text --steps 3 --model @/absent", "absent"},
        {"--out @/text --data @/text --steps 3 " SIZES, "text"},
        {"--out @/x --data @/text --steps 3 --batch 1 --length 8 --model @/tok", "config.json"},
        {"--out @/x --data @/text --steps 3 --lr 1e30 " SIZES, "--lr 1e30: a number from"},
        {"--out @/x --data @/text --steps 30 --lr 1000 --clip 0 " SIZES, "are not finite"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[1024];
        snprintf(command, sizeof command, GPT2 " train %s >/dev/null", cases[i].arguments);
        spell(output, sizeof output, command);
        strcpy(command, output);
        char *stop = strstr(command, " >/dev/null");
        strcpy(stop, " 2>&1 >/dev/null; exit $?");
        FILE *pipe = popen(command, "r");
        output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
        cr_assert_eq(WEXITSTATUS(pclose(pipe)), 2, "%s: %s", cases[i].arguments, output);
        says(cases[i].message);
        cr_assert(strchr(output, '\n') == output + strlen(output) - 1, "not one line: %s", output);
    }
    /* A vocabulary other than the tokenizer's; a token file with ids outside the vocabulary. */
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(text, strlen(text), 270, 2, &error);
    char path[128];
    spell(path, sizeof path, "@/small");
    mkdir(path, 0777);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, path, &error));
    gpt2_tokenizer_close(tokenizer);
#define SMALL GPT2 " train --layers 1 --heads 1 --channels 8 --context 8 --steps 1 --tokenizer @/small "
    cr_assert_eq(run(SMALL "--data @/text.bin --out @/y"), 2);
    says("outside the vocabulary of 270");
    succeeds(SMALL "--data @/text --out @/z");
    cr_assert_eq(run(GPT2 " train --data @/text --steps 1 --out @/y --model @/z/latest --tokenizer @/tok"), 2);
    says("270");
}
