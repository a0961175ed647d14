/* matrix.c — instructions that a whole warp executes on matrices: ldmatrix, mma.sync and the products of mma.h.
 *
 * The lanes meet (collective.c); then one function computes for all of them. The layouts of the fragments are those of
 * the PTX manual, with g = lane / 4 and t = lane % 4.
 *
 * Arithmetic: operands become fp32, which is exact, and so are their products, unless these are too small or too large
 * for fp32. An element of the result is ((c + a0 b0) + a1 b1) + …, in the order of k, each sum rounded to fp32. With fp16
 * accumulators the last sum is rounded to fp16. The order on a GPU is not documented, and its last bits differ. Products of
 * int8 and their sums are exact; a sum beyond int32 wraps.
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
    if (type == MATRIX_S8) return (int8_t)(word >> 8 * which);
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

enum { M = 16, N = 8, MOST_K = 32 };

struct product {
    struct simt_together together;
    unsigned shape;
    uint32_t a[4], b[2], c[4];
};

/* Collects the operands from the registers of the lanes. A register holds four elements of 8 bits, two of 16, or one of tf32,
 * of which the last 13 bits are ignored. */
static void gather(struct simt_together *const *lanes, unsigned shape, float a[M][MOST_K], float b[MOST_K][N]) {
    enum matrix_type type = MATRIX_TYPE(shape);
    unsigned k = MATRIX_K(shape), each = type == MATRIX_TF32 ? 1 : type == MATRIX_S8 ? 4 : 2;
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
    bool integers = MATRIX_TYPE(shape) == MATRIX_S8; /* 32 products of them are less than 2^24, so their sum is exact */
    gather(lanes, shape, a, b);
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        struct product *to = (struct product *)lanes[lane];
        unsigned g = lane / 4, t = lane % 4;
        uint32_t half[2] = {0, 0};
        for (unsigned i = 0; i < 4; i++) {
            unsigned row = g + i / 2 * 8, column = 2 * t + i % 2;
            float sum = integers                   ? 0.0f
                        : shape & MATRIX_HALF_SUMS ? element(to->c[i / 2], i % 2, MATRIX_F16)
                                                   : float_of(to->c[i]);
            for (unsigned k = 0; k < MATRIX_K(shape); k++) sum += a[row][k] * b[k][column];
            if (shape & MATRIX_HALF_SUMS)
                half[i / 2] |= (uint32_t)simt_half_of_float(sum) << i % 2 * 16;
            else if (integers)
                to->c[i] += (uint32_t)(int32_t)sum;
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
        case MATRIX_SHAPE(MATRIX_S8, 32): return "mma.sync.m16n8k32 (s8)";
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

/* ---- mma.h: d (m, n) = a (m, k) b (k, n) + c, of fragments as include/mma.h lays them out ---- */

enum { MOST_SIDE = 32 };

struct fragments {
    struct simt_together together;
    const struct simt_fragments *shape;
    void *d;
    const void *a, *b, *c;
};

static float element_at(const void *fragment, unsigned i, enum matrix_type type) {
    if (type == MATRIX_F32) return ((const float *)fragment)[i];
    if (type == MATRIX_TF32) return element(((const uint32_t *)fragment)[i], 0, type);
    return element(((const uint16_t *)fragment)[i], 0, type);
}

/* Element i of a lane's fragment of a matrix with lines of this length: its line, and its place in it. */
static void place_of(unsigned lane, unsigned i, unsigned length, unsigned each, unsigned *line, unsigned *at) {
    unsigned tiles = length / (4 * each), tile = i / each;
    *line = tile / tiles * 8 + lane / 4;
    *at = tile % tiles * 4 * each + lane % 4 * each + i % each;
}

static void multiply_fragments(struct simt_together *const *lanes) {
    static __thread float a[MOST_SIDE][MOST_K], b[MOST_K][MOST_SIDE];
    const struct simt_fragments *shape = ((const struct fragments *)lanes[0])->shape;
    unsigned m = (unsigned)shape->m, n = (unsigned)shape->n, k = (unsigned)shape->k, line, at;
    enum matrix_type type = (enum matrix_type)shape->type;
    unsigned each = type == MATRIX_TF32 ? 1 : 2;
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        const struct fragments *from = (const struct fragments *)lanes[lane];
        for (unsigned i = 0; i < m * k / WARP_SIZE; i++) {
            place_of(lane, i, shape->a_by_columns ? m : k, each, &line, &at);
            *(shape->a_by_columns ? &a[at][line] : &a[line][at]) = element_at(from->a, i, type);
        }
        for (unsigned i = 0; i < k * n / WARP_SIZE; i++) {
            place_of(lane, i, shape->b_by_columns ? k : n, each, &line, &at);
            *(shape->b_by_columns ? &b[at][line] : &b[line][at]) = element_at(from->b, i, type);
        }
    }
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        const struct fragments *to = (const struct fragments *)lanes[lane];
        for (unsigned i = 0; i < m * n / WARP_SIZE; i++) {
            place_of(lane, i, n, 2, &line, &at);
            float sum = element_at(to->c, i, (enum matrix_type)shape->c);
            for (unsigned j = 0; j < k; j++) sum += a[line][j] * b[j][at];
            if (shape->d == MATRIX_F16)
                ((uint16_t *)to->d)[i] = simt_half_of_float(sum);
            else
                ((float *)to->d)[i] = sum;
        }
    }
}

void simt_multiply_fragments(const struct simt_fragments *shape, void *d, const void *a, const void *b, const void *c) {
    struct fragments fragments = {{"mma_sync", multiply_fragments}, shape, d, a, b, c};
    simt_together(&fragments.together, CALLER);
}

static void nothing(struct simt_together *const *lanes) {
    (void)lanes;
}

void simt_begin_matrix(const void *pointer, size_t leading_bytes, size_t element_bytes, int function) {
    enum { POINTER_ALIGNMENT = 32, LEADING_ALIGNMENT = 16 };
    struct simt_together together = {function == SIMT_LOAD_MATRIX ? "load_matrix_sync" : "store_matrix_sync", nothing};
    uintptr_t address = (uintptr_t)pointer;
    simt_together(&together, CALLER);
    if (!SIMT_CHECKED || simt_self == NULL) return;
    if (address % POINTER_ALIGNMENT)
        simt_report(SIMT_MISALIGNED, true, CALLER, simt_self,
                    "Invalid %s\nThe pointer 0x%llx is misaligned: it is not a multiple of %d", together.name,
                    (unsigned long long)address, POINTER_ALIGNMENT);
    else if (leading_bytes % LEADING_ALIGNMENT)
        simt_report(SIMT_MISALIGNED, true, CALLER, simt_self,
                    "Invalid %s\nThe leading dimension is %zu elements; it must be a multiple of %zu", together.name,
                    leading_bytes / element_bytes, LEADING_ALIGNMENT / element_bytes);
}
