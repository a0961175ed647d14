/* variables.c — __device__, __constant__ and __managed__ variables stay variables, aligned as device memory is, and are
 * registered with the arena before main, so that the checks know them as global memory.
 */
#include "translate.h"

#include <stdlib.h>

static bool is_variable_word(const struct translation *t, int token)
{
    return is(t, token, "__device__") || is(t, token, "__constant__") || is(t, token, "__managed__");
}

static bool head_has(const struct translation *t, const struct declaration *d, const char *word)
{
    for (int i = d->start; i < d->names[0]; i++) {
        if (is(t, i, word)) {
            return true;
        }
    }
    return false;
}

static bool register_variables(struct translation *t, const struct declaration *d)
{
    int start = d->start;
    if (head_has(t, d, "extern")) {
        return true; /* defined elsewhere, where it registers itself */
    }
    if (is(t, start, "template")) {
        return fail(t, d->names[0], "variable templates of __device__ memory are not supported by the CPU backend");
    }
    edit_before(t, start, "alignas(16) ");
    for (int n = 0; n < d->name_count; n++) {
        char *name = token_text(t, d->names[n], d->names[n]);
        edit_after(t, d->end,
                   " [[maybe_unused]] static const int simt_registered_%s = (arena_register_variable("
                   "(void *)__builtin_addressof(%s), sizeof %s, \"%s\"), 0);",
                   name, name, name, name);
        free(name);
    }
    return true;
}

bool translate_variables(struct translation *t)
{
    for (int i = 0; i < t->count; i++) {
        if (!is_user(t, i) || !is_variable_word(t, i) || is(t, i - 1, "]")) { /* after a ]: a lambda's */
            continue;
        }
        struct declaration d;
        int name = -1, start = declaration_start(t, i);
        bool is_device = is(t, i, "__device__");
        if (is_device && find_parameters(t, start, t->count, &name) >= 0) {
            continue; /* a function */
        }
        if (!read_declaration(t, i, &d)) {
            return false;
        }
        if (d.is_function) {
            return fail(t, i, "a function cannot be %.*s", t->tokens[i].length, t->tokens[i].text);
        }
        bool member = t->scopes[t->tokens[d.start].scope].kind == SCOPE_CLASS;
        if (!head_has(t, &d, "__shared__") && !member && !register_variables(t, &d)) {
            return false;
        }
        i = d.end;
    }
    return true;
}
