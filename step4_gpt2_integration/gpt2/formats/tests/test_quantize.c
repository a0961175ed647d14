/* quantize: codes and scales, their bounds, and folders with weights in 8 bits. */
#include "gpt2/formats/quantize.h"

#include <criterion/criterion.h>
#include <math.h>

#include "gpt2/formats/hf.h"
#include "gpt2/formats/tests/damage.h"

TestSuite(quantize, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

static const enum gpt2_scheme both[] = {GPT2_INT8, GPT2_FP8};

/* ---- numbers ---- */

Test(quantize, e4m3_is_the_format_of_its_definition) {
    cr_assert_eq(gpt2_float_of_e4m3(0x7e), 448.0f);
    cr_assert_eq(gpt2_float_of_e4m3(0x01), 0x1p-9f);
    cr_assert_eq(gpt2_float_of_e4m3(0x08), 0x1p-6f);
    cr_assert_eq(gpt2_float_of_e4m3(0x38), 1.0f);
    cr_assert_eq(gpt2_float_of_e4m3(0xb9), -1.125f);
    cr_assert(isnan(gpt2_float_of_e4m3(0x7f)) && isnan(gpt2_float_of_e4m3(0xff)));
    cr_assert(gpt2_e4m3_of_float(NAN) == 0x7f && gpt2_e4m3_of_float(1e9f) == 0x7e &&
              gpt2_e4m3_of_float(-INFINITY) == 0xfe);
    for (int code = 0; code < 256; code++) {
        if ((code & 0x7f) != 0x7f) { cr_assert_eq(gpt2_e4m3_of_float(gpt2_float_of_e4m3((uint8_t)code)), code); }
    }
}

/* Between neighbours: the nearer one, and in the middle the even one. */
Test(quantize, e4m3_rounds_to_nearest_even) {
    for (int code = 0; code < 0x7e; code++) {
        const float low = gpt2_float_of_e4m3((uint8_t)code), high = gpt2_float_of_e4m3((uint8_t)(code + 1));
        const float middle = (low + high) / 2.0f;
        cr_assert_eq(gpt2_e4m3_of_float(nextafterf(middle, 0.0f)), code);
        cr_assert_eq(gpt2_e4m3_of_float(nextafterf(middle, 1e9f)), code + 1);
        cr_assert_eq(gpt2_e4m3_of_float(middle), code + code % 2);
        cr_assert_eq(gpt2_e4m3_of_float(-middle), 0x80 + code + code % 2);
    }
}

/* ---- rows ---- */

static void fill(float *row, int count, uint64_t seed, float size) {
    for (int i = 0; i < count; i++) {
        const double u = (double)(int32_t)mix(seed << 32 | (uint64_t)i) / 0x1p31;
        row[i] = size * (float)(u * u * u); /* many small ones */
    }
}

Test(quantize, the_error_of_a_weight_is_bounded) {
    enum { N = 1000 };
    static const float sizes[] = {1.0f, 3e-30f, 7e30f, 1e-42f};
    float row[N];
    uint8_t codes[N];
    for (int i = 0; i < 2 * 4 * 5; i++) {
        const enum gpt2_scheme scheme = both[i % 2];
        fill(row, N, (uint64_t)i, sizes[i / 2 % 4]);
        const double scale = (double)gpt2_quantize_row(codes, row, N, scheme);
        double largest = 0.0;
        for (int k = 0; k < N; k++) {
            const double weight = (double)row[k], decoded = (double)gpt2_code_value(scheme, codes[k]) * scale;
            const double bound = scheme == GPT2_INT8 ? scale / 2 : fmax(fabs(weight) / 16, scale * 0x1p-10);
            cr_assert(fabs(decoded - weight) <= bound * (1 + 1e-6), "%g became %g, scale %g", weight, decoded, scale);
            largest = fmax(largest, fabs((double)gpt2_code_value(scheme, codes[k])));
        }
        cr_assert(sizes[i / 2 % 4] < 1e-40f || largest == (double)gpt2_scheme_most(scheme)); /* the range is used */
    }
}

Test(quantize, representable_weights_are_exact) {
    for (int s = 0; s < 2; s++) {
        float row[256];
        uint8_t codes[256];
        int count = 0;
        for (int code = 0; code < 256; code++) {
            const float value = gpt2_code_value(both[s], (uint8_t)code);
            if (!isnan(value) && value >= -gpt2_scheme_most(both[s])) { row[count++] = value * 0.375f; }
        }
        const float scale = gpt2_quantize_row(codes, row, count, both[s]);
        cr_assert_eq(scale, 0.375f);
        for (int i = 0; i < count; i++) { cr_assert_eq(gpt2_code_value(both[s], codes[i]) * scale, row[i]); }
    }
}

Test(quantize, rows_without_a_scale) {
    float row[3] = {0.0f, -0.0f, 0.0f};
    uint8_t codes[3] = {9, 9, 9};
    for (int s = 0; s < 2; s++) {
        row[1] = -0.0f;
        cr_assert_eq(gpt2_quantize_row(codes, row, 3, both[s]), 0.0f);
        cr_assert(codes[0] == 0 && codes[1] == 0 && codes[2] == 0);
        row[1] = INFINITY;
        cr_assert(isnan(gpt2_quantize_row(codes, row, 3, both[s])));
        row[1] = NAN;
        cr_assert(isnan(gpt2_quantize_row(codes, row, 3, both[s])));
    }
}

/* ---- folders ---- */

static void write_model(const struct gpt2_config *config, enum gpt2_scheme scheme) {
    struct gpt2_source source = seeded_source(config);
    struct gpt2_quantizer quantizer;
    cr_assert(gpt2_quantizer_open(&quantizer, &source, scheme, &error), "%s", error.text);
    struct gpt2_source coded = gpt2_quantizer_source(&quantizer);
    cr_assert(gpt2_hf_write(at("hf"), &coded, GPT2_BF16, -1, &error), "%s", error.text);
    gpt2_quantizer_close(&quantizer);
}

/* A folder has the quantizer's codes and decoded weights, in both layouts. */
static void check_folder(const struct gpt2_config *config, enum gpt2_scheme scheme) {
    struct gpt2_source source = seeded_source(config);
    struct gpt2_quantizer quantizer;
    struct gpt2_weights weights;
    static float wanted[10000], got[10000], scales[2][1000];
    static uint8_t codes[2][10000];
    write_model(config, scheme);
    cr_assert(gpt2_quantizer_open(&quantizer, &source, scheme, &error), "%s", error.text);
    cr_assert(gpt2_weights_open(&weights, at("hf"), &error), "%s", error.text);
    cr_assert_eq(weights.scheme, scheme);
    struct gpt2_source made = gpt2_quantizer_source(&quantizer), read = gpt2_weights_source(&weights);
    cr_assert_eq(read.scheme, scheme);
    int in_codes = 0;
    for (int i = 0; i < GPT2_TENSORS; i++) {
        const enum gpt2_tensor tensor = (enum gpt2_tensor)i;
        const size_t count = (size_t)gpt2_tensor_elements(config, tensor),
                     rows = (size_t)gpt2_tensor_rows(config, tensor);
        for (int layer = 0; layer < gpt2_tensor_layers(config, tensor); layer++) {
            for (int layout = GPT2_OUT_IN; layout <= GPT2_IN_OUT; layout++) {
                cr_assert(made.read(made.context, tensor, layer, GPT2_F32, (enum gpt2_layout)layout, wanted, &error));
                cr_assert(read.read(read.context, tensor, layer, GPT2_F32, (enum gpt2_layout)layout, got, &error));
                cr_assert_eq(memcmp(wanted, got, count * sizeof *got), 0, "tensor %d", i);
            }
            if (!gpt2_tensor_in_codes(config, tensor)) { continue; }
            in_codes++;
            cr_assert(made.read_codes(made.context, tensor, layer, codes[0], scales[0], &error));
            cr_assert(read.read_codes(read.context, tensor, layer, codes[1], scales[1], &error));
            cr_assert_eq(memcmp(codes[0], codes[1], count), 0);
            cr_assert_eq(memcmp(scales[0], scales[1], rows * sizeof(float)), 0);
        }
    }
    cr_assert_eq(in_codes, 4 * config->layers + 1);
    gpt2_weights_close(&weights);
    gpt2_quantizer_close(&quantizer);
}

Test(quantize, a_folder_holds_codes_and_scales) {
    struct gpt2_config untied = small_config, one = small_config;
    untied.untied = true;
    one.layers = 1;
    for (int s = 0; s < 2; s++) {
        check_folder(&small_config, both[s]);
        check_folder(&untied, both[s]);
        check_folder(&one, both[s]);
    }
}

#define QKV "transformer.h.1.attn.c_attn.weight"

Test(quantize, damaged_folders_are_one_error) {
    static const struct {
        const char *tensor, *type, *rename, *says;
    } wrong[] = {
        {QKV, "F8_E4M3", NULL, "h.1.attn.c_attn.weight is fp8, and other weights are int8"},
        {QKV, "U8", NULL, "or codes: I8 or F8_E4M3"},
        {QKV "_scale", NULL, "", "h.1.attn.c_attn.weight is in 8 bits, and has no scales"},
        {QKV "_scale", "I32", NULL, "c_attn.weight_scale has to be 24 scales of type F32"},
        {QKV "_scale", NULL, "transformer.h.1.ln_1.weight_scale", "is not a tensor of a GPT-2"},
        {QKV "_scale", NULL, "h.2.attn.c_attn.weight_scale", "is there twice"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gpt2_weights weights;
        write_model(&small_config, GPT2_INT8);
        damage(wrong[i].tensor, wrong[i].type, wrong[i].rename, -1);
        cr_assert(fails_with(gpt2_weights_open(&weights, at("hf"), &error), wrong[i].says), "%d: %s", (int)i,
                  error.text);
    }
}

Test(quantize, codes_that_are_no_numbers_are_refused) {
    struct gpt2_weights weights;
    static uint8_t codes[1000];
    static float scales[100];
    write_model(&small_config, GPT2_FP8);
    damage(QKV, NULL, NULL, 0xff);
    cr_assert(gpt2_weights_open(&weights, at("hf"), &error), "%s", error.text);
    cr_assert(gpt2_weights_codes(&weights, GPT2_QKVW, 0, codes, scales, &error));
    cr_assert(fails_with(gpt2_weights_codes(&weights, GPT2_QKVW, 1, codes, scales, &error), "is not finite"));
    gpt2_weights_close(&weights);
}

/* A tied head beside the embedding has to be the same codes with the same scales. */
Test(quantize, a_tied_head_is_compared) {
    struct gpt2_weights weights;
    write_model(&small_config, GPT2_INT8);
    damage("transformer.wte.weight", NULL, "lm_head.weight", -1);
    cr_assert(fails_with(gpt2_weights_open(&weights, at("hf"), &error), "wte.weight is missing"), "%s", error.text);
    write_model(&small_config, GPT2_INT8);
    damage("transformer.h.0.mlp.c_proj.weight_scale", NULL, "lm_head.weight_scale", -1);
    cr_assert(!gpt2_weights_open(&weights, at("hf"), &error));
}

Test(quantize, weights_that_are_not_finite_are_named) {
    struct gpt2_weights weights;
    struct gpt2_quantizer quantizer;
    struct gpt2_source source = seeded_source(&small_config);
    cr_assert(gpt2_hf_write(at("plain"), &source, GPT2_F32, -1, &error), "%s", error.text);
    cr_assert(gpt2_weights_open(&weights, at("plain"), &error), "%s", error.text);
    struct gpt2_view *view = gpt2_weights_view(&weights, GPT2_FCW, 2);
    float *values = malloc((size_t)(view->rows * view->columns) * sizeof *values);
    memcpy(values, view->bytes, (size_t)(view->rows * view->columns) * sizeof *values);
    values[5] = NAN; /* row 5 of (in, out) */
    view->bytes = values;
    source = gpt2_weights_source(&weights);
    cr_assert(gpt2_quantizer_open(&quantizer, &source, GPT2_INT8, &error));
    struct gpt2_source coded = gpt2_quantizer_source(&quantizer);
    cr_assert(fails_with(gpt2_hf_write(at("out"), &coded, GPT2_F32, -1, &error),
                         "h.2.mlp.c_fc.weight: a weight of channel 5 is not finite"),
              "%s", error.text);
    cr_assert(!exists("out/model.safetensors"));
    free(values);
    gpt2_quantizer_close(&quantizer);
    gpt2_weights_close(&weights);
}
