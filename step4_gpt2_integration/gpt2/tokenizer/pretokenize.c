/* pretokenize.c — GPT-2's regular expression, which splits a text into pre-tokens, mostly words.
 *
 * The pattern is that of GPT-2, except for white space. There \s is Unicode's White_Space. PCRE2's \s also includes U+180E, which
 * Unicode removed in version 6.3, so the class is spelled out. Letters and numbers depend on the Unicode version of the installed
 * PCRE2.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "gpt2/tokenizer/internal.h"

#define BLANK "\\t-\\r\\x{85}\\p{Z}"

static const char pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d"
    "| ?\\p{L}+"
    "| ?\\p{N}+"
    "| ?[^" BLANK "\\p{L}\\p{N}]+"
    "|[" BLANK "]+(?![^" BLANK "])" /* white space except the last character, which belongs to the next word */
    "|[" BLANK "]+";

struct pretokenizer {
    pcre2_code *code;
    pcre2_match_data *match;
    bool compiled;
};

struct pretokenizer *pretokenizer_new(bool compile, struct gpt2_error *error) {
    struct pretokenizer *pretokenizer = calloc(1, sizeof *pretokenizer);
    int problem = 0;
    PCRE2_SIZE offset = 0;
    if (!pretokenizer) {
        gpt2_fail(error, "the tokenizer: out of memory");
        return NULL;
    }
    pretokenizer->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                       PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &problem, &offset, NULL);
    pretokenizer->match = pretokenizer->code ? pcre2_match_data_create(1, NULL) : NULL;
    if (!pretokenizer->match) {
        gpt2_fail(error,
                  "the tokenizer: PCRE2 refuses GPT-2's pattern (error %d at %zu): was it built without Unicode?",
                  problem, (size_t)offset);
        pretokenizer_free(pretokenizer);
        return NULL;
    }
    pretokenizer->compiled = compile && pcre2_jit_compile(pretokenizer->code, PCRE2_JIT_COMPLETE) == 0;
    return pretokenizer;
}

void pretokenizer_free(struct pretokenizer *pretokenizer) {
    if (!pretokenizer) { return; }
    pcre2_match_data_free(pretokenizer->match);
    pcre2_code_free(pretokenizer->code);
    free(pretokenizer);
}

bool pretokenizer_compiled(const struct pretokenizer *pretokenizer) {
    return pretokenizer->compiled;
}

size_t pretoken_end(struct pretokenizer *pretokenizer, const uint8_t *text, size_t size, size_t at,
                    struct gpt2_error *error) {
    int result = PCRE2_ERROR_JIT_STACKLIMIT;
    if (pretokenizer->compiled) {
        result = pcre2_jit_match(pretokenizer->code, text, size, at, 0, pretokenizer->match, NULL);
    }
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
        result = pcre2_match(pretokenizer->code, text, size, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, pretokenizer->match,
                             NULL);
    }
    size_t end = result > 0 ? pcre2_get_ovector_pointer(pretokenizer->match)[1] : 0;
    if (end > at) { return end; }
    gpt2_fail(error, "the tokenizer: PCRE2 failed at byte %zu of the text: error %d", at, result);
    return 0;
}

bool each_pretoken(struct pretokenizer *pretokenizer, const uint8_t *text, size_t size,
                   bool (*visit)(void *context, const uint8_t *pretoken, size_t size, struct gpt2_error *error),
                   void *context, struct gpt2_error *error) {
    while (size > 0) {
        size_t valid = utf8_valid(text, size);
        for (size_t at = 0; at < valid;) {
            size_t end = pretoken_end(pretokenizer, text, valid, at, error);
            if (end == 0 || !visit(context, text + at, end - at, error)) { return false; }
            at = end;
        }
        text += valid, size -= valid;
        size_t invalid = 0;
        while (invalid < size) {
            int length = utf8_sequence(text + invalid, size - invalid);
            if (length > 0) { break; }
            invalid += length < 0 ? (size_t)-length : size - invalid;
        }
        if (invalid > 0 && !visit(context, text, invalid, error)) { return false; }
        text += invalid, size -= invalid;
    }
    return true;
}
