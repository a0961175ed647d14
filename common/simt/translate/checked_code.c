/* checked_code.c — rewrites that only the checks need.
 *
 * Loops without a condition, for (;;) and while (true), in device code get an end of their own. Where the arms of a
 * branch, or continue, lead straight back to the head of such a loop, the compiler gives each its own jump back.
 * Nothing in that code shows that lanes which jump early wait for the others. An empty statement in the place of the
 * increment reconverges them, as the increment or the condition of other loops does (checks/merge.c).
 *
 * The reads of a compare-and-swap loop, `old = *address; do { … atomicCAS(address, …) } while (…)`, become volatile.
 * CUDA's programming guide writes a plain read. It may return any value, because the swap fails if the value is outdated.
 * For the race detector a volatile read may meet another thread's atomic. The rule holds for every read, in the same
 * function, of the place that the swap names: *p, p[0] and __ldcg(p) for atomicCAS(p, …); a[i], *(a + i) and __ldcg(&a[i])
 * for atomicCAS(&a[i], …) or atomicCAS(a + i, …). Casts, and a pointer that is initialised from another, do not matter.
 */
#include "translate.h"

#include <stdlib.h>
#include <string.h>

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

struct range {
    int from, to; /* tokens, `to` excluded */
};

static bool same_text(const struct translation *t, struct range a, struct range b) {
    if (a.to - a.from != b.to - b.from) { return false; }
    for (int i = 0; i < a.to - a.from; i++) {
        const struct token *x = &t->tokens[a.from + i], *y = &t->tokens[b.from + i];
        if (x->length != y->length || memcmp(x->text, y->text, (size_t)x->length) != 0) { return false; }
    }
    return true;
}

/* The expression without the casts and parentheses around it. */
static struct range bare(const struct translation *t, struct range r) {
    for (;;) {
        int past = is(t, r.from, "reinterpret_cast") && is(t, r.from + 1, "<") ? skip_angles(t, r.from + 1, r.to) : -1;
        if (past > 0 && is(t, past, "(") && t->tokens[past].match == r.to - 1) {
            r = (struct range){past + 1, r.to - 1};
        } else if (is(t, r.from, "(") && t->tokens[r.from].match == r.to - 1) {
            r = (struct range){r.from + 1, r.to - 1};
        } else if (is(t, r.from, "(") && is(t, t->tokens[r.from].match - 1, "*") && t->tokens[r.from].match < r.to) {
            r.from = t->tokens[r.from].match + 1;
        } else {
            return r;
        }
    }
}

/* The pointer that the local pointer `name` is initialised from: T *name = (T *)from; or the name itself. */
static struct range origin(const struct translation *t, struct range name, const struct scope *function) {
    if (name.to != name.from + 1) { return name; }
    for (int i = function->open + 1; i + 1 < name.from; i++) {
        if (!same_text(t, (struct range){i, i + 1}, name) || !is(t, i + 1, "=") ||
            !(is(t, i - 1, "*") || is(t, i - 1, "auto"))) {
            continue;
        }
        struct range from = {i + 2, i + 2};
        while (from.to < name.from && !is(t, from.to, ";") && !is(t, from.to, ",")) {
            from.to = is(t, from.to, "(") ? t->tokens[from.to].match + 1 : from.to + 1;
        }
        from = bare(t, from);
        return from.to == from.from + 1 && is_name(t, from.from) ? from : name;
    }
    return name;
}

/* Does the pointer expression `r` name the same place as the `swapped` one? */
static bool same_place(const struct translation *t, struct range r, struct range swapped,
                       const struct scope *function) {
    r = origin(t, bare(t, r), function);
    swapped = origin(t, bare(t, swapped), function);
    if (same_text(t, r, swapped)) { return true; }
    /* &a[i] and a + i */
    struct range address = is(t, r.from, "&") ? r : swapped, sum = is(t, r.from, "&") ? swapped : r;
    bool element = is(t, address.from, "&") && is(t, address.from + 2, "[") && is(t, address.to - 1, "]") &&
                   t->tokens[address.from + 2].match == address.to - 1;
    return element && is(t, sum.from + 1, "+") &&
           same_text(t, (struct range){address.from + 1, address.from + 2}, (struct range){sum.from, sum.from + 1}) &&
           same_text(t, bare(t, (struct range){address.from + 3, address.to - 1}),
                     bare(t, (struct range){sum.from + 2, sum.to}));
}

/* Is a * behind this token the * of `*pointer`, not of `a * b` or of a declaration? */
static bool is_unary_after(const struct translation *t, int before) {
    const struct token *k = &t->tokens[before];
    return k->kind == TOKEN_PUNCTUATOR ? !is(t, before, ")") && !is(t, before, "]") && !is(t, before, "*")
                                       : is(t, before, "return");
}

/* Is the expression that ends before `past` used otherwise than as a value: assigned to, indexed, called? */
static bool is_no_value(const struct translation *t, int past) {
    static const char *const words[] = {"=", "[", "(", "->", ".", "++", "--", "+=", "-=", "|=", "&=", "^=", "*="};
    for (unsigned k = 0; k < sizeof words / sizeof *words; k++) {
        if (is(t, past, words[k])) { return true; }
    }
    return false;
}

/* The operand of the unary * at `star`: a name, or what stands in parentheses. */
static struct range operand(const struct translation *t, int star) {
    int i = star + 1;
    if (is(t, i, "(") && is(t, t->tokens[i].match - 1, "*")) { i = t->tokens[i].match + 1; } /* a cast */
    int past = is(t, i, "(") ? t->tokens[i].match + 1 : is_name(t, i) ? i + 1 : star + 1;
    return (struct range){star + 1, past};
}

/* Does the swapped variable or member, `count` or `a->b.count`, stand at `i`? */
static bool is_member_or_name(const struct translation *t, int i, struct range element) {
    return same_text(t, (struct range){i, i + element.to - element.from}, element) && !is(t, i - 1, ".") &&
           !is(t, i - 1, "->") && !is(t, i - 1, "::") && !is(t, i - 1, "&") &&
           !(is_name(t, i - 1) && !is(t, i - 1, "return"));
}

static void observe(struct translation *t, struct range swapped, const struct scope *function) {
    struct range element = bare(t, swapped);
    bool has_address = is(t, element.from, "&");
    if (has_address) { element.from++; }
    for (int i = function->open + 1; i < function->close; i++) {
        if (i >= swapped.from && i < swapped.to) { continue; }
        if (is(t, i, "*") && is_unary_after(t, i - 1)) {
            struct range r = operand(t, i);
            if (r.to > r.from && !is_no_value(t, r.to) && same_place(t, r, swapped, function)) {
                edit_before(t, r.from, "simt::observed(");
                edit_after(t, r.to - 1, ")");
            }
        } else if (!strncmp(t->tokens[i].text, "__ld", 4) && is_name(t, i) && is(t, i + 1, "(") &&
                   same_place(t, (struct range){i + 2, t->tokens[i + 1].match}, swapped, function)) {
            edit_instead(t, i, "*simt::observed");
        } else if (has_address && !is(t, element.to - 1, "]") && is_member_or_name(t, i, element) &&
                   !is_no_value(t, i + element.to - element.from)) {
            int last = i + element.to - element.from - 1;
            edit_before(t, i, "(*simt::observed(&");
            edit_after(t, last, "))");
            i = last;
        } else if (is_name(t, i) && is(t, i + 1, "[") && !is(t, i - 1, ".") && !is(t, i - 1, "->") &&
                   !is(t, i - 1, "::") && !is(t, i - 1, "&") && !(is_name(t, i - 1) && !is(t, i - 1, "return"))) {
            int close = t->tokens[i + 1].match;
            struct range index = {i + 2, close}, pointer = origin(t, bare(t, swapped), function);
            bool same = has_address && same_text(t, (struct range){i, close + 1}, element);
            same |= same_text(t, origin(t, (struct range){i, i + 1}, function), pointer) && is(t, i + 2, "0") &&
                    close == i + 3;
            same |= is(t, pointer.from + 1, "+") &&
                    same_text(t, (struct range){i, i + 1}, (struct range){pointer.from, pointer.from + 1}) &&
                    same_text(t, bare(t, index), bare(t, (struct range){pointer.from + 2, pointer.to}));
            if (same && !is_no_value(t, close + 1)) {
                edit_before(t, i, "(*simt::observed(&");
                edit_after(t, close, "))");
                i = close;
            }
        }
    }
}

void translate_observed(struct translation *t) {
    for (int i = 0; i < t->count; i++) {
        if (!is_user(t, i) || !is(t, i + 1, "(") ||
            !(is(t, i, "atomicCAS") || is(t, i, "atomicCAS_block") || is(t, i, "atomicCAS_system"))) {
            continue;
        }
        int function = enclosing_function(t, t->tokens[i].scope);
        struct range pointer = {i + 2, i + 2};
        while (pointer.to < t->tokens[i + 1].match && !is(t, pointer.to, ",")) {
            bool opens = is(t, pointer.to, "(") || is(t, pointer.to, "[");
            pointer.to = opens ? t->tokens[pointer.to].match + 1 : pointer.to + 1;
        }
        if (function >= 0) { observe(t, pointer, &t->scopes[function]); }
    }
}
