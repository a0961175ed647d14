#include <stdlib.h>
#include <string.h>

#include "gpt2/tokenizer/internal.h"

/* "spelling" as a JSON string: of all characters in a spelling only " and \ need care. */
static bool write_json_string(struct gpt2_output *output, const char *spelling, size_t size, struct gpt2_error *error) {
    bool ok = gpt2_output_write(output, "\"", 1, error);
    for (size_t i = 0; ok && i < size; i++) {
        if (spelling[i] == '"' || spelling[i] == '\\') { ok = gpt2_output_write(output, "\\", 1, error); }
        ok = ok && gpt2_output_write(output, spelling + i, 1, error);
    }
    return ok && gpt2_output_write(output, "\"", 1, error);
}

static size_t spell_token(const struct gpt2_tokenizer *tokenizer, int id, char *spelling) {
    const struct token *token = &tokenizer->tokens[id];
    return spell_bytes(tokenizer->pool + token->offset, token->size, spelling);
}

static bool write_vocabulary(const struct gpt2_tokenizer *tokenizer, const char *path, char *spelling,
                             struct gpt2_error *error) {
    struct gpt2_output output;
    bool ok = gpt2_output_begin(&output, path, error);
    for (int id = 0; ok && id < tokenizer->count; id++) {
        char number[24];
        int length = snprintf(number, sizeof number, ": %d", id);
        ok = gpt2_output_write(&output, id == 0 ? "{" : ", ", id == 0 ? 1 : 2, error) &&
             write_json_string(&output, spelling, spell_token(tokenizer, id, spelling), error) &&
             gpt2_output_write(&output, number, (size_t)length, error);
    }
    return ok && gpt2_output_write(&output, "}\n", 2, error) && gpt2_output_commit(&output, error);
}

static bool write_merges(const struct gpt2_tokenizer *tokenizer, const char *path, char *spelling,
                         struct gpt2_error *error) {
    static const char header[] = "#version: 0.2\n";
    struct gpt2_output output;
    bool ok = gpt2_output_begin(&output, path, error) && gpt2_output_write(&output, header, strlen(header), error);
    for (int rank = 0; ok && rank < tokenizer->merge_count; rank++) {
        const struct merge *merge = &tokenizer->merges[rank];
        ok = gpt2_output_write(&output, spelling, spell_token(tokenizer, merge->left, spelling), error) &&
             gpt2_output_write(&output, " ", 1, error) &&
             gpt2_output_write(&output, spelling, spell_token(tokenizer, merge->right, spelling), error) &&
             gpt2_output_write(&output, "\n", 1, error);
    }
    return ok && gpt2_output_commit(&output, error);
}

bool gpt2_tokenizer_write_hf(const struct gpt2_tokenizer *tokenizer, const char *folder, struct gpt2_error *error) {
    char *vocabulary = gpt2_path(folder, "vocab.json"), *merges = gpt2_path(folder, "merges.txt");
    char *spelling = malloc((size_t)TOKENIZER_LONGEST_TOKEN * 2);
    bool ok = vocabulary && merges && spelling;
    if (!ok) {
        gpt2_fail(error, "%s: out of memory", folder);
    } else {
        ok = write_vocabulary(tokenizer, vocabulary, spelling, error) &&
             write_merges(tokenizer, merges, spelling, error);
    }
    free(vocabulary);
    free(merges);
    free(spelling);
    return ok;
}
