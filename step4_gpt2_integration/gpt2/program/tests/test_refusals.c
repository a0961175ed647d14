/* The program gpt2: its help, and errors: one line and status 2. */
#define _GNU_SOURCE
#include "gpt2/program/tests/run.h"

TestSuite(refusals, .init = begin, .fini = end, .timeout = 300);

Test(refusals, bad_input_is_one_line_and_status_2) {
    static const struct {
        const char *arguments, *message;
    } cases[] = {
        {"", "usage"},
        {"dance --model @", "there is no command 'dance'; the nearest is "},
        {"genrate --model @", "there is no command 'genrate'; the nearest is generate (gpt2 --help lists them)"},
        {"--model @ generate", "the command comes before '--model'"},
        {"generate", "--model is missing"},
        {"generate --model", "--model needs a value"},
        {"generate --model @ --loud", "generate has no option '--loud'; the nearest is "},
        {"generate --model @ --promt=a",
         "generate has no option '--promt'; the nearest is --prompt (gpt2 generate --help"},
        {"generate --model @ --batch 2", "generate has no option '--batch'; the nearest is "},
        {"profile --model @ --types bf16", "profile has no option '--types'; the nearest is --type"},
        {"train --dta x", "train has no option '--dta'; the nearest is --data"},
        {"generate --model @ the cat", "generate: 'the' belongs to no option; a text with blanks needs quotes"},
        {"generate --model @ --tokens x", "--tokens x: a whole number from"},
        {"generate --model @ --tokens 0", "--tokens 0: a whole number from 1 to 1048576"},
        {"generate --model @ --seed -1", "--seed -1: a whole number from 0 to 9000000000000000"},
        {"generate --model ''", "--model is empty: PATH"},
        {"convert --from @ --to ''", "--to is empty: PATH"},
        {"train --out ''", "--out is empty: DIR"},
        {"generate --model @ --top-p 1.5", "--top-p 1.5: a number above 0, at most 1, is needed"},
        {"generate --model @ --temperature 1 --top-p 0", "--top-p 0: a number above 0, at most 1, is needed"},
        {"bench --model @ --temperature 1 --top-p 0", "--top-p 0: a number above 0, at most 1, is needed"},
        {"generate --model @ --temperature 1e999", "--temperature 1e999: a number from 0 to 100 is needed"},
        {"generate --model @ --temperature ' 1'", "--temperature  1: a number from 0 to 100 is needed"},
        {"generate --model @ --type f8", "--type f8: f32, tf32, f16 or bf16"},
        {"generate --model @ --kernels none", "kernels_none.so: there is no such kernel set"},
        {"generate --model @/absent", "absent"},
        {"generate --model @/config.json", "config.json: a part of a model: name the folder that it is in"},
        {"generate --model @ --tokenizer @/merges.txt", "merges.txt: a part of a tokenizer: name the folder"},
        {"generate --model @/text", "text"},
        {"generate --model @ --tokenizer @/absent", "absent"},
        {"generate --model @ --top-k 5", "--top-k, --top-p and --min-p need a --temperature"},
        {"bench --model @ --top-p 0.5", "--top-k, --top-p and --min-p need a --temperature"},
        {"generate --model @ --min-p 0.1", "--top-k, --top-p and --min-p need a --temperature"},
        {"generate --model @ --repetition-penalty 0", "--repetition-penalty 0: a number from 0.001 to 1000"},
        {"generate --model @ --stop ''", "--stop is empty"},
        {"generate --model @ --prompt-file @/absent", "absent: cannot be read: No such file"},
        {"generate --model @ --prompt-file @", "cannot be read: Is a directory"},
        {"generate --model @ --prompt - --prompt - </dev/null", "standard input is one prompt"},
        {"generate --model @ --prompt-file /dev/zero", "/dev/zero: longer than any prompt"},
        {"eval --model @ --file @/text --stride 49", "--stride 49: more than the windows have, which is 48"},
        {"eval --model @ --file @/text --stride 1 --context 1", "--stride needs windows of two tokens"},
        {"eval --model @", "eval needs --file"},
        {"eval --model @ --file @/absent", "absent"},
        {"eval --model @ --file @/text --context 49", "the model's is 48"},
        {"eval --model @ --file /dev/null", "/dev/null"},
        {"eval --model @ --choices @/text --context 8", "--context and --stride cut a --file"},
        {"check --model @ --prompt a --against @/d.safetensors", "a dump has its prompts"},
        {"check --model @ --json @/lines", "--json is of a dump"},
        {"check --model @ --prompt a --prompt b", "check takes one --prompt"},
        {"check --model @ --against none", "no such kernel set"},
        {"profile --model @ --tokens 60", "its context of 48 has no room for a prompt of 1 and 61 decoding steps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(run(cases[i].arguments), 2, "%s: %s", cases[i].arguments, output);
        says(cases[i].message);
        if (i > 0) { cr_assert(strchr(output, '\n') == output + strlen(output) - 1, "not one line: %s", output); }
    }
    char arguments[512] = "generate --model @ --prompt '";
    for (int i = 0; i < 60; i++) { strcat(arguments, "x!"); }
    strcat(arguments, "'");
    cr_assert_eq(run(arguments), 2);
    says("the model's context is 48");
}

Test(refusals, help_and_version_of_every_command) {
    static const char *const commands[] = {"", "generate", "eval", "train", "convert", "check", "profile", "bench"};
    static const char *const asked[] = {"-h", "--help", "--version"};
    for (size_t i = 0; i < 3 * sizeof commands / sizeof *commands; i++) {
        char arguments[256], wanted[64];
        snprintf(arguments, sizeof arguments, "%s %s 2>@/errors && [ ! -s @/errors ]", commands[i / 3], asked[i % 3]);
        succeeds(arguments);
        snprintf(wanted, sizeof wanted, i % 3 == 2 ? "gpt2 " : "usage: gpt2 %s",
                 i / 3 > 0 ? commands[i / 3] : "COMMAND");
        cr_assert_eq(strncmp(output, wanted, strlen(wanted)), 0, "%s: %s", arguments, output);
        for (char *line = strtok(output, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            cr_assert(strlen(line) <= 80, "%s: %s", arguments, line);
        }
    }
}

Test(refusals, help_is_of_a_command_alone) {
    succeeds("--help");
    static const char *const commands[] = {"generate", "eval", "train", "convert", "check", "profile", "bench"};
    for (int i = 0; i < 7; i++) { says(commands[i]); }
    cr_assert(!strstr(output, "--kernels") && !strstr(output, "--lr"), "%s", output);
    succeeds("help");
    says("usage: gpt2 COMMAND");
    succeeds("help profile");
    says("usage: gpt2 profile");
    succeeds("eval --model @ --help --file");
    says("usage: gpt2 eval");
    says("  --last-word FILE");
    cr_assert(!strstr(output, "--top-p") && !strstr(output, "--lr") && !strstr(output, "bench"), "%s", output);
    succeeds("train --help");
    cr_assert(strstr(output, "--lr X") && !strstr(output, "--top-p"), "%s", output);
}

Test(refusals, options_may_be_abbreviated_and_take_an_equals_sign) {
    succeeds("generate --mod=@ --prompt='the cat' --tokens=1 --temp 0.5 --quiet");
    cr_assert_eq(run("generate --mode @ --to 1"), 2);
    says("generate: '--to' is ambiguous: --tokens, --top-k, --top-p, --tokenizer");
}

Test(refusals, what_cannot_be_said_is_an_error) {
    static const char *const outputs[] = {"/dev/full", "&-"};
    static const char *const commands[] = {
        "generate --model @ --prompt the", "eval --model @ --file @/text", "check --model @ --prompt the",
        "profile --model @ --tokens 2",    "convert --from @ --to @/out",  "--help",
    };
    for (size_t i = 0; i < 2 * sizeof commands / sizeof *commands; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "%s 2>@/said >%s; s=$?; cat @/said; exit $s", commands[i / 2],
                 outputs[i % 2]);
        cr_assert_eq(run(arguments), 2, "%s: %s", arguments, output);
        says("standard output");
    }
}

Test(refusals, an_empty_prompt_needs_the_end_of_a_text) {
    succeeds("generate --model @ --tokens 1 --quiet; sed -i 's/endoftext/endofline/' @/vocab.json");
    cr_assert_eq(run("generate --model @ --tokens 1"), 2, "%s", output);
    says("an empty prompt needs <|endoftext|>");
    succeeds("generate --model @ --prompt the --tokens 1 --quiet");
}

/* Makes the model's last number NaN: the bias of the last LayerNorm. */
static void spoil_model(void) {
    char path[128];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *file = fopen(path, "r+b");
    cr_assert(file && fseek(file, -4, SEEK_END) == 0);
    fwrite("\0\0\xc0\x7f", 1, 4, file);
    fclose(file);
}

/* The rows after one that fails are measured, and --json has them all. */
Test(refusals, bench_fails_when_a_row_does) {
    spoil_model();
    cr_assert_eq(run("bench --model @ --batch 1 --types f32 --lengths 5 --positions 4,48,5 --tokens 2 --seconds 0 "
                     "--json @/rows 2>&1; s=$?; wc -l <@/rows; grep -c '\"failed\":true' @/rows; exit $s"),
                 2, "%s", output);
    says("model  f32   prompt      1      5             ");
    says("model  f32   decode      1      4   not measured: sequence 0: the logits are NaN\n");
    says("model  f32   decode      1     48   not measured: 48 tokens and one more: the context is 48\n");
    says("model  f32   decode      1      5   not measured: sequence 0: the logits are NaN\n");
    says("gpt2: 2 of 4 rows failed; the first is model f32, decode, batch 1, 4 tokens: sequence 0: the logits are NaN\n"
         "4\n2\n");
}

Test(refusals, a_model_that_is_not_a_number_is_named) {
    static const char *const commands[] = {
        "generate --model @ --prompt the",       "generate --model @ --prompt the --temperature 1",
        "eval --model @ --file @/text",          "eval --model @ --choices @/choices",
        "eval --model @ --last-word @/passages",
    };
    spoil_model();
    succeeds("--help >/dev/null; echo '{\"ctx\": \"a\", \"endings\": [\"b\", \"c\"], \"label\": 0}' >@/choices; "
             "echo '{\"text\": \"a b\"}' >@/passages");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        cr_assert_eq(run(commands[i]), 2, "%s: %s", commands[i], output);
        char *said = strstr(output, "gpt2: ");
        cr_assert(said && strstr(said, folder), "%s: %s", commands[i], output);
    }
}
