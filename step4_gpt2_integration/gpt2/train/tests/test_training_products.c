/* The algorithms of training's products: listed for each, kept, and taken over from another trainer. */
#define _GNU_SOURCE
#include "training.h"

TestSuite(training_products, .timeout = 600);

enum { B = 3, T = 7, N = B * T };
static const struct gpt2_config config = TINY(16, 50, 128, 2, 2, 16);

static struct gpt2_trainer *open_trainer(void) {
    struct gpt2_source source = tiny_source(&config);
    struct gpt2_trainer_options options = {
        .type = GPT2_F32, .batch = B, .length = T, .kernels = kernels_of(sets[SETS - 1])};
    struct gpt2_trainer *trainer = gpt2_trainer_open(&source, &options, &error);
    cr_assert(trainer, "%s", error.text);
    return trainer;
}

static void run(struct gpt2_trainer *trainer, int sequences) {
    int32_t tokens[N], targets[N];
    tiny_tokens(tokens, N, config.vocabulary, 5);
    tiny_tokens(targets, N, config.vocabulary, 6);
    cr_assert(gpt2_trainer_gradients(trainer, tokens, targets, sequences, T, 0.125f, &error), "%s", error.text);
}

/* The layout of gpt2_trainer_algorithms: see matmul_choice in matmul.cuh. */
struct choice {
    int32_t in, out, transpose_a, transpose_b, m, n, k, lda, ldb, ldd, epilogue, batch;
    uint64_t algorithm[8];
};

static bool is_there(const struct choice *choices, size_t count, bool transpose_a, bool transpose_b, int m, int n,
                     int k, int batch) {
    for (size_t i = 0; i < count; i++) {
        const struct choice *c = &choices[i];
        if (c->transpose_a == transpose_a && c->transpose_b == transpose_b && c->m == m && c->n == n && c->k == k &&
            c->batch == batch) {
            return true;
        }
    }
    return false;
}

/* The list has all products of a pass: linear layers, their gradients, attention. */
Test(training_products, all_have_a_known_algorithm) {
    const int C = config.channels, H = config.heads, D = C / H, heads = B * H;
    struct gpt2_trainer *trainer = open_trainer();
    size_t size;
    run(trainer, B);
    struct choice *choices = gpt2_trainer_algorithms(trainer, &size);
    const size_t count = size / sizeof *choices;
    cr_assert(choices && size % sizeof *choices == 0);
    cr_assert(is_there(choices, count, true, false, 3 * C, N, C, 1), "x W^T");
    cr_assert(is_there(choices, count, false, false, C, N, 3 * C, 1), "dout W");
    cr_assert(is_there(choices, count, false, true, C, 3 * C, N, 1), "dout^T x");
    cr_assert(is_there(choices, count, true, false, T, T, D, heads), "Q K^T, dout V^T");
    cr_assert(is_there(choices, count, false, false, D, T, T, heads), "P V, dS K");
    cr_assert(is_there(choices, count, false, true, D, T, T, heads), "P^T dout, dS^T Q");
    free(choices);
    close_trainer(trainer);
}

/* A trainer takes over the choices of another one, keeps them through its passes, and adds its own. */
Test(training_products, algorithms_are_kept) {
    struct gpt2_trainer *trainer = open_trainer();
    size_t size, again, more;
    run(trainer, B);
    uint8_t *algorithms = gpt2_trainer_algorithms(trainer, &size);
    close_trainer(trainer);
    cr_assert(algorithms && size > 0);
    trainer = open_trainer();
    cr_assert(!gpt2_trainer_use_algorithms(trainer, algorithms, size - 1));
    cr_assert(gpt2_trainer_use_algorithms(trainer, algorithms, size));
    uint8_t *unused = gpt2_trainer_algorithms(trainer, &again);
    cr_assert(unused && again == size && memcmp(algorithms, unused, size) == 0);
    run(trainer, B);
    uint8_t *kept = gpt2_trainer_algorithms(trainer, &again);
    cr_assert(kept && again == size && memcmp(algorithms, kept, size) == 0);
    run(trainer, 1);
    uint8_t *longer = gpt2_trainer_algorithms(trainer, &more);
    cr_assert(longer && more > size && memcmp(algorithms, longer, size) == 0);
    free(algorithms), free(unused), free(kept), free(longer);
    close_trainer(trainer);
}

/* More heads than cuBLASLt supports in one batch. */
Test(training_products, of_many_heads_at_once) {
    enum { MANY = 65536 / 2 + 1 };
    const struct gpt2_config small = TINY(1, 37, 128, 1, 2, 2);
    struct gpt2_source source = tiny_source(&small);
    struct gpt2_trainer_options options = {
        .type = GPT2_F32, .batch = MANY, .length = 1, .kernels = kernels_of(sets[SETS - 1])};
    int32_t *tokens = calloc(MANY, sizeof *tokens);
    struct gpt2_trainer *trainer = gpt2_trainer_open(&source, &options, &error);
    cr_assert(trainer, "%s", error.text);
    cr_assert(gpt2_trainer_gradients(trainer, tokens, tokens, MANY, 1, 1.0f / MANY, &error), "%s", error.text);
    free(tokens);
    close_trainer(trainer);
}
