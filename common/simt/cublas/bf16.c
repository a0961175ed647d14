/* bf16.c — products of bf16 matrices with the processor's own instruction (AVX512_BF16), which adds the products of two pairs
 * of bf16 to a float in each of 16 lanes.
 *
 * A panel has 64 rows of op(A), a strip 6 columns of op(B). Both are packed in pairs along k: a panel as (pairs, 64), a strip
 * as (pairs, 6). A panel times a strip is a tile of 64 x 6 sums, which stay in 24 registers: for each pair along k, 4 vectors of
 * the panel times 6 words of the strip. Each tile is the work of one thread, so a result does not depend on their number.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

#ifdef HAS_BF16_PRODUCTS
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

enum { LANES = 16, VECTORS = 4, PANEL = VECTORS * LANES, STRIP = 6 };
enum { GROUP = 64 }; /* strips that a thread multiplies by one panel */

struct work {
    const struct product *product;
    int64_t pairs, panels, strips, groups;
    uint32_t *packed;         /* of B: (batch, strips, pairs, STRIP) */
    atomic_llong strip, tile; /* the first that no thread has taken: of (batch, strips), of (batch, groups, panels) */
    atomic_bool out_of_memory;
};

static const uint16_t *start(const struct matrix *matrix, int64_t index) {
    return (const uint16_t *)matrix->start + index * matrix->stride;
}

/* A block of 16 pairs of 16 lines, where k is contiguous. */
TARGET static inline void transpose(const uint16_t *from, int64_t ld, uint32_t *out, int width) {
    __m512i row[LANES], pair[LANES];
    for (int l = 0; l < LANES; l++) { row[l] = _mm512_loadu_si512(from + l * ld); }
    for (int l = 0; l < LANES; l += 2) {
        pair[l] = _mm512_unpacklo_epi32(row[l], row[l + 1]);
        pair[l + 1] = _mm512_unpackhi_epi32(row[l], row[l + 1]);
    }
    for (int l = 0; l < LANES; l += 4) { /* row[l + i]: words i, 4 + i, 8 + i and 12 + i of lines l to l + 3 */
        for (int i = 0; i < 2; i++) {
            row[l + 2 * i] = _mm512_unpacklo_epi64(pair[l + i], pair[l + 2 + i]);
            row[l + 2 * i + 1] = _mm512_unpackhi_epi64(pair[l + i], pair[l + 2 + i]);
        }
    }
    for (int i = 0; i < 4; i++) {
        const __m512i even = _mm512_shuffle_i32x4(row[i], row[4 + i], 0x88),
                      odd = _mm512_shuffle_i32x4(row[i], row[4 + i], 0xdd),
                      high_even = _mm512_shuffle_i32x4(row[8 + i], row[12 + i], 0x88),
                      high_odd = _mm512_shuffle_i32x4(row[8 + i], row[12 + i], 0xdd);
        _mm512_storeu_si512(out + i * width, _mm512_shuffle_i32x4(even, high_even, 0x88));
        _mm512_storeu_si512(out + (4 + i) * width, _mm512_shuffle_i32x4(odd, high_odd, 0x88));
        _mm512_storeu_si512(out + (8 + i) * width, _mm512_shuffle_i32x4(even, high_even, 0xdd));
        _mm512_storeu_si512(out + (12 + i) * width, _mm512_shuffle_i32x4(odd, high_odd, 0xdd));
    }
}

/* from: `count` lines of k elements; element i of line l is from[l * ld + i] if k is contiguous, else from[i * ld + l].
 * out: (pairs, width); out[p][l] holds elements 2p and 2p + 1 of line l. Zeros fill the lines from `count` on, and the second
 * half of the last pair of an odd k. */
TARGET static void pack(const uint16_t *from, int64_t ld, bool k_is_contiguous, int64_t k, int count, int width,
                        uint32_t *out) {
    const int64_t whole = k / 2;
    if (count < width || k % 2) { memset(out, 0, (size_t)((k + 1) / 2 * width) * sizeof *out); }
    if (k_is_contiguous) {
        const int lines_in_blocks = count / LANES * LANES;
        const int64_t pairs_in_blocks = whole / LANES * LANES;
        for (int line = 0; line < count; line++) {
            const uint16_t *at = from + line * ld;
            int64_t pair = line < lines_in_blocks ? pairs_in_blocks : 0;
            for (int64_t i = 0; line % LANES == 0 && i < pair; i += LANES) {
                transpose(at + 2 * i, ld, out + i * width + line, width);
            }
            for (; pair < whole; pair++) { memcpy(&out[pair * width + line], at + 2 * pair, 4); }
            if (k % 2) { out[whole * width + line] = at[k - 1]; }
        }
        return;
    }
    for (int64_t pair = 0; pair < whole; pair++) {
        const uint16_t *low = from + 2 * pair * ld, *high = low + ld;
        for (int line = 0; line < count; line++) {
            out[pair * width + line] = (uint32_t)low[line] | (uint32_t)high[line] << 16;
        }
    }
    for (int line = 0; k % 2 && line < count; line++) { out[whole * width + line] = from[(k - 1) * ld + line]; }
}

TARGET static void multiply(const uint32_t *panel, const uint32_t *strip, int64_t pairs, float sums[STRIP][PANEL]) {
    __m512 total[STRIP][VECTORS];
    for (int j = 0; j < STRIP; j++) {
        for (int v = 0; v < VECTORS; v++) { total[j][v] = _mm512_setzero_ps(); }
    }
    for (int64_t pair = 0; pair < pairs; pair++, panel += PANEL, strip += STRIP) {
        __m512bh a[VECTORS];
        for (int v = 0; v < VECTORS; v++) { a[v] = (__m512bh)_mm512_loadu_si512(panel + v * LANES); }
        for (int j = 0; j < STRIP; j++) {
            const __m512bh b = (__m512bh)_mm512_set1_epi32((int)strip[j]);
            for (int v = 0; v < VECTORS; v++) { total[j][v] = _mm512_dpbf16_ps(total[j][v], a[v], b); }
        }
    }
    for (int j = 0; j < STRIP; j++) {
        for (int v = 0; v < VECTORS; v++) { _mm512_storeu_ps(&sums[j][v * LANES], total[j][v]); }
    }
}

/* sums = alpha sums + beta C */
static void scale(const struct product *p, float sums[STRIP][PANEL], const struct tile *tile) {
    for (int64_t column = 0; column < tile->columns; column++) {
        const int64_t from = tile->index * p->c.stride + (tile->column + column) * p->c.ld + tile->row;
        for (int64_t row = 0; row < tile->rows; row++) {
            sums[column][row] *= p->alpha;
            if (p->beta != 0.0f) { sums[column][row] += p->beta * product_load(p->c.start, from + row, p->c.type); }
        }
    }
}

static int least(int64_t a, int b) {
    return a < b ? (int)a : b;
}

static void pack_strips(void *argument) {
    struct work *work = argument;
    const struct product *p = work->product;
    const bool plain = p->op_b == CUBLAS_OP_N; /* then k is contiguous */
    for (;;) {
        const int64_t i = atomic_fetch_add(&work->strip, 1), column = i % work->strips * STRIP;
        if (i >= p->batch * work->strips) { return; }
        pack(start(&p->b, i / work->strips) + column * (plain ? p->b.ld : 1), p->b.ld, plain, p->k,
             least(p->n - column, STRIP), STRIP, work->packed + i * work->pairs * STRIP);
    }
}

static void multiply_group(const struct work *work, uint32_t *panel, int64_t index, int64_t group, int64_t row) {
    const struct product *p = work->product;
    const bool plain = p->op_a == CUBLAS_OP_N;
    const int rows = least(p->m - row, PANEL);
    pack(start(&p->a, index) + row * (plain ? 1 : p->a.ld), p->a.ld, !plain, p->k, rows, PANEL, panel);
    for (int64_t i = group * GROUP; i < (group + 1) * GROUP && i < work->strips; i++) {
        float sums[STRIP][PANEL];
        multiply(panel, work->packed + (index * work->strips + i) * work->pairs * STRIP, work->pairs, sums);
        const struct tile tile = {index, row, i * STRIP, rows, least(p->n - i * STRIP, STRIP)};
        if (p->alpha != 1.0f || p->beta != 0.0f) { scale(p, sums, &tile); }
        product_finish(p, &sums[0][0], PANEL, &tile);
    }
}

static void multiply_tiles(void *argument) {
    struct work *work = argument;
    const int64_t of_matrix = work->groups * work->panels;
    uint32_t *panel = malloc((size_t)(work->pairs * PANEL + 1) * sizeof *panel);
    if (panel == NULL) { atomic_store(&work->out_of_memory, true); }
    for (; panel != NULL;) {
        const int64_t i = atomic_fetch_add(&work->tile, 1), in_matrix = i % of_matrix;
        if (i >= work->product->batch * of_matrix) { break; }
        multiply_group(work, panel, i / of_matrix, in_matrix / work->panels, in_matrix % work->panels * PANEL);
    }
    free(panel);
}

static void share(void (*run)(void *), struct work *work) {
    const int64_t worth_a_thread = 1 << 21; /* multiplications: some 20 us */
    const struct product *p = work->product;
    if (p->batch * p->m * p->n * p->k < worth_a_thread) {
        run(work);
    } else {
        product_parallel(run, work);
    }
}

bool product_is_bf16(const struct product *p) {
    const bool is_bf16 = p->a.type == CUDA_R_16BF && p->b.type == CUDA_R_16BF;
    return is_bf16 && p->m >= LANES && p->n > 1 && !product_streams(p) && __builtin_cpu_supports("avx512bf16");
}

bool product_multiply_bf16(const struct product *p) {
    struct work work = {.product = p,
                        .pairs = (p->k + 1) / 2,
                        .panels = (p->m + PANEL - 1) / PANEL,
                        .strips = (p->n + STRIP - 1) / STRIP};
    work.groups = (work.strips + GROUP - 1) / GROUP;
    work.packed = malloc((size_t)(p->batch * work.strips * work.pairs * STRIP + 1) * sizeof *work.packed);
    if (work.packed == NULL) { return false; }
    share(pack_strips, &work);
    share(multiply_tiles, &work);
    free(work.packed);
    return !work.out_of_memory;
}

#else

bool product_is_bf16(const struct product *p) {
    (void)p;
    return false;
}

bool product_multiply_bf16(const struct product *p) {
    (void)p;
    return false;
}

#endif
