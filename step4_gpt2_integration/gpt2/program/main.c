/* main.c — gpt2 COMMAND OPTIONS: the table of commands. Every error is printed here, once. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "train.h"

static const struct {
    const char *name, *what;
    int (*run)(const struct options *options, struct gpt2_error *error);
} commands[] = {
    {"generate", "continue each prompt", command_generate},
    {"eval", "perplexity of a text or a file of tokens; multiple choice; last words", command_eval},
    {"check", "compare every hidden state with another kernel set, float64 or a dump; name the first difference",
     command_check},
    {"bench", "latency, tokens/s, memory and energy over sizes, types, batches and lengths", command_bench},
    {"profile", "the time of each stage of a pass", command_profile},
    {"convert", "from Hugging Face's folder to llm.c's checkpoint, or back", command_convert},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *to) {
    fprintf(to, "usage: gpt2 COMMAND [OPTIONS]        gpt2 COMMAND --help: one command's options\n\n");
    for (int i = 0; i < COMMANDS; i++) { fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].what); }
    fprintf(to, "\n");
    options_print(to, NULL);
    fprintf(to, "\n  %-10s %s\n\n", "train", "train on a text, from random or given weights");
    train_options_print(to);
}

static void usage_of(int command, FILE *to) {
    fprintf(to, "usage: gpt2 %s [OPTIONS]        %s\n\n", commands[command].name, commands[command].what);
    options_print(to, commands[command].name);
}

static void usage_of_train(FILE *to) {
    fprintf(to, "usage: gpt2 train --data FILE --out DIR --steps N [OPTIONS]\n\n");
    train_options_print(to);
}

static bool asks_for_help(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--help") == 0) { return true; }
    }
    return false;
}

static int run(int count, char **arguments, struct gpt2_error *error) {
    struct options options;
    if (count < 2) {
        usage(stderr);
        return 2;
    }
    bool help = asks_for_help(count, arguments);
    if (strcmp(arguments[1], "train") == 0) {
        return help ? usage_of_train(stdout),
               0    : (note_stale_program(), command_train(count - 2, arguments + 2, error));
    }
    int command = 0;
    while (command < COMMANDS && strcmp(commands[command].name, arguments[1]) != 0) { command++; }
    if (help) { return command < COMMANDS ? usage_of(command, stdout) : usage(stdout), 0; }
    if (command == COMMANDS) {
        return gpt2_fail(error, "there is no command '%s' (gpt2 --help lists them)", arguments[1]), 2;
    }
    if (!options_parse(&options, arguments[1], count - 2, arguments + 2, error) ||
        !options_complete(&options, commands[command].run == command_bench, error)) {
        return 2;
    }
    note_stale_program();
    return commands[command].run(&options, error);
}

int main(int count, char **arguments) {
    struct gpt2_error error = {""};
    signal(SIGXFSZ, SIG_IGN); /* a file larger than `ulimit -f` is an error, like a full disk, and is removed */
    /* With a closed standard output, the first opened file would get its number, and all output. */
    bool closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
    int status = closed ? 2 : run(count, arguments, &error);
    if (closed) {
        gpt2_fail(&error, "standard output is closed");
    } else if (status != 2 && (fflush(stdout) != 0 || ferror(stdout))) {
        gpt2_fail(&error, "standard output cannot be written: is the disk full?");
        status = 2;
    }
    if (status == 2 && error.text[0] != '\0') { fprintf(stderr, "gpt2: %s\n", error.text); }
    return status;
}
