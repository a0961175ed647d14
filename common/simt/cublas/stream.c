/* stream.c — products with a few columns: a matrix that is read once, as decoding reads its weights.
 *
 *   d (m, n) = a^T b, where a lies as (k, m): each of the m results is the product of two runs of k elements
 *
 * 16-bit matrices are not unpacked into memory first. A core reads one row after another: one run of addresses, which the
 * processor fetches ahead. On an AMD EPYC a core reaches 20 GB/s so, and 8 GB/s with four rows at a time. The cores take CHUNK
 * rows at a time, so that a core that is busy otherwise delays no other. A result does not depend on the number of cores.
 */
#include <stdatomic.h>
#include <string.h>

#include "product.h"

enum { LANES = 8, CHUNK = 64 };
__extension__ typedef _Float16 half;
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef half halves __attribute__((vector_size(2 * LANES)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));

struct work {
    const struct product *product;
    const char *a;  /* the first row */
    const float *b; /* (k, n), a column every ldb */
    float *d;       /* (m, n), a column every ldd */
    int64_t ldb, ldd;
    atomic_llong next; /* first row that no thread has taken */
};

/* ---- a row ---- */

#define LOAD(type, from)                      \
    ({                                        \
        type loaded;                          \
        memcpy(&loaded, from, sizeof loaded); \
        loaded;                               \
    })

/* row . b, over k elements, 2 * LANES at a time. PAIR(first, second, from) makes `floats` of so many elements, and OF_B(first,
 * second) puts those of b into the same order. ONE makes a float of one element. */
#define DOT(name, element, PAIR, OF_B, ONE)                                             \
    FOR_THIS_PROCESSOR static float name(const void *from, const float *b, int64_t k) { \
        const element *row = from;                                                      \
        floats totals[2] = {0};                                                         \
        int64_t i = 0;                                                                  \
        for (; i + 2 * LANES <= k; i += 2 * LANES) {                                    \
            floats x0, x1, b0 = LOAD(floats, b + i), b1 = LOAD(floats, b + i + LANES);  \
            PAIR(x0, x1, row + i)                                                       \
            OF_B(b0, b1)                                                                \
            totals[0] += x0 * b0;                                                       \
            totals[1] += x1 * b1;                                                       \
        }                                                                               \
        floats total = totals[0] + totals[1];                                           \
        float sum = 0.0f;                                                               \
        for (int lane = 0; lane < LANES; lane++) { sum += total[lane]; }                \
        for (; i < k; i++) { sum += ONE(row[i]) * b[i]; }                               \
        return sum;                                                                     \
    }                                                                                   \
    _Static_assert(sizeof(element) == 2 || sizeof(element) == 4, "an element of PAIR")

static float float_of_bf16(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

#define FLOATS(first, second, from) \
    first = LOAD(floats, from);     \
    second = LOAD(floats, (from) + LANES);
#define HALVES(first, second, from)                              \
    first = __builtin_convertvector(LOAD(halves, from), floats); \
    second = __builtin_convertvector(LOAD(halves, (from) + LANES), floats);
#define AS_STORED(first, second)

/* Two bf16 are a word of 32 bits. The second is the upper half of a float already; the first becomes one by a shift. So there are
 * no conversions, and the two vectors have the elements with even and with odd numbers. (Bytes are in little-endian order.) */
#define BRAINS(first, second, from)            \
    {                                          \
        const words both = LOAD(words, from);  \
        first = (floats)(both << 16);          \
        second = (floats)(both & 0xffff0000u); \
    }
#define EVEN_AND_ODD(first, second)                                                \
    {                                                                              \
        const floats low = first, high = second;                                   \
        first = __builtin_shuffle(low, high, (words){0, 2, 4, 6, 8, 10, 12, 14});  \
        second = __builtin_shuffle(low, high, (words){1, 3, 5, 7, 9, 11, 13, 15}); \
    }
#define ITSELF(value)  (value)
#define OF_HALF(value) ((float)(value))
__extension__ DOT(dot_f32, float, FLOATS, AS_STORED, ITSELF);
__extension__ DOT(dot_f16, half, HALVES, AS_STORED, OF_HALF);
__extension__ DOT(dot_bf16, uint16_t, BRAINS, EVEN_AND_ODD, float_of_bf16);

static void run(void *argument) {
    struct work *work = argument;
    const struct product *p = work->product;
    const size_t row_bytes = (size_t)p->a.ld * element_size(p->a.type);
    for (;;) {
        const int64_t first = atomic_fetch_add(&work->next, CHUNK), end = first + CHUNK < p->m ? first + CHUNK : p->m;
        if (first >= p->m) { return; }
        for (int64_t row = first; row < end; row++) {
            const char *a = work->a + (size_t)row * row_bytes;
            for (int64_t column = 0; column < p->n; column++) {
                const float *b = work->b + column * work->ldb;
                work->d[row + column * work->ldd] = p->a.type == CUDA_R_32F   ? dot_f32(a, b, p->k)
                                                    : p->a.type == CUDA_R_16F ? dot_f16(a, b, p->k)
                                                                              : dot_bf16(a, b, p->k);
            }
        }
    }
}

bool product_streams(const struct product *p) {
    return element_size(p->a.type) > 1 && p->op_a != CUBLAS_OP_N && p->op_b == CUBLAS_OP_N && p->n <= 8 && p->k > 0 &&
           p->alpha == 1.0f && p->beta == 0.0f;
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
