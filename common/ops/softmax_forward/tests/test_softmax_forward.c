/* softmax_forward: known rows, what a softmax leaves unchanged, special values, and the floor. */
#include "common/ops/op_test.h"

TestSuite(softmax_forward, .timeout = 60);

enum { N = 4, C = 37, COUNT = N * C };

/* Multiples of 2^-14 on [-2, 2). */
static void random_row(float *x, int count, uint32_t seed) {
    for (int i = 0; i < count; i++) {
        seed = seed * 1103515245u + 12345u;
        x[i] = (float)((seed >> 8) & 0xffff) / 16384.0f - 2.0f;
    }
}

static struct computed softmax_of(const float *x, int rows, int columns) {
    struct computed c = fill("softmax_forward", (struct op_sizes){.N = rows, .C = columns}, 1);
    give_values(&c, "x", x, (size_t)rows * (size_t)columns);
    compute(&c);
    return c;
}

Test(softmax_forward, known_rows) {
    const float x[] = {0.0f, logf(3.0f), -INFINITY, 5.0f, 5.0f, 5.0f};
    struct computed c = softmax_of(x, 2, 3);
    const double *out = output(&c, "out");
    cr_assert(fabs(out[0] - 0.25) < 1e-7);
    cr_assert(fabs(out[1] - 0.75) < 1e-7);
    cr_assert_eq(out[2], 0.0);
    cr_assert_eq(condition(&c, "out")[2], 0.0, "a masked entry is exact");
    for (int i = 3; i < 6; i++) { cr_assert(fabs(out[i] - 1.0 / 3.0) < 1e-15); }
    drop(&c);
}

Test(softmax_forward, rows_sum_to_one_and_shift_changes_nothing) {
    float x[COUNT], shifted[COUNT];
    random_row(x, COUNT, 1);
    for (int i = 0; i < COUNT; i++) { shifted[i] = x[i] + 64.0f; } /* exact: multiples of 2^-14 */
    struct computed a = softmax_of(x, N, C), b = softmax_of(shifted, N, C);
    for (int n = 0; n < N; n++) {
        double sum = 0.0;
        for (int c = 0; c < C; c++) { sum += output(&a, "out")[n * C + c]; }
        cr_assert(fabs(sum - 1.0) < 1e-14);
    }
    for (int i = 0; i < COUNT; i++) { cr_assert(fabs(output(&a, "out")[i] - output(&b, "out")[i]) <= 1e-15); }
    drop(&a);
    drop(&b);
}

Test(softmax_forward, specials_stay_in_their_row) {
    const float special[] = {INFINITY, NAN, -INFINITY};
    for (int k = 0; k < 3; k++) {
        float x[3 * C];
        random_row(x, 3 * C, 2);
        for (int c = 0; c < C; c++) {
            if (k == 2 || c == 7) { x[C + c] = special[k]; }
        }
        struct computed c = softmax_of(x, 3, C);
        for (int i = 0; i < 3 * C; i++) {
            cr_assert_eq(isnan(output(&c, "out")[i]) != 0, i / C == 1, "special %d, element %d", k, i);
        }
        drop(&c);
    }
}

Test(softmax_forward, floor_is_one_tensor_read_and_one_written) {
    expect_floor("softmax_forward", floor_sizes, 2 * floor_matrix, 0);
}
