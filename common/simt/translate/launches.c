/* launches.c — k<<<grid, block, shared, stream>>>(arguments) becomes
 *     (simt::configure(grid, block, shared, stream), k(arguments))
 * The kernel may be any postfix expression: ns::k<T, (5 > 3)>, (*pointer), table[i], object.member, choose(i).
 */
#include "translate.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_three(const struct translation *t, int i, const char *angle) {
    return is(t, i, angle) && is(t, i + 1, angle) && is(t, i + 2, angle) &&
           t->tokens[i].text + 1 == t->tokens[i + 1].text;
}

static bool is_statement_word(const struct translation *t, int i) {
    static const char *const words[] = {"return", "else",   "do",   "if",        "while",
                                        "for",    "switch", "case", "co_return", "throw"};
    for (unsigned k = 0; k < sizeof words / sizeof *words; k++) {
        if (is(t, i, words[k])) { return true; }
    }
    return false;
}

/* The < that opens the template arguments which end with the > at `close`; -1 if none. */
static int open_angle(const struct translation *t, int close) {
    int depth = 0;
    for (int i = close; i >= 0; i--) {
        if (is(t, i, ")") || is(t, i, "]") || is(t, i, "}")) {
            i = t->tokens[i].match;
        } else if (is(t, i, ">")) {
            depth++;
        } else if (is(t, i, "<") && --depth == 0) {
            return i;
        } else if (is(t, i, ";") || is(t, i, "{") || is(t, i, "(") || is(t, i, "[")) {
            return -1;
        }
    }
    return -1;
}

/* The first token of the postfix expression that ends at `last`; -1 if there is none. */
static int expression_start(const struct translation *t, int last) {
    int i = last;
    for (;;) {
        while (is(t, i, "]") || is(t, i, ")")) {
            int open = t->tokens[i].match, before = open - 1;
            bool callee =
                (is_name(t, before) && !is_statement_word(t, before)) || is(t, before, "]") || is(t, before, ">");
            if (is(t, before, ")")) {
                callee =
                    !is_statement_word(t, t->tokens[before].match - 1) && !is(t, t->tokens[before].match + 1, "void");
            }
            if (is(t, i, ")") && !callee) {
                i = open;
                goto primary; /* (expression) */
            }
            i = before;
        }
        if (is(t, i, ">")) { i = open_angle(t, i) - 1; }
        if (!is_name(t, i) || is_statement_word(t, i)) { return -1; }
    primary:
        if (is(t, i - 1, "template")) { i--; }
        if (is(t, i - 1, "::")) {
            i--;
            bool qualified = (is_name(t, i - 1) && !is_statement_word(t, i - 1)) || is(t, i - 1, ">");
            if (!qualified) { return i; }
        } else if (is(t, i - 1, ".") || is(t, i - 1, "->")) {
            i--;
        } else {
            return i;
        }
        i--;
    }
}

/* The first > of the >>> that closes the configuration opened at `open`; -1 if there is none. */
static int find_close(const struct translation *t, int open) {
    for (int i = open + 3; i < t->count; i++) {
        if (is(t, i, "(") || is(t, i, "[") || is(t, i, "{")) {
            i = t->tokens[i].match;
        } else if (is(t, i, ")") || is(t, i, "]") || is(t, i, "}") || is(t, i, ";")) {
            return -1;
        } else if (is(t, i, "<") && is_name(t, i - 1) && !is(t, i + 1, "<")) {
            int past = skip_angles(t, i, t->count);
            bool arguments = past > 0 &&
                             (is(t, past, "(") || is(t, past, "{") || is(t, past, "::") || is(t, past, ",")) &&
                             !is(t, past - 3, ">");
            bool nested = past > 0 && is(t, past, "(") && is(t, past - 3, ">");
            if (nested) { /* f<W<W<int>>>(n): only if a >>> follows later on this level */
                int later = -1;
                for (int j = past; j < t->count && later < 0 && !is(t, j, ";"); j++) {
                    j = is(t, j, "(") || is(t, j, "[") || is(t, j, "{") ? t->tokens[j].match : j;
                    later = is_three(t, j, ">") ? j : -1;
                }
                arguments = later >= 0;
            }
            i = arguments ? past - 1 : i;
        } else if (is_three(t, i, ">") && !is(t, i + 3, ">")) { /* in N<4>>>>( the last three */
            return i;
        }
    }
    return -1;
}

static int count_arguments(const struct translation *t, int from, int to) {
    int count = from < to;
    for (int i = from; i < to; i++) {
        if (is(t, i, "(") || is(t, i, "[") || is(t, i, "{")) {
            i = t->tokens[i].match;
        } else if (is(t, i, "<") && is_name(t, i - 1)) {
            int past = skip_angles(t, i, to);
            i = past > 0 ? past - 1 : i;
        } else {
            count += is(t, i, ",");
        }
    }
    return count;
}

/* Removes the blanks of "ns :: k < unsigned int >" that are not needed. */
static void tighten(char *text) {
    char *to = text;
    for (const char *from = text; *from; from++) {
        bool words = from > text && isalnum((unsigned char)from[-1]) && isalnum((unsigned char)from[1]);
        if (*from != ' ' || words) { *to++ = *from; }
    }
    *to = '\0';
}

static bool check(struct translation *t, int open, int close, const char *kernel) {
    if (close < 0) { return fail(t, open, "this launch of '%s' has no closing '>>>'", kernel); }
    if (!is(t, close + 3, "(")) { return fail(t, close, "expected '(' and the arguments of '%s' after '>>>'", kernel); }
    int arguments = count_arguments(t, open + 3, close);
    if (arguments < 2 || arguments > 4) {
        return fail(
            t, open,
            "the launch of '%s' needs <<<grid, block>>> and may add shared bytes and a stream; it has %d argument%s",
            kernel, arguments, arguments == 1 ? "" : "s");
    }
    if (in_device_code(t, open)) {
        return fail(
            t, open,
            "'%s' is launched from device code: the CPU backend has no dynamic parallelism; launch it on the host",
            kernel);
    }
    return true;
}

static bool translate_one(struct translation *t, int open) {
    int start = expression_start(t, open - 1);
    if (start < 0) { return fail(t, open, "expected the name of a kernel before '<<<'"); }
    char *kernel = token_text(t, start, open - 1);
    int close = find_close(t, open);
    for (int i = start; i < open; i++) {
        edit_instead(t, i, "%s", ""); /* the kernel moves behind its configuration, which keeps its lines */
    }
    edit_instead(t, open, "((void)simt::configure(");
    edit_instead(t, open + 1, "%s", "");
    edit_instead(t, open + 2, "%s", "");
    if (close >= 0) {
        edit_instead(t, close, "), \1%d\1%s", start, kernel);
        edit_instead(t, close + 1, "%s", "");
        edit_instead(t, close + 2, "%s", "");
    }
    tighten(kernel);
    bool ok = check(t, open, close, kernel);
    if (ok) { edit_after(t, t->tokens[close + 3].match, ")"); }
    free(kernel);
    return ok;
}

bool translate_launches(struct translation *t) {
    for (int i = 0; i < t->count; i++) {
        if (is_user(t, i) && is_three(t, i, "<") && !is(t, i - 1, "operator") && !translate_one(t, i)) { return false; }
    }
    return true;
}

/* ---- kernels as arguments ---- */

/* cudaLaunchKernel((void *)k, …), cudaFuncSetAttribute((const void *)k<float>, …) and similar calls. The backend's API takes
 * kernels by their own type, because only the type has the parameters. So a cast of a whole argument to `void *` or
 * `const void *` is removed from calls of these functions. */

static bool takes_kernel(const struct translation *t, int i) {
    static const char *const prefixes[] = {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaFunc",
                                           "cudaOccupancy"};
    for (unsigned k = 0; k < sizeof prefixes / sizeof *prefixes; k++) {
        size_t length = strlen(prefixes[k]);
        if (is_name(t, i) && (size_t)t->tokens[i].length >= length &&
            memcmp(t->tokens[i].text, prefixes[k], length) == 0) {
            return is(t, i + 1, "(");
        }
    }
    return false;
}

/* Is [first, last] `void *`, with const on either side of void? */
static bool is_void_pointer(const struct translation *t, int first, int last) {
    int words = 0;
    for (int i = first; i < last; i++) {
        words += is(t, i, "void");
        if (!is(t, i, "void") && !is(t, i, "const")) { return false; }
    }
    return words == 1 && is(t, last, "*");
}

static void strip(struct translation *t, int first, int last) {
    for (int i = first; i <= last; i++) { edit_instead(t, i, "%s", ""); }
}

/* The argument of the call that starts at `i`. */
static void strip_cast(struct translation *t, int i) {
    if (is(t, i, "(")) {
        int close = t->tokens[i].match;
        if (is_void_pointer(t, i + 1, close - 1) &&
            (is_name(t, close + 1) || is(t, close + 1, "&") || is(t, close + 1, "::"))) {
            strip(t, i, close);
        }
    } else if ((is(t, i, "reinterpret_cast") || is(t, i, "static_cast")) && is(t, i + 1, "<")) {
        int past = skip_angles(t, i + 1, t->count);
        if (past > 0 && is(t, past, "(") && is_void_pointer(t, i + 2, past - 2)) {
            strip(t, i, past - 1); /* the parentheses stay */
        }
    }
}

bool translate_casts(struct translation *t) {
    for (int i = 0; i < t->count; i++) {
        if (!is_user(t, i) || !takes_kernel(t, i)) { continue; }
        bool start = true;
        for (int k = i + 2; k < t->tokens[i + 1].match; k++) {
            if (start) { strip_cast(t, k); }
            start = is(t, k, ",");
            k = is(t, k, "(") || is(t, k, "[") || is(t, k, "{") ? t->tokens[k].match : k;
        }
    }
    return true;
}
