/* kernel_heads.c — what kernels.c needs to know of a kernel's head: its __launch_bounds__ and its parameters' names. */
#include "translate.h"

#include <stdlib.h>
#include <string.h>

/* The end of the argument or parameter that begins at `i`: the token of its , or `close`. */
static int end_of_item(const struct translation *t, int i, int close) {
    for (; i < close && !is(t, i, ","); i++) {
        if (is(t, i, "(") || is(t, i, "[") || is(t, i, "{")) {
            i = t->tokens[i].match;
        } else if (is(t, i, "<") && is_name(t, i - 1)) {
            int past = skip_angles(t, i, close);
            i = past > 0 ? past - 1 : i;
        }
    }
    return i;
}

/* The n of __launch_bounds__(n, …), to be freed; NULL without one. */
char *launch_bound(const struct translation *t, const struct scope *kernel) {
    for (int i = kernel->head; i < kernel->open; i++) {
        if (is(t, i, "__launch_bounds__") && is(t, i + 1, "(")) {
            return token_text(t, i + 2, end_of_item(t, i + 2, t->tokens[i + 1].match) - 1);
        }
    }
    return NULL;
}

static bool is_one_of(const struct translation *t, int i, const char *const *words, int count) {
    for (int k = 0; k < count; k++) {
        if (is(t, i, words[k])) { return true; }
    }
    return false;
}

/* The token of the name of the parameter in [first, end), -1 if it has none. */
static int parameter_name(const struct translation *t, int first, int end) {
    static const char *const qualifiers[] = {
        "const",    "volatile",   "struct",   "class",         "enum",    "__restrict__", "union",
        "typename", "__restrict", "restrict", "__attribute__", "alignas", "__align__",    "__grid_constant__"};
    static const char *const types[] = {"int",  "char", "float",  "double",   "bool",  "void",
                                        "long", "auto", "signed", "unsigned", "short", "wchar_t"};
    int name = -1, words = 0;
    for (int i = first; i < end && !is(t, i, "=") && !(is(t, i, "[") && i > first); i++) {
        bool qualifier = is_one_of(t, i, qualifiers, sizeof qualifiers / sizeof *qualifiers);
        if (takes_parenthesis(t, i)) {
            i = t->tokens[i + 1].match;
        } else if (is(t, i, "(")) { /* of a pointer to a function or an array: (*name) */
            for (int k = i + 1; k < t->tokens[i].match; k++) { name = is_name(t, k) ? k : name; }
            return name;
        } else if (is(t, i, "<") && is_name(t, i - 1)) {
            int past = skip_angles(t, i, end);
            i = past > 0 ? past - 1 : i;
            name = -1;
        } else if (is_name(t, i) && !qualifier) {
            words++;
            name = is_one_of(t, i, types, sizeof types / sizeof *types) || is(t, i - 1, "::") ? -1 : i;
        } else if (!is(t, i, "::") && !qualifier) {
            name = -1; /* a * or ... after the type */
        }
    }
    return words > 1 ? name : -1;
}

/* "a, b, rest..." of the parameter list at `open`, to be freed; NULL when one has no name. */
char *parameter_names(const struct translation *t, int open) {
    int close = t->tokens[open].match;
    char *names = calloc(1, 1);
    bool none = open + 1 == close || (is(t, open + 1, "void") && open + 2 == close);
    for (int i = open + 1; i < close && !none && names != NULL;) {
        int end = end_of_item(t, i, close), name = parameter_name(t, i, end);
        if (name < 0) {
            free(names);
            return NULL;
        }
        size_t length = strlen(names), more = (size_t)t->tokens[name].length + sizeof ", ...";
        names = grow(names, 0, length + more);
        snprintf(names + length, more, "%s%.*s%s", length ? ", " : "", t->tokens[name].length, t->tokens[name].text,
                 is(t, name - 1, "...") ? "..." : "");
        i = end + 1;
    }
    return names;
}
