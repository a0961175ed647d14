#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* One row for each option; getopt and --help both use this table. */
static const struct {
    char letter;
    const char *name, *argument; /* "[=N]" is optional */
    const char *help;
} table[] = {
    {'b', "backend", "NAME", "auto (default), cpu or cuda"},
    {'k', "kernel", "OP", "mark one op only, or one type of it; --list shows their names"},
    {'i', "hint", "[=N]", "show the hint for what is not solved yet; levels 1 to 3"},
    {'p', "predict", NULL, "answer the questions, or correct an answer, before the first measurement"},
    {'O', "open", NULL, "mark the lab's open problem: without points, by its bytes"},
    {'l', "list", NULL, "list the steps, their exercises and points"},
    {'d', "describe", NULL, "print a step's points, targets and bands as Markdown"},
    {'s', "seed", "N", "repeat a run with the seed that its report shows"},
    {'C', "case", "CASE", "make one call again: the case that a report names"},
    {'j', "json", "FILE", "also write the report as JSON (docs/grader-json.md)"},
    {'g', "gradescope", "FILE", "also write Gradescope's results.json"},
    {'G', "github", "FILE", "also write the result of a GitHub Classroom test"},
    {'x', "junit", "FILE", "also write JUnit XML"},
    {'m', "html", "FILE", "also write one HTML page"},
    {'w', "watch", NULL, "mark again on every save"},
    {'u', "submission", "DIR", "mark a submission: only the lab's own files are taken"},
    {'c', "config", "FILE", "an instructor's points and seed (docs/class-conf.md)"},
    {'n', "jobs", "N", "batch: submissions marked at a time (default: one for each processor, one on a GPU)"},
    {'f', "files", "DIR", "the folder of the step's .cu files (default: the step's folder)"},
    {'o', "out", "DIR", "folder of the built programs (default: build/BACKEND/STEP_FOLDER); batch: of the results"},
    {'h', "help", NULL, "this help"},
    {'V', "version", NULL, "the version"},
};

enum { OPTION_COUNT = sizeof table / sizeof table[0], MOST_JOBS = 256 };

void options_help(FILE *out) {
    fprintf(out,
            "usage: ./grader [STEP] [options]\n"
            "       ./grader batch [STEP] SUBMISSIONS -o OUT [options]   mark the submissions of a class\n"
            "       ./grader render REPORT.json --html FILE ...         write other formats of a stored report\n\n");
    fprintf(
        out,
        "Builds and marks a step (--list shows them all). Without STEP: the step whose files were edited last.\n\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        char left[40];
        const char *argument = table[i].argument ? table[i].argument : "";
        bool optional = argument[0] == '[';
        snprintf(left, sizeof left, "--%s%s%s", table[i].name, *argument && !optional ? " " : "", argument);
        fprintf(out, "  -%c, %-20s %s\n", table[i].letter, left, table[i].help);
    }
    fprintf(out, "\nFILE may be -, for standard output in place of the screen.\n");
    fprintf(out, "Exit code: 0 full marks, 1 fewer, 2 wrong usage or a tool is missing, 3 a fault of the grader.\n");
    fprintf(out, "Of batch: 0 every submission has its points, 1 one has none (its row says why).\n");
}

/* The format of this letter of the table, or RENDER_FORMATS. */
static int format_of(int letter) {
    int format = 0;
    for (int i = 0; i < OPTION_COUNT && format < RENDER_FORMATS; i++) {
        if (table[i].letter != letter) { continue; }
        while (format < RENDER_FORMATS && strcmp(renderers[format].format, table[i].name) != 0) { format++; }
        return format;
    }
    return RENDER_FORMATS;
}

static bool parse_number(const char *text, uint64_t *number) {
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)text[0])) { return false; }
    *number = strtoull(text, &end, 0);
    return *end == '\0' && errno == 0;
}

static void build_tables(struct option longs[OPTION_COUNT + 1], char shorts[3 * OPTION_COUNT + 2]) {
    *shorts++ = ':';
    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *argument = table[i].argument;
        int needs = !argument ? no_argument : argument[0] == '[' ? optional_argument : required_argument;
        longs[i] = (struct option){table[i].name, needs, NULL, table[i].letter};
        *shorts++ = table[i].letter;
        for (int colons = needs; colons > 0; colons--) { *shorts++ = ':'; }
    }
    longs[OPTION_COUNT] = (struct option){0};
    *shorts = '\0';
}

static bool apply(int letter, struct options *options, char *error, size_t error_size) {
    uint64_t number;
    switch (letter) {
        case 'b': options->backend = optarg; break;
        case 'k': options->kernel = optarg; break;
        case 'p': options->predict = true; break;
        case 'l': options->list = true; break;
        case 'O': options->open = true; break;
        case 'd': options->describe = true; break;
        case 'w': options->watch = true; break;
        case 'h': options->help = true; break;
        case 'V': options->version = true; break;
        case 'C': options->test_case = optarg; break;
        case 'j': options->json = optarg; break;
        case 'u': options->submission = optarg; break;
        case 'f': options->files = optarg; break;
        case 'o': options->out = optarg; break;
        case 'c': options->config = optarg; break;
        case 'g':
        case 'G':
        case 'x':
        case 'm': options->files_of[format_of(letter)] = optarg; break;
        case 'n':
            if (!parse_number(optarg, &number) || number < 1 || number > MOST_JOBS) {
                snprintf(error, error_size, "--jobs takes a number from 1 to %d, not '%s'", MOST_JOBS, optarg);
                return false;
            }
            options->jobs = (int)number;
            break;
        case 'i':
            options->hint = HINT_SUGGESTED;
            if (!optarg) { break; }
            if (!parse_number(optarg, &number) || number < 1 || number > HINT_LEVELS) {
                snprintf(error, error_size, "--hint takes a level from 1 to %d, not '%s'", HINT_LEVELS, optarg);
                return false;
            }
            options->hint = (int)number;
            break;
        case 's':
            if (!parse_number(optarg, &options->seed)) {
                snprintf(error, error_size, "--seed takes a number, not '%s'", optarg);
                return false;
            }
            options->has_seed = true;
            break;
        default: return false;
    }
    return true;
}

static bool check_backend(const struct options *options, char *error, size_t error_size) {
    static const char *const backends[] = {"auto", "cpu", "cuda"};
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        if (strcmp(options->backend, backends[i]) == 0) { return true; }
    }
    snprintf(error, error_size, "--backend is auto, cpu or cuda, not '%s'", options->backend);
    return false;
}

/* [STEP] | batch [STEP] SUBMISSIONS | render REPORT.json */
static bool read_words(int count, char *words[], struct options *options, char *error, size_t error_size) {
    bool batch = count > 0 && strcmp(words[0], "batch") == 0, render = count > 0 && strcmp(words[0], "render") == 0;
    int most = batch ? 3 : render ? 2 : 1;
    if (count > most) {
        snprintf(error, error_size, "%s: '%s' is too many",
                 most == 1 ? "one step at a time" : "one folder or report at a time", words[most]);
        return false;
    }
    if (!batch && !render) {
        options->step = count ? words[0] : NULL;
        return true;
    }
    options->command = words[0];
    options->subject = count > 1 ? words[count - 1] : NULL;
    options->step = count > 2 ? words[1] : NULL;
    if (!options->subject || (batch && !options->out)) {
        snprintf(error, error_size,
                 batch ? "batch needs a folder of submissions and -o OUT: ./grader batch step1 SUBMISSIONS -o OUT"
                       : "render needs a report: ./grader render REPORT.json --html FILE");
        return false;
    }
    return true;
}

bool options_parse(int argc, char *argv[], struct options *options, char *error, size_t error_size) {
    struct option longs[OPTION_COUNT + 1];
    char shorts[3 * OPTION_COUNT + 2];
    int letter;
    *options = (struct options){.backend = "auto", .hint = HINT_NONE};
    build_tables(longs, shorts);
    optind = 0;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (letter == ':') {
            snprintf(error, error_size, "%s needs a value; see ./grader --help", argv[optind - 1]);
            return false;
        }
        if (letter == '?') {
            snprintf(error, error_size, "unknown option '%s'; see ./grader --help", argv[optind - 1]);
            return false;
        }
        if (!apply(letter, options, error, error_size)) { return false; }
    }
    return read_words(argc - optind, argv + optind, options, error, error_size) &&
           check_backend(options, error, error_size);
}
