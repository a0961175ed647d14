/* loops.c — loops without a condition: for (;;) and while (true) in device code get an end of their own.
 *
 * Where arms of a branch, or continue, lead straight back to the head of such a loop, the compiler lets each jump back
 * by itself, and nothing in the code tells that lanes which do so early should wait for the others. An empty statement
 * in the place of the increment brings them together there, as the increment or the condition of other loops does
 * (checks/merge.c).
 */
#include "translate.h"

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
