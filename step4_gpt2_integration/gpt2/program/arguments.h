/* arguments.h — options from a table: getopt_long parses them, --help lists them.
 *
 * A command has the rows of a table that name it. --option VALUE and --option=VALUE are the same; an abbreviation is accepted
 * where it is unambiguous; -- ends the options. Every command also has -h, --help and --version.
 */
#ifndef GPT2_PROGRAM_ARGUMENTS_H
#define GPT2_PROGRAM_ARGUMENTS_H

#include <stddef.h>
#include <stdio.h>

#include "gpt2/error.h"

/* What a value is stored as: const char *, struct text_list, int, long, double, double, bool. */
enum argument_kind {
    ARGUMENT_TEXT,
    ARGUMENT_TEXTS,
    ARGUMENT_INT,
    ARGUMENT_LONG,
    ARGUMENT_REAL,
    ARGUMENT_REAL_ABOVE, /* above `least` */
    ARGUMENT_SWITCH
};

/* Of an option that may be given many times. */
enum { MOST_TEXTS = 64 };
struct text_list {
    const char *at[MOST_TEXTS];
    int count;
};

struct argument {
    const char *name;     /* "--model" */
    const char *commands; /* that have it, between blanks; NULL: all */
    const char *value;    /* its value's name in --help; NULL for a switch */
    const char *usual;    /* the value without the option; NULL: none, or `what` describes it */
    const char *what;     /* in --help */
    enum argument_kind kind;
    size_t offset;      /* in the struct of options */
    double least, most; /* of a number */
    int role;           /* meaning up to the table's owner */
};

struct arguments {
    const struct argument *table;
    int count;
    const char *command;
};

/* Called for each option, with its row and its text ("yes" for a switch). False ends the parsing, with a message. */
typedef bool argument_taker(void *context, int row, const char *text, struct gpt2_error *error);

enum arguments_result { ARGUMENTS_TAKEN, ARGUMENTS_HELP, ARGUMENTS_VERSION, ARGUMENTS_WRONG };

/* words[0] is skipped: the command. Wrong: one line that names the option, and for an unknown one the nearest of the command.
 * Without a taker the words are only checked. */
enum arguments_result arguments_parse(const struct arguments *arguments, int count, char **words, argument_taker *take,
                                      void *context, struct gpt2_error *error);

/* Stores a value at its place in `options`. False: an empty text, a number out of its range or with blanks, too many texts. */
bool argument_store(void *options, const struct argument *argument, const char *text, struct gpt2_error *error);

/* Stores `usual` of each row of the command. */
bool arguments_store_usual(const struct arguments *arguments, void *options, struct gpt2_error *error);

/* The list for --help, 80 columns wide. */
void arguments_print(FILE *to, const struct arguments *arguments);

/* Prints text between the columns `left` and 80, from column `at` on, and a newline. */
void print_wrapped(FILE *to, int at, int left, const char *text);

/* The number of insertions, deletions, substitutions and transpositions of neighbours between two words; a beginning of `of`
 * counts as no distance. For "the nearest is ...". */
int word_distance(const char *word, const char *of);

#endif
