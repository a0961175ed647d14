#include "gpt2/train/data.h"

#include "gpt2/train/initial.h"

static int32_t token_at(const struct gpt2_data *data, int64_t i) {
    return data->ids.ids != NULL ? data->ids.ids[i] : (int32_t)data->tokens.ids[i];
}

static bool read_tokens(struct gpt2_data *data, const char *path, struct gpt2_tokenizer *tokenizer, int vocabulary,
                        struct gpt2_error *error) {
    struct gpt2_file file;
    if (!gpt2_file_open(&file, path, error)) { return false; }
    bool tokens, good = gpt2_tokens_or_text(&file, &tokens, error);
    if (good && tokens) {
        good = gpt2_tokens_open(&data->tokens, path, vocabulary, error);
        data->count = data->tokens.count;
    } else if (good) {
        good = gpt2_tokenizer_encode(tokenizer, file.bytes, file.size, true, &data->ids, error);
        data->count = (int64_t)data->ids.count;
    }
    gpt2_file_close(&file);
    return good;
}

bool gpt2_data_open(struct gpt2_data *data, const char *path, struct gpt2_tokenizer *tokenizer, int vocabulary, int T,
                    struct gpt2_error *error) {
    *data = (struct gpt2_data){.count = 0};
    bool good = read_tokens(data, path, tokenizer, vocabulary, error);
    if (good && data->count < T + 1) {
        good = gpt2_fail(error, "%s: %lld tokens, where a window of --length %d needs %d", path, (long long)data->count,
                         T, T + 1);
    }
    data->hash = 14695981039346656037u; /* FNV-1a */
    for (int64_t i = 0; good && i < data->count; i++) {
        data->hash = (data->hash ^ (uint64_t)token_at(data, i)) * 1099511628211u;
    }
    if (!good) { gpt2_data_close(data); }
    return good;
}

void gpt2_data_close(struct gpt2_data *data) {
    gpt2_tokens_close(&data->tokens);
    gpt2_ids_free(&data->ids);
    *data = (struct gpt2_data){.count = 0};
}

int64_t gpt2_data_windows(const struct gpt2_data *data, int T) {
    return (data->count - 1) / T;
}

/* A Feistel network permutes the numbers of 2h bits. A result of `count` or more is permuted again, until it is less. So the
 * order needs no table. */
int64_t gpt2_data_shuffled(int64_t index, int64_t count, uint64_t seed, int64_t epoch) {
    int half = 1;
    while (((int64_t)1 << 2 * half) < count) { half++; }
    const uint64_t mask = ((uint64_t)1 << half) - 1, key = gpt2_mix(gpt2_mix(seed) ^ (uint64_t)epoch);
    uint64_t at = (uint64_t)index;
    do {
        uint64_t left = at >> half, right = at & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t next = left ^ (gpt2_mix(key ^ (round << 60 | right)) & mask);
            left = right;
            right = next;
        }
        at = left << half | right;
    } while ((int64_t)at >= count);
    return (int64_t)at;
}

void gpt2_data_batch(const struct gpt2_data *data, int64_t taken, uint64_t seed, bool shuffled, int B, int T,
                     int32_t *tokens, int32_t *targets) {
    int64_t windows = gpt2_data_windows(data, T);
    for (int b = 0; b < B; b++, taken++) {
        int64_t window = taken % windows;
        if (shuffled) { window = gpt2_data_shuffled(window, windows, seed, taken / windows); }
        for (int t = 0; t < T; t++) {
            tokens[b * T + t] = token_at(data, window * T + t);
            targets[b * T + t] = token_at(data, window * T + t + 1);
        }
    }
}
