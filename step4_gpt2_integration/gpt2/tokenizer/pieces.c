/* pieces.c — GPT-2's regular expression, which cuts text into words before anything is merged.
 *
 * The pattern is that of GPT-2 but for the blanks. \s there is Unicode's White_Space, while PCRE2's also takes U+180E, which
 * has been none since Unicode 6.3; so the class is spelled out. Letters and numbers are those of the Unicode that the
 * installed PCRE2 knows.
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
    "|[" BLANK "]+(?![^" BLANK "])" /* blanks but the last one, which goes with the next word */
    "|[" BLANK "]+";

struct pieces {
    pcre2_code *code;
    pcre2_match_data *match;
    bool compiled;
};

struct pieces *pieces_new(bool compile, struct gpt2_error *error) {
    struct pieces *pieces = calloc(1, sizeof *pieces);
    int problem = 0;
    PCRE2_SIZE offset = 0;
    if (!pieces) {
        gpt2_fail(error, "the tokenizer: out of memory");
        return NULL;
    }
    pieces->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED,
                                 &problem, &offset, NULL);
    pieces->match = pieces->code ? pcre2_match_data_create(1, NULL) : NULL;
    if (!pieces->match) {
        gpt2_fail(error, "the tokenizer: PCRE2 refuses GPT-2's pattern (error %d at %zu): has it no Unicode?", problem,
                  (size_t)offset);
        pieces_free(pieces);
        return NULL;
    }
    pieces->compiled = compile && pcre2_jit_compile(pieces->code, PCRE2_JIT_COMPLETE) == 0;
    return pieces;
}

void pieces_free(struct pieces *pieces) {
    if (!pieces) { return; }
    pcre2_match_data_free(pieces->match);
    pcre2_code_free(pieces->code);
    free(pieces);
}

bool pieces_compiled(const struct pieces *pieces) {
    return pieces->compiled;
}

size_t piece_end(struct pieces *pieces, const uint8_t *text, size_t size, size_t at, struct gpt2_error *error) {
    int result = PCRE2_ERROR_JIT_STACKLIMIT;
    if (pieces->compiled) { result = pcre2_jit_match(pieces->code, text, size, at, 0, pieces->match, NULL); }
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
        result = pcre2_match(pieces->code, text, size, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, pieces->match, NULL);
    }
    size_t end = result > 0 ? pcre2_get_ovector_pointer(pieces->match)[1] : 0;
    if (end > at) { return end; }
    gpt2_fail(error, "the tokenizer: PCRE2 gave up at byte %zu of the text: error %d", at, result);
    return 0;
}

bool each_piece(struct pieces *pieces, const uint8_t *text, size_t size,
                bool (*visit)(void *context, const uint8_t *piece, size_t size, struct gpt2_error *error),
                void *context, struct gpt2_error *error) {
    while (size > 0) {
        size_t valid = utf8_valid(text, size);
        for (size_t at = 0; at < valid;) {
            size_t end = piece_end(pieces, text, valid, at, error);
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
