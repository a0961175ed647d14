/* options: what the command line means, and what it refuses. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../options.h"

TestSuite(options, .timeout = 20);

static char error[256];

/* Parses a line split at blanks. */
static bool parse(const char *line, struct options *options) {
    static char words[512];
    char *argv[32] = {"grader"};
    int argc = 1;
    snprintf(words, sizeof words, "%s", line);
    error[0] = '\0';
    for (char *word = strtok(words, " "); word && argc < 31; word = strtok(NULL, " ")) { argv[argc++] = word; }
    return options_parse(argc, argv, options, error, sizeof error);
}

Test(options, defaults) {
    struct options options;
    cr_assert(parse("", &options));
    cr_assert_null(options.step);
    cr_assert_str_eq(options.backend, "auto");
    cr_assert_eq(options.hint, HINT_NONE);
    cr_assert(!options.predict && !options.list && !options.watch && !options.help && !options.has_seed);
}

Test(options, the_open_problem_is_asked_for) {
    struct options options;
    cr_assert(parse("step1 --open", &options));
    cr_assert(options.open);
    cr_assert(parse("step1", &options));
    cr_assert(!options.open);
}

Test(options, everything_at_once_in_any_order) {
    struct options options;
    cr_assert(
        parse("--backend cpu step2 --kernel row_sum --seed 42 --json out.json --watch --files f --out o", &options));
    cr_assert_str_eq(options.step, "step2");
    cr_assert_str_eq(options.backend, "cpu");
    cr_assert_str_eq(options.kernel, "row_sum");
    cr_assert(options.has_seed);
    cr_assert_eq(options.seed, 42);
    cr_assert_str_eq(options.json, "out.json");
    cr_assert(options.watch);
    cr_assert_str_eq(options.files, "f");
    cr_assert_str_eq(options.out, "o");
}

Test(options, help_and_version) {
    static const char *const lines[] = {"-h", "--help", "-V", "--version", "step1 --vers"};
    for (int i = 0; i < 5; i++) {
        struct options options;
        cr_assert(parse(lines[i], &options), "%s: %s", lines[i], error);
        cr_assert(options.help == (i < 2) && options.version == (i >= 2), "%s", lines[i]);
    }
}

Test(options, a_case_is_one_word) {
    struct options options;
    cr_assert(parse("step1 --case softmax_forward_f32:N=1,C=4,seed=1", &options));
    cr_assert_str_eq(options.test_case, "softmax_forward_f32:N=1,C=4,seed=1");
    cr_assert(!parse("step1 --case", &options));
}

Test(options, hints_have_levels) {
    struct options options;
    cr_assert(parse("step1 --hint", &options));
    cr_assert_eq(options.hint, HINT_SUGGESTED);
    cr_assert(parse("step1 --hint=3", &options));
    cr_assert_eq(options.hint, 3);
    cr_assert(!parse("step1 --hint=4", &options));
    cr_assert(strstr(error, "1 to 3"), "%s", error);
    cr_assert(!parse("step1 --hint=x", &options));
}

Test(options, other_switches) {
    struct options options;
    cr_assert(parse("step1 --predict", &options) && options.predict);
    cr_assert(parse("--list", &options) && options.list);
    cr_assert(parse("--help", &options) && options.help);
    cr_assert(parse("step1 --submission handed_in", &options));
    cr_assert_str_eq(options.submission, "handed_in");
}

Test(options, outputs_have_files) {
    struct options options;
    cr_assert(parse("step1 --gradescope g --github h --junit j --html -", &options));
    static const char *const files[] = {"g", "h", "j", "-"};
    for (int i = 0; i < RENDER_FORMATS; i++) { cr_assert_str_eq(options.files_of[i], files[i]); }
}

Test(options, commands_have_a_subject) {
    struct options options;
    cr_assert(parse("batch handed_in -o out --jobs 3 --config c", &options));
    cr_assert_str_eq(options.command, "batch");
    cr_assert_str_eq(options.subject, "handed_in");
    cr_assert_null(options.step);
    cr_assert_eq(options.jobs, 3);
    cr_assert_str_eq(options.config, "c");
    cr_assert(parse("batch step2 handed_in -o out", &options));
    cr_assert_str_eq(options.step, "step2");
    cr_assert_str_eq(options.subject, "handed_in");
    cr_assert(parse("render report.json --html page", &options));
    cr_assert_str_eq(options.command, "render");
    cr_assert_str_eq(options.subject, "report.json");
}

Test(options, refusals_say_why) {
    static const struct {
        const char *line, *says;
    } refused[] = {
        {"--nonsense", "--nonsense"},
        {"step1 step2", "step2"},
        {"--backend gpu", "gpu"},
        {"--seed -3", "-3"},
        {"--seed twelve", "twelve"},
        {"--kernel", "--kernel needs a value"},
        {"batch", "needs a folder"},
        {"batch handed_in", "-o OUT"},
        {"batch a b c -o out", "'c' is too many"},
        {"render", "needs a report"},
        {"render a b", "'b' is too many"},
        {"--jobs 0", "1 to 256"},
        {"--html", "--html needs a value"},
        {"--seed 99999999999999999999999", "takes a number"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct options options;
        cr_assert(!parse(refused[i].line, &options), "'%s' was accepted", refused[i].line);
        cr_assert(strstr(error, refused[i].says), "'%s': %s", refused[i].line, error);
    }
}

Test(options, help_names_every_option) {
    static const char *const names[] = {"--backend", "--kernel", "--hint[=N]",   "--predict", "--list", "--seed",
                                        "--json",    "--watch",  "--submission", "--files",   "--out",  "--gradescope",
                                        "--github",  "--junit",  "--html",       "--config",  "--jobs", "batch",
                                        "render",    "--help",   "Exit code"};
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    options_help(file);
    fclose(file);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) { cr_assert(strstr(text, names[i]), "%s", names[i]); }
    free(text);
}
