/* matrix.c — instructions that a whole warp executes on matrices: ldmatrix, mma.sync and the products of mma.h.
 *
 * The lanes meet (collective.c); then one function computes for all of them. The layouts of the fragments are those of
 * the PTX manual, with g = lane / 4 and t = lane % 4.
 *
 * Arithmetic: operands become fp32, which is exact, and so are their products, unless these are too small or too large
 * for fp32. An element of the result is ((c + a0 b0) + a1 b1) + …, in the order of k, each sum rounded to fp32. With fp16
 * accumulators the last sum is rounded to fp16. The order on a GPU is not documented, and its last bits differ.
 */
#include <string.h>

#include "include/simt/matrix_calls.h"
#include "include/simt/minifloat.h"
#include "internal.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float element(uint32_t word, unsigned which, enum matrix_type type) {
    if (type == MATRIX_TF32) return float_of(word & 0xffffe000);
    uint16_t bits = (uint16_t)(word >> 16 * which);
    return type == MATRIX_BF16 ? float_of((uint32_t)bits << 16) : simt_half_to_float(bits);
}

/* ---- ldmatrix ---- */

struct load {
    struct simt_together together;
    uint64_t row[2]; /* the 8 elements that lie at this lane's address */
    uint32_t result[4];
    int count;
    bool transposed;
};

static uint32_t half_of(const struct load *from, unsigned column) {
    return (uint16_t)(from->row[column / 4] >> column % 4 * 16);
}

/* Lanes 8 i to 8 i + 7 hold the rows of matrix i. */
static void load_matrices(struct simt_together *const *lanes) {
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        struct load *to = (struct load *)lanes[lane];
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < (unsigned)to->count; i++) {
            const struct load *first = (const struct load *)lanes[8 * i + (to->transposed ? 2 * t : g)];
            const struct load *second = (const struct load *)lanes[8 * i + (to->transposed ? 2 * t + 1 : g)];
            to->result[i] = half_of(first, to->transposed ? g : 2 * t) | half_of(second, to->transposed ? g : 2 * t + 1)
                                                                             << 16;
        }
    }
}

struct simt_registers simt_load_matrices(int count, bool transposed, uint64_t low, uint64_t high) {
    struct load load = {{"ldmatrix", load_matrices}, {low, high}, {0}, count, transposed};
    simt_together(&load.together, CALLER);
    return (struct simt_registers){load.result[0] | (uint64_t)load.result[1] << 32,
                                   load.result[2] | (uint64_t)load.result[3] << 32};
}

/* ---- mma.sync: d (16, 8) = a (16, k) b (k, 8) + c ---- */

enum { M = 16, N = 8, MOST_K = 16 };

struct product {
    struct simt_together together;
    unsigned shape;
    uint32_t a[4], b[2], c[4];
};

/* Collects the operands from the registers of the lanes. A register holds two 16-bit elements, or one of tf32, of which
 * the last 13 bits are ignored. */
static void gather(struct simt_together *const *lanes, unsigned shape, float a[M][MOST_K], float b[MOST_K][N]) {
    enum matrix_type type = MATRIX_TYPE(shape);
    unsigned k = MATRIX_K(shape), each = type == MATRIX_TF32 ? 1 : 2;
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        const struct product *from = (const struct product *)lanes[lane];
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned r = 0; r < k / (2 * each); r++)
            for (unsigned i = 0; i < each; i++)
                a[g + r % 2 * 8][each * t + i + r / 2 * 4 * each] = element(from->a[r], i, type);
        for (unsigned r = 0; r < k / (4 * each); r++)
            for (unsigned i = 0; i < each; i++) b[each * t + i + r * 4 * each][g] = element(from->b[r], i, type);
    }
}

static void multiply(struct simt_together *const *lanes) {
    float a[M][MOST_K], b[MOST_K][N];
    unsigned shape = ((const struct product *)lanes[0])->shape;
    gather(lanes, shape, a, b);
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        struct product *to = (struct product *)lanes[lane];
        unsigned g = lane / 4, t = lane % 4;
        uint32_t half[2] = {0, 0};
        for (unsigned i = 0; i < 4; i++) {
            unsigned row = g + i / 2 * 8, column = 2 * t + i % 2;
            float sum = shape & MATRIX_HALF_SUMS ? element(to->c[i / 2], i % 2, MATRIX_F16) : float_of(to->c[i]);
            for (unsigned k = 0; k < MATRIX_K(shape); k++) sum += a[row][k] * b[k][column];
            if (shape & MATRIX_HALF_SUMS)
                half[i / 2] |= (uint32_t)simt_half_of_float(sum) << i % 2 * 16;
            else
                to->c[i] = bits_of(sum);
        }
        if (shape & MATRIX_HALF_SUMS) memcpy(to->c, half, sizeof half);
    }
}

static const char *product_name(unsigned shape) {
    switch (shape) {
        case MATRIX_SHAPE(MATRIX_F16, 16): return "mma.sync.m16n8k16 (f16)";
        case MATRIX_SHAPE(MATRIX_BF16, 16): return "mma.sync.m16n8k16 (bf16)";
        case MATRIX_SHAPE(MATRIX_F16, 16) | MATRIX_HALF_SUMS: return "mma.sync.m16n8k16 (f16, f16 sums)";
        case MATRIX_SHAPE(MATRIX_F16, 8): return "mma.sync.m16n8k8 (f16)";
        case MATRIX_SHAPE(MATRIX_BF16, 8): return "mma.sync.m16n8k8 (bf16)";
        case MATRIX_SHAPE(MATRIX_F16, 8) | MATRIX_HALF_SUMS: return "mma.sync.m16n8k8 (f16, f16 sums)";
        case MATRIX_SHAPE(MATRIX_TF32, 8): return "mma.sync.m16n8k8 (tf32)";
        default: return "mma.sync.m16n8k4 (tf32)";
    }
}

struct simt_registers simt_multiply_matrices(unsigned shape, uint64_t a01, uint64_t a23, uint64_t b01, uint64_t c01,
                                             uint64_t c23) {
    struct product product = {{product_name(shape), multiply},
                              shape,
                              {(uint32_t)a01, (uint32_t)(a01 >> 32), (uint32_t)a23, (uint32_t)(a23 >> 32)},
                              {(uint32_t)b01, (uint32_t)(b01 >> 32)},
                              {(uint32_t)c01, (uint32_t)(c01 >> 32), (uint32_t)c23, (uint32_t)(c23 >> 32)}};
    simt_together(&product.together, CALLER);
    return (struct simt_registers){product.c[0] | (uint64_t)product.c[1] << 32,
                                   product.c[2] | (uint64_t)product.c[3] << 32};
}
