/* Ten steps of AdamW on the device, compared with float64 in plain C; norm, clipping, decay, schedule. */
#define _GNU_SOURCE
#include "gpt2/train/schedule.h"
#include "training.h"

TestSuite(optimizer, .timeout = 600);

enum { B = 2, T = 6, N = B * T, STEPS = 10 };
static const struct gpt2_config config = TINY(8, 37, 128, 2, 3, 15);
static const struct gpt2_adamw usual = {
    .rate = 3e-3, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .decay = 0.1, .clip = 1.0};

/* ---- AdamW in float64 ---- */

struct plain {
    struct gpt2_reference_gradients weights, gradients, m, v;
};

static bool plain_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                       void *out, struct gpt2_error *problem) {
    const struct plain *plain = context;
    float *values = out;
    (void)type, (void)layout, (void)problem; /* the reference reads F32 and OUT_IN */
    for (int64_t i = 0; i < gpt2_tensor_elements(&config, tensor); i++) {
        values[i] = (float)plain->weights.at[tensor * config.layers + layer][i];
    }
    return true;
}

static void plain_open(struct plain *plain) {
    struct gpt2_reference_gradients *all[] = {&plain->weights, &plain->gradients, &plain->m, &plain->v};
    for (int i = 0; i < 4; i++) { cr_assert(gpt2_reference_gradients_open(all[i], &config)); }
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        enum gpt2_tensor t = (enum gpt2_tensor)tensor;
        for (int layer = 0; layer < gpt2_tensor_layers(&config, t); layer++) {
            double *to = plain->weights.at[tensor * config.layers + layer];
            for (int64_t i = 0; i < gpt2_tensor_elements(&config, t); i++) {
                to[i] = (double)tiny_value(&config, t, layer, i);
            }
        }
    }
}

static void plain_close(struct plain *plain) {
    gpt2_reference_gradients_close(&plain->weights);
    gpt2_reference_gradients_close(&plain->gradients);
    gpt2_reference_gradients_close(&plain->m);
    gpt2_reference_gradients_close(&plain->v);
}

/* The norm before clipping. */
static double plain_step(struct plain *plain, const struct gpt2_adamw *s, int step) {
    double squares = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        double factor = sqrt(squares) > s->clip ? s->clip / sqrt(squares) : 1.0;
        for (int at = 0; at < GPT2_TENSORS * config.layers; at++) {
            enum gpt2_tensor tensor = (enum gpt2_tensor)(at / config.layers);
            double *w = plain->weights.at[at], *g = plain->gradients.at[at];
            double *m = plain->m.at[at], *v = plain->v.at[at];
            double decay = gpt2_tensor_dimensions(tensor) == 2 ? s->decay : 0.0;
            for (int64_t i = 0; w != NULL && i < gpt2_tensor_elements(&config, tensor); i++) {
                if (pass == 0) {
                    squares += g[i] * g[i];
                    continue;
                }
                m[i] = s->beta1 * m[i] + (1.0 - s->beta1) * factor * g[i];
                v[i] = s->beta2 * v[i] + (1.0 - s->beta2) * factor * g[i] * factor * g[i];
                double m_hat = m[i] / (1.0 - pow(s->beta1, step)), v_hat = v[i] / (1.0 - pow(s->beta2, step));
                w[i] -= s->rate * (m_hat / (sqrt(v_hat) + s->epsilon) + decay * w[i]);
                g[i] = 0.0;
            }
        }
    }
    return sqrt(squares);
}

/* ---- both ---- */

static void batch_of(int step, int32_t tokens[N], int32_t targets[N]) {
    tiny_tokens(tokens, N, config.vocabulary, 100 + (uint64_t)step);
    tiny_tokens(targets, N, config.vocabulary, 200 + (uint64_t)step);
}

static struct gpt2_trainer *open_trainer(const char *set, enum gpt2_type type) {
    struct gpt2_source source = tiny_source(&config);
    struct gpt2_trainer_options options = {.type = type, .batch = B, .length = T, .kernels = kernels_of(set)};
    struct gpt2_trainer *trainer = gpt2_trainer_open(&source, &options, &error);
    cr_assert(trainer, "%s", error.text);
    return trainer;
}

/* The gradient of the K bias is rounding errors alone, which Adam scales like any gradient, so it is not compared. */
static void compare_weights(struct gpt2_trainer *trainer, const struct plain *plain, double tolerance) {
    int64_t total, at = 0;
    float *got = part_of(trainer, GPT2_WEIGHTS, &total);
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        enum gpt2_tensor t = (enum gpt2_tensor)tensor;
        int64_t count = gpt2_tensor_elements(&config, t);
        for (int layer = 0; layer < gpt2_tensor_layers(&config, t); layer++, at += count) {
            const double *wanted = plain->weights.at[tensor * config.layers + layer];
            double off = 0.0;
            for (int64_t i = 0; i < count; i++) {
                bool of_k = t == GPT2_QKVB && i / config.channels == 1;
                if (!of_k) { off = fmax(off, fabs((double)got[at + i] - wanted[i])); }
            }
            cr_assert(off <= tolerance * usual.rate * STEPS, "tensor %d, layer %d: off by %g, %g of the way", tensor,
                      layer, off, off / (usual.rate * STEPS));
        }
    }
    free(got);
}

static void check_steps(const char *set, enum gpt2_type type, double loss_tolerance, double weight_tolerance) {
    struct plain plain;
    struct gpt2_source source = {.config = config, .read = plain_read, .context = &plain};
    struct gpt2_trainer *trainer = open_trainer(set, type);
    int32_t tokens[N], targets[N];
    int clipped = 0;
    plain_open(&plain);
    for (int step = 1; step <= STEPS; step++) {
        struct gpt2_adamw settings = usual;
        double loss, norm, wanted = 0.0, one;
        settings.rate = usual.rate * step / STEPS;
        settings.clip = 1.5;
        for (int part = 0; part < 2; part++) { /* accumulated */
            batch_of(2 * step + part, tokens, targets);
            cr_assert(gpt2_trainer_gradients(trainer, tokens, targets, B, T, 1.0f / (2 * N), &error), "%s", error.text);
            for (int b = 0; b < B; b++) {
                cr_assert(gpt2_reference_backward(&source, tokens + b * T, targets + b * T, T, 1.0 / (2 * N), NULL,
                                                  &one, &plain.gradients, &error));
                wanted += one;
            }
        }
        cr_assert(gpt2_trainer_update(trainer, &settings, step, &norm, &error), "%s", error.text);
        cr_assert(gpt2_trainer_take_loss(trainer, &loss, &error));
        double wanted_norm = plain_step(&plain, &settings, step);
        clipped += wanted_norm > settings.clip;
        cr_assert(fabs(loss - wanted) <= loss_tolerance * wanted, "%s, step %d: a loss of %.9g, not %.9g", set, step,
                  loss / (2 * N), wanted / (2 * N));
        cr_assert(fabs(norm - wanted_norm) <= 5.0 * loss_tolerance * wanted_norm, "%s, step %d: a norm of %g, not %g",
                  set, step, norm, wanted_norm);
    }
    cr_assert(clipped > 0, "nothing was clipped");
    if (weight_tolerance > 0.0) { compare_weights(trainer, &plain, weight_tolerance); }
    plain_close(&plain);
    close_trainer(trainer);
}

Test(optimizer, ten_steps_are_those_of_float64) {
    for (int set = 0; set < SETS; set++) { check_steps(sets[set], GPT2_F32, 1e-5, 0.02); }
}

Test(optimizer, in_bf16_they_are_near) {
    for (int set = 0; set < SETS; set++) { check_steps(sets[set], GPT2_BF16, 0.03, 0.0); }
}

/* In bf16 alone a change of 1e-4 of a weight would be lost by rounding. */
Test(optimizer, master_weights_keep_small_steps) {
    struct gpt2_trainer *trainer = open_trainer(sets[0], GPT2_BF16);
    struct gpt2_adamw settings = usual;
    int32_t tokens[N], targets[N];
    int64_t total;
    double norm;
    settings.rate = 1e-6;
    float *before = part_of(trainer, GPT2_WEIGHTS, &total);
    batch_of(1, tokens, targets);
    cr_assert(gpt2_trainer_gradients(trainer, tokens, targets, B, T, 1.0f / N, &error));
    cr_assert(gpt2_trainer_update(trainer, &settings, 1, &norm, &error));
    float *after = part_of(trainer, GPT2_WEIGHTS, &total);
    int moved = 0;
    for (int64_t i = 0; i < total; i++) { moved += after[i] != before[i]; }
    cr_assert(moved > total / 2, "%d of %d moved", moved, (int)total);
    free(before), free(after);
    close_trainer(trainer);
}

/* The second gradients since an update are added to the first, and the first ones after it are added to none, with shorter
 * sequences too, which leave some positions out. */
Test(optimizer, gradients_after_an_update_are_new) {
    const struct gpt2_adamw still = {.rate = 0.0, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};
    struct gpt2_config untied = config;
    untied.untied = true;
    for (int i = 0; i < 2 * SETS; i++) {
        struct gpt2_source source = tiny_source(i % 2 ? &untied : &config);
        struct gpt2_trainer_options options = {
            .type = GPT2_F32, .batch = B, .length = T, .kernels = kernels_of(sets[i / 2])};
        struct gpt2_trainer *trainer = gpt2_trainer_open(&source, &options, &error);
        int32_t tokens[N], targets[N];
        int64_t total;
        double norm;
        float *got[2];
        cr_assert(trainer, "%s", error.text);
        batch_of(1, tokens, targets);
        for (int turn = 0; turn < 2; turn++) {
            cr_assert(gpt2_trainer_gradients(trainer, tokens, targets, B, T - 2, 1.0f / N, &error));
            got[turn] = part_of(trainer, GPT2_GRADIENTS, &total);
            if (turn == 1) { break; }
            cr_assert(gpt2_trainer_gradients(trainer, tokens, targets, B, T, 1.0f / N, &error));
            cr_assert(gpt2_trainer_update(trainer, &still, 1, &norm, &error));
        }
        cr_assert(memcmp(got[0], got[1], (size_t)total * sizeof **got) == 0, "%s, %s", sets[i / 2],
                  i % 2 ? "untied" : "tied");
        free(got[0]), free(got[1]);
        close_trainer(trainer);
    }
}

Test(optimizer, what_is_not_finite_changes_nothing) {
    struct gpt2_trainer *trainer = open_trainer(sets[0], GPT2_F32);
    int32_t tokens[N], targets[N];
    int64_t total;
    double norm;
    float *before = part_of(trainer, GPT2_WEIGHTS, &total);
    batch_of(1, tokens, targets);
    cr_assert(gpt2_trainer_gradients(trainer, tokens, targets, B, T, INFINITY, &error));
    cr_assert(!gpt2_trainer_update(trainer, &usual, 1, &norm, &error));
    cr_assert(strstr(error.text, "step 1: the gradients are not finite"), "%s", error.text);
    float *after = part_of(trainer, GPT2_WEIGHTS, &total);
    cr_assert(memcmp(before, after, (size_t)total * sizeof *before) == 0);
    free(before), free(after);
    close_trainer(trainer);
}

Test(optimizer, schedule) {
    const struct gpt2_schedule schedule = {.rate = 1.0, .least = 0.1, .warmup = 4, .steps = 12};
    const double wanted[] = {0.25,     0.5,  0.75,     1.0,      0.965746, 0.868198,
                             0.722208, 0.55, 0.377792, 0.231802, 0.134254, 0.1};
    for (int step = 1; step <= 12; step++) {
        double got = gpt2_schedule_rate(&schedule, step);
        cr_assert(fabs(got - wanted[step - 1]) < 1e-6, "step %d: %g, not %g", step, got, wanted[step - 1]);
    }
    const struct gpt2_schedule none = {.rate = 1.0, .least = 0.0, .warmup = 0, .steps = 1};
    cr_assert(gpt2_schedule_rate(&none, 1) == 0.0);
}
