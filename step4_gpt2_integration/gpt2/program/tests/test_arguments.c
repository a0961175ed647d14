/* arguments: forms of options, abbreviations, and one line for what is wrong. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <string.h>

#include "gpt2/program/arguments.h"

TestSuite(arguments, .timeout = 20);

struct taken {
    const char *model;
    struct text_list prompts;
    int tokens;
    long seed;
    double temperature, part;
    bool quiet;
};

#define FIELD(field) offsetof(struct taken, field)
static const struct argument table[] = {
    {"--model", "write read", "PATH", NULL, "the model", ARGUMENT_TEXT, FIELD(model), 0, 0, 0},
    {"--prompt", "write", "TEXT", NULL, "a text", ARGUMENT_TEXTS, FIELD(prompts), 0, 0, 0},
    {"--tokens", "write", "N", "64", "tokens", ARGUMENT_INT, FIELD(tokens), 1, 100, 0},
    {"--token-file", "write", "FILE", NULL, "no tokens", ARGUMENT_TEXT, FIELD(model), 0, 0, 0},
    {"--seed", NULL, "N", "1", "a seed", ARGUMENT_LONG, FIELD(seed), 0, 9e15, 0},
    {"--temperature", "write", "X", "0.5", "a temperature", ARGUMENT_REAL, FIELD(temperature), 0, 10, 0},
    {"--part", "write", "P", "1", "a part", ARGUMENT_REAL_ABOVE, FIELD(part), 0, 1, 0},
    {"--quiet", "write", NULL, NULL, "a switch", ARGUMENT_SWITCH, FIELD(quiet), 0, 0, 0},
    {"--batch", "read", "B", NULL, "of the other command", ARGUMENT_INT, FIELD(tokens), 1, 100, 0},
};
static const struct arguments of_write = {table, sizeof table / sizeof *table, "write"};

static struct taken taken;
static struct gpt2_error error;

static bool take(void *context, int row, const char *text, struct gpt2_error *why) {
    return argument_store(context, &table[row], text, why);
}

/* Words end with NULL. */
static enum arguments_result parse(char **words) {
    int count = 0;
    while (words[count] != NULL) { count++; }
    memset(&taken, 0, sizeof taken);
    error.text[0] = '\0';
    cr_assert(arguments_store_usual(&of_write, &taken, &error));
    return arguments_parse(&of_write, count, words, take, &taken, &error);
}
#define PARSE(...) parse((char *[]){"write", __VA_ARGS__, NULL})

Test(arguments, forms_of_a_value) {
    cr_assert_eq(PARSE("--model", "a", "--tokens=7", "--quiet", "--seed", "9000000000", "--temperature=1.5"),
                 ARGUMENTS_TAKEN, "%s", error.text);
    cr_assert_str_eq(taken.model, "a");
    cr_assert(taken.tokens == 7 && taken.quiet && taken.seed == 9000000000L && taken.temperature == 1.5);
    cr_assert_eq(PARSE("--prompt=", "--prompt", "", "--prompt", "-", "--prompt=--model", "--prompt", "-x", "--prompt",
                       "--", "--prompt=a=b"),
                 ARGUMENTS_TAKEN, "%s", error.text);
    static const char *const wanted[] = {"", "", "-", "--model", "-x", "--", "a=b"};
    cr_assert_eq(taken.prompts.count, 7);
    for (int i = 0; i < 7; i++) { cr_assert_str_eq(taken.prompts.at[i], wanted[i]); }
    cr_assert(taken.tokens == 64 && taken.seed == 1 && taken.temperature == 0.5, "the usual values");
    cr_assert_eq(PARSE("--quiet", "--"), ARGUMENTS_TAKEN, "%s", error.text);
}

Test(arguments, a_long_option_may_be_abbreviated) {
    cr_assert_eq(PARSE("--mod", "a", "--temp=2", "--tokens", "3"), ARGUMENTS_TAKEN, "%s", error.text);
    cr_assert(strcmp(taken.model, "a") == 0 && taken.temperature == 2.0 && taken.tokens == 3);
    cr_assert_eq(PARSE("--tok", "3"), ARGUMENTS_WRONG);
    cr_assert_str_eq(error.text, "write: '--tok' is ambiguous: --tokens, --token-file");
}

Test(arguments, help_and_version_come_from_anywhere) {
    cr_assert_eq(PARSE("--tokens", "3", "-h"), ARGUMENTS_HELP);
    cr_assert_eq(PARSE("--help"), ARGUMENTS_HELP);
    cr_assert_eq(PARSE("--vers"), ARGUMENTS_VERSION);
    cr_assert_eq(PARSE("--prompt=--help"), ARGUMENTS_TAKEN);
    cr_assert_eq(PARSE("--", "--help"), ARGUMENTS_WRONG); /* a word */
}

Test(arguments, what_is_wrong_is_one_line) {
    static const struct {
        char *words[5];
        const char *message;
    } cases[] = {
        {{"--promt", "a"}, "write has no option '--promt'; the nearest is --prompt (gpt2 write --help lists them)"},
        {{"--TOKENS=3"}, "write has no option '--TOKENS'; the nearest is "},
        {{"--tmeperature", "1"}, "the nearest is --temperature"},
        {{"--batch", "2"}, "write has no option '--batch'; the nearest is "}, /* of the other command */
        {{"-m", "a"}, "write has no option '-m'; the nearest is --model"},
        {{"--quiet", "-xy"}, "write has no option '-x'; the nearest is "},
        {{"--model"}, "--model needs a value: PATH"},
        {{"--mod"}, "--model needs a value: PATH"},
        {{"--model", "--quiet"}, "--model needs a value: PATH"},
        {{"--model", "--tokens=3"}, "--model needs a value: PATH"},
        {{"--model="}, "--model is empty: PATH"},
        {{"--quiet=yes"}, "--quiet takes no value, and '--quiet=yes' gives it one"},
        {{"--tokens", "0"}, "--tokens 0: a whole number from 1 to 100 is needed"},
        {{"--tokens", "7.5"}, "--tokens 7.5: a whole number from 1 to 100 is needed"},
        {{"--temperature", "nan"}, "--temperature nan: a number from 0 to 10 is needed"},
        {{"--temperature", "1e999"}, "--temperature 1e999: a number from 0 to 10 is needed"},
        {{"--temperature", "-1e-320"}, "--temperature -1e-320: a number from 0 to 10 is needed"},
        {{"--temperature", " 1"}, "--temperature  1: a number from 0 to 10 is needed"},
        {{"--temperature", "1 "}, "--temperature 1 : a number from 0 to 10 is needed"},
        {{"--tokens", " 7"}, "--tokens  7: a whole number from 1 to 100 is needed"},
        {{"--tokens", "7 "}, "--tokens 7 : a whole number from 1 to 100 is needed"},
        {{"--part", "0"}, "--part 0: a number above 0, at most 1, is needed"},
        {{"--part", "-0.0"}, "--part -0.0: a number above 0, at most 1, is needed"},
        {{"--part", "1.5"}, "--part 1.5: a number above 0, at most 1, is needed"},
        {{"--part", "nan"}, "--part nan: a number above 0, at most 1, is needed"},
        {{"--temperature="}, "--temperature is empty: X"},
        {{"--quiet", "word"}, "write: 'word' belongs to no option; a text with blanks needs quotes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(PARSE(cases[i].words[0], cases[i].words[1], cases[i].words[2]), ARGUMENTS_WRONG, "%zu", i);
        cr_assert(strstr(error.text, cases[i].message), "%s, not %s", error.text, cases[i].message);
    }
}

/* strtod reports these as out of range, although they are in range. */
Test(arguments, numbers_near_zero_are_taken) {
    cr_assert_eq(PARSE("--temperature", "1e-320", "--part", "1e-320"), ARGUMENTS_TAKEN, "%s", error.text);
    cr_assert(taken.temperature == 1e-320 && taken.part == 1e-320);
    cr_assert_eq(PARSE("--temperature", "1e-400", "--part", "1"), ARGUMENTS_TAKEN, "%s", error.text);
    cr_assert(taken.temperature == 0.0 && taken.part == 1.0);
}

Test(arguments, too_many_texts) {
    static char *words[2 * MOST_TEXTS + 4] = {"write"};
    for (int i = 0; i <= MOST_TEXTS; i++) { words[1 + 2 * i] = "--prompt", words[2 + 2 * i] = "a"; }
    cr_assert_eq(parse(words), ARGUMENTS_WRONG);
    cr_assert_str_eq(error.text, "--prompt is given more than 64 times");
    words[1 + 2 * MOST_TEXTS] = NULL;
    cr_assert_eq(parse(words), ARGUMENTS_TAKEN);
}

Test(arguments, distances) {
    static const struct {
        const char *word, *of;
        int distance;
    } cases[] = {{"stop", "stop", 0}, {"sto", "stop", 0},   {"", "ab", 2},  {"stpo", "stop", 1},
                 {"stap", "stop", 1}, {"stopp", "stop", 1}, {"abc", "", 3}, {"kitten", "sitting", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(word_distance(cases[i].word, cases[i].of), cases[i].distance, "%s, %s", cases[i].word,
                     cases[i].of);
    }
}

Test(arguments, help_lists_the_command_s_own_options_in_80_columns) {
    char text[4096] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    arguments_print(file, &of_write);
    fclose(file);
    cr_assert(strstr(text, "  --model PATH ") && strstr(text, "tokens (default: 64)") && strstr(text, "  -h, --help"));
    cr_assert(!strstr(text, "--batch"), "%s", text);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        cr_assert(strlen(line) <= 80, "%s", line);
    }
}
