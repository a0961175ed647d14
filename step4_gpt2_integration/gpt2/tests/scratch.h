/* scratch.h — for the tests: a folder of their own, files in it, and small models of seeded numbers. */
#ifndef GPT2_TESTS_SCRATCH_H
#define GPT2_TESTS_SCRATCH_H

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpt2/formats/weights.h"

static char scratch[64];
static struct gpt2_error error;

static inline int scratch_remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static inline void scratch_make(void) {
    strcpy(scratch, "/tmp/gpt2.XXXXXX");
    cr_assert(mkdtemp(scratch));
}

static inline void scratch_remove(void) {
    nftw(scratch, scratch_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A path in the folder; valid for the next seven calls. */
static inline char *at(const char *name) {
    static char paths[8][256];
    static int last;
    char *path = paths[last++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline void put(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(at(name), "wb");
    cr_assert(file, "%s", at(name));
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static inline void put_text(const char *name, const char *text) {
    put(name, text, strlen(text));
}

/* The whole file; the caller frees it. */
static inline uint8_t *get(const char *name, size_t *size) {
    FILE *file = fopen(at(name), "rb");
    cr_assert(file, "%s", at(name));
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    cr_assert_eq(fread(bytes, 1, *size, file), *size);
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

static inline bool same_file(const char *a, const char *b) {
    size_t a_size, b_size;
    uint8_t *x = get(a, &a_size), *y = get(b, &b_size);
    bool same = a_size == b_size && memcmp(x, y, a_size) == 0;
    free(x);
    free(y);
    return same;
}

static inline bool exists(const char *name) {
    return access(at(name), F_OK) == 0;
}

/* The number of files in the folder, including leftovers of failures. */
static int scratch_entries;
static inline int scratch_count_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)path, (void)status, (void)walk;
    scratch_entries += kind == FTW_F;
    return 0;
}

static inline int count_files(void) {
    scratch_entries = 0;
    nftw(scratch, scratch_count_entry, 16, FTW_PHYS);
    return scratch_entries;
}

/* Did it fail with a message that contains this text? */
#define fails_with(call, part) (!(call) && strstr(error.text, (part)))

/* ---- models ---- */

static const struct gpt2_config small_config = {.max_tokens = 6,
                                                .vocabulary = 300,
                                                .padded_vocabulary = 384,
                                                .layers = 3,
                                                .heads = 2,
                                                .channels = 8,
                                                .epsilon = 1e-5f};

static inline uint32_t mix(uint64_t z) {
    return (uint32_t)(gpt2_mix(z) >> 32);
}

/* Element i (row-major of rows and columns) of a tensor of the seeded model: in -2..2, exact in all three types. */
static inline float seeded(enum gpt2_tensor tensor, int layer, int64_t i) {
    uint32_t bits = mix((uint64_t)tensor << 56 | (uint64_t)layer << 40 | (uint64_t)i);
    return (float)((int)(bits % 257) - 128) / 64.0f;
}

static inline bool seeded_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                               enum gpt2_layout layout, void *out, struct gpt2_error *problem) {
    const struct gpt2_config *config = context;
    (void)problem;
    int64_t rows = gpt2_tensor_rows(config, tensor), columns = gpt2_tensor_columns(config, tensor);
    float *values = malloc((size_t)(rows * columns) * sizeof *values);
    for (int64_t i = 0; i < rows * columns; i++) { values[i] = seeded(tensor, layer, i); }
    struct gpt2_view view = {
        .bytes = values, .type = GPT2_F32, .layout = GPT2_OUT_IN, .rows = rows, .columns = columns};
    gpt2_view_read(&view, type, gpt2_tensor_is_linear(tensor) ? layout : GPT2_OUT_IN, out);
    free(values);
    return true;
}

static inline struct gpt2_source seeded_source(const struct gpt2_config *config) {
    return (struct gpt2_source){.config = *config, .read = seeded_read, .context = (void *)(uintptr_t)config};
}

/* Does every tensor hold the seeded numbers, read in every type and both layouts? */
static inline void check_seeded(const struct gpt2_weights *weights) {
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        enum gpt2_tensor t = (enum gpt2_tensor)tensor;
        int64_t rows = gpt2_tensor_rows(&weights->config, t), columns = gpt2_tensor_columns(&weights->config, t);
        float *values = malloc((size_t)(rows * columns) * sizeof *values);
        uint16_t *halves = malloc((size_t)(rows * columns) * sizeof *halves);
        for (int layer = 0; layer < gpt2_tensor_layers(&weights->config, t); layer++) {
            for (int by_in = 0; by_in < 2; by_in++) {
                enum gpt2_layout layout = by_in ? GPT2_IN_OUT : GPT2_OUT_IN;
                bool turned = by_in && gpt2_tensor_is_linear(t);
                cr_assert(gpt2_weights_read(weights, t, layer, GPT2_F32, layout, values, &error), "%s", error.text);
                cr_assert(gpt2_weights_read(weights, t, layer, GPT2_F16, layout, halves, &error), "%s", error.text);
                for (int64_t i = 0; i < rows * columns; i++) {
                    int64_t place = turned ? i % columns * rows + i / columns : i;
                    float expected = seeded(t, layer, i);
                    cr_assert(values[place] == expected && gpt2_float_of_f16(halves[place]) == expected,
                              "tensor %d layer %d element %lld", tensor, layer, (long long)i);
                }
            }
        }
        free(values);
        free(halves);
    }
}

#endif
