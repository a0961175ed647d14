/* calls.c — calls that nvcc refuses: a kernel without a configuration, a __device__ function from the host, a host function
 * from device code.
 *
 * g++ sees ordinary functions and would accept all of them. This pass has no C++ name lookup, so it checks only names with
 * a single meaning: free functions whose name the source declares in no other way (no variable, no parameter, no member,
 * no overload for the other side) and that neither CUDA nor the C++ library has.
 */
#include "translate.h"

#include <stdlib.h>
#include <string.h>

enum side { SIDE_KERNEL = 1, SIDE_DEVICE = 2, SIDE_HOST = 4, SIDE_BOTH = 8, SIDE_UNCLEAR = 16 };

struct function {
    int token; /* of its first declaration */
    unsigned sides;
};

struct functions {
    struct function *at;
    int count;
};

static bool is_statement_word(const struct translation *t, int i) {
    static const char *const words[] = {"return", "else",   "do",  "throw", "case", "goto",
                                        "new",    "delete", "and", "or",    "not"};
    for (unsigned k = 0; k < sizeof words / sizeof *words; k++) {
        if (is(t, i, words[k])) { return true; }
    }
    return false;
}

static bool same(const struct translation *t, int a, int b) {
    const struct token *x = &t->tokens[a], *y = &t->tokens[b];
    return x->length == y->length && memcmp(x->text, y->text, (size_t)x->length) == 0;
}

static struct function *find(const struct translation *t, const struct functions *f, int token) {
    for (int i = 0; i < f->count; i++) {
        if (same(t, f->at[i].token, token)) { return &f->at[i]; }
    }
    return NULL;
}

/* The ( of a call or declaration of the function named at `i`, past template arguments; -1 if there is none. */
static int parenthesis_after(const struct translation *t, int i) {
    int next = i + 1;
    if (is(t, next, "<") && !is(t, next + 1, "<")) { next = skip_angles(t, next, t->count); }
    return next > 0 && is(t, next, "(") ? next : -1;
}

static bool at_namespace_scope(const struct translation *t, int i) {
    enum scope_kind kind = t->scopes[t->tokens[i].scope].kind;
    return kind == SCOPE_FILE || kind == SCOPE_NAMESPACE;
}

static bool follows_type(const struct translation *t, int i) {
    return (is_name(t, i - 1) && !is_statement_word(t, i - 1)) || is(t, i - 1, "*") || is(t, i - 1, "&") ||
           is(t, i - 1, "&&") || is(t, i - 1, ">");
}

/* The side (host, device) of the declaration of the name at `i`. */
static unsigned declared_side(const struct translation *t, int i) {
    bool device = false, host = false, global = false, other = false;
    for (int k = declaration_start(t, i); k < i; k++) {
        device |= is(t, k, "__device__");
        host |= is(t, k, "__host__");
        global |= is(t, k, "__global__");
        other |=
            is(t, k, "constexpr") || is(t, k, "consteval") || is(t, k, "=") || is(t, k, "(") || is(t, k, "typedef");
        other |= is(t, k, "template") && !global; /* nvcc does not check a template before its use */
    }
    if (global) { return SIDE_KERNEL; }
    if (device || host) { return device && host ? SIDE_BOTH : device ? SIDE_DEVICE : SIDE_HOST; }
    return other ? SIDE_UNCLEAR : SIDE_HOST;
}

static struct functions declared_functions(const struct translation *t) {
    struct functions f = {0};
    for (int i = 1; i < t->count; i++) {
        if (!is_user(t, i) || !is_name(t, i) || !at_namespace_scope(t, i) || !follows_type(t, i) ||
            takes_parenthesis(t, i) || parenthesis_after(t, i) < 0) {
            continue;
        }
        struct function *known = find(t, &f, i);
        if (!known) {
            f.at = grow(f.at, f.count, sizeof *f.at);
            known = &f.at[f.count++];
            *known = (struct function){.token = i};
        }
        known->sides |= declared_side(t, i);
    }
    return f;
}

/* Names that have another meaning somewhere become unclear. */
static void find_other_meanings(const struct translation *t, struct functions *f) {
    for (int i = 1; i < t->count; i++) {
        if (!is_name(t, i)) { continue; }
        struct function *known = find(t, f, i);
        if (!known) { continue; }
        bool call = parenthesis_after(t, i) > 0;
        bool member = is(t, i - 1, ".") || is(t, i - 1, "->");
        bool variable = !call && follows_type(t, i) && !is(t, i + 1, "<"); /* k<<< is a launch */
        bool local = call && !at_namespace_scope(t, i) && is_name(t, i - 1) && !is_statement_word(t, i - 1);
        bool in_class = t->scopes[t->tokens[i].scope].kind == SCOPE_CLASS && !knows(t->kernels, t, i);
        bool defined_member = at_namespace_scope(t, i) && is(t, i - 1, "::");
        bool bound = is(t, i - 1, "[") || is(t, i + 1, "]");
        if (t->tokens[i].owner == OWNER_BACKEND
                ? call
                : !member && (variable || local || in_class || defined_member || bound)) {
            known->sides |= SIDE_UNCLEAR;
        }
    }
}

/* With `using namespace std`, these may be functions of the C++ library. */
static bool is_library_name(const struct translation *t, int i) {
    static const char *const names[] = {"swap",      "copy",     "fill",  "sort", "count",   "find", "reduce",
                                        "move",      "distance", "size",  "data", "begin",   "end",  "accumulate",
                                        "transform", "fill_n",   "clamp", "gcd",  "exchange"};
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++) {
        if (is(t, i, names[k])) { return true; }
    }
    return false;
}

/* The name of the function whose body contains `i`. */
static void caller(const struct translation *t, int i, char *name, size_t size, bool *is_kernel) {
    int s = t->tokens[i].scope;
    while (s > 0 && (t->scopes[s].kind != SCOPE_FUNCTION || t->scopes[s].name < 0)) { s = t->scopes[s].parent; }
    const struct token *k = s > 0 ? &t->tokens[t->scopes[s].name] : NULL;
    snprintf(name, size, "%.*s", k ? k->length : 1, k ? k->text : "?");
    *is_kernel = s > 0 && t->scopes[s].is_global;
}

static bool runs_on_the_host_only(const struct translation *t, int i) {
    for (int s = t->tokens[i].scope; s > 0; s = t->scopes[s].parent) {
        if (t->scopes[s].is_device || t->scopes[s].is_global) { return false; }
    }
    return true;
}

static bool check_call(struct translation *t, int i, unsigned sides) {
    const char *name = t->tokens[i].text;
    int length = t->tokens[i].length;
    char from[100];
    bool is_kernel;
    caller(t, i, from, sizeof from, &is_kernel);
    if (sides == SIDE_KERNEL) {
        return fail(t, i, "a __global__ function call must be configured: %.*s<<<grid, block>>>(...)", length, name);
    }
    if (is(t, i - 1, "::") || is_library_name(t, i)) { return true; }
    if (sides == SIDE_DEVICE && runs_on_the_host_only(t, i)) {
        return fail(t, i, "calling a __device__ function(\"%.*s\") from a __host__ function(\"%s\") is not allowed",
                    length, name, from);
    }
    if (sides == SIDE_HOST && in_device_code(t, i)) {
        return fail(
            t, i, "calling a __host__ function(\"%.*s\") from a %s function(\"%s\") is not allowed: mark it __device__",
            length, name, is_kernel ? "__global__" : "__device__", from);
    }
    return true;
}

bool check_calls(struct translation *t) {
    struct functions f = declared_functions(t);
    find_other_meanings(t, &f);
    bool ok = true;
    for (int i = 1; ok && i < t->count; i++) {
        if (!is_user(t, i) || !is_name(t, i) || enclosing_function(t, t->tokens[i].scope) < 0 || is(t, i - 1, ".") ||
            is(t, i - 1, "->") || (is_name(t, i - 1) && !is_statement_word(t, i - 1)) || parenthesis_after(t, i) < 0) {
            continue;
        }
        const struct function *known = find(t, &f, i);
        ok = !known || check_call(t, i, known->sides);
    }
    free(f.at);
    return ok;
}
