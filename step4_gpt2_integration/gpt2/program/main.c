/* main.c — gpt2 COMMAND [OPTIONS]: the table of commands, and --help. Every error is printed here, once,
 * except that of a rank which ends the others (gpt2_collective_abort). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/version.h"
#include "program.h"
#include "train.h"

static const struct command {
    const char *name, *what; /* what: a verb and its object */
    const char *usage, *example;
    int (*run)(const struct options *options, struct gpt2_error *error); /* NULL: train, which has its own options */
} commands[] = {
    {"generate", "continue a text", "--model PATH [--prompt TEXT] [OPTION]...",
     "generate --model tiny --prompt \"In the beginning\" --tokens 40", command_generate},
    {"eval", "measure how well a model predicts: perplexity, multiple choice, last words",
     "--model PATH --file FILE [OPTION]...", "eval --model tiny --file text.txt --stride 128", command_eval},
    {"train", "train a model on a text, from random or given weights", "--data FILE --out DIR --steps N [OPTION]...",
     "train --data text.txt --model tiny --out run --steps 100 --save-every 10", NULL},
    {"convert", "convert a model from Hugging Face's format to llm.c's, or back", "--from PATH --to PATH [OPTION]...",
     "convert --from tiny --to tiny.bin", command_convert},
    {"quantize", "write a model with its matrices in 8 bits", "--from PATH --to PATH --scheme SCHEME [OPTION]...",
     "quantize --from tiny --to tiny-int8 --scheme int8", command_quantize},
    {"check", "compare every hidden state with another kernel set, with float64 or with a dump",
     "--model PATH [OPTION]...", "check --model tiny --kernels naive --against float64", command_check},
    {"profile", "time each stage of a prompt's pass and of decoding", "--model PATH [OPTION]...",
     "profile --model tiny --trace trace.json", command_profile},
    {"bench", "measure latency, tokens a second and memory", "[--model PATH] [OPTION]...",
     "bench --model tiny --batch 1,8", command_bench},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *to) {
    fprintf(to, "usage: gpt2 COMMAND [OPTION]...\n"
                "       gpt2 COMMAND --help\n\n"
                "A GPT-2 in C, on the kernels of the course. The commands are:\n\n");
    for (int i = 0; i < COMMANDS; i++) {
        print_wrapped(to, fprintf(to, "  %s", commands[i].name), 14, commands[i].what);
    }
    fprintf(to, "\nTo begin, let the model that comes with the course write a text:\n\n"
                "  gpt2 generate --model tiny --prompt \"In the beginning\" --tokens 40\n\n"
                "Options are written --option VALUE or --option=VALUE. An abbreviation is\n"
                "accepted where it is unambiguous. The text goes to standard output; times,\n"
                "notes and errors go to standard error.\n\n"
                "  -h, --help    print this help\n"
                "  --version     print the version\n\n"
                "Exit status: 0 success; 1 check found a difference; 2 an error, in one line.\n"
                "The manual is docs/gpt2.md.\n");
}

static void print_help(FILE *to, const struct command *command) {
    const struct arguments options = command->run != NULL ? arguments_of(command->name) : train_arguments;
    char text[256];
    snprintf(text, sizeof text, "gpt2 %s: %s.", command->name, command->what);
    print_wrapped(to, fprintf(to, "usage: gpt2 %s", command->name), 7, command->usage);
    fputc('\n', to);
    print_wrapped(to, 0, 0, text);
    fputc('\n', to);
    arguments_print(to, &options);
    fprintf(to, "\nExample:\n  gpt2 %s\n", command->example);
}

static void print_version(void) {
    char device[300] = "no device";
    struct gpt2_device_info info;
    if (gpt2_device_ask(&info, NULL)) {
        snprintf(device, sizeof device, "%s", info.is_cpu ? "CPU backend" : info.name);
    }
    printf("gpt2 %s (%s)\n", COURSE_VERSION, device);
}

static const struct command *find_command(const char *name, struct gpt2_error *error) {
    const struct command *nearest = commands;
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) { return &commands[i]; }
        if (word_distance(name, commands[i].name) < word_distance(name, nearest->name)) { nearest = &commands[i]; }
    }
    if (name[0] == '-') {
        gpt2_fail(error, "the command comes before '%s': gpt2 COMMAND [OPTION]... (gpt2 --help lists them)", name);
    } else {
        gpt2_fail(error, "there is no command '%s'; the nearest is %s (gpt2 --help lists them)", name, nearest->name);
    }
    return NULL;
}

static int run(int count, char **words, struct gpt2_error *error) {
    struct options options;
    if (count < 2) {
        print_usage(stderr);
        return 2;
    }
    if (strcmp(words[1], "-h") == 0 || strcmp(words[1], "--help") == 0) { return print_usage(stdout), 0; }
    if (strcmp(words[1], "--version") == 0) { return print_version(), 0; }
    bool help = strcmp(words[1], "help") == 0; /* gpt2 help COMMAND, as other programs have it */
    if (help && count == 2) { return print_usage(stdout), 0; }
    const struct command *command = find_command(words[1 + help], error);
    if (command == NULL) { return 2; }
    if (help) { return print_help(stdout, command), 0; }
    enum arguments_result parsed = command->run != NULL
                                       ? options_parse(&options, count - 1, words + 1, error)
                                       : arguments_parse(&train_arguments, count - 1, words + 1, NULL, NULL, error);
    if (command->run == NULL && parsed == ARGUMENTS_WRONG) {
        parsed = ARGUMENTS_TAKEN; /* command_train says it once for all ranks; a handout has no training */
    }
    switch (parsed) {
        case ARGUMENTS_WRONG: return 2;
        case ARGUMENTS_HELP: return print_help(stdout, command), 0;
        case ARGUMENTS_VERSION: return print_version(), 0;
        case ARGUMENTS_TAKEN: break;
    }
    note_stale_program();
    return command->run != NULL ? command->run(&options, error) : command_train(count - 1, words + 1, error);
}

int main(int count, char **words) {
    struct gpt2_error error = {""};
    signal(SIGXFSZ, SIG_IGN); /* a file larger than `ulimit -f` is an error, like a full disk, and is removed */
    /* With a closed standard output, the first opened file would get its number, and all output. */
    bool closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
    int status = closed ? 2 : run(count, words, &error);
    if (closed) {
        gpt2_fail(&error, "standard output is closed");
    } else if (status != 2 && (fflush(stdout) != 0 || ferror(stdout))) {
        gpt2_fail(&error, "standard output cannot be written: is the disk full?");
        status = 2;
    }
    if (status == 2 && error.text[0] != '\0') { fprintf(stderr, "gpt2: %s\n", error.text); }
    return status;
}
