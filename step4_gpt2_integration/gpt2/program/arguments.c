/* arguments.c — options from a table: parsed by getopt_long, stored, listed (arguments.h). */
#define _GNU_SOURCE
#include "arguments.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPTIONS = 64, NAME_BYTES = 64, HELP = 256, VERSION, FIRST_ROW }; /* past the letters */

static bool belongs(const struct arguments *arguments, int row) {
    const char *commands = arguments->table[row].commands, *at = commands;
    size_t length = strlen(arguments->command);
    if (commands == NULL) { return true; }
    for (; (at = strstr(at, arguments->command)) != NULL; at += length) {
        if ((at == commands || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) { return true; }
    }
    return false;
}

/* ---- what is wrong with an option ---- */

int word_distance(const char *word, const char *of) {
    int length = (int)strnlen(word, NAME_BYTES - 1), width = (int)strnlen(of, NAME_BYTES - 1);
    int rows[3][NAME_BYTES]; /* of the table of distances between beginnings: the last three */
    if (length > 0 && strncmp(word, of, (size_t)length) == 0) { return 0; }
    for (int j = 0; j <= width; j++) { rows[0][j] = j; }
    for (int i = 1; i <= length; i++) {
        int *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= width; j++) {
            int least = last[j - 1] + (word[i - 1] != of[j - 1]);
            if (last[j] + 1 < least) { least = last[j] + 1; }
            if (now[j - 1] + 1 < least) { least = now[j - 1] + 1; }
            bool swapped = i > 1 && j > 1 && word[i - 1] == of[j - 2] && word[i - 2] == of[j - 1];
            if (swapped && before[j - 2] + 1 < least) { least = before[j - 2] + 1; }
            now[j] = least;
        }
    }
    return rows[length % 3][width];
}

static const char *nearest(const struct arguments *arguments, const char *word) {
    const char *found = "--help";
    int least = word_distance(word, "help");
    for (int i = 0; i < arguments->count; i++) {
        int distance = belongs(arguments, i) ? word_distance(word, arguments->table[i].name + 2) : NAME_BYTES;
        if (distance < least) { least = distance, found = arguments->table[i].name; }
    }
    return found;
}

/* An option that getopt_long does not take: unknown, the beginning of several, or a switch with a value. */
static bool refuse(const struct arguments *arguments, const struct option *longs, const char *word,
                   struct gpt2_error *error) {
    char name[NAME_BYTES], several[160] = "";
    int matches = 0;
    size_t used = 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (const struct option *option = longs; option->name != NULL; option++) {
        bool begins = strncmp(name, "--", 2) == 0 && strncmp(option->name, name + 2, strlen(name + 2)) == 0;
        if (begins && strcmp(option->name, name + 2) == 0) { /* it exists, so its value is what is wrong */
            return gpt2_fail(error, "%s takes no value, and '%s' gives it one", name, word);
        }
        if (!begins || used >= sizeof several) { continue; }
        used +=
            (size_t)snprintf(several + used, sizeof several - used, "%s--%s", matches > 0 ? ", " : "", option->name);
        matches++;
    }
    if (matches > 1) { return gpt2_fail(error, "%s: '%s' is ambiguous: %s", arguments->command, name, several); }
    return gpt2_fail(error, "%s has no option '%s'; the nearest is %s (gpt2 %s --help lists them)", arguments->command,
                     name, nearest(arguments, name + strspn(name, "-")), arguments->command);
}

/* Is it the name of an option, so that the one before it lacks its value? */
static bool is_name(const struct option *longs, const char *word) {
    if (strncmp(word, "--", 2) != 0) { return false; }
    size_t length = strcspn(word + 2, "=");
    for (const struct option *option = longs; option->name != NULL; option++) {
        if (strlen(option->name) == length && strncmp(option->name, word + 2, length) == 0) { return true; }
    }
    return false;
}

/* ---- parsing ---- */

static void name_options(const struct arguments *arguments, struct option *longs) {
    *longs++ = (struct option){"help", no_argument, NULL, HELP};
    *longs++ = (struct option){"version", no_argument, NULL, VERSION};
    for (int i = 0; i < arguments->count; i++) {
        const struct argument *row = &arguments->table[i];
        if (!belongs(arguments, i)) { continue; }
        *longs++ =
            (struct option){row->name + 2, row->value != NULL ? required_argument : no_argument, NULL, FIRST_ROW + i};
    }
    *longs = (struct option){0};
}

static bool lacks_value(const struct argument *row, struct gpt2_error *error) {
    return gpt2_fail(error, "%s needs a value: %s", row->name, row->value);
}

enum arguments_result arguments_parse(const struct arguments *arguments, int count, char **words, argument_taker *take,
                                      void *context, struct gpt2_error *error) {
    struct option longs[MOST_OPTIONS + 3];
    int found;
    if (arguments->count > MOST_OPTIONS) { return gpt2_fail(error, "too many options"), ARGUMENTS_WRONG; }
    name_options(arguments, longs);
    optind = 0; /* glibc: from the beginning */
    opterr = 0;
    while ((found = getopt_long(count, words, ":h", longs, NULL)) != -1) {
        if (found == 'h' || found == HELP) { return ARGUMENTS_HELP; }
        if (found == VERSION) { return ARGUMENTS_VERSION; }
        if (found == ':') { return lacks_value(&arguments->table[optopt - FIRST_ROW], error), ARGUMENTS_WRONG; }
        if (found == '?') {
            char letter[] = {'-', (char)optopt, '\0'};
            bool is_letter = optopt > 0 && optopt < HELP;
            return refuse(arguments, longs, is_letter ? letter : words[optind - 1], error), ARGUMENTS_WRONG;
        }
        const struct argument *row = &arguments->table[found - FIRST_ROW];
        bool is_word = row->value != NULL && optarg == words[optind - 1]; /* not after a = */
        if (is_word && is_name(longs, optarg)) { return lacks_value(row, error), ARGUMENTS_WRONG; }
        if (take != NULL && !take(context, found - FIRST_ROW, row->value != NULL ? optarg : "yes", error)) {
            return ARGUMENTS_WRONG;
        }
    }
    if (optind < count) {
        gpt2_fail(error, "%s: '%s' belongs to no option; a text with blanks needs quotes (gpt2 %s --help)",
                  arguments->command, words[optind], arguments->command);
        return ARGUMENTS_WRONG;
    }
    return ARGUMENTS_TAKEN;
}

/* ---- storing ---- */

/* False: it is no number of type double. One that is too small for the type is rounded, to zero at the least. */
static bool read_real(double *value, const char *text) {
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    const bool overflows = errno == ERANGE && isinf(*value);
    return end != text && *end == '\0' && !overflows && !isspace((unsigned char)text[0]);
}

static bool read_whole(long *value, const char *text) {
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && !isspace((unsigned char)text[0]);
}

static bool store_real(void *place, const struct argument *argument, const char *text, struct gpt2_error *error) {
    const bool above = argument->kind == ARGUMENT_REAL_ABOVE;
    double value;
    if (read_real(&value, text) && value <= argument->most &&
        (above ? value > argument->least : value >= argument->least)) {
        *(double *)place = value;
        return true;
    }
    return gpt2_fail(error,
                     above ? "%s %s: a number above %.16g, at most %.16g, is needed"
                           : "%s %s: a number from %.16g to %.16g is needed",
                     argument->name, text, argument->least, argument->most);
}

static bool store_whole(void *place, const struct argument *argument, const char *text, struct gpt2_error *error) {
    long value;
    if (!read_whole(&value, text) || (double)value < argument->least || (double)value > argument->most) {
        return gpt2_fail(error, "%s %s: a whole number from %.16g to %.16g is needed", argument->name, text,
                         argument->least, argument->most);
    }
    if (argument->kind == ARGUMENT_INT) { *(int *)place = (int)value; }
    if (argument->kind == ARGUMENT_LONG) { *(long *)place = value; }
    return true;
}

bool argument_store(void *options, const struct argument *argument, const char *text, struct gpt2_error *error) {
    void *place = (char *)options + argument->offset;
    struct text_list *list = place;
    if (text[0] == '\0' && argument->kind != ARGUMENT_TEXTS) {
        return gpt2_fail(error, "%s is empty: %s", argument->name, argument->value);
    }
    switch (argument->kind) {
        case ARGUMENT_SWITCH: *(bool *)place = true; return true;
        case ARGUMENT_TEXT: *(const char **)place = text; return true;
        case ARGUMENT_TEXTS:
            if (list->count == MOST_TEXTS) {
                return gpt2_fail(error, "%s is given more than %d times", argument->name, (int)MOST_TEXTS);
            }
            list->at[list->count++] = text;
            return true;
        case ARGUMENT_INT:
        case ARGUMENT_LONG: return store_whole(place, argument, text, error);
        case ARGUMENT_REAL:
        case ARGUMENT_REAL_ABOVE: break;
    }
    return store_real(place, argument, text, error);
}

bool arguments_store_usual(const struct arguments *arguments, void *options, struct gpt2_error *error) {
    for (int i = 0; i < arguments->count; i++) {
        const struct argument *row = &arguments->table[i];
        if (row->usual != NULL && belongs(arguments, i) && !argument_store(options, row, row->usual, error)) {
            return false;
        }
    }
    return true;
}

/* ---- --help ---- */

enum { WIDTH = 80, LEFT = 24 };

void print_wrapped(FILE *to, int at, int left, const char *text) {
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (at > left && at + 1 + length > WIDTH) {
            fputc('\n', to);
            at = 0;
        }
        if (at < left) { at += fprintf(to, "%*s", left - at, ""); }
        if (at > left) { at += fprintf(to, " "); }
        at += fprintf(to, "%.*s", length, text);
        text += length + (text[length] == ' ');
    }
    fputc('\n', to);
}

static void print_row(FILE *to, const char *name, const char *value, const char *what, const char *usual) {
    char text[512];
    int at = fprintf(to, "  %s%s%s", name, value != NULL ? " " : "", value != NULL ? value : "");
    if (at + 2 > LEFT) {
        fputc('\n', to);
        at = 0;
    }
    snprintf(text, sizeof text, usual != NULL ? "%s (default: %s)" : "%s", what, usual);
    print_wrapped(to, at, LEFT, text);
}

void arguments_print(FILE *to, const struct arguments *arguments) {
    for (int i = 0; i < arguments->count; i++) {
        const struct argument *row = &arguments->table[i];
        if (belongs(arguments, i)) { print_row(to, row->name, row->value, row->what, row->usual); }
    }
    print_row(to, "-h, --help", NULL, "print this help", NULL);
    print_row(to, "--version", NULL, "print the version", NULL);
}
