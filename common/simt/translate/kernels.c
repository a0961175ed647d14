/* kernels.c — __global__ void k(P p) { body } becomes
 *     void k(P p) {
 *         simt::take_arguments(p);
 *         simt::kernel(__PRETTY_FUNCTION__, [=]() mutable __attribute__((always_inline)) { body }, launch bound);
 *     }
 * so that a kernel stays an ordinary function: overloads, deduced and default arguments, pointers and templates work as
 * in C++. A call takes the pending launch configuration (launches.c) and runs a copy of the closure,
 * which holds the arguments by value, once per CUDA thread.
 */
#include "translate.h"

#include <stdlib.h>
#include <string.h>

/* ---- a kernel's head ---- */

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
static char *launch_bound(const struct translation *t, const struct scope *kernel) {
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

/* Is the parameter in [first, end) a reference: T &x, T &&x, T (&x)[n]? */
static bool is_reference(const struct translation *t, int first, int end) {
    for (int i = first; i < end && !is(t, i, "="); i++) {
        if (is(t, i, "&") || is(t, i, "&&") || (is(t, i, "(") && is(t, i + 1, "&"))) { return true; }
        if (is(t, i, "(") || is(t, i, "[")) {
            i = t->tokens[i].match;
        } else if (is(t, i, "<") && is_name(t, i - 1)) {
            int past = skip_angles(t, i, end);
            i = past > 0 ? past - 1 : i;
        }
    }
    return false;
}

struct parameters {
    char *names;      /* "a, b, rest...", to be freed; NULL when one has no name or is a reference */
    char *references; /* ", &a, &rest...": captures of those that are references; to be freed */
};

static void append(char **list, const char *before, const struct translation *t, int name, bool pack) {
    size_t length = strlen(*list), more = (size_t)t->tokens[name].length + sizeof ", &...";
    *list = grow(*list, 0, length + more);
    snprintf(*list + length, more, "%s%.*s%s", before, t->tokens[name].length, t->tokens[name].text, pack ? "..." : "");
}

static struct parameters read_parameters(const struct translation *t, int open) {
    int close = t->tokens[open].match;
    struct parameters list = {calloc(1, 1), calloc(1, 1)};
    bool none = open + 1 == close || (is(t, open + 1, "void") && open + 2 == close), complete = true;
    for (int i = open + 1; i < close && !none && list.names && list.references;) {
        int end = end_of_item(t, i, close), name = parameter_name(t, i, end);
        bool reference = is_reference(t, i, end), pack = name >= 0 && is(t, name - 1, "...");
        complete = complete && name >= 0 && !reference;
        if (complete) { append(&list.names, *list.names ? ", " : "", t, name, pack); }
        if (reference && name >= 0) { append(&list.references, ", &", t, name, pack); }
        i = end + 1;
    }
    if (!complete) {
        free(list.names);
        list.names = NULL;
    }
    return list;
}

static bool note_kernel(struct translation *t, int word) {
    struct declaration d;
    if (!read_declaration(t, word, &d)) { return false; }
    if (!d.is_function) { return fail(t, word, "__global__ must stand before a function"); }
    bool is_void = false, is_friend = false;
    for (int i = d.start; i < d.names[0]; i++) {
        is_void |= is(t, i, "void");
        is_friend |= is(t, i, "friend");
    }
    if (t->scopes[t->tokens[word].scope].kind == SCOPE_CLASS && !is_friend) {
        return fail(t, d.names[0], "a __global__ function cannot be a member function");
    }
    if (!is_void) { return fail(t, d.names[0], "a __global__ function must have a void return type"); }
    learn(&t->kernels, t, d.names[0]);
    return true;
}

bool mentions(const struct translation *t, int from, int to, const char *name) {
    for (int i = from; i < to; i++) {
        if (is(t, i, name) && !is(t, i - 1, ".") && !is(t, i - 1, "->") && !is(t, i - 1, "::")) { return true; }
    }
    return false;
}

/* Are two scopes the same namespace, which may be opened several times? */
static bool same_namespace(const struct translation *t, int a, int b) {
    while (a != b) {
        const struct scope *x = &t->scopes[a], *y = &t->scopes[b];
        if (x->kind != SCOPE_NAMESPACE || y->kind != SCOPE_NAMESPACE || x->open - x->head != y->open - y->head) {
            return false;
        }
        for (int i = 0; i < x->open - x->head; i++) {
            char *word = token_text(t, x->head + i, x->head + i);
            bool same = is(t, y->head + i, word) || t->tokens[x->head + i].kind == TOKEN_STRING;
            free(word);
            if (!same) { return false; }
        }
        a = x->parent;
        b = y->parent;
    }
    return true;
}

static bool encloses(const struct translation *t, int outer, int inner) {
    for (; inner >= 0; inner = t->scopes[inner].parent) {
        if (same_namespace(t, outer, inner)) { return true; }
    }
    return false;
}

/* A __shared__ variable of a namespace becomes a local reference in every device function that names it. */
static void bring_in_shared(struct translation *t, int scope) {
    const struct scope *s = &t->scopes[scope];
    for (const struct shared_at_namespace_scope *v = t->shared; v; v = v->next) {
        bool parameter = s->parameters >= 0 && mentions(t, s->parameters, t->tokens[s->parameters].match, v->name);
        if (parameter || v->token > s->open || !encloses(t, v->scope, s->parent) ||
            !mentions(t, s->open, s->close, v->name)) {
            continue;
        }
        if (v->dynamic) {
            edit_after(t, s->open, " simt_type_%s &%s = *static_cast<simt_type_%s *>(simt_dynamic_shared()); {",
                       v->name, v->name, v->name);
        } else {
            edit_after(t, s->open,
                       " simt_type_%s &%s = *static_cast<simt_type_%s *>(simt_shared_variable(&simt_site_%s, \"%s\", "
                       "sizeof(simt_type_%s), alignof(simt_type_%s))); {",
                       v->name, v->name, v->name, v->name, v->name, v->name, v->name);
        }
        edit_first(t, s->close, "}");
    }
}

/* In the closure the compiler would name the function `operator()`. */
static void name_function(struct translation *t, const struct scope *s) {
    char *name = token_text(t, s->name, s->name);
    for (int i = s->open; i < s->close; i++) {
        if (is(t, i, "__func__") || is(t, i, "__FUNCTION__")) {
            edit_instead(t, i, "\"%s\"", name);
        } else if (is(t, i, "__PRETTY_FUNCTION__")) {
            edit_instead(t, i, "simt_function");
        }
    }
    free(name);
}

/* A reference is passed as an address, as in nvcc: the closure must not copy what it refers to. */
static void make_closure(struct translation *t, const struct scope *s) {
    edit_after(t, s->open, " static constexpr const char *simt_function = __PRETTY_FUNCTION__;");
    struct parameters list = read_parameters(t, s->parameters);
    char *bound = launch_bound(t, s);
    if (list.names) { edit_after(t, s->open, " simt::take_arguments(%s);", list.names); }
    edit_after(t, s->open, " simt::kernel(simt_function, [=%s]() mutable __attribute__((always_inline)) {",
               list.references ? list.references : "");
    edit_before(t, s->close, bound ? "}, %s);" : "});%s", bound ? bound : "");
    free(list.names);
    free(list.references);
    free(bound);
    name_function(t, s);
}

bool translate_kernels(struct translation *t) {
    for (int i = 0; i < t->count; i++) {
        if (is_user(t, i) && is(t, i, "__global__") && !note_kernel(t, i)) { return false; }
    }
    for (int k = 1; k < t->scope_count; k++) {
        struct scope *s = &t->scopes[k];
        bool function = s->kind == SCOPE_FUNCTION || s->kind == SCOPE_LAMBDA;
        bool device = s->is_global || s->is_device || (s->kind == SCOPE_LAMBDA && in_device_code(t, s->open));
        if (!function || !is_user(t, s->open) || !device) { continue; }
        if (s->is_global) { make_closure(t, s); }
        bring_in_shared(t, k);
    }
    return true;
}
