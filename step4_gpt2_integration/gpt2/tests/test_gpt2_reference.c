/* The float64 model: its loss and logits compared with an independent program's (golden.py), its gradients with finite
 * differences of its loss. */
#include "gpt2/model/tests/tiny.h"

static struct gpt2_error error;
static const struct gpt2_config configs[] = {TINY(9, 23, 23, 2, 3, 15),
                                             RELATIVE(9, 23, 23, 2, 3, 15, GPT2_GELU_ERF, true, false)};
static struct gpt2_config config; /* the one of the test */
enum { T = 7 };

TestSuite(gpt2_reference, .timeout = 60);

/* The tiny model with one number changed. */
static struct change {
    enum gpt2_tensor tensor;
    int layer;
    int64_t at;
    float by, value; /* value: the old number */
} change;

static bool changed_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                         enum gpt2_layout layout, void *out, struct gpt2_error *problem) {
    if (!tiny_read(context, tensor, layer, type, layout, out, problem)) { return false; }
    if (tensor == change.tensor && layer == change.layer) {
        float *values = out;
        change.value = values[change.at];
        values[change.at] += change.by;
        change.by = values[change.at] - change.value; /* after rounding */
    }
    return true;
}

static const int32_t tokens[T] = {3, 7, 3, 22, 0, 7, 11};
static int32_t targets[T] = {7, 3, 22, -1, 7, 11, 3};

/* A third of the elements of each place is dropped. */
static double factor(void *context, int place, int layer, size_t index) {
    (void)context;
    return mix(0xd0 + (uint64_t)place * 100000 + (uint64_t)layer * 10000 + index) % 3 == 0 ? 0.0 : 1.5;
}

static const struct gpt2_reference_dropout dropout = {factor, NULL}, *drops; /* drops: of the test, or NULL */

static double loss_with(float by, float *moved) {
    struct gpt2_source source = {.config = config, .read = changed_read, .context = (void *)(uintptr_t)&config};
    struct gpt2_reference_gradients unused;
    double loss = 0.0;
    change.by = by;
    cr_assert(gpt2_reference_gradients_open(&unused, &config));
    cr_assert(gpt2_reference_backward(&source, tokens, targets, T, 1.0, drops, &loss, &unused, &error), "%s",
              error.text);
    gpt2_reference_gradients_close(&unused);
    *moved = change.by;
    return loss;
}

static void check_gradients(void) {
    const double scale = 0.25;
    struct gpt2_source source = tiny_source(&config);
    struct gpt2_reference_gradients gradients;
    double loss = 0.0;
    cr_assert(gpt2_reference_gradients_open(&gradients, &config));
    cr_assert(gpt2_reference_backward(&source, tokens, targets, T, scale, drops, &loss, &gradients, &error), "%s",
              error.text);
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        enum gpt2_tensor t = (enum gpt2_tensor)tensor;
        int64_t count = gpt2_tensor_elements(&config, t);
        for (int layer = 0; layer < gpt2_tensor_layers(&config, t); layer++) {
            const double *got = gradients.at[tensor * config.layers + layer];
            for (int sample = 0; sample < 12; sample++) {
                change = (struct change){.tensor = t, .layer = layer};
                change.at = (int64_t)(mix((uint64_t)(tensor * 100 + layer * 50 + sample)) % (uint64_t)count);
                float up, down;
                double above = loss_with(0x1p-11f, &up), below = loss_with(-0x1p-11f, &down);
                double slope = scale * (above - below) / ((double)up - (double)down);
                cr_assert(fabs(got[change.at] - slope) <= 1e-4 * fabs(slope) + 2e-5,
                          "tensor %d, layer %d, element %d: %g, and the slope is %g", tensor, layer, (int)change.at,
                          got[change.at], slope);
            }
        }
    }
    gpt2_reference_gradients_close(&gradients);
}

Test(gpt2_reference, gradients_are_the_slopes_of_the_loss) {
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        config = configs[i];
        check_gradients();
    }
}

/* The loss has the masks too: each place changes it. */
Test(gpt2_reference, also_with_dropout) {
    float unused;
    config = configs[0];
    double without = loss_with(0.0f, &unused);
    drops = &dropout;
    cr_assert(fabs(loss_with(0.0f, &unused) - without) > 1e-3);
    check_gradients();
}

/* ---- GPT-2's relatives ---- */

static double last_state(const struct gpt2_config *of, const char *stage, int layer, int64_t at) {
    struct states states = {.count = 0};
    struct gpt2_source source = tiny_source(of);
    double value = NAN;
    cr_assert(gpt2_reference(&source, tokens, T, states_of_reference, &states, &error), "%s", error.text);
    for (int i = 0; i < states.count; i++) {
        if (states.at[i].layer == layer && strcmp(states.at[i].stage, stage) == 0) { value = states.at[i].values[at]; }
    }
    states_free(&states);
    return value;
}

/* Of the same input u, from max(u, 0): both forms of GELU are between 0 and u for positive u, and near each other. */
Test(gpt2_reference, activations_are_those_of_their_names) {
    static const struct gpt2_config of[] = {RELATIVE(9, 23, 23, 1, 1, 15, GPT2_RELU, false, false),
                                            RELATIVE(9, 23, 23, 1, 1, 15, GPT2_GELU_ERF, false, false),
                                            TINY(9, 23, 23, 1, 1, 15)};
    int positive = 0;
    for (int64_t at = 0; at < 60; at++) {
        double u = last_state(&of[0], "gelu", 0, at), erf_form = last_state(&of[1], "gelu", 0, at);
        double tanh_form = last_state(&of[2], "gelu", 0, at);
        cr_assert(u >= 0.0 && fabs(erf_form - tanh_form) < 1e-3 && erf_form != tanh_form);
        if (u == 0.0) { continue; }
        positive++;
        cr_assert(fabs(erf_form - 0.5 * u * (1.0 + erf(u / sqrt(2.0)))) < 1e-12, "%g: %g", u, erf_form);
    }
    cr_assert(positive > 10 && positive < 50, "%d", positive);
}

/* In layer 2 the queries are half of those without the setting, for the same input; in layer 1 they are the same. */
Test(gpt2_reference, scores_are_divided_by_the_layers_number) {
    static const struct gpt2_config without = TINY(9, 23, 23, 2, 3, 15),
                                    with = RELATIVE(9, 23, 23, 2, 3, 15, GPT2_GELU_TANH, false, true);
    for (int64_t at = 0; at < 45; at++) {
        double expected = last_state(&without, "qkv", 1, at) / (at < 15 ? 2.0 : 1.0);
        cr_assert(fabs(last_state(&with, "qkv", 0, at) - last_state(&without, "qkv", 0, at)) == 0.0);
        cr_assert(fabs(last_state(&with, "qkv", 1, at) - expected) < 1e-6 * (1.0 + fabs(expected)), "%d", (int)at);
    }
}

/* ---- the model that the course ships ---- */

enum { PROMPT = 12 };

/* The next word of golden.txt. */
static double next_number(FILE *golden) {
    double number;
    cr_assert_eq(fscanf(golden, " %lf", &number), 1);
    return number;
}

static void expect_word(FILE *golden, const char *word) {
    char found[16] = "";
    cr_assert(fscanf(golden, " %15s", found) == 1 && strcmp(found, word) == 0, "%s, not %s", found, word);
}

static void expect_golden(const char *what, int row, double got, double golden) {
    cr_assert(fabs(got - golden) <= 1e-9, "%s of token %d: %.15g, not %.15g", what, row, got, golden);
}

Test(gpt2_reference, the_tiny_model_is_what_another_program_computes) {
    struct gpt2_weights weights;
    cr_assert(gpt2_weights_open(&weights, "step4_gpt2_integration/gpt2/tiny", &error), "%s", error.text);
    struct gpt2_source source = gpt2_weights_source(&weights);
    struct gpt2_reference_gradients unused;
    struct states states = {.count = 0};
    int32_t prompt[PROMPT + 1];
    double loss;
    FILE *golden = fopen("step4_gpt2_integration/gpt2/tests/golden.txt", "r");
    cr_assert(golden != NULL);
    expect_word(golden, "tokens");
    for (int t = 0; t < PROMPT; t++) { prompt[t] = (int32_t)next_number(golden); }
    prompt[PROMPT] = -1;
    cr_assert(gpt2_reference_gradients_open(&unused, &source.config));
    cr_assert(gpt2_reference_backward(&source, prompt, prompt + 1, PROMPT, 1.0, drops, &loss, &unused, &error), "%s",
              error.text);
    cr_assert(gpt2_reference(&source, prompt, PROMPT, states_of_reference, &states, &error), "%s", error.text);
    expect_word(golden, "loss");
    expect_golden("loss", PROMPT, loss, next_number(golden));
    for (int t = 0; t < PROMPT; t++) {
        const double *logits = states.at[states.count - 1].values + t * source.config.vocabulary;
        expect_word(golden, "logits");
        cr_assert_eq((int)next_number(golden), t);
        for (int v = 0; v < source.config.vocabulary; v += 400) {
            expect_golden("logits", t, logits[v], next_number(golden));
        }
    }
    fclose(golden);
    states_free(&states);
    gpt2_reference_gradients_close(&unused);
    gpt2_weights_close(&weights);
}
