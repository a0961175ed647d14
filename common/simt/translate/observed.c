/* observed.c — the first read of a compare-and-swap loop, `old = *address; do { … atomicCAS(address, …) } while (…)`.
 *
 * CUDA's programming guide writes it as a plain read, and it may see any value, because the swap that follows fails if
 * it was wrong. For the race detector it is made a volatile read, which may meet another thread's atomic.
 */
#include "translate.h"

#include <stdlib.h>

/* The plain pointer that is the first argument of the call whose ( stands at `open`, through casts; -1 if it is none. */
static int swapped_pointer(const struct translation *t, int open) {
    int i = open + 1;
    if (is(t, i, "(") && is(t, t->tokens[i].match - 1, "*")) {
        i = t->tokens[i].match + 1;
    } else if (is(t, i, "reinterpret_cast") && is(t, i + 1, "<")) {
        int past = skip_angles(t, i + 1, t->count);
        return past > 0 && is(t, past, "(") && is_name(t, past + 1) && is(t, past + 2, ")") ? past + 1 : -1;
    }
    return is_name(t, i) && is(t, i + 1, ",") ? i : -1;
}

/* Whether the token before a * lets it be the * of `*pointer` and not of `a * b` or of a declaration. */
static bool is_unary_after(const struct translation *t, int before) {
    const struct token *k = &t->tokens[before];
    return k->kind == TOKEN_PUNCTUATOR ? !is(t, before, ")") && !is(t, before, "]") && !is(t, before, "*")
                                       : is(t, before, "return");
}

static void observe(struct translation *t, int pointer, int from, int to) {
    char *name = token_text(t, pointer, pointer);
    for (int i = from + 2; i < to; i++) {
        bool written = is(t, i + 1, "=") || is(t, i + 1, "[") || is(t, i + 1, "(") || is(t, i + 1, "->") ||
                       is(t, i + 1, "++") || is(t, i + 1, "--") || is(t, i + 1, "+=") || is(t, i + 1, "-=");
        if (is(t, i, name) && is(t, i - 1, "*") && is_unary_after(t, i - 2) && !written) {
            edit_instead(t, i, "simt::observed(%s)", name);
        }
    }
    free(name);
}

void translate_observed(struct translation *t) {
    for (int i = 0; i < t->count; i++) {
        if (!is_user(t, i) || !is(t, i + 1, "(") ||
            !(is(t, i, "atomicCAS") || is(t, i, "atomicCAS_block") || is(t, i, "atomicCAS_system"))) {
            continue;
        }
        int function = enclosing_function(t, t->tokens[i].scope), pointer = swapped_pointer(t, i + 1);
        if (function >= 0 && pointer >= 0) { observe(t, pointer, t->scopes[function].open, t->scopes[function].close); }
    }
}
