/* calibrate: scales by each method, smoothed weights, and folders with scales of activations. */
#include "gpt2/formats/calibrate.h"

#include <criterion/criterion.h>
#include <math.h>

#include "gpt2/formats/hf.h"
#include "gpt2/formats/quantize.h"
#include "gpt2/formats/tests/damage.h"

TestSuite(calibrate, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

enum { LAYERS = 2, C = 16, MOST = 3 * C * C };
static const struct gpt2_config config = {.max_tokens = 8,
                                          .vocabulary = 20,
                                          .padded_vocabulary = 20,
                                          .layers = LAYERS,
                                          .heads = 2,
                                          .channels = C,
                                          .epsilon = 1e-5f};

static struct gpt2_calibration opened(void) {
    struct gpt2_calibration calibration;
    cr_assert(gpt2_calibration_open(&calibration, &config, &error), "%s", error.text);
    return calibration;
}

static float scale_of(const struct gpt2_calibration *calibration, enum gpt2_calibration_method method, int layer,
                      int product) {
    float scales[LAYERS * GPT2_PRODUCTS];
    gpt2_calibration_scales(calibration, method, GPT2_INT8, scales);
    return scales[layer * GPT2_PRODUCTS + product];
}

Test(calibrate, names) {
    for (int i = 0; i < GPT2_CALIBRATION_METHODS; i++) {
        enum gpt2_calibration_method found;
        cr_assert(gpt2_calibration_find(gpt2_calibration_name((enum gpt2_calibration_method)i), &found));
        cr_assert_eq(found, i);
    }
    enum gpt2_calibration_method other;
    cr_assert(!gpt2_calibration_find("mean", &other));
}

/* 20000 values of at most 1 and one of 50: absmax has the one, the percentile does not. */
Test(calibrate, the_percentile_leaves_out_the_largest_values) {
    struct gpt2_calibration calibration = opened();
    float rows[1250 * C], last[C] = {0.0f};
    for (int i = 0; i < 1250 * C; i++) { rows[i] = (float)(i % 1000 + 1) / 1000.0f * (i % 2 ? 1.0f : -1.0f); }
    last[3] = -50.0f;
    cr_assert(gpt2_calibration_take(&calibration, 1, 2, rows, 1250, C, &error));
    cr_assert_float_eq(scale_of(&calibration, GPT2_ABSMAX, 1, 2), 1.0f / 127.0f, 1e-8);
    cr_assert(gpt2_calibration_take(&calibration, 1, 2, last, 1, C, &error));
    cr_assert_float_eq(scale_of(&calibration, GPT2_ABSMAX, 1, 2), 50.0f / 127.0f, 1e-6);
    const float percentile = scale_of(&calibration, GPT2_PERCENTILE, 1, 2) * 127.0f;
    cr_assert(percentile >= 1.0f && percentile <= 1.0f + 1.0f / 64.0f, "%g", (double)percentile);
    cr_assert_eq(scale_of(&calibration, GPT2_ABSMAX, 1, 1), 1.0f); /* nothing was taken */
    cr_assert_eq(calibration.values, 1251 * C);
    rows[17] = NAN;
    cr_assert(fails_with(gpt2_calibration_take(&calibration, 0, 2, rows, 2, C, &error), "is not finite"));
    gpt2_calibration_close(&calibration);
}

/* Values of one magnitude: the percentile is not below it, and absmax bounds it. */
Test(calibrate, the_percentile_of_equal_values_is_their_magnitude) {
    struct gpt2_calibration calibration = opened();
    float rows[C];
    for (int i = 0; i < C; i++) { rows[i] = 3.14159f; }
    cr_assert(gpt2_calibration_take(&calibration, 0, 0, rows, 1, C, &error));
    cr_assert_eq(scale_of(&calibration, GPT2_PERCENTILE, 0, 0), 3.14159f / 127.0f);
    gpt2_calibration_close(&calibration);
}

/* ---- smoothing ---- */

static void read_tensor(const struct gpt2_source *source, enum gpt2_tensor tensor, int layer, enum gpt2_layout layout,
                        float *out) {
    cr_assert(source->read(source->context, tensor, layer, GPT2_F32, layout, out, &error), "%s", error.text);
}

/* Factors are powers of two: a LayerNorm's output divided by s, and the columns multiplied, to the bit; other tensors stay. */
static void check_pair(const struct gpt2_source *from, const struct gpt2_source *smoothed, int layer,
                       enum gpt2_tensor norm, enum gpt2_tensor matrix, const float *largest) {
    float weight[2][C], bias[2][C], old[4 * C * C], new[4 * C * C], turned[4 * C * C];
    const int64_t rows = gpt2_tensor_rows(&config, matrix);
    read_tensor(from, norm, layer, GPT2_OUT_IN, weight[0]), read_tensor(smoothed, norm, layer, GPT2_OUT_IN, weight[1]);
    read_tensor(from, (enum gpt2_tensor)(norm + 1), layer, GPT2_OUT_IN, bias[0]);
    read_tensor(smoothed, (enum gpt2_tensor)(norm + 1), layer, GPT2_OUT_IN, bias[1]);
    read_tensor(from, matrix, layer, GPT2_OUT_IN, old), read_tensor(smoothed, matrix, layer, GPT2_OUT_IN, new);
    read_tensor(smoothed, matrix, layer, GPT2_IN_OUT, turned);
    for (int c = 0; c < C; c++) {
        int exponent;
        const float s = weight[0][c] / weight[1][c];
        cr_assert_eq(frexpf(s, &exponent), 0.5f, "%g is no power of two", (double)s);
        cr_assert_eq(bias[1][c] * s, bias[0][c]);
        float most = 0.0f;
        for (int64_t row = 0; row < rows; row++) {
            cr_assert_eq(new[row * C + c], old[row * C + c] * s);
            cr_assert_eq(turned[c * rows + row], new[row * C + c]);
            most = fmaxf(most, fabsf(old[row * C + c]));
        }
        const double ratio =
            (double)largest[c] / (double)s / ((double)most * (double)s); /* 1 but for the rounding of s */
        cr_assert(largest[c] > 0.0f ? ratio > 0.49 && ratio < 2.01 : s == 1.0f, "channel %d: %g", c, ratio);
    }
}

Test(calibrate, smoothing_moves_the_range_of_channels_to_the_weights) {
    struct gpt2_source source = seeded_source(&config);
    struct gpt2_calibration calibration = opened();
    struct gpt2_smoother smoother;
    float rows[C], before[MOST], after[MOST];
    for (int i = 0; i < C; i++) { rows[i] = i == 5 ? 400.0f : i == 7 ? 0.0f : 1.0f + (float)i; }
    for (int i = 0; i < LAYERS * GPT2_PRODUCTS; i++) {
        cr_assert(gpt2_calibration_take(&calibration, i / GPT2_PRODUCTS, i % GPT2_PRODUCTS, rows, 1, C, &error));
    }
    const float absmax = scale_of(&calibration, GPT2_ABSMAX, 0, 0);
    cr_assert(gpt2_smoother_open(&smoother, &source, &calibration, &error), "%s", error.text);
    struct gpt2_source smoothed = gpt2_smoother_source(&smoother);
    for (int layer = 0; layer < LAYERS; layer++) {
        check_pair(&source, &smoothed, layer, GPT2_LN1W, GPT2_QKVW, rows);
        check_pair(&source, &smoothed, layer, GPT2_LN2W, GPT2_FCW, rows);
        read_tensor(&source, GPT2_ATTPROJW, layer, GPT2_OUT_IN, before);
        read_tensor(&smoothed, GPT2_ATTPROJW, layer, GPT2_OUT_IN, after);
        cr_assert_eq(memcmp(before, after, C * C * sizeof(float)), 0);
    }
    cr_assert_lt(scale_of(&calibration, GPT2_SMOOTH, 0, 0), absmax); /* of the divided channels */
    cr_assert_eq(scale_of(&calibration, GPT2_SMOOTH, 0, 1), absmax); /* not after a LayerNorm */
    gpt2_smoother_close(&smoother);
    gpt2_calibration_close(&calibration);
}

/* ---- folders ---- */

static float input_scales[LAYERS * GPT2_PRODUCTS];

static void write_folder(enum gpt2_scheme scheme) {
    struct gpt2_source source = seeded_source(&config);
    struct gpt2_quantizer quantizer;
    for (int i = 0; i < LAYERS * GPT2_PRODUCTS; i++) { input_scales[i] = 0.25f + (float)i; }
    cr_assert(gpt2_quantizer_open(&quantizer, &source, scheme, &error), "%s", error.text);
    quantizer.input_scales = input_scales;
    quantizer.calibration = "{\"method\":\"absmax\"}";
    struct gpt2_source coded = gpt2_quantizer_source(&quantizer);
    cr_assert(gpt2_hf_write(at("hf"), &coded, GPT2_F32, -1, &error), "%s", error.text);
    gpt2_quantizer_close(&quantizer);
}

Test(calibrate, a_folder_holds_scales_of_activations) {
    for (int scheme = GPT2_INT8; scheme <= GPT2_FP8; scheme++) {
        struct gpt2_weights weights;
        static uint8_t codes[4 * C * C];
        float scales[4 * C];
        write_folder((enum gpt2_scheme)scheme);
        cr_assert(gpt2_weights_open(&weights, at("hf"), &error), "%s", error.text);
        struct gpt2_source source = gpt2_weights_source(&weights);
        cr_assert_eq(memcmp(source.input_scales, input_scales, sizeof input_scales), 0);
        cr_assert(source.read_codes(source.context, GPT2_FCW, 1, codes, scales, &error));
        bool equal = true;
        for (int row = 1; row < 4 * C; row++) { equal = equal && scales[row] == scales[0]; }
        cr_assert_eq(equal, scheme == GPT2_FP8); /* the product has one scale */
        cr_assert(source.read_codes(source.context, GPT2_WTE, 0, codes, scales, &error));
        cr_assert_neq(scales[0], scales[1]); /* the head's input is not in 8 bits */
        gpt2_weights_close(&weights);
    }
    size_t size;
    char *text = (char *)get("hf/config.json", &size);
    cr_assert(strstr(text, "\"gpt2-activations-fp8\", \"activations\": {\"method\":\"absmax\"}"), "%s", text);
    free(text);
}

#define INPUT "transformer.h.1.mlp.c_proj.input_scale"

Test(calibrate, damaged_scales_are_one_error) {
    static const struct {
        const char *tensor, *type, *rename;
        int byte;
        const char *says;
    } wrong[] = {
        {INPUT, NULL, "", -1, "h.1.mlp.c_proj.weight has no input_scale, and others do"},
        {INPUT, "I32", NULL, -1, "has to be one scale of type F32"},
        {INPUT, NULL, "transformer.h.9.mlp.c_proj.input_scale", -1, "is not a tensor of a GPT-2"},
        {INPUT, NULL, "transformer.h.1.ln_1.input_scale", -1, "is not a tensor of a GPT-2"},
        {INPUT, NULL, "transformer.h.1.mlp.a_name_that_is_longer_than_any_of_a_gpt_2.input_scale", -1,
         "is not a tensor of a GPT-2"},
        {INPUT, NULL, ".input_scale", -1, "is not a tensor of a GPT-2"},
        {INPUT, NULL, "h.1.attn.c_attn.input_scale", -1, "is there twice"},
        {INPUT, NULL, NULL, 0xff, "has to be a positive number"},
        {"transformer.h.1.mlp.c_fc.weight_scale", NULL, NULL, 0x40, "all its scales have to be equal"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gpt2_weights weights;
        write_folder(GPT2_FP8);
        damage(wrong[i].tensor, wrong[i].type, wrong[i].rename, wrong[i].byte);
        cr_assert(fails_with(gpt2_weights_open(&weights, at("hf"), &error), wrong[i].says), "%d: %s", (int)i,
                  error.text);
    }
}
