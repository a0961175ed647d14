/* llmc: checkpoints and debug states, byte by byte; each inconsistency is one error. */
#include "gpt2/formats/llmc.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "gpt2/tests/scratch.h"

static void make_model(void) {
    scratch_make();
    struct gpt2_source source = seeded_source(&small_config);
    cr_assert(gpt2_llmc_write(at("m.bin"), &source, GPT2_F32, &error), "%s", error.text);
}

TestSuite(llmc, .init = make_model, .fini = scratch_remove, .timeout = 60);

static bool opens(void) {
    struct gpt2_weights weights;
    bool ok = gpt2_llmc_open(&weights, at("m.bin"), &error);
    gpt2_weights_close(&weights);
    return ok;
}

static void set(const char *name, int index, int32_t value) {
    FILE *file = fopen(at(name), "r+b");
    fseek(file, 4L * index, SEEK_SET);
    fwrite(&value, sizeof value, 1, file);
    fclose(file);
}

static void resize(const char *name, off_t by) {
    struct stat status;
    stat(at(name), &status);
    cr_assert_eq(truncate(at(name), status.st_size + by), 0);
}

/* The layout, by hand: the header's numbers, then wte with zeros past V, then wpe. */
Test(llmc, a_checkpoint_to_the_byte) {
    static const int32_t header[] = {20240326, 3, 6, 300, 3, 2, 8, 384, 0};
    size_t size;
    uint8_t *bytes = get("m.bin", &size);
    cr_assert_eq(size, 1024 + 4 * (size_t)((384 + 6) * 8 + 3 * (12 * 64 + 13 * 8) + 16));
    cr_assert_eq(memcmp(bytes, header, sizeof header), 0);
    const float *wte = (const float *)(bytes + 1024), *wpe = wte + 384 * 8, *ln1w = wpe + 6 * 8, *ln1b = ln1w + 3 * 8;
    const float *qkvw = ln1b + 3 * 8;
    cr_assert(wte[299 * 8 + 7] == seeded(GPT2_WTE, 0, 299 * 8 + 7) && wte[300 * 8] == 0 && wte[384 * 8 - 1] == 0);
    cr_assert(wpe[47] == seeded(GPT2_WPE, 0, 47) && ln1w[8] == seeded(GPT2_LN1W, 1, 0));
    cr_assert(ln1b[23] == seeded(GPT2_LN1B, 2, 7) && qkvw[24 * 8 + 9] == seeded(GPT2_QKVW, 1, 9));
    free(bytes);
}

struct edit {
    int index;
    int32_t value;
    char reason[70];
};

ParameterizedTestParameters(llmc, checkpoints_refused) {
    static struct edit cases[] = {
        {0, 20240327, "its magic number is 20240327, not 20240326"},
        {0, 0, "its magic number is 0"},
        {1, 1, "version 1, without a padded vocabulary"},
        {1, 2, "version 2, which is not supported"},
        {1, 4, "version 4, which is not supported"},
        {1, 5, "something was appended?"},
        {2, 7, "truncated?"},
        {2, 0, "the context length is 0"},
        {2, -1, "the context length is -1"},
        {3, 385, "the padded vocabulary of 384 does not fit the vocabulary of 385"},
        {3, INT32_MIN, "the vocabulary size is -2147483648"},
        {4, INT32_MAX, "the number of layers is 2147483647"},
        {5, 3, "8 channels cannot be divided among 3 heads"},
        {5, 0, "the number of heads is 0"},
        {6, INT32_MAX, "the number of channels is"},
        {6, 262144, "truncated?"},
        {7, INT32_MAX, "the padded vocabulary of 2147483647"},
    };
    return cr_make_param_array(struct edit, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct edit *edit, llmc, checkpoints_refused) {
    set("m.bin", edit->index, edit->value);
    cr_assert(fails_with(opens(), edit->reason), "%s", error.text);
    cr_assert(strstr(error.text, "/m.bin: "), "%s", error.text);
}

Test(llmc, another_length_is_refused) {
    resize("m.bin", -1);
    cr_assert(fails_with(opens(), "truncated?"), "%s", error.text);
    resize("m.bin", 2);
    cr_assert(fails_with(opens(), "something was appended?"), "%s", error.text);
    cr_assert_eq(truncate(at("m.bin"), 1023), 0);
    cr_assert(fails_with(opens(), "1023 bytes, shorter than the header"), "%s", error.text);
    cr_assert_eq(truncate(at("m.bin"), 0), 0);
    cr_assert(fails_with(opens(), "0 bytes, shorter than the header"), "%s", error.text);
}

/* The real sizes, as sparse files: 124M has 497,904,640 bytes in fp32 and 248,952,832 in bf16. */
Test(llmc, the_real_sizes_open) {
    static const struct {
        const char *name;
        int version;
        int64_t bytes;
    } sizes[] = {{"124M", 3, 497904640},  {"124M", 5, 248952832},   {"355M", 3, 1419486208},
                 {"774M", 3, 3096361984}, {"1558M", 3, 6230746624}, {"1558M", 5, 3115373824}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct gpt2_config *config = gpt2_config_named(sizes[i].name);
        const int32_t header[256] = {20240326,      sizes[i].version, 1024, 50257, config->layers,
                                     config->heads, config->channels, 50304};
        put("m.bin", header, sizeof header);
        cr_assert_eq(truncate(at("m.bin"), sizes[i].bytes), 0);
        struct gpt2_weights weights;
        cr_assert(gpt2_llmc_open(&weights, at("m.bin"), &error), "%s", error.text);
        cr_assert(gpt2_config_same(&weights.config, config));
        const struct gpt2_view *last = gpt2_weights_view(&weights, GPT2_LNFB, 0);
        const uint8_t *end = (const uint8_t *)last->bytes + (size_t)last->rows * gpt2_type_bytes(last->type);
        cr_assert(end == weights.file.bytes + weights.file.size);
        gpt2_weights_close(&weights);
    }
}

Test(llmc, an_epsilon_that_the_format_lacks_is_refused) {
    struct gpt2_config config = small_config;
    config.epsilon = 1e-6f;
    struct gpt2_source source = seeded_source(&config);
    cr_assert(fails_with(gpt2_llmc_write(at("e.bin"), &source, GPT2_F32, &error), "epsilon"));
    cr_assert_not(exists("e.bin"));
}

static bool failing_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                         enum gpt2_layout layout, void *out, struct gpt2_error *problem) {
    (void)context, (void)layer, (void)type, (void)layout, (void)out;
    memset(out, 0, 4);
    return tensor < GPT2_FCB || gpt2_fail(problem, "the device is gone");
}

Test(llmc, a_source_that_fails_leaves_no_file) {
    struct gpt2_source source = {.config = small_config, .read = failing_read};
    put_text("old.bin", "old");
    cr_assert(fails_with(gpt2_llmc_write(at("old.bin"), &source, GPT2_F32, &error), "the device is gone"));
    cr_assert_eq(count_files(), 2);
}

/* ---- debug states ---- */

enum { B = 2, T = 5, VOCABULARY = 300 };
static int32_t x[B * T], y[B * T];
static float logits[B * T * VOCABULARY];

static void write_state(void) {
    struct gpt2_debug_state state = {.B = B, .T = T, .x = x, .y = y, .logits = logits, .loss = 5.5f};
    struct gpt2_source gradient = seeded_source(&small_config);
    for (int i = 0; i < B * T; i++) { x[i] = i * 7 % VOCABULARY, y[i] = VOCABULARY - 1 - i; }
    for (int i = 0; i < B * T * VOCABULARY; i++) { logits[i] = (float)i; }
    cr_assert(gpt2_debug_state_write(at("d.bin"), &state, &gradient, &error), "%s", error.text);
}

static bool state_opens(void) {
    struct gpt2_debug_state state;
    bool ok = gpt2_debug_state_open(&state, at("d.bin"), &small_config, &error);
    gpt2_debug_state_close(&state);
    return ok;
}

Test(llmc, a_debug_state_comes_back) {
    write_state();
    struct gpt2_debug_state state;
    cr_assert(gpt2_debug_state_open(&state, at("d.bin"), &small_config, &error), "%s", error.text);
    cr_assert(state.B == B && state.T == T && state.loss == 5.5f);
    cr_assert(memcmp(state.x, x, sizeof x) == 0 && memcmp(state.y, y, sizeof y) == 0);
    cr_assert_eq(memcmp(state.logits, logits, sizeof logits), 0);
    check_seeded(&state.gradient);
    gpt2_debug_state_close(&state);
}

ParameterizedTestParameters(llmc, debug_states_refused) {
    static struct edit cases[] = {
        {0, 20240326, "its magic number is 20240326"},
        {1, 1, "version 1, which is not supported"},
        {2, 3, "are not what B = 3, T = 5"},
        {2, 0, "B = 0, T = 5 are not a valid batch"},
        {2, INT32_MAX, "are not a valid batch"},
        {3, 7, "are not a valid batch for a context of 6"},
        {3, -1, "are not a valid batch"},
        {256, 300, "token 300 is outside the vocabulary of 300"},
        {256 + 2 * B * T - 1, -1, "token -1 is outside"},
    };
    return cr_make_param_array(struct edit, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct edit *edit, llmc, debug_states_refused) {
    write_state();
    set("d.bin", edit->index, edit->value);
    cr_assert(fails_with(state_opens(), edit->reason), "%s", error.text);
    write_state();
    resize("d.bin", -4);
    cr_assert(fails_with(state_opens(), "are not what"), "%s", error.text);
}
