/* stream.c — products with a few columns: a matrix that is read once, as decoding reads its weights.
 *
 *   d (m, n) = a^T b, where a lies as (k, m): each of the m results is the product of two runs of k elements
 *
 * OpenBLAS is as fast with one core and fp32. Here 16-bit matrices are not unpacked into memory first. The rows are
 * distributed over the cores a few at a time, so that a core that is busy otherwise delays no other. A result does not
 * depend on the number of cores.
 */
#include <stdatomic.h>
#include <string.h>

#include "product.h"

enum { LANES = 8, ROWS = 4, CHUNK = 16 };
__extension__ typedef _Float16 half;
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef half halves __attribute__((vector_size(2 * LANES)));
typedef uint16_t shorts __attribute__((vector_size(2 * LANES)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));

struct work {
    const struct product *product;
    const char *a;  /* the first row */
    const float *b; /* (k, n), a column every ldb */
    float *d;       /* (m, n), a column every ldd */
    int64_t ldb, ldd;
    atomic_llong next; /* first row that no thread has taken */
};

/* ---- a few rows ---- */

#define LOAD(type, from)                      \
    ({                                        \
        type loaded;                          \
        memcpy(&loaded, from, sizeof loaded); \
        loaded;                               \
    })

/* sums[r] = rows[r] . b, over k elements; LOAD8 makes `floats` of eight elements, ONE a float of one. */
#define DOTS(name, element, LOAD8, ONE)                                                                    \
    FOR_THIS_PROCESSOR static void name(const void *const *rows, const float *b, int64_t k, float *sums) { \
        const element *row[ROWS];                                                                          \
        floats totals[ROWS][2] = {0};                                                                      \
        int64_t i = 0;                                                                                     \
        for (int r = 0; r < ROWS; r++) { row[r] = rows[r]; }                                               \
        for (; i + 2 * LANES <= k; i += 2 * LANES) {                                                       \
            floats low = LOAD(floats, b + i), high = LOAD(floats, b + i + LANES);                          \
            for (int r = 0; r < ROWS; r++) {                                                               \
                totals[r][0] += LOAD8(row[r] + i) * low;                                                   \
                totals[r][1] += LOAD8(row[r] + i + LANES) * high;                                          \
            }                                                                                              \
        }                                                                                                  \
        for (int r = 0; r < ROWS; r++) {                                                                   \
            floats total = totals[r][0] + totals[r][1];                                                    \
            float sum = 0.0f;                                                                              \
            for (int lane = 0; lane < LANES; lane++) { sum += total[lane]; }                               \
            for (int64_t j = i; j < k; j++) { sum += ONE(row[r][j]) * b[j]; }                              \
            sums[r] = sum;                                                                                 \
        }                                                                                                  \
    }

static float float_of_bf16(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

#define FLOATS(from)   LOAD(floats, from)
#define HALVES(from)   __builtin_convertvector(LOAD(halves, from), floats)
#define BRAINS(from)   ((floats)(__builtin_convertvector(LOAD(shorts, from), words) << 16))
#define ITSELF(value)  (value)
#define OF_HALF(value) ((float)(value))
__extension__ DOTS(dots_f32, float, FLOATS,
                   ITSELF) __extension__ DOTS(dots_f16, half, HALVES, OF_HALF) __extension__ DOTS(dots_bf16, uint16_t,
                                                                                                  BRAINS, float_of_bf16)

    static void run_rows(const struct work *work, int64_t first, int64_t count) {
    const struct product *p = work->product;
    const size_t size = element_size(p->a.type);
    const void *rows[ROWS];
    float sums[ROWS];
    for (int r = 0; r < ROWS; r++) { /* past the end: the last row again */
        rows[r] = work->a + (size_t)((first + (r < count ? r : count - 1)) * p->a.ld) * size;
    }
    for (int64_t column = 0; column < p->n; column++) {
        const float *b = work->b + column * work->ldb;
        switch (p->a.type) {
            case CUDA_R_32F: dots_f32(rows, b, p->k, sums); break;
            case CUDA_R_16F: dots_f16(rows, b, p->k, sums); break;
            default: dots_bf16(rows, b, p->k, sums); break;
        }
        for (int64_t r = 0; r < count; r++) { work->d[first + r + column * work->ldd] = sums[r]; }
    }
}

static void run(void *argument) {
    struct work *work = argument;
    const int64_t m = work->product->m;
    for (;;) {
        int64_t first = atomic_fetch_add(&work->next, CHUNK);
        if (first >= m) { return; }
        int64_t end = first + CHUNK < m ? first + CHUNK : m;
        for (int64_t row = first; row < end; row += ROWS) { run_rows(work, row, end - row < ROWS ? end - row : ROWS); }
    }
}

bool product_streams(const struct product *p) {
    return p->op_a != CUBLAS_OP_N && p->op_b == CUBLAS_OP_N && p->n <= 8 && p->k > 0 && p->alpha == 1.0f &&
           p->beta == 0.0f;
}

void product_stream(const struct product *p, int64_t index, const float *b, int64_t ldb, float *d, int64_t ldd) {
    const int64_t worth_a_thread = 1 << 17; /* elements: some 20 us */
    struct work work = {.product = p,
                        .a = (const char *)p->a.start + (size_t)(index * p->a.stride) * element_size(p->a.type),
                        .b = b,
                        .d = d,
                        .ldb = ldb,
                        .ldd = ldd};
    atomic_init(&work.next, 0);
    if (p->m * p->k < worth_a_thread) {
        run(&work);
    } else {
        product_parallel(run, &work);
    }
}
