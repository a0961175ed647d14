/* Dropout in training: gradients against float64 with the same masks, which this file computes from their definition
 * (dropout.cuh); masks of passes, of groups of sequences, of fused attention; the same bits recomputed. Like test_training.c,
 * also on the checked CPU backend. */
#define _GNU_SOURCE
#include "training.h"

TestSuite(training_dropout, .timeout = 900);

/* ---- the masks, from their definition ---- */

struct masks {
    const struct gpt2_config *config;
    double probability;
    uint64_t seed;
    int64_t pass;
    int T, sequence;
    long dropped, all; /* counted */
};

static double factor(void *context, int place, int layer, size_t index) {
    struct masks *m = context;
    const uint64_t key = gpt2_mix(gpt2_mix(gpt2_mix(m->seed ^ 0x64726f706f7574u) + (uint64_t)m->pass) +
                                  4 * (uint64_t)layer + (uint64_t)place);
    const size_t T = (size_t)m->T, columns = place == 1 ? T * (size_t)m->config->heads : (size_t)m->config->channels;
    const uint64_t at = (uint64_t)m->sequence * T * columns + index;
    const bool drop = (double)(gpt2_mix(key + at) >> 32) < floor(0x1p32 * m->probability);
    m->dropped += drop, m->all++;
    return drop ? 0.0 : 1.0 / (1.0 - m->probability);
}

/* ---- passes ---- */

enum { PASSES = 2, SEED = 11 };

struct shape {
    struct gpt2_config config;
    int B, T;
};

static struct gpt2_trainer *open_trainer(const struct shape *shape, const char *set, enum gpt2_type type,
                                         enum gpt2_form form, double dropout, bool recompute) {
    struct gpt2_source source = source_of(&shape->config, type);
    struct gpt2_trainer_options options = {.type = type,
                                           .attention = form,
                                           .recompute = recompute,
                                           .batch = shape->B,
                                           .length = shape->T,
                                           .dropout = dropout,
                                           .seed = SEED,
                                           .kernels = kernels_of(set)};
    struct gpt2_trainer *trainer = gpt2_trainer_open(&source, &options, &error);
    cr_assert(trainer, "%s", error.text);
    return trainer;
}

static void batch_of(const struct shape *shape, int pass, int32_t **tokens, int32_t **targets) {
    int N = shape->B * shape->T;
    *tokens = malloc((size_t)N * sizeof **tokens), *targets = malloc((size_t)N * sizeof **targets);
    tiny_tokens(*tokens, N, shape->config.vocabulary, 5 + 2 * (uint64_t)pass);
    tiny_tokens(*targets, N, shape->config.vocabulary, 6 + 2 * (uint64_t)pass);
}

/* The gradients of passes first, first + 1, ..., each of its own tokens; *loss: the sum of their losses. */
static float *gradients_of(struct gpt2_trainer *trainer, const struct shape *shape, int64_t first, double *loss) {
    int64_t total;
    for (int pass = 0; pass < PASSES; pass++) {
        int32_t *tokens, *targets;
        batch_of(shape, pass, &tokens, &targets);
        gpt2_trainer_pass(trainer, first + pass);
        cr_assert(gpt2_trainer_gradients(trainer, tokens, targets, shape->B, shape->T, 0.125f, &error), "%s",
                  error.text);
        free(tokens), free(targets);
    }
    cr_assert(gpt2_trainer_take_loss(trainer, loss, &error), "%s", error.text);
    return part_of(trainer, GPT2_GRADIENTS, &total);
}

struct errors {
    double most, typical; /* the largest, and the root of the mean square */
};

/* Of all tensors: the error, relative to the tensor's norm. */
static struct errors errors_of(const struct gpt2_config *config, const float *got,
                               const struct gpt2_reference_gradients *wanted) {
    struct errors errors = {0.0, 0.0};
    int64_t at = 0;
    int tensors = 0;
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        enum gpt2_tensor t = (enum gpt2_tensor)tensor;
        int64_t count = gpt2_tensor_elements(config, t);
        for (int layer = 0; layer < gpt2_tensor_layers(config, t); layer++, at += count) {
            const double *expected = wanted->at[tensor * config->layers + layer];
            double off = 0.0, length = 0.0;
            for (int64_t i = 0; i < count; i++) {
                off += pow((double)got[at + i] - expected[i], 2.0);
                length += expected[i] * expected[i];
            }
            off = off == 0.0 ? 0.0 : sqrt(off / length);
            errors.most = off > errors.most || !(off < INFINITY) ? off : errors.most;
            errors.typical += off * off;
            tensors++;
        }
    }
    errors.typical = sqrt(errors.typical / tensors);
    return errors;
}

/* The loss is compared as well. */
static struct errors error_of(const struct shape *shape, const char *set, enum gpt2_type type, enum gpt2_form form,
                              double probability, double tolerance) {
    struct gpt2_source source = source_of(&shape->config, type);
    struct gpt2_reference_gradients wanted;
    struct masks masks = {.config = &shape->config, .probability = probability, .seed = SEED, .T = shape->T};
    struct gpt2_reference_dropout dropout = {factor, &masks};
    double loss = 0.0, got_loss, one;
    const int64_t first = 1000001;
    cr_assert(gpt2_reference_gradients_open(&wanted, &shape->config));
    for (int pass = 0; pass < PASSES; pass++) {
        int32_t *tokens, *targets;
        batch_of(shape, pass, &tokens, &targets);
        masks.pass = first + pass;
        for (int b = 0; b < shape->B; b++) {
            masks.sequence = b;
            cr_assert(gpt2_reference_backward(&source, tokens + b * shape->T, targets + b * shape->T, shape->T, 0.125,
                                              &dropout, &one, &wanted, &error),
                      "%s", error.text);
            loss += one;
        }
        free(tokens), free(targets);
    }
    double fraction = (double)masks.dropped / (double)masks.all;
    cr_assert(fabs(fraction - probability) < 5.0 * sqrt(probability / (double)masks.all), "%g are dropped", fraction);
    struct gpt2_trainer *trainer = open_trainer(shape, set, type, form, probability, false);
    float *got = gradients_of(trainer, shape, first, &got_loss);
    const struct errors errors = errors_of(&shape->config, got, &wanted);
    cr_assert(fabs(got_loss - loss) <= tolerance * loss, "%s: a loss of %g, not %g", set, got_loss, loss);
    free(got);
    close_trainer(trainer);
    gpt2_reference_gradients_close(&wanted);
    return errors;
}

/* ---- against float64 ---- */

/* Odd sizes, so that 16 bytes cross rows; sizes of whole 16 bytes; one token, whose only weight is dropped in some sequences. */
static const struct shape shapes[] = {
    {TINY(11, 37, 37, 3, 3, 15), 3, 7}, {TINY(16, 50, 128, 2, 2, 16), 2, 16}, {TINY(4, 20, 20, 1, 2, 6), 5, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

Test(training_dropout, gradients_are_those_of_the_same_masks) {
    for (int i = 0; i < SHAPES * SETS * 2; i++) {
        const struct shape *shape = &shapes[i % SHAPES];
        const char *set = sets[i / SHAPES % SETS];
        const double p = i / SHAPES / SETS == 0 ? 0.1 : 0.75;
        struct errors off = error_of(shape, set, GPT2_F32, GPT2_TAUGHT, p, 1e-5);
        cr_assert(off.most <= 1e-5, "%s, C %d, p %g: off by %g", set, shape->config.channels, p, off.most);
        off = error_of(shape, set, GPT2_BF16, GPT2_TAUGHT, p, 0.02); /* roundings decide a short tensor's error */
        cr_assert(off.typical <= 0.05, "%s, C %d, p %g, bf16: off by %g", set, shape->config.channels, p, off.typical);
    }
}

/* Over two blocks of queries and parts of tiles; heads of 64, 16, 5, 67 and 128 channels. */
Test(training_dropout, fused_attention_has_the_same_masks) {
    static const struct shape fused[] = {{TINY(149, 50, 64, 1, 2, 128), 2, 149},
                                         {TINY(65, 50, 64, 2, 2, 32), 2, 65},
                                         {TINY(70, 50, 64, 1, 3, 15), 2, 70},
                                         {TINY(37, 50, 64, 1, 1, 67), 2, 37},
                                         {TINY(90, 50, 64, 1, 1, 128), 2, 90}};
    struct gpt2_device_info info;
    cr_assert(gpt2_device_ask(&info, &error), "%s", error.text);
    for (size_t i = 0; info.capability >= 80 && i < sizeof fused / sizeof *fused; i++) {
        const char *set = sets[SETS - 1];
        double taught = error_of(&fused[i], set, GPT2_BF16, GPT2_TAUGHT, 0.2, 0.02).most;
        double off = error_of(&fused[i], set, GPT2_BF16, GPT2_FUSED, 0.2, 0.02).most;
        cr_assert(off <= 0.1 && off <= 1.25 * taught + 1e-3, "T %d, C %d: off by %g, taught %g", fused[i].T,
                  fused[i].config.channels, off, taught);
    }
}

/* The scores of so many sequences are computed in several groups. */
Test(training_dropout, the_masks_of_later_groups_are_their_own) {
    static const struct shape many = {TINY(1, 37, 128, 1, 128, 128), 65536 / 128 + 1, 1};
    double off = error_of(&many, sets[SETS - 1], GPT2_F32, GPT2_TAUGHT, 0.25, 1e-5).most;
    cr_assert(off <= 1e-4, "off by %g", off);
}

/* ---- the same bits, and others ---- */

static bool same(const float *a, const float *b, const struct gpt2_config *config) {
    return memcmp(a, b, (size_t)gpt2_config_weights(config, config->vocabulary) * sizeof *a) == 0;
}

Test(training_dropout, recomputed_blocks_have_the_same_masks) {
    for (int i = 0; i < SHAPES * 2; i++) {
        const struct shape *shape = &shapes[i % SHAPES];
        const enum gpt2_type type = i < SHAPES ? GPT2_F32 : GPT2_BF16;
        float *got[3];
        double loss[3];
        for (int k = 0; k < 3; k++) {
            struct gpt2_trainer *trainer = open_trainer(shape, sets[SETS - 1], type, GPT2_TAUGHT, 0.3, k == 2);
            got[k] = gradients_of(trainer, shape, 40, &loss[k]);
            close_trainer(trainer);
        }
        cr_assert(same(got[0], got[1], &shape->config) && loss[0] == loss[1], "again");
        cr_assert(same(got[0], got[2], &shape->config) && loss[0] == loss[2], "recomputed");
        for (int k = 0; k < 3; k++) { free(got[k]); }
    }
}

/* Another pass has other masks; a loss alone has none; without dropout the number of a pass is not used. */
Test(training_dropout, a_mask_is_of_its_pass_and_of_training_alone) {
    const struct shape *shape = &shapes[1];
    double losses[6], alone[2];
    float *got[6];
    int32_t *tokens, *targets;
    for (int i = 0; i < 6; i++) { /* passes 0 and 1, 2 and 3, 0 and 1 again; without dropout at 0 and at 2 */
        const bool dropout = i < 4;
        struct gpt2_trainer *trainer =
            open_trainer(shape, sets[SETS - 1], GPT2_F32, GPT2_TAUGHT, dropout ? 0.5 : 0.0, false);
        got[i] = gradients_of(trainer, shape, i % 2 == 0 ? 0 : 2, &losses[i]);
        if (i >= 3 && i <= 4) {
            batch_of(shape, 0, &tokens, &targets);
            cr_assert(gpt2_trainer_losses(trainer, tokens, targets, shape->B, shape->T, &error), "%s", error.text);
            cr_assert(gpt2_trainer_take_loss(trainer, &alone[i - 3], &error));
            free(tokens), free(targets);
        }
        close_trainer(trainer);
    }
    cr_assert(losses[0] == losses[2] && same(got[0], got[2], &shape->config));
    cr_assert(losses[0] != losses[1] && !same(got[0], got[1], &shape->config));
    cr_assert(losses[4] == losses[5] && same(got[4], got[5], &shape->config));
    cr_assert(losses[4] != losses[0] && alone[0] == alone[1]);
    for (int i = 0; i < 6; i++) { free(got[i]); }
}

/* ---- memory, refusals ---- */

static size_t bytes_of(const struct shape *shape, enum gpt2_type type, enum gpt2_form form, double dropout) {
    struct gpt2_trainer *trainer = open_trainer(shape, sets[SETS - 1], type, form, dropout, false);
    size_t bytes = gpt2_trainer_bytes(trainer);
    close_trainer(trainer);
    return bytes;
}

/* The taught form has one tensor of heads more, fused attention nothing. */
Test(training_dropout, masks_take_no_memory) {
    static const struct shape shape = {TINY(64, 50, 64, 2, 2, 32), 4, 64};
    size_t heads = 4 * 64 * 32 * sizeof(float);
    cr_assert_eq(bytes_of(&shape, GPT2_F32, GPT2_TAUGHT, 0.1), bytes_of(&shape, GPT2_F32, GPT2_TAUGHT, 0.0) + heads);
    struct gpt2_device_info info;
    cr_assert(gpt2_device_ask(&info, &error), "%s", error.text);
    if (info.capability < 80) { return; }
    cr_assert_eq(bytes_of(&shape, GPT2_BF16, GPT2_FUSED, 0.1), bytes_of(&shape, GPT2_BF16, GPT2_FUSED, 0.0));
}

Test(training_dropout, what_is_no_probability_is_refused) {
    static const double wrong[] = {-0.1, 1.0, NAN};
    for (int i = 0; i < 3; i++) {
        struct gpt2_source source = tiny_source(&shapes[0].config);
        struct gpt2_trainer_options options = {
            .batch = 1, .length = 4, .dropout = wrong[i], .kernels = kernels_of(sets[0])};
        cr_assert(gpt2_trainer_open(&source, &options, &error) == NULL);
        cr_assert(strstr(error.text, "a probability from 0 to 0.99"), "%s", error.text);
        close_kernels();
    }
}
