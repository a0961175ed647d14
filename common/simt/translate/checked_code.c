/* checked_code.c — rewrites that only the checks need.
 *
 * Loops without a condition, for (;;) and while (true), in device code get an end of their own. Where the arms of a
 * branch, or continue, lead straight back to the head of such a loop, the compiler gives each its own jump back.
 * Nothing in that code shows that lanes which jump early wait for the others. An empty statement in the place of the
 * increment reconverges them, as the increment or the condition of other loops does (checks/merge.c).
 *
 * The first read of a compare-and-swap loop, `old = *address; do { … atomicCAS(address, …) } while (…)`, becomes
 * volatile. CUDA's programming guide writes a plain read. It may return any value, because the swap fails if the value
 * is outdated. For the race detector a volatile read may meet another thread's atomic.
 */
#include "translate.h"

#include <stdlib.h>

static bool is_device_loop(const struct translation *t, int token) {
    int function = enclosing_function(t, t->tokens[token].scope);
    if (function < 0) return false;
    for (int i = t->scopes[function].head; i < t->scopes[function].open; i++)
        if (is(t, i, "constexpr") || is(t, i, "consteval")) return false;
    for (int s = function; s >= 0; s = t->scopes[s].parent)
        if (t->scopes[s].is_device || t->scopes[s].is_global) return true;
    return false;
}

/* for ( … ; ; ) */
static void end_for(struct translation *t, int open) {
    int close = t->tokens[open].match;
    if (is(t, close - 1, ";") && is(t, close - 2, ";")) edit_before(t, close, " ::simt::loop_end()");
}

/* while (true) { … }; with a semicolon behind it, it is the end of a do, or an empty loop. */
static void end_while(struct translation *t, int open) {
    int close = t->tokens[open].match;
    bool always = close == open + 2 && (is(t, open + 1, "true") || is(t, open + 1, "1"));
    if (!always) return;
    if (is(t, close + 1, ";")) {
        edit_instead(t, open + 1, "(::simt::loop_end(), true)");
        return;
    }
    edit_instead(t, open - 1, "for");
    edit_instead(t, open + 1, ";; ::simt::loop_end()");
}

bool translate_loops(struct translation *t) {
    for (int i = 0; i + 1 < t->count; i++) {
        if (!is_user(t, i) || !is(t, i + 1, "(") || !(is(t, i, "for") || is(t, i, "while")) || !is_device_loop(t, i))
            continue;
        if (is(t, i, "for"))
            end_for(t, i + 1);
        else
            end_while(t, i + 1);
    }
    return true;
}

/* ---- the first read of a compare-and-swap loop ---- */

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

/* Is a * behind this token the * of `*pointer`, not of `a * b` or of a declaration? */
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
