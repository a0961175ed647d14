/* variables.c — __device__, __constant__ and __managed__ variables stay variables, aligned as device memory is, and are
 * registered with the arena before main, so that the checks know them as global memory.
 */
#include "translate.h"

#include <stdlib.h>

static bool is_variable_word(const struct translation *t, int token) {
    return is(t, token, "__device__") || is(t, token, "__constant__") || is(t, token, "__managed__");
}

static bool head_has(const struct translation *t, const struct declaration *d, const char *word) {
    for (int i = d->start; i < d->names[0]; i++) {
        if (is(t, i, word)) { return true; }
    }
    return false;
}

static bool register_variables(struct translation *t, const struct declaration *d) {
    bool local = enclosing_function(t, t->tokens[d->start].scope) >= 0;
    if (head_has(t, d, "extern")) { return true; /* defined elsewhere, where it registers itself */ }
    if (is(t, d->start, "template")) {
        return fail(t, d->names[0], "the CPU backend has no templates of __device__ variables");
    }
    if (local && !head_has(t, d, "static")) {
        return fail(t, d->names[0], "a variable in device memory that is declared in a function must be static");
    }
    edit_before(t, d->start, "alignas(16) ");
    const char *kind = head_has(t, d, "__constant__") ? "constant" : "variable";
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
