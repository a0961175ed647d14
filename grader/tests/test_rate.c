/* Tokens a second of the program around a learner's files: which program, what it prints, and programs that print nonsense. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "grader/rate.h"
#include "grader/score.h"
#include "labs.h"

#define FAKE \
    { .program = "gpt2", .reference = "build/gpt2", .arguments = "bench --kernels", .row = "decode", .column = 9 }
static const struct rate_target target = FAKE;

static char folder[] = "/tmp/rate.XXXXXX", program[64], command[128];

static void make_folder(void) {
    cr_assert(mkdtemp(folder));
}
static void remove_folder(void) {
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
}
TestSuite(rate, .init = make_folder, .fini = remove_folder, .timeout = 60);

/* The fake under a name that says what it does. */
static void link_program(const char *name) {
    snprintf(program, sizeof program, "%s/%s", folder, name);
    cr_assert_eq(symlink(TEST_BUILD "/fake_gpt2", program), 0);
}

#define ROW(rate) "124M   bf16  decode      1     64      0.323      0.327      0.333       " rate "      375.4 MB"

Test(rate, the_row_of_decoding_is_found) {
    cr_assert_float_eq(
        rate_parse(&target, "NVIDIA H200, kernels lab\nsize type what batch tokens ms p5\n" ROW("3195.7") "\n"), 3195.7,
        1e-9);
    cr_assert_lt(rate_parse(&target, "124M bf16 decode 1 64 not measured: out of memory\n"), 0.0);
    cr_assert_lt(rate_parse(&target, "124M bf16 prompt 1 64 1 2 3 4\n"), 0.0);
    cr_assert_lt(rate_parse(&target, ""), 0.0);
}

Test(rate, both_kernel_sets_are_run) {
    struct rates rates = {0};
    link_program("gpt2");
    cr_assert(rate_measure(&target, program, "lab", &rates), "%s", rates.reason);
    cr_assert_float_eq(rates.own, 900.0, 1e-9);
    cr_assert_float_eq(rates.naive, 300.0, 1e-9);
}

Test(rate, a_program_without_figures_gives_the_reason) {
    static const struct {
        const char *name, *reason;
    } programs[] = {
        {"fails", "there is no such kernel set"},
        {"crashes", "not measured with the kernels lab: "},
        {"negative", "not measured"},
        {"not_a_number", "not measured"},
        {"is_not_there", "not measured"},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct rates rates = {0};
        link_program(programs[i].name);
        if (i == 4) { cr_assert_eq(unlink(program), 0); }
        cr_assert_not(rate_measure(&target, program, "lab", &rates), "%s", programs[i].name);
        cr_assert(strstr(rates.reason, programs[i].reason), "'%s'", rates.reason);
    }
}

Test(rate, the_program_is_beside_the_files) {
    char files[64], path[128];
    const char *kernels;
    struct rates rates = {0};
    struct grade_request request = {.step = lab("step4"), .course = ".", .files = files};
    snprintf(files, sizeof files, "%s/files", folder);
    cr_assert_eq(mkdir(files, 0777), 0);
    cr_assert_not(rate_program(&request, &target, path, sizeof path, &kernels, &rates));
    cr_assert(strstr(rates.reason, "make step4"), "'%s'", rates.reason);
    link_program("gpt2");
    cr_assert(rate_program(&request, &target, path, sizeof path, &kernels, &rates));
    cr_assert_str_eq(kernels, "lab");
    char source[128];
    snprintf(source, sizeof source, "%s/decode.cu", files);
    int written = open(source, O_CREAT | O_WRONLY, 0666);
    const struct timespec later[2] = {{time(NULL) + 60, 0}, {time(NULL) + 60, 0}};
    cr_assert(written >= 0 && futimens(written, later) == 0 && close(written) == 0);
    cr_assert_not(rate_program(&request, &target, path, sizeof path, &kernels, &rates));
    cr_assert_str_eq(rates.reason, "not measured: ./gpt2 is older than decode.cu: make step4 first");
    request.files = "step4_gpt2_integration/solution";
    rate_program(&request, &target, path, sizeof path, &kernels, &rates);
    cr_assert_str_eq(kernels, "reference");
}

Test(rate, what_is_shown) {
    char files[64];
    static const struct exercise exercise = {.op = "gpt2_decode", .rate = FAKE};
    static const struct check check = {CHECK_RATE, 0};
    struct outcome outcome = {.verdict = VERDICT_FAIL, .exercise = &exercise, .check = &check};
    struct grade_request request = {.step = lab("step4"), .course = ".", .files = files};
    snprintf(files, sizeof files, "%s/files", folder);
    cr_assert_eq(mkdir(files, 0777), 0);
    link_program("gpt2");
    struct rates rates = rate_run(&request, &exercise);
    score_rates(&outcome, &rates);
    cr_assert_eq(outcome.verdict, VERDICT_PASS);
    cr_assert_str_eq(outcome.measured, "900 tokens/s, 3.00x the naive kernels' 300");
    cr_assert_float_eq(outcome.points, 0.0, 1e-12);
    cr_assert_eq(unlink(program), 0);
    rates = rate_run(&request, &exercise);
    score_rates(&outcome, &rates);
    cr_assert_eq(outcome.verdict, VERDICT_NOT_RUN);
}
