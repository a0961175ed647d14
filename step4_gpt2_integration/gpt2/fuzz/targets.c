#include "targets.h"

#include <stdlib.h>
#include <string.h>

#include "gpt2/formats/hf.h"
#include "gpt2/formats/llmc.h"
#include "gpt2/formats/safetensors.h"
#include "gpt2/formats/tokens.h"
#include "gpt2/fuzz/seeds.h"
#include "gpt2/tokenizer/internal.h"

enum { ENOUGH = 1 << 16 /* the most bytes of text for a tokenizer */ };

/* Checks that a failure has a message. */
static bool said(bool ok) {
    fuzz_must(ok || fuzz_error.text[0] != '\0');
    return ok;
}

/* ---- weights ---- */

/* Reads all views: they must be inside the file. */
static void read_weights(const struct gpt2_weights *weights) {
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        enum gpt2_tensor t = (enum gpt2_tensor)tensor;
        size_t elements = (size_t)gpt2_tensor_elements(&weights->config, t);
        float *out = malloc(elements * sizeof *out);
        fuzz_must(out);
        for (int layer = 0; layer < gpt2_tensor_layers(&weights->config, t); layer++) {
            said(gpt2_weights_read(weights, t, layer, GPT2_F32, GPT2_OUT_IN, out, &fuzz_error));
            said(gpt2_weights_read(weights, t, layer, GPT2_F16, GPT2_IN_OUT, out, &fuzz_error));
        }
        free(out);
    }
}

/* The codes, too, and the scales of activations, which are numbers. */
static void read_codes(const struct gpt2_weights *weights) {
    const int products = weights->input_scales ? weights->config.layers * GPT2_PRODUCTS : 0;
    uint8_t codes[64];
    float scales[64];
    for (int i = 0; i < products; i++) { fuzz_must(weights->input_scales[i] > 0.0f); }
    for (int layer = 0; weights->scheme != GPT2_PLAIN && layer < weights->config.layers; layer++) {
        fuzz_must(gpt2_tensor_elements(&weights->config, GPT2_FCW) <= (int64_t)sizeof codes);
        said(gpt2_weights_codes(weights, GPT2_FCW, layer, codes, scales, &fuzz_error));
    }
}

static void run_weights(const char *path) {
    struct gpt2_weights weights;
    if (said(gpt2_weights_open(&weights, path, &fuzz_error))) {
        read_weights(&weights);
        read_codes(&weights);
    }
    gpt2_weights_close(&weights);
}

static void run_llmc(const uint8_t *bytes, size_t size) {
    run_weights(fuzz_put("in.bin", bytes, size));
}

static void run_hf_config(const uint8_t *bytes, size_t size) {
    struct gpt2_config read;
    if (said(gpt2_hf_config(&read, fuzz_put("in.json", bytes, size), &fuzz_error))) {
        fuzz_must(gpt2_config_check(&read, "", &fuzz_error) && gpt2_config_weights(&read, read.padded_vocabulary) > 0);
    }
}

static void run_safetensors(const uint8_t *bytes, size_t size) {
    struct safetensors safetensors;
    if (said(safetensors_open(&safetensors, fuzz_put("in.safetensors", bytes, size), &fuzz_error))) {
        uint64_t end = 0;
        for (int i = 0; i < safetensors.count; i++) {
            const struct safetensors_tensor *tensor = &safetensors.tensors[i];
            fuzz_must(tensor->begin == end && safetensors_find(&safetensors, tensor->name) == tensor);
            end = tensor->end;
        }
        fuzz_must(end <= size);
    }
    safetensors_close(&safetensors);
}

/* A whole file with codes. */
static void run_hf_codes(const uint8_t *bytes, size_t size) {
    fuzz_put("hf/model.safetensors", bytes, size);
    run_weights(fuzz_at("hf"));
}

/* Only the header is mutated: its length is put before it, the model's data after it. */
static void run_hf_header(const uint8_t *bytes, size_t size) {
    static const uint8_t zeros[4 << 10];
    size_t data = 4 * (size_t)gpt2_config_weights(&fuzz_config, fuzz_config.vocabulary);
    uint8_t *file = malloc(8 + size + data);
    fuzz_must(file && data <= sizeof zeros);
    for (int i = 0; i < 8; i++) { file[i] = (uint8_t)((uint64_t)size >> 8 * i); }
    if (size > 0) { memcpy(file + 8, bytes, size); }
    memcpy(file + 8 + size, zeros, data);
    fuzz_put("hf/model.safetensors", file, 8 + size + data);
    free(file);
    run_weights(fuzz_at("hf"));
}

static void run_debug_state(const uint8_t *bytes, size_t size) {
    struct gpt2_debug_state state;
    if (said(gpt2_debug_state_open(&state, fuzz_put("in.bin", bytes, size), &fuzz_config, &fuzz_error))) {
        volatile float last = state.logits[(size_t)state.B * (size_t)state.T * (size_t)fuzz_config.vocabulary - 1];
        (void)last;
        read_weights(&state.gradient);
    }
    gpt2_debug_state_close(&state);
}

static void run_tokens(const uint8_t *bytes, size_t size) {
    struct gpt2_tokens tokens;
    if (said(gpt2_tokens_open(&tokens, fuzz_put("in.bin", bytes, size), 50257, &fuzz_error))) {
        int64_t batches = gpt2_tokens_batches(&tokens, 2, 3, 2);
        for (int64_t i = 0; i < batches; i++) {
            const uint16_t *batch = gpt2_tokens_batch(&tokens, i, 2, 3, 1, 2);
            fuzz_must(batch && batch[6] < 50257);
        }
    }
    gpt2_tokens_close(&tokens);
}

/* ---- the tokenizer ---- */

/* decode must return the encoded bytes, and the stream complete characters only. Added tokens may take white space and prefix
 * blanks, so with them the bytes may differ. */
static void check_text(struct gpt2_tokenizer *tokenizer, const uint8_t *text, size_t size) {
    struct gpt2_ids ids = {0};
    struct gpt2_text back = {0}, streamed = {0};
    struct gpt2_stream stream = {0};
    fuzz_must(gpt2_tokenizer_encode(tokenizer, text, size, true, &ids, &fuzz_error));
    fuzz_must(gpt2_tokenizer_decode(tokenizer, ids.ids, ids.count, &back, &fuzz_error));
    bool exact = tokenizer_is_plain(tokenizer);
    if (exact) { fuzz_must(back.size == size && (size == 0 || memcmp(back.bytes, text, size) == 0)); }
    for (size_t i = 0; i < ids.count; i++) {
        fuzz_must(gpt2_stream_push(&stream, tokenizer, ids.ids[i], &streamed, &fuzz_error));
    }
    fuzz_must(gpt2_stream_end(&stream, &streamed, &fuzz_error));
    fuzz_must(streamed.size == 0 || utf8_valid((const uint8_t *)streamed.bytes, streamed.size) == streamed.size);
    if (exact && utf8_valid(text, size) == size) {
        fuzz_must(streamed.size == size && (size == 0 || !memcmp(streamed.bytes, text, size)));
    }
    gpt2_ids_free(&ids);
    gpt2_text_free(&back);
    gpt2_text_free(&streamed);
}

static void run_tokenizer(const char *path) {
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open(path, &fuzz_error);
    if (said(tokenizer != NULL)) { check_text(tokenizer, (const uint8_t *)fuzz_lesson, strlen(fuzz_lesson)); }
    gpt2_tokenizer_close(tokenizer);
}

static void run_vocabulary(const uint8_t *bytes, size_t size) {
    fuzz_put("v/vocab.json", bytes, size);
    run_tokenizer(fuzz_at("v"));
}

static void run_merges(const uint8_t *bytes, size_t size) {
    fuzz_put("m/merges.txt", bytes, size);
    run_tokenizer(fuzz_at("m"));
}

static void run_tokenizer_json(const uint8_t *bytes, size_t size) {
    fuzz_put("j/tokenizer.json", bytes, size);
    run_tokenizer(fuzz_at("j"));
}

/* A folder whose tokenizer.json, settings and lists of tokens are read together; one of them is mutated. */
static void run_settings(const uint8_t *bytes, size_t size) {
    fuzz_put("s/tokenizer_config.json", bytes, size);
    run_tokenizer(fuzz_at("s"));
}

static void run_special_map(const uint8_t *bytes, size_t size) {
    fuzz_put("p/special_tokens_map.json", bytes, size);
    run_tokenizer(fuzz_at("p"));
}

static void run_added_tokens(const uint8_t *bytes, size_t size) {
    fuzz_put("a/added_tokens.json", bytes, size);
    run_tokenizer(fuzz_at("a"));
}

static void run_hf_index(const uint8_t *bytes, size_t size) {
    fuzz_put("parts/model.safetensors.index.json", bytes, size);
    run_weights(fuzz_at("parts"));
}

static void run_stops(const uint8_t *bytes, size_t size) {
    struct gpt2_stops stops = {.given = false};
    if (said(gpt2_hf_stops(&stops, fuzz_put("in.json", bytes, size), &fuzz_error))) {
        fuzz_must(stops.count >= 0 && stops.count <= GPT2_MOST_STOPS && (stops.given || stops.count == 0));
    }
}

static void run_llmc_tokenizer(const uint8_t *bytes, size_t size) {
    run_tokenizer(fuzz_put("in.bin", bytes, size));
}

/* A learned tokenizer must be the same after a file without merges. */
static void check_merges_follow(const struct gpt2_tokenizer *tokenizer) {
    fuzz_must(gpt2_tokenizer_write_llmc(tokenizer, fuzz_at("learned.bin"), &fuzz_error));
    struct gpt2_tokenizer *again = gpt2_tokenizer_open(fuzz_at("learned.bin"), &fuzz_error);
    fuzz_must(again && again->merge_count == tokenizer->merge_count);
    fuzz_must(again->merge_count == 0 ||
              memcmp(again->merges, tokenizer->merges, (size_t)again->merge_count * sizeof *again->merges) == 0);
    gpt2_tokenizer_close(again);
}

/* Text: encoding with the learned vocabulary, both ways of merging it as one pre-token, and learning from it. */
static void run_text(const uint8_t *bytes, size_t size) {
    struct gpt2_ids scanned = {0}, heaped = {0};
    size_t pretoken = size < 512 ? size : 512;
    if (size > ENOUGH) { size = ENOUGH; }
    check_text(fuzz_learned, bytes, size);
    fuzz_must(merge_by_scan(fuzz_learned, bytes, pretoken, &scanned, &fuzz_error) &&
              merge_by_heap(fuzz_learned, bytes, pretoken, &heaped, &fuzz_error));
    fuzz_must(scanned.count == heaped.count);
    fuzz_must(pretoken == 0 || memcmp(scanned.ids, heaped.ids, scanned.count * sizeof *scanned.ids) == 0);
    gpt2_ids_free(&scanned);
    gpt2_ids_free(&heaped);
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(bytes, size, 300, 2, &fuzz_error);
    fuzz_must(tokenizer != NULL);
    check_text(tokenizer, bytes, size);
    check_merges_follow(tokenizer);
    gpt2_tokenizer_close(tokenizer);
}

const struct fuzz_target fuzz_targets[] = {
    {"safetensors", run_safetensors, "seed/model.safetensors", 0},
    {"hf_header", run_hf_header, "seed/model.safetensors", 8},
    {"hf_codes", run_hf_codes, "coded/model.safetensors", 0},
    {"hf_config", run_hf_config, "seed/config.json", 0},
    {"llmc", run_llmc, "seed.bin", 0},
    {"debug_state", run_debug_state, "state.bin", 0},
    {"tokens", run_tokens, "tokens.bin", 0},
    {"vocabulary", run_vocabulary, "m/vocab.json", 0},
    {"merges", run_merges, "v/merges.txt", 0},
    {"tokenizer_json", run_tokenizer_json, "tokenizer.json", 0},
    {"tokenizer_config", run_settings, "tokenizer_config.json", 0},
    {"special_tokens_map", run_special_map, "special_tokens_map.json", 0},
    {"added_tokens", run_added_tokens, "added_tokens.json", 0},
    {"hf_index", run_hf_index, "index.json", 0},
    {"generation_config", run_stops, "generation_config.json", 0},
    {"llmc_tokenizer", run_llmc_tokenizer, "tokenizer.bin", 0},
    {"text", run_text, "text", 0},
    {0},
};
