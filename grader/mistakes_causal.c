/* mistakes_causal.c — softmax under a causal mask with one mistake, forward and backward; and softmax_backward. */
#include <math.h>

#include "common/reference.h"
#include "mistakes.h"

/* One row on its way. */
struct row {
    int variant, row, i, T; /* i: its place in its matrix */
    int length;             /* clamped */
    double scale;
    bool kept; /* what is above the diagonal is left alone */
};

static struct row row_of(int variant, const struct op_sizes *sizes, const float *lengths, int n) {
    struct row row = {.variant = variant, .row = n, .T = sizes->C, .i = n % sizes->C, .length = sizes->C};
    row.scale = sizes->scale;
    row.kept = sizes->upper;
    if (sizes->lengths) { row.length = (int)fminf(fmaxf(lengths[n / (sizes->H * sizes->T)], 0.0f), (float)sizes->T); }
    switch (variant) {
        case CAUSAL_NO_LENGTHS: row.length = row.T; break;
        case CAUSAL_QUERIES_CUT: row.length = row.i < row.length ? row.length : 0; break;
        case CAUSAL_NO_SCALE: row.scale = 1.0; break;
        case CAUSAL_SCALE_TWICE: row.scale *= row.scale; break;
        case CAUSAL_SCALE_DIVIDED: row.scale = 1.0 / row.scale; break;
        default: break;
    }
    return row;
}

/* Does the sum count key j, by this mistake? */
static bool allowed(const struct row *row, int j) {
    int keys = row->i + 1;
    if (row->variant >= CAUSAL_BY_VECTOR) {
        int vector = 1 << (row->variant - CAUSAL_BY_VECTOR);
        keys = (row->i + vector) / vector * vector;
    }
    switch (row->variant) {
        case CAUSAL_STRICT: keys = row->i; break;
        case CAUSAL_ONE_MORE: keys = row->i + 2; break;
        case CAUSAL_NO_MASK: keys = row->T; break;
        case CAUSAL_ROW_NOT_MODULO: keys = row->row + 1; break;
        case CAUSAL_TRANSPOSED: return j >= row->i && j < row->length;
        default: break;
    }
    return j < keys && j < row->length;
}

/* What is written where the mask is. */
static void write_masked(const struct row *row, const float *before, int j, double value, double *out) {
    out[j] = row->kept && j > row->i ? before[j] : value;
}

static void forward_row(const struct row *row, const float *x, const float *before, double *out) {
    bool whole = row->variant == CAUSAL_MASK_AFTER;
    bool zeros = row->variant == CAUSAL_MASKED_AS_ZERO || row->variant == CAUSAL_MASKED_AS_ZERO_WRITTEN;
    double maximum = -INFINITY, sum = 0.0;
    double factor = row->variant == CAUSAL_MAX_UNSCALED ? 1.0 : row->scale;
    int keys = 0;
    for (int j = 0; j < row->T; j++) {
        bool here = allowed(row, j);
        keys += here;
        double value = here || whole || row->variant == CAUSAL_MAX_OF_MASKED ? factor * x[j] : zeros ? 0.0 : -INFINITY;
        if (value > maximum) { maximum = value; }
    }
    if (row->variant == CAUSAL_NO_MAX) { maximum = 0.0; }
    for (int j = 0; j < row->T; j++) {
        bool here = allowed(row, j);
        /* in float, so that it overflows and underflows as a kernel does */
        if (here || whole) { sum += expf((float)(row->scale * x[j] - maximum)); }
        if (!here && zeros) { sum += exp(-maximum); }
    }
    if (row->variant >= CAUSAL_PADDING && row->variant < CAUSAL_BY_VECTOR) {
        int vector = 1 << (row->variant - CAUSAL_PADDING);
        sum += (vector - keys % vector) % vector * expf((float)-maximum);
    }
    if (row->variant == CAUSAL_NOT_NORMALISED) { sum = 1.0; }
    for (int j = 0; j < row->T; j++) {
        if (allowed(row, j)) {
            out[j] = expf((float)(row->scale * x[j] - maximum)) / sum;
        } else {
            bool nan = row->variant == CAUSAL_EMPTY_ROW_NAN && keys == 0;
            bool filled = row->variant == CAUSAL_MASKED_AS_ZERO_WRITTEN;
            write_masked(row, before, j, nan ? NAN : filled ? exp(-maximum) / sum : 0.0, out);
        }
    }
}

void mistake_causal(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]) {
    size_t T = (size_t)sizes->C;
    for (size_t n = 0; n < (size_t)sizes->N; n++) {
        struct row row = row_of(variant, sizes, given[2], (int)n);
        forward_row(&row, given[1] + n * T, given[0] + n * T, out[0] + n * T);
    }
}

/* ---- backward ---- */

static void backward_row(const struct row *row, const float *dout, const float *out, const float *before, double *dx) {
    double sum = 0.0;
    for (int j = 0; j < row->T; j++) {
        if (!allowed(row, j)) { continue; }
        double factor = row->variant == SOFTMAX_BACKWARD_SUM_OF_DOUT ? 1.0 : out[j];
        sum += factor * dout[j];
    }
    if (row->variant == SOFTMAX_BACKWARD_NO_SUM) { sum = 0.0; }
    for (int j = 0; j < row->T; j++) {
        double factor = row->variant == SOFTMAX_BACKWARD_NO_OUT ? 1.0 : out[j];
        if (row->variant == SOFTMAX_BACKWARD_SQUARED) { factor *= 1.0 - out[j]; }
        double inner = row->variant == SOFTMAX_BACKWARD_SQUARED ? dout[j] : dout[j] - sum;
        if (row->variant == SOFTMAX_BACKWARD_ADDED) { inner = dout[j] + sum; }
        if (allowed(row, j)) {
            dx[j] = row->scale * factor * inner;
        } else {
            write_masked(row, before, j, 0.0, dx);
        }
    }
}

void mistake_causal_backward(int variant, const struct op_sizes *sizes, const float *const given[],
                             double *const out[]) {
    size_t T = (size_t)sizes->C;
    for (size_t n = 0; n < (size_t)sizes->N; n++) {
        struct row row = row_of(variant, sizes, given[3], (int)n);
        backward_row(&row, given[1] + n * T, given[2] + n * T, given[0] + n * T, out[0] + n * T);
    }
}
