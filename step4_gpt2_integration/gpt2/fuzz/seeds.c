#include "seeds.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpt2/formats/hf.h"
#include "gpt2/formats/llmc.h"
#include "gpt2/formats/quantize.h"
#include "gpt2/formats/safetensors.h"
#include "gpt2/formats/tokens.h"
#include "gpt2/fuzz/targets.h"

const struct gpt2_config fuzz_config = {
    .max_tokens = 2, .vocabulary = 5, .padded_vocabulary = 8, .layers = 2, .heads = 1, .channels = 2, .epsilon = 1e-5f};
const char fuzz_lesson[] = "the cat's \"mat\" is 12 the cats' mats; na\xc3\xafve\\ \xe6\x97\xa5 the \n\n the";
struct gpt2_tokenizer *fuzz_learned;
struct gpt2_error fuzz_error;
static char scratch[64];

void fuzz_must(bool ok) {
    if (ok) { return; }
    fprintf(stderr, "a check of the fuzz target failed; the last message was: %s\n", fuzz_error.text);
    abort();
}

const char *fuzz_at(const char *name) {
    static char paths[4][160];
    static int last;
    char *path = paths[last++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

const char *fuzz_put(const char *name, const void *bytes, size_t size) {
    int file = open(fuzz_at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    fuzz_must(file >= 0 && (size == 0 || write(file, bytes, size) == (ssize_t)size));
    close(file);
    fuzz_error.text[0] = '\0';
    return fuzz_at(name);
}

static bool read_zeros(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                       void *out, struct gpt2_error *problem) {
    (void)context, (void)layer, (void)layout, (void)problem;
    memset(out, 0, (size_t)gpt2_tensor_elements(&fuzz_config, tensor) * gpt2_type_bytes(type));
    return true;
}

static uint8_t *get(const char *name, size_t *size) {
    struct gpt2_file file;
    fuzz_must(gpt2_file_open(&file, fuzz_at(name), &fuzz_error));
    uint8_t *bytes = calloc(1, file.size + 1);
    fuzz_must(bytes);
    memcpy(bytes, file.bytes, *size = file.size);
    gpt2_file_close(&file);
    return bytes;
}

static void make_models(void) {
    static const int32_t x[4] = {0, 1, 2, 3}, ids[30] = {50256, 1, 2, 3};
    static const float logits[4 * 5];
    struct gpt2_source source = {.config = fuzz_config, .read = read_zeros};
    struct gpt2_debug_state state = {.B = 2, .T = 2, .x = x, .y = x, .logits = logits, .loss = 1};
    fuzz_must(gpt2_hf_write(fuzz_at("seed"), &source, GPT2_F32, -1, &fuzz_error) &&
              gpt2_hf_write(fuzz_at("hf"), &source, GPT2_F32, -1, &fuzz_error));
    fuzz_must(gpt2_llmc_write(fuzz_at("seed.bin"), &source, GPT2_F32, &fuzz_error));
    fuzz_must(gpt2_debug_state_write(fuzz_at("state.bin"), &state, &source, &fuzz_error));
    fuzz_must(gpt2_tokens_write(fuzz_at("tokens.bin"), ids, 30, &fuzz_error));
}

/* The model with weights and activations in 8 bits. */
static void make_codes(void) {
    struct gpt2_source source = {.config = fuzz_config, .read = read_zeros};
    struct gpt2_quantizer quantizer;
    float scales[2 * GPT2_PRODUCTS];
    for (int i = 0; i < 2 * GPT2_PRODUCTS; i++) { scales[i] = 1.0f; }
    fuzz_must(gpt2_quantizer_open(&quantizer, &source, GPT2_FP8, &fuzz_error));
    quantizer.input_scales = scales;
    struct gpt2_source coded = gpt2_quantizer_source(&quantizer);
    fuzz_must(gpt2_hf_write(fuzz_at("coded"), &coded, GPT2_F32, -1, &fuzz_error));
    gpt2_quantizer_close(&quantizer);
}

/* The model again, in a file that an index names. */
static void make_parts(void) {
    struct safetensors model;
    char index[4096], *at = index, *end = index + sizeof index;
    size_t size;
    uint8_t *bytes = get("seed/model.safetensors", &size);
    fuzz_must(mkdir(fuzz_at("parts"), 0777) == 0);
    fuzz_put("parts/model-1.safetensors", bytes, size);
    free(bytes);
    bytes = get("seed/config.json", &size);
    fuzz_put("parts/config.json", bytes, size);
    free(bytes);
    fuzz_must(safetensors_open(&model, fuzz_at("seed/model.safetensors"), &fuzz_error));
    at += snprintf(at, (size_t)(end - at), "{\"metadata\":{},\"weight_map\":{");
    for (int i = 0; i < model.count; i++) {
        at += snprintf(at, (size_t)(end - at), "%s\"%s\":\"model-1.safetensors\"", i ? "," : "", model.tensors[i].name);
    }
    at += snprintf(at, (size_t)(end - at), "}}");
    fuzz_must(at < end);
    safetensors_close(&model);
    fuzz_put("index.json", index, (size_t)(at - index));
    static const char generation[] = "{\"eos_token_id\": [4, 50256], \"bos_token_id\": 4}";
    fuzz_put("generation_config.json", generation, strlen(generation));
}

/* Folders with all files of a tokenizer but one, which a target mutates. */
static void make_settings(void) {
    static const char settings[] =
        "{\"tokenizer_class\":\"GPT2Tokenizer\",\"add_prefix_space\":true,\"pad_token\":\"<pad>\",\"image_token\":\"<i>"
        "\","
        "\"bos_token\":{\"__type\":\"AddedToken\",\"content\":\"the\",\"lstrip\":true,\"normalized\":true},"
        "\"extra_special_tokens\":[\"mat\"],\"added_tokens_decoder\":{\"289\":{\"content\":\" cat\",\"rstrip\":true,"
        "\"special\":false},\"290\":{\"content\":\"<pad>\",\"special\":true,\"single_word\":false}}}";
    static const char map[] =
        "{\"bos_token\":{\"content\":\"is\",\"lstrip\":true,\"rstrip\":false,\"normalized\":true},"
        "\"additional_special_tokens\":[\"cat\"],\"pad_token\":\"<pad>\"}";
    static const char added[] = "{\"mats\":290,\"<pad>\":291,\"the \":292}";
    static const char *const folders[] = {"s", "p", "a"};
    for (int i = 0; i < 3; i++) {
        char name[64];
        fuzz_must(mkdir(fuzz_at(folders[i]), 0777) == 0 &&
                  gpt2_tokenizer_write_hf(fuzz_learned, fuzz_at(folders[i]), &fuzz_error));
        snprintf(name, sizeof name, "%s/special_tokens_map.json", folders[i]);
        if (i != 1) { fuzz_put(name, map, strlen(map)); }
        snprintf(name, sizeof name, "%s/added_tokens.json", folders[i]);
        if (i != 2) { fuzz_put(name, added, strlen(added)); }
    }
    fuzz_put("tokenizer_config.json", settings, strlen(settings));
    fuzz_put("special_tokens_map.json", map, strlen(map));
    fuzz_put("added_tokens.json", added, strlen(added));
}

static void make_tokenizers(void) {
    static const char start[] =
        "{\"added_tokens\":[{\"id\":0,\"content\":\"<|endoftext|>\"}],\"pre_tokenizer\":{\"type\":"
        "\"ByteLevel\",\"add_prefix_space\":false},\"model\":{\"type\":\"BPE\",\"merges\":[\"t h\","
        "[\"\\u0120\",\"th\"]],\"vocab\":";
    size_t size;
    fuzz_learned = gpt2_tokenizer_train(fuzz_lesson, strlen(fuzz_lesson), 290, 2, &fuzz_error);
    fuzz_must(fuzz_learned && mkdir(fuzz_at("v"), 0777) == 0 && mkdir(fuzz_at("m"), 0777) == 0 &&
              mkdir(fuzz_at("j"), 0777) == 0);
    fuzz_must(gpt2_tokenizer_write_hf(fuzz_learned, fuzz_at("v"), &fuzz_error) &&
              gpt2_tokenizer_write_hf(fuzz_learned, fuzz_at("m"), &fuzz_error));
    fuzz_must(gpt2_tokenizer_write_llmc(fuzz_learned, fuzz_at("tokenizer.bin"), &fuzz_error));
    uint8_t *vocabulary = get("v/vocab.json", &size);
    char *json = malloc(strlen(start) + size + 3);
    fuzz_must(json);
    sprintf(json, "%s%s}}", start, (char *)vocabulary);
    fuzz_put("tokenizer.json", (uint8_t *)json, strlen(json));
    fuzz_put("text", (const uint8_t *)fuzz_lesson, strlen(fuzz_lesson));
    free(json);
    free(vocabulary);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void end(void) {
    gpt2_tokenizer_close(fuzz_learned);
    nftw(scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void fuzz_begin(void) {
    strcpy(scratch, access("/dev/shm", W_OK) == 0 ? "/dev/shm/gpt2_fuzz.XXXXXX" : "/tmp/gpt2_fuzz.XXXXXX");
    fuzz_must(mkdtemp(scratch) != NULL);
    atexit(end);
    make_models();
    make_codes();
    make_parts();
    make_tokenizers();
    make_settings();
}

uint8_t *fuzz_seed(const struct fuzz_target *target, size_t *size) {
    uint8_t *bytes = get(target->seed, size);
    if (target->skip == 0) { return bytes; }
    uint64_t header = 0; /* of safetensors: only that */
    memcpy(&header, bytes, sizeof header);
    memmove(bytes, bytes + target->skip, *size = header);
    return bytes;
}
