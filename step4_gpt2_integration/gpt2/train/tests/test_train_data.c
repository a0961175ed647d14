/* The order of the data, tokens from both kinds of files, the initial weights. */
#define _GNU_SOURCE
#include "gpt2/tests/scratch.h"
#include "gpt2/train/data.h"
#include "gpt2/train/initial.h"

#include <math.h>

TestSuite(train_data, .timeout = 60);

Test(train_data, an_epoch_takes_every_window_once_in_an_order_of_its_own) {
    for (int64_t count = 1; count <= 300; count++) {
        char seen[300] = {0};
        for (int64_t i = 0; i < count; i++) {
            int64_t at = gpt2_data_shuffled(i, count, 7, count % 3);
            cr_assert(at >= 0 && at < count && !seen[at], "%d of %d goes to %d", (int)i, (int)count, (int)at);
            seen[at] = 1;
        }
    }
    int same_epoch = 0, same_seed = 0, stayed = 0;
    for (int64_t i = 0; i < 1000; i++) {
        int64_t at = gpt2_data_shuffled(i, 1000, 7, 0);
        stayed += at == i;
        same_epoch += at == gpt2_data_shuffled(i, 1000, 7, 1);
        same_seed += at == gpt2_data_shuffled(i, 1000, 8, 0);
    }
    cr_assert(stayed < 10 && same_epoch < 10 && same_seed < 10, "%d %d %d", stayed, same_epoch, same_seed);
}

Test(train_data, windows_and_their_targets) {
    enum { T = 4, B = 3, COUNT = 30 }; /* 7 windows; the last but one token is never an input */
    struct gpt2_ids ids = {.count = COUNT, .room = COUNT};
    ids.ids = malloc(COUNT * sizeof *ids.ids);
    for (int i = 0; i < COUNT; i++) { ids.ids[i] = 100 + i; }
    struct gpt2_data data = {.ids = ids, .count = COUNT};
    int32_t tokens[B * T], targets[B * T];
    int times[COUNT] = {0};
    cr_assert_eq(gpt2_data_windows(&data, T), 7);
    for (int64_t taken = 0; taken < 21; taken += B) { /* three epochs, with batches across their borders */
        gpt2_data_batch(&data, taken, 5, true, B, T, tokens, targets);
        for (int i = 0; i < B * T; i++) {
            cr_assert(targets[i] == tokens[i] + 1 && (tokens[i] - tokens[i / T * T]) == i % T);
            times[tokens[i] - 100]++;
        }
    }
    for (int i = 0; i < COUNT; i++) { cr_assert_eq(times[i], i < 28 ? 3 : 0); }
    gpt2_data_batch(&data, 2, 5, false, B, T, tokens, targets);
    cr_assert(tokens[0] == 108 && tokens[4] == 112 && targets[11] == 120);
    gpt2_data_close(&data);
}

Test(train_data, initial_weights) {
    struct gpt2_initial initial = {{.max_tokens = 64,
                                    .vocabulary = 500,
                                    .padded_vocabulary = 512,
                                    .layers = 3,
                                    .heads = 4,
                                    .channels = 64,
                                    .epsilon = 1e-5f},
                                   42};
    struct gpt2_source source = gpt2_initial_source(&initial);
    for (int tensor = 0; tensor < GPT2_TENSORS; tensor++) {
        enum gpt2_tensor t = (enum gpt2_tensor)tensor;
        int64_t count = gpt2_tensor_elements(&initial.config, t);
        int last = gpt2_tensor_layers(&initial.config, t) - 1;
        if (last < 0) { continue; } /* the head is tied */
        float *values = malloc((size_t)count * sizeof *values), *other = malloc((size_t)count * sizeof *other);
        cr_assert(source.read(source.context, t, last, GPT2_F32, GPT2_OUT_IN, values, &error), "%s", error.text);
        cr_assert(source.read(source.context, t, 0, GPT2_F32, GPT2_OUT_IN, other, &error), "%s", error.text);
        double mean = 0.0, square = 0.0, fourth = 0.0;
        for (int64_t i = 0; i < count; i++) {
            double x = (double)values[i];
            mean += x / (double)count;
            square += x * x / (double)count;
            fourth += x * x * x * x / (double)count;
        }
        bool projection = t == GPT2_ATTPROJW || t == GPT2_FCPROJW;
        bool one = t == GPT2_LN1W || t == GPT2_LN2W || t == GPT2_LNFW;
        if (gpt2_tensor_dimensions(t) == 2) {
            double wanted = 0.02 / (projection ? sqrt(6.0) : 1.0);
            cr_assert(fabs(mean) < 0.05 * wanted && fabs(sqrt(square) / wanted - 1.0) < 0.05, "tensor %d: %g, %g",
                      tensor, mean, sqrt(square));
            cr_assert(fabs(fourth / (square * square) - 2.9) < 0.3, "tensor %d: kurtosis %g", tensor,
                      fourth / (square * square)); /* the kurtosis of a sum of 12 uniform numbers: 2.9 */
            cr_assert(last == 0 || memcmp(values, other, (size_t)count * sizeof *values) != 0);
        } else {
            cr_assert(fabs(mean - one) == 0.0 && square == (double)one, "tensor %d", tensor);
        }
        free(values), free(other);
    }
    float wte[500 * 64];
    uint64_t hash = 14695981039346656037u;
    source.read(source.context, GPT2_WTE, 0, GPT2_F32, GPT2_OUT_IN, wte, &error);
    for (size_t i = 0; i < sizeof wte; i++) { hash = (hash ^ ((const uint8_t *)wte)[i]) * 1099511628211u; }
    cr_assert_eq(hash, 0x26a55a56697f59beu, "%llx: another machine would begin with other weights",
                 (unsigned long long)hash);
}
