/* Training with fused attention: gradients against float64, beside those of the taught form; the same bits each time;
 * its memory; the choice of the form. Like test_training.c, also on the checked CPU backend. */
#define _GNU_SOURCE
#include "training.h"

TestSuite(training_fused, .timeout = 900);

/* Heads of 64 channels over one block of queries and a part, and over a part of a tile; of 16, 5, 67 and 128; one
 * token. */
#define CONFIG(T, L, H, C) TINY(T, 50, 64, L, H, C)
static const struct gpt2_config configs[] = {
    CONFIG(149, 1, 2, 128), CONFIG(23, 2, 1, 64),  CONFIG(65, 2, 2, 32), CONFIG(70, 1, 3, 15),
    CONFIG(37, 1, 1, 67),   CONFIG(90, 1, 1, 128), CONFIG(1, 1, 2, 16),
};
enum { CONFIGS = sizeof configs / sizeof *configs, B = 2, MOST = B * 149 };

static struct gpt2_trainer *open_trainer(const struct gpt2_config *config, const char *set, enum gpt2_type type,
                                         enum gpt2_form form, bool recompute) {
    struct gpt2_source source = source_of(config, type);
    struct gpt2_trainer_options options = {.type = type,
                                           .attention = form,
                                           .recompute = recompute,
                                           .batch = B,
                                           .length = config->max_tokens,
                                           .kernels = kernels_of(set)};
    return gpt2_trainer_open(&source, &options, &error);
}

/* Skips the test on a GPU without support. */
static bool can_fuse(void) {
    struct gpt2_device_info info;
    cr_assert(gpt2_device_ask(&info, &error), "%s", error.text);
    return info.capability >= 80;
}

static float *gradients_of(const struct gpt2_config *config, const char *set, enum gpt2_form form, bool recompute,
                           int64_t *total) {
    int T = config->max_tokens;
    int32_t tokens[MOST], targets[MOST];
    struct gpt2_trainer *trainer = open_trainer(config, set, GPT2_BF16, form, recompute);
    cr_assert(trainer, "%s", error.text);
    tiny_tokens(tokens, B * T, config->vocabulary, 3);
    tiny_tokens(targets, B * T, config->vocabulary, 4);
    cr_assert(gpt2_trainer_gradients(trainer, tokens, targets, B, T, 0.125f, &error), "%s", error.text);
    float *got = part_of(trainer, GPT2_GRADIENTS, total);
    close_trainer(trainer);
    return got;
}

/* The largest error of a tensor, by its norm; *qkv: that of the first block's qkv weights, which attention's gradient
 * reaches first. */
static double worst(const struct gpt2_config *config, const float *got, const struct gpt2_reference_gradients *wanted,
                    double *qkv) {
    double most = 0.0;
    int64_t at = 0;
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        enum gpt2_tensor t = (enum gpt2_tensor)tensor;
        int64_t count = gpt2_tensor_elements(config, t);
        for (int layer = 0; layer < gpt2_tensor_layers(config, t); layer++, at += count) {
            const double *expected = wanted->at[tensor * config->layers + layer];
            double off = 0.0, length = 0.0;
            for (int64_t i = 0; i < count; i++) {
                off += ((double)got[at + i] - expected[i]) * ((double)got[at + i] - expected[i]);
                length += expected[i] * expected[i];
            }
            off = sqrt(off / length);
            cr_assert(off < INFINITY, "tensor %d, layer %d: %g", tensor, layer, off);
            most = fmax(most, off);
            if (t == GPT2_QKVW && layer == 0) { *qkv = off; }
        }
    }
    return most;
}

/* Both forms round to bf16 where they store. The fused one stores less, but takes delta from an output that was
 * rounded, which counts in heads of few channels: it may be a quarter further off there. */
Test(training_fused, gradients_are_as_near_as_the_taught_ones) {
    for (int i = 0; can_fuse() && i < CONFIGS * SETS; i++) {
        const struct gpt2_config *config = &configs[i % CONFIGS];
        const char *set = sets[i / CONFIGS];
        struct gpt2_source source = source_of(config, GPT2_BF16);
        struct gpt2_reference_gradients wanted;
        int T = config->max_tokens;
        int32_t tokens[MOST], targets[MOST];
        double loss, off[2], qkv[2];
        tiny_tokens(tokens, B * T, config->vocabulary, 3);
        tiny_tokens(targets, B * T, config->vocabulary, 4);
        cr_assert(gpt2_reference_gradients_open(&wanted, config));
        for (int b = 0; b < B; b++) {
            cr_assert(gpt2_reference_backward(&source, tokens + b * T, targets + b * T, T, 0.125, NULL, &loss, &wanted,
                                              &error),
                      "%s", error.text);
        }
        for (int form = 0; form < 2; form++) {
            int64_t total;
            float *got = gradients_of(config, set, form == 0 ? GPT2_TAUGHT : GPT2_FUSED, false, &total);
            off[form] = worst(config, got, &wanted, &qkv[form]);
            free(got);
        }
        cr_assert(off[1] <= 0.08 && off[1] <= 1.25 * off[0] + 1e-3, "%s, T %d, C %d: off by %g, taught %g", set, T,
                  config->channels, off[1], off[0]);
        cr_assert(qkv[1] <= 1.25 * qkv[0] + 1e-3, "%s, T %d, C %d: qkv off by %g, taught %g", set, T, config->channels,
                  qkv[1], qkv[0]);
        gpt2_reference_gradients_close(&wanted);
    }
}

Test(training_fused, the_same_bits_each_time_and_recomputed) {
    for (int i = 0; can_fuse() && i < 3; i++) {
        int64_t total;
        float *first = gradients_of(&configs[i], sets[SETS - 1], GPT2_FUSED, false, &total);
        for (int recomputed = 0; recomputed < 2; recomputed++) {
            float *got = gradients_of(&configs[i], sets[SETS - 1], GPT2_FUSED, recomputed, &total);
            cr_assert(memcmp(first, got, (size_t)total * sizeof *got) == 0, "C %d, %s", configs[i].channels,
                      recomputed ? "recomputed" : "again");
            free(got);
        }
        free(first);
    }
}

/* Short sequences have the same gradients in a trainer for long ones as in one for their length. */
Test(training_fused, a_shorter_pass_is_the_same) {
    if (!can_fuse()) { return; }
    enum { T = 19 };
    const struct gpt2_config *config = &configs[0];
    int32_t tokens[B * T], targets[B * T];
    float *got[2];
    int64_t total;
    tiny_tokens(tokens, B * T, config->vocabulary, 7);
    tiny_tokens(targets, B * T, config->vocabulary, 8);
    for (int own = 0; own < 2; own++) {
        struct gpt2_source source = source_of(config, GPT2_BF16);
        struct gpt2_trainer_options options = {.type = GPT2_BF16,
                                               .attention = GPT2_FUSED,
                                               .batch = B,
                                               .length = own ? T : config->max_tokens,
                                               .kernels = kernels_of(sets[SETS - 1])};
        struct gpt2_trainer *trainer = gpt2_trainer_open(&source, &options, &error);
        cr_assert(trainer, "%s", error.text);
        cr_assert(gpt2_trainer_gradients(trainer, tokens, targets, B, T, 0.125f, &error), "%s", error.text);
        got[own] = part_of(trainer, GPT2_GRADIENTS, &total);
        close_trainer(trainer);
    }
    cr_assert(memcmp(got[0], got[1], (size_t)total * sizeof *got[0]) == 0);
    free(got[0]), free(got[1]);
}

/* ---- memory, and the choice of the form ---- */

static size_t bytes_of(const struct gpt2_config *config, const char *set, enum gpt2_type type, enum gpt2_form form,
                       bool recompute) {
    struct gpt2_trainer *trainer = open_trainer(config, set, type, form, recompute);
    cr_assert(trainer, "%s", error.text);
    size_t bytes = gpt2_trainer_bytes(trainer);
    close_trainer(trainer);
    return bytes;
}

Test(training_fused, there_is_no_room_for_scores) {
    for (int i = 0; can_fuse() && i < CONFIGS * 2; i++) {
        const struct gpt2_config *config = &configs[i % CONFIGS];
        const bool recompute = i >= CONFIGS;
        const long T = config->max_tokens, H = config->heads, kept = recompute ? 1 : config->layers;
        /* bf16: two of scores, four of heads. fp32: a number of each row that is kept, and one that is not. */
        const long less = 2 * (2 * B * H * T * T + 4 * B * T * config->channels) - 4 * (kept + 1) * B * H * T;
        const char *set = sets[SETS - 1];
        long saved = (long)bytes_of(config, set, GPT2_BF16, GPT2_TAUGHT, recompute) -
                     (long)bytes_of(config, set, GPT2_BF16, GPT2_FUSED, recompute);
        cr_assert(labs(saved - less) <= 256 * (8 + kept), "T %ld: %ld bytes less, not %ld", T, saved, less);
    }
}

Test(training_fused, auto_takes_it_where_it_is_fast) {
    const struct gpt2_config *config = &configs[0];
    struct gpt2_device_info info;
    cr_assert(gpt2_device_ask(&info, &error), "%s", error.text);
    for (int set = 0; set < SETS; set++) {
        const bool fused = !info.is_cpu && info.capability >= 80 && strcmp(sets[set], "reference") == 0;
        size_t taught = bytes_of(config, sets[set], GPT2_BF16, GPT2_TAUGHT, false);
        size_t by_itself = bytes_of(config, sets[set], GPT2_BF16, GPT2_AUTO, false);
        cr_assert(fused ? by_itself < taught : by_itself == taught, "%s: %zu, taught %zu", sets[set], by_itself,
                  taught);
        taught = bytes_of(config, sets[set], GPT2_F32, GPT2_TAUGHT, false);
        cr_assert_eq(bytes_of(config, sets[set], GPT2_F32, GPT2_AUTO, false), taught);
    }
}

Test(training_fused, what_cannot_be_fused_is_one_error) {
    struct gpt2_config wide = configs[0];
    wide.heads = 1, wide.channels = 136;
    cr_assert(open_trainer(&configs[0], sets[0], GPT2_F32, GPT2_FUSED, false) == NULL);
    cr_assert(strstr(error.text, "cannot be fused"), "%s", error.text);
    cr_assert(open_trainer(&wide, sets[0], GPT2_BF16, GPT2_FUSED, false) == NULL);
    cr_assert(strstr(error.text, "at most 128 channels"), "%s", error.text);
    close_trainer(open_trainer(&wide, sets[0], GPT2_BF16, GPT2_AUTO, false));
}
