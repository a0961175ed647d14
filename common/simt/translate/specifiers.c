/* specifiers.c — CUDA's declaration specifiers.
 *
 * __device__, __constant__ and __managed__ variables stay variables, aligned as device memory is. They are registered
 * with the arena before main, so that the checks treat them as global memory. All specifiers are then removed, or
 * replaced by those of g++. They are no macros, because the C++ library spells __attribute__((__noinline__)).
 */
#include "translate.h"

#include <stdlib.h>
#include <string.h>

static bool is_variable_word(const struct translation *t, int token) {
    return is(t, token, "__device__") || is(t, token, "__constant__") || is(t, token, "__managed__");
}

static bool head_has(const struct translation *t, const struct declaration *d, const char *word) {
    for (int i = d->start; i < d->names[0]; i++) {
        if (is(t, i, word)) { return true; }
    }
    return false;
}

/* template <class T, int N = 3> __device__ int v;  →  "class T, int N" and "T, N", both to be freed. False if a parameter has
 * no name, as in template <>. */
static bool template_parameters(const struct translation *t, int open, int close, char **parameters, char **arguments) {
    size_t room = 1;
    for (int i = open; i <= close; i++) { room += (size_t)t->tokens[i].length + sizeof "..., "; }
    *parameters = calloc(room, 1), *arguments = calloc(room, 1);
    bool named = *parameters && *arguments && close > open + 1;
    for (int i = open + 1; i < close && named;) {
        int end = i, name = -1, nested = 0;
        for (; end < close && (nested > 0 || !(is(t, end, ",") || is(t, end, "="))); end++) {
            nested += is(t, end, "<") - is(t, end, ">");
            if (is_name(t, end)) { name = end; }
        }
        named = name > i && name == end - 1;
        char *text = token_text(t, i, end - 1);
        const char *separator = **parameters ? ", " : "";
        if (named && text) {
            strcat(strcat(*parameters, separator), text);
            strcat(strncat(strcat(*arguments, separator), t->tokens[name].text, (size_t)t->tokens[name].length),
                   is(t, name - 1, "...") ? "..." : "");
        }
        free(text);
        while (end < close && (nested > 0 || !is(t, end, ","))) { /* the default argument */
            nested += is(t, end, "<") - is(t, end, ">");
            end++;
        }
        i = end + 1;
    }
    return named;
}

/* A variable template: each specialisation that the program uses registers itself (emitted.h). */
static bool register_template(struct translation *t, const struct declaration *d, const char *kind) {
    int past = skip_angles(t, d->start + 1, d->names[0]);
    char *parameters = NULL, *arguments = NULL, *name = token_text(t, d->names[0], d->names[0]);
    bool known = past > 0 && template_parameters(t, d->start + 1, past - 1, &parameters, &arguments);
    if (known && name) {
        edit_before(t, d->start, "template <%s> struct simt_register_%s { static void run(); }; ", parameters, name);
        edit_before(t, past, "alignas(simt::aligned_before_main<simt_register_%s<%s>>()) ", name, arguments);
        edit_after(t, d->end,
                   " template <%s> void simt_register_%s<%s>::run() { arena_register_%s("
                   "(void *)__builtin_addressof(%s<%s>), sizeof %s<%s>, \"%s\"); }",
                   parameters, name, arguments, kind, name, arguments, name, arguments, name);
    }
    free(parameters);
    free(arguments);
    free(name);
    return known || fail(t, d->names[0], "the CPU backend has no specialisations of __device__ variable templates");
}

static bool register_variables(struct translation *t, const struct declaration *d) {
    bool local = enclosing_function(t, t->tokens[d->start].scope) >= 0;
    if (head_has(t, d, "extern")) { return true; /* defined and registered elsewhere */ }
    const char *kind = head_has(t, d, "__constant__") ? "constant" : "variable";
    if (is(t, d->start, "template")) { return register_template(t, d, kind); }
    if (local && !head_has(t, d, "static")) {
        return fail(t, d->names[0], "a variable in device memory that is declared in a function must be static");
    }
    edit_before(t, d->start,
                "alignas(32) "); /* a sector: on every processor, requests of an array touch the same number */
    for (int n = 0; n < d->name_count; n++) {
        char *name = token_text(t, d->names[n], d->names[n]);
        if (local) { /* no static initialiser here, which would run on the device and lock */
            edit_after(t, d->end,
                       " struct simt_register_%s { static void run() { arena_register_%s("
                       "(void *)__builtin_addressof(%s), sizeof %s, \"%s\"); } };"
                       " (void)&simt::before_main<simt_register_%s>::done;",
                       name, kind, name, name, name, name);
        } else {
            edit_after(t, d->end,
                       " [[maybe_unused]] static const int simt_registered_%s = (arena_register_%s("
                       "(void *)__builtin_addressof(%s), sizeof %s, \"%s\"), 0);",
                       name, kind, name, name, name);
        }
        free(name);
    }
    return true;
}

/* [=] __host__ __device__ (…) { … } */
static bool is_of_lambda(const struct translation *t, int word) {
    while (is(t, word, "__device__") || is(t, word, "__host__")) { word--; }
    return is(t, word, "]");
}

bool translate_variables(struct translation *t) {
    for (int i = 0; i < t->count; i++) {
        if (!is_user(t, i) || !is_variable_word(t, i) || is_of_lambda(t, i)) { continue; }
        struct declaration d;
        int name = -1, start = declaration_start(t, i);
        bool is_device = is(t, i, "__device__");
        if (is_device && find_parameters(t, start, t->count, &name) >= 0) { continue; /* a function */ }
        if (!read_declaration(t, i, &d)) { return false; }
        if (d.is_function) { return fail(t, i, "a function cannot be %.*s", t->tokens[i].length, t->tokens[i].text); }
        bool member = t->scopes[t->tokens[d.start].scope].kind == SCOPE_CLASS;
        if (!head_has(t, &d, "__shared__") && !member && !register_variables(t, &d)) { return false; }
        i = d.end;
    }
    return true;
}

/* ---- removing the specifiers ---- */

static const struct {
    const char *word, *instead;
    bool with_group; /* followed by a (group), which is removed, too */
} words[] = {
    {"__global__", "", false},
    {"__device__", "", false},
    {"__host__", "", false},
    {"__constant__", "", false},
    {"__managed__", "", false},
    {"__grid_constant__", "", false},
    {"__nv_pure__", "", false},
    {"__inline_hint__", "", false},
    {"__noinline__", "__attribute__((noinline))", false},
    {"__forceinline__", "inline __attribute__((always_inline))", false},
    {"__launch_bounds__", "", true},
    {"__maxnreg__", "", true},
};

static bool translate_word(struct translation *t, int i) {
    for (unsigned w = 0; w < sizeof words / sizeof *words; w++) {
        if (!is(t, i, words[w].word) || t->tokens[i].instead) { continue; }
        if (is(t, i, "__noinline__") && (is(t, i - 1, "(") || is(t, i - 1, ","))) {
            return true; /* __attribute__((__noinline__)) */
        }
        edit_instead(t, i, "%s", words[w].instead);
        if (words[w].with_group) {
            if (!is(t, i + 1, "(")) { return fail(t, i, "expected '(' after %s", words[w].word); }
            for (int k = i + 1; k <= t->tokens[i + 1].match; k++) { edit_instead(t, k, "%s", ""); }
        }
    }
    return true;
}

bool translate_words(struct translation *t) {
    for (int i = 0; i < t->count; i++) {
        if (t->tokens[i].kind == TOKEN_NAME && t->tokens[i].length > 6 && t->tokens[i].text[0] == '_' &&
            !translate_word(t, i)) {
            return false;
        }
    }
    return true;
}
