/* weights: names and shapes; conversions in both directions; the sizes of the real models. */
#include "gpt2/formats/weights.h"

#include <math.h>

#include "gpt2/formats/hf.h"
#include "gpt2/formats/llmc.h"
#include "gpt2/tests/scratch.h"

TestSuite(weights, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

Test(weights, every_name_is_found_again) {
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        char name[GPT2_NAME_BYTES];
        enum gpt2_tensor found;
        int layer, expected = gpt2_tensor_is_layered((enum gpt2_tensor)tensor) ? 47 : 0;
        gpt2_tensor_name((enum gpt2_tensor)tensor, expected, name);
        cr_assert(gpt2_tensor_find(name, &found, &layer) && (int)found == tensor && layer == expected, "%s", name);
    }
}

Test(weights, other_names_are_not_found) {
    static const char *const names[] = {"",
                                        "h.0.",
                                        "h.0.wte.weight",
                                        "ln_1.weight",
                                        "h.01.ln_1.weight",
                                        "h.-1.ln_1.weight",
                                        "h.+1.ln_1.weight",
                                        "h. 1.ln_1.weight",
                                        "h.1ln_1.weight",
                                        "h.1.ln_1.weightx",
                                        "h.99999999999.ln_1.weight",
                                        "h.1.attn.bias",
                                        "wte.weight "};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        enum gpt2_tensor tensor;
        int layer;
        cr_assert_not(gpt2_tensor_find(names[i], &tensor, &layer), "%s", names[i]);
    }
}

Test(weights, sum_up_to_the_known_numbers) {
    static const struct {
        const char *name;
        int64_t weights;
    } known[] = {{"124M", 124439808}, {"355M", 354823168}, {"774M", 774030080}, {"1558M", 1557611200}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct gpt2_config *config = gpt2_config_named(known[i].name);
        int64_t sum = 0;
        for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
            sum += gpt2_tensor_elements(config, (enum gpt2_tensor)tensor) *
                   gpt2_tensor_layers(config, (enum gpt2_tensor)tensor);
        }
        cr_assert(sum == known[i].weights && gpt2_config_weights(config, config->vocabulary) == sum, "%s",
                  known[i].name);
    }
    cr_assert_null(gpt2_config_named("125M"));
}

/* In each tensor, in the first value or the last one, in each type. */
Test(weights, a_value_that_is_not_finite_is_found) {
    struct gpt2_config untied = small_config;
    untied.untied = true;
    struct gpt2_source source = seeded_source(&untied);
    for (int type = GPT2_F32; type <= GPT2_BF16; type++) {
        struct gpt2_weights weights;
        cr_assert(gpt2_hf_write(at("hf"), &source, (enum gpt2_type)type, -1, &error), "%s", error.text);
        cr_assert(gpt2_weights_open(&weights, at("hf"), &error), "%s", error.text);
        cr_assert(gpt2_weights_finite(&weights, &error), "%s", error.text);
        for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
            const int layer = gpt2_tensor_layers(&untied, (enum gpt2_tensor)tensor) - 1;
            struct gpt2_view *view = gpt2_weights_view(&weights, (enum gpt2_tensor)tensor, layer);
            const struct gpt2_view good = *view;
            const size_t size = gpt2_type_bytes(good.type), count = (size_t)(good.rows * good.columns);
            const float bad = tensor % 3 == 0 ? NAN : tensor % 3 == 1 ? INFINITY : -INFINITY;
            uint8_t *bytes = malloc(count * size);
            char name[GPT2_NAME_BYTES], wanted[128];
            gpt2_tensor_name((enum gpt2_tensor)tensor, layer, name);
            snprintf(wanted, sizeof wanted, "/hf/model.safetensors: %s: 1 of its values are NaN or infinite: ", name);
            memcpy(bytes, good.bytes, count * size);
            gpt2_convert(bytes + (tensor % 2 == 0 ? 0 : count - 1) * size, good.type, &bad, GPT2_F32, 1);
            view->bytes = bytes;
            cr_assert(!gpt2_weights_finite(&weights, &error), "%s", name);
            cr_assert(strstr(error.text, wanted), "%s, not %s", error.text, wanted);
            *view = good;
            free(bytes);
        }
        gpt2_weights_close(&weights);
    }
}

static void convert(const char *from, const char *to, bool to_hf, enum gpt2_type type) {
    struct gpt2_weights weights;
    cr_assert(gpt2_weights_open(&weights, at(from), &error), "%s", error.text);
    struct gpt2_source source = gpt2_weights_source(&weights);
    bool ok = to_hf ? gpt2_hf_write(at(to), &source, type, -1, &error) : gpt2_llmc_write(at(to), &source, type, &error);
    cr_assert(ok, "%s", error.text);
    gpt2_weights_close(&weights);
}

/* A round trip in both types of llm.c gives the same bytes, which hold the numbers. */
Test(weights, conversions_there_and_back) {
    struct gpt2_source source = seeded_source(&small_config);
    for (int bf16 = 0; bf16 < 2; bf16++) {
        enum gpt2_type type = bf16 ? GPT2_BF16 : GPT2_F32;
        cr_assert(gpt2_hf_write(at("hf"), &source, type, -1, &error), "%s", error.text);
        convert("hf", "model.bin", false, type);
        convert("model.bin", "again", true, type);
        convert("again", "again.bin", false, type);
        cr_assert(same_file("hf/model.safetensors", "again/model.safetensors"));
        cr_assert(same_file("hf/config.json", "again/config.json"));
        cr_assert(same_file("model.bin", "again.bin"));
        struct gpt2_weights weights;
        cr_assert(gpt2_weights_open(&weights, at("model.bin"), &error), "%s", error.text);
        cr_assert(gpt2_config_same(&weights.config, &small_config) && weights.config.padded_vocabulary == 384);
        check_seeded(&weights);
        gpt2_weights_close(&weights);
        cr_assert(gpt2_weights_open(&weights, at("hf/model.safetensors"), &error), "%s", error.text);
        cr_assert(gpt2_config_same(&weights.config, &small_config));
        check_seeded(&weights);
        gpt2_weights_close(&weights);
    }
}

static bool large_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                       void *out, struct gpt2_error *problem) {
    const struct gpt2_config *config = context;
    (void)layer, (void)layout, (void)problem, (void)type;
    float *values = out;
    for (int64_t i = 0; i < gpt2_tensor_elements(config, tensor); i++) { values[i] = 1e5f; }
    return true;
}

Test(weights, what_f16_cannot_hold_is_an_error) {
    struct gpt2_source source = seeded_source(&small_config);
    source.read = large_read;
    cr_assert(gpt2_llmc_write(at("large.bin"), &source, GPT2_F32, &error));
    struct gpt2_weights weights;
    cr_assert(gpt2_weights_open(&weights, at("large.bin"), &error), "%s", error.text);
    struct gpt2_source again = gpt2_weights_source(&weights);
    put_text("keep", "");
    cr_assert(
        fails_with(gpt2_hf_write(at("hf"), &again, GPT2_F16, -1, &error), "wte.weight: 2400 of its values are beyond"));
    cr_assert_not(exists("hf/model.safetensors"));
    cr_assert(fails_with(gpt2_llmc_write(at("half.bin"), &again, GPT2_F16, &error), "F32 or BF16"));
    cr_assert_not(exists("half.bin"));
    cr_assert(gpt2_hf_write(at("hf"), &again, GPT2_BF16, -1, &error), "%s", error.text);
    gpt2_weights_close(&weights);
}

/* A transpose with sides that are not multiples of the tile. */
Test(weights, a_matrix_of_odd_sides_is_turned) {
    enum { ROWS = 131, COLUMNS = 77 };
    static float in[ROWS * COLUMNS];
    static uint16_t out[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) { in[i] = (float)(i % 2048); }
    struct gpt2_view view = {.bytes = in, .type = GPT2_F32, .layout = GPT2_OUT_IN, .rows = ROWS, .columns = COLUMNS};
    cr_assert_eq(gpt2_view_read(&view, GPT2_F16, GPT2_IN_OUT, out), 0);
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            cr_assert_eq(gpt2_float_of_f16(out[column * ROWS + row]), in[row * COLUMNS + column]);
        }
    }
}
