/* words.c — CUDA's words that are left: most vanish, some have a meaning for g++.
 *
 * They are no macros, because the C++ library spells __attribute__((__noinline__)).
 */
#include "translate.h"

static const struct {
    const char *word, *instead;
    bool with_group; /* takes a (group) along */
} words[] = {
    {"__global__", "", false},
    {"__device__", "", false},
    {"__host__", "", false},
    {"__constant__", "", false},
    {"__managed__", "", false},
    {"__grid_constant__", "", false},
    {"__nv_pure__", "", false},
    {"__inline_hint__", "", false},
    {"__noinline__", "__attribute__((noinline))", false},
    {"__forceinline__", "inline __attribute__((always_inline))", false},
    {"__launch_bounds__", "", true},
    {"__maxnreg__", "", true},
};

static bool translate_word(struct translation *t, int i) {
    for (unsigned w = 0; w < sizeof words / sizeof *words; w++) {
        if (!is(t, i, words[w].word) || t->tokens[i].instead) { continue; }
        if (is(t, i, "__noinline__") && (is(t, i - 1, "(") || is(t, i - 1, ","))) {
            return true; /* __attribute__((__noinline__)) */
        }
        edit_instead(t, i, "%s", words[w].instead);
        if (words[w].with_group) {
            if (!is(t, i + 1, "(")) { return fail(t, i, "expected '(' after %s", words[w].word); }
            for (int k = i + 1; k <= t->tokens[i + 1].match; k++) { edit_instead(t, k, "%s", ""); }
        }
    }
    return true;
}

bool translate_words(struct translation *t) {
    for (int i = 0; i < t->count; i++) {
        if (t->tokens[i].kind == TOKEN_NAME && t->tokens[i].length > 6 && t->tokens[i].text[0] == '_' &&
            !translate_word(t, i)) {
            return false;
        }
    }
    return true;
}
