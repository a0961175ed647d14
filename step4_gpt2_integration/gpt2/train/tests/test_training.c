/* Gradients on the device against float64, tensor by tensor; the same on the checked CPU backend. */
#define _GNU_SOURCE
#include "training.h"

#include <cuda_runtime_api.h>

TestSuite(training, .timeout = 600);

/* Sizes: odd ones and several layers, a padded vocabulary, a head wider than a warp; rows of logits, heads and a bias with
 * several 16-byte vectors a thread; and a row of logits that is too long for a block's registers. */
static const struct gpt2_config configs[] = {
    TINY(11, 37, 37, 3, 3, 15),
    TINY(16, 50, 128, 2, 2, 16),
    TINY(9, 300, 384, 1, 1, 67),
    TINY(9, 4999, 5060, 1, 2, 96),
    TINY(8, 51203, 51208, 1, 1, 3),
    RELATIVE(11, 50, 128, 2, 2, 16, GPT2_GELU_ERF, true, false),
    RELATIVE(9, 37, 37, 3, 3, 15, GPT2_RELU, true, false),
};
enum { CONFIGS = sizeof configs / sizeof *configs, B = 3, T = 7, N = B * T };

static struct gpt2_trainer *open_trainer(const struct gpt2_config *config, const char *set, enum gpt2_type type,
                                         bool recompute) {
    struct gpt2_source source = source_of(config, type);
    struct gpt2_trainer_options options = {
        .type = type, .recompute = recompute, .batch = B, .length = T + 1, .kernels = kernels_of(set)};
    struct gpt2_trainer *trainer = gpt2_trainer_open(&source, &options, &error);
    cr_assert(trainer, "%s", error.text);
    return trainer;
}

static void batch_of(const struct gpt2_config *config, uint64_t seed, int32_t tokens[N], int32_t targets[N]) {
    tiny_tokens(tokens, N, config->vocabulary < 10 ? config->vocabulary : 10, seed); /* few, so that they repeat */
    tiny_tokens(targets, N, config->vocabulary, seed + 1);
    targets[4] = -1;
}

/* Two micro-batches: the gradients of the second are added to those of the first. */
static double run(struct gpt2_trainer *trainer, const struct gpt2_config *config) {
    int32_t tokens[N], targets[N];
    double loss;
    for (uint64_t seed = 5; seed < 9; seed += 2) {
        batch_of(config, seed, tokens, targets);
        cr_assert(gpt2_trainer_gradients(trainer, tokens, targets, B, T, 0.125f, &error), "%s", error.text);
    }
    cr_assert(gpt2_trainer_take_loss(trainer, &loss, &error), "%s", error.text);
    return loss;
}

static void check_gradients(const struct gpt2_config *config, const char *set, enum gpt2_type type, bool recompute,
                            double tolerance) {
    struct gpt2_source source = source_of(config, type);
    struct gpt2_reference_gradients wanted;
    int32_t tokens[N], targets[N];
    double loss = 0.0, one;
    cr_assert(gpt2_reference_gradients_open(&wanted, config));
    for (uint64_t seed = 5; seed < 9; seed += 2) {
        batch_of(config, seed, tokens, targets);
        for (int b = 0; b < B; b++) {
            cr_assert(gpt2_reference_backward(&source, tokens + b * T, targets + b * T, T, 0.125, NULL, &one, &wanted,
                                              &error),
                      "%s", error.text);
            loss += one;
        }
    }
    struct gpt2_trainer *trainer = open_trainer(config, set, type, recompute);
    double got_loss = run(trainer, config);
    cr_assert(fabs(got_loss - loss) <= tolerance * loss, "%s: a loss of %g, not %g", set, got_loss, loss);
    int64_t total, at = 0;
    float *got = part_of(trainer, GPT2_GRADIENTS, &total);
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        enum gpt2_tensor t = (enum gpt2_tensor)tensor;
        int64_t count = gpt2_tensor_elements(config, t);
        for (int layer = 0; layer < gpt2_tensor_layers(config, t); layer++, at += count) {
            const double *expected = wanted.at[tensor * config->layers + layer];
            double off = 0.0, length = 0.0;
            for (int64_t i = 0; i < count; i++) {
                off += ((double)got[at + i] - expected[i]) * ((double)got[at + i] - expected[i]);
                length += expected[i] * expected[i];
            }
            off = sqrt(off / length);
            cr_assert(off <= tolerance, "%s: the gradient of tensor %d, layer %d is off by %g of its norm %g", set,
                      tensor, layer, off, sqrt(length));
            if (t == GPT2_QKVB && type == GPT2_F32) { /* a key's bias shifts all scores of a row equally: no gradient */
                for (int c = config->channels; c < 2 * config->channels; c++) {
                    cr_assert(fabs((double)got[at + c]) <= 1e-6 * sqrt(length), "K bias %d: %g", c,
                              (double)got[at + c]);
                }
            }
        }
    }
    cr_assert_eq(at, total);
    free(got);
    close_trainer(trainer);
    gpt2_reference_gradients_close(&wanted);
}

Test(training, every_gradient_is_the_references) {
    for (int set = 0; set < SETS; set++) {
        for (int i = 0; i < CONFIGS; i++) { check_gradients(&configs[i], sets[set], GPT2_F32, false, 1e-5); }
    }
}

Test(training, scores_divided_by_the_layer_are_refused) {
    static const struct gpt2_config config = RELATIVE(11, 50, 128, 2, 2, 16, GPT2_GELU_TANH, false, true);
    struct gpt2_source source = source_of(&config, GPT2_F32);
    struct gpt2_trainer_options options = {.batch = 1, .length = 4, .kernels = kernels_of(sets[0])};
    cr_assert(!gpt2_trainer_open(&source, &options, &error) && strstr(error.text, "scale_attn_by_inverse_layer_idx"),
              "%s", error.text);
    close_kernels();
}

Test(training, sixteen_bits_are_near_it) {
    for (int set = 0; set < SETS; set++) {
        for (int i = 0; i < CONFIGS; i++) {
            if (configs[i].activation == GPT2_RELU) { continue; } /* its slope jumps at 0: a rounding decides */
            check_gradients(&configs[i], sets[set], GPT2_BF16, false, 0.08);
        }
    }
}

/* ---- the same bits: twice, and with recomputation ---- */

Test(training, the_same_bits_each_time_and_recomputed) {
    static const enum gpt2_type types[] = {GPT2_F32, GPT2_BF16};
    for (int i = 0; i < CONFIGS * SETS * 2; i++) {
        const struct gpt2_config *config = &configs[i % CONFIGS];
        const char *set = sets[i / CONFIGS % SETS];
        float *first = NULL;
        for (int again = 0; again < 3; again++) {
            struct gpt2_trainer *trainer = open_trainer(config, set, types[i / CONFIGS / SETS], again == 2);
            int64_t total;
            run(trainer, config);
            float *got = part_of(trainer, GPT2_GRADIENTS, &total);
            for (int64_t at = 0; again > 0 && at < total; at++) {
                cr_assert(memcmp(first + at, got + at, sizeof *got) == 0,
                          "%s, %s, %s, config %d: element %lld is %g, was %g", set,
                          types[i / CONFIGS / SETS] == GPT2_F32 ? "f32" : "bf16", again == 2 ? "recomputed" : "again",
                          i % CONFIGS, (long long)at, (double)got[at], (double)first[at]);
            }
            if (again > 0) { free(got); }
            first = again == 0 ? got : first;
            close_trainer(trainer);
        }
        free(first);
    }
}

Test(training, losses_without_gradients) {
    for (int i = 0; i < CONFIGS; i++) {
        const struct gpt2_config *config = &configs[i];
        struct gpt2_trainer *trainer = open_trainer(config, sets[SETS - 1], GPT2_F32, false);
        int32_t tokens[N], targets[N];
        double with, without;
        batch_of(config, 5, tokens, targets);
        cr_assert(gpt2_trainer_losses(trainer, tokens, targets, B, T, &error), "%s", error.text);
        cr_assert(gpt2_trainer_take_loss(trainer, &without, &error));
        cr_assert(gpt2_trainer_gradients(trainer, tokens, targets, B, T, 1.0f, &error), "%s", error.text);
        cr_assert(gpt2_trainer_take_loss(trainer, &with, &error));
        cr_assert(fabs(with - without) < 1e-5 * with, "%d tokens: %g, not %g", config->vocabulary, without, with);
        close_trainer(trainer);
    }
}

/* So many rows that every thread of the column sums loops: all sequences in one pass, and a third at a time. A loss at the last
 * position of each sequence has gradients at all positions and is fast to compute. */
static void check_many(enum gpt2_type type, double tolerance) {
    enum { MANY = 1203, ROWS = MANY * T, AT_ONCE = 8 * 128 * 8 }; /* AT_ONCE: bias_backward.cu */
    cr_assert(ROWS > AT_ONCE);
    const struct gpt2_config *config = &configs[1];
    struct gpt2_source source = source_of(config, type);
    static int32_t tokens[ROWS], targets[ROWS];
    float *got[2];
    int64_t total;
    tiny_tokens(tokens, ROWS, config->vocabulary, 5);
    tiny_tokens(targets, ROWS, config->vocabulary, 6);
    for (int i = 0; i < ROWS; i++) { targets[i] = i % T == T - 1 ? targets[i] : -1; }
    for (int i = 0; i < 2; i++) {
        const int batch = i == 0 ? MANY : MANY / 3;
        struct gpt2_trainer_options options = {
            .type = type, .batch = batch, .length = T, .kernels = kernels_of(sets[SETS - 1])};
        struct gpt2_trainer *trainer = gpt2_trainer_open(&source, &options, &error);
        cr_assert(trainer, "%s", error.text);
        for (int b = 0; b < MANY; b += batch) {
            cr_assert(gpt2_trainer_gradients(trainer, tokens + b * T, targets + b * T, batch, T, 1.0f, &error), "%s",
                      error.text);
        }
        got[i] = part_of(trainer, GPT2_GRADIENTS, &total);
        close_trainer(trainer);
    }
    for (int64_t at = 0, tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        int64_t count = gpt2_tensor_elements(config, (enum gpt2_tensor)tensor);
        count *= gpt2_tensor_layers(config, (enum gpt2_tensor)tensor);
        if (count == 0) { continue; } /* the head is tied */
        double off = 0.0, length = 0.0;
        for (int64_t k = at; k < at + count; k++) {
            off += pow((double)got[0][k] - (double)got[1][k], 2.0);
            length += pow((double)got[1][k], 2.0);
        }
        off = sqrt(off / length);
        cr_assert(off <= tolerance, "tensor %d is off by %g of its norm", (int)tensor, off);
        at += count;
    }
    free(got[0]), free(got[1]);
}

Test(training, many_sequences_at_once_are_their_sum) {
    check_many(GPT2_BF16, 0.01);
#ifndef CHECKED /* takes half a minute there */
    check_many(GPT2_F32, 1e-5);
#endif
}

/* No other process uses the CPU backend's memory, so the decrease of free memory is the trainer's. */
Test(training, bytes_are_all_that_was_taken) {
    struct gpt2_device_info info;
    size_t before, after, total;
    cr_assert(gpt2_device_ask(&info, &error), "%s", error.text);
    cudaMemGetInfo(&before, &total);
    struct gpt2_trainer *trainer = open_trainer(&configs[3], sets[SETS - 1], GPT2_BF16, false);
    run(trainer, &configs[3]);
    cudaMemGetInfo(&after, &total);
    const size_t taken = before - after, counted = gpt2_trainer_bytes(trainer);
    cr_assert(info.is_cpu ? taken == counted : taken >= counted, "%zu bytes, and %zu are gone", counted, taken);
    close_trainer(trainer);
}

#define refused(call, part)                                    \
    do {                                                       \
        cr_assert(!(call));                                    \
        cr_assert(strstr(error.text, part), "%s", error.text); \
    } while (0)

Test(training, bad_input_is_one_error) {
    const struct gpt2_config *config = &configs[0];
    struct gpt2_source source = tiny_source(config);
    struct gpt2_trainer_options options = {.type = GPT2_F16, .batch = 1, .length = 4, .kernels = kernels_of(sets[0])};
    refused(gpt2_trainer_open(&source, &options, &error), "train in bf16");
    options.type = GPT2_F32;
    options.length = 12;
    refused(gpt2_trainer_open(&source, &options, &error), "context of 11");
    struct kernel_table empty = {.name = "empty"};
    options.length = 4;
    options.kernels = &empty;
    refused(gpt2_trainer_open(&source, &options, &error), "empty lacks an op of training");
    struct gpt2_trainer *trainer = open_trainer(config, sets[0], GPT2_F32, false);
    int32_t tokens[64] = {0}, targets[64] = {0};
    refused(gpt2_trainer_gradients(trainer, tokens, targets, B + 1, T, 1.0f, &error), "opened for 3 of 8");
    targets[3] = 37;
    refused(gpt2_trainer_losses(trainer, tokens, targets, 1, T, &error), "outside the vocabulary of 37");
    close_trainer(trainer);
}
