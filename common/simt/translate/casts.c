/* casts.c — cudaLaunchKernel((void *)k, …), cudaFuncSetAttribute((const void *)k<float>, …) and their like.
 *
 * The backend's API takes kernels by their own type, because only the type tells the parameters. So a cast of a whole
 * argument to `void *` or `const void *` is taken out of calls of these functions.
 */
#include "translate.h"

#include <string.h>

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

/* Whether [first, last] spells `void *` with const on either side of void. */
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
