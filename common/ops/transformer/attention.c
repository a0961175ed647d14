/* attention.c — attention over prompts and over a cache; see transformer.h. block.c has the rest. */
#include "transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct transformer transformer_of(const struct op_sizes *sizes, const float *lengths,
                                  enum transformer_mistake mistake) {
    static const double rounding[OP_TYPES] = {[TYPE_F32] = 0.5, [TYPE_F16] = 0x1p12, [TYPE_BF16] = 0x1p15};
    return (struct transformer){.B = sizes->B,
                                .T = sizes->T,
                                .H = sizes->H,
                                .D = sizes->C / sizes->H,
                                .S = sizes->S,
                                .C = sizes->C,
                                .eps = sizes->eps,
                                .rounding = rounding[sizes->type],
                                .mistake = mistake,
                                .lengths = lengths};
}

struct field field_make(size_t count) {
    struct field field = {calloc(count + 1, sizeof(double)), calloc(count + 1, sizeof(double))};
    if (field.value && field.error) { return field; }
    fprintf(stderr, "out of memory for a reference of %zu values\n", count);
    abort();
}

struct field field_of(const float *values, size_t count) {
    struct field field = field_make(count);
    for (size_t i = 0; i < count; i++) { field.value[i] = values[i]; }
    return field;
}

void field_free(struct field field) {
    free(field.value);
    free(field.error);
}

static struct field at(struct field field, size_t offset) {
    return (struct field){field.value + offset, field.error + offset};
}

static void copy(struct field to, struct field from, int count) {
    for (int i = 0; i < count; i++) {
        to.value[i] = from.value[i];
        to.error[i] = from.error[i];
    }
}

/* ---- one query ---- */

static double scale_of(const struct transformer *w) {
    switch (w->mistake) {
        case TRANSFORMER_SCALE_MISSING: return 1.0;
        case TRANSFORMER_SCALE_TWICE: return 1.0 / w->D;
        case TRANSFORMER_SCALE_OF_C: return 1.0 / sqrt(w->C);
        default: return 1.0 / sqrt(w->D);
    }
}

/* score = scale q . k, of fp32 sums, and stored in the tensors' type */
static void score(const struct transformer *w, struct field q, struct field k, double *value, double *error) {
    double sum = 0.0, passed = 0.0, squares = 0.0, scale = scale_of(w);
    for (int d = 0; d < w->D; d++) {
        double term = q.value[d] * k.value[d], a = q.error[d] * k.value[d], b = q.value[d] * k.error[d];
        sum += term;
        squares += term * term;
        passed += a * a + b * b;
    }
    double growth = reference_growth(w->D);
    *value = scale * sum;
    *error = scale * sqrt(passed + growth * growth * squares + w->rounding * w->rounding * sum * sum);
}

/* p (count) = softmax of count scores; errors: of p, relative to it */
static void softmax(const struct transformer *w, double *p, double *error, int count) {
    double largest = -INFINITY, sum = 0.0, common = 0.0, size = 0.0;
    for (int j = 0; j < count; j++) {
        largest = fmax(largest, p[j]);
        size = fmax(size, fabs(p[j]));
    }
    for (int j = 0; j < count; j++) {
        double below = largest - p[j];
        p[j] = isnan(p[j]) ? NAN : exp(-below);
        sum += p[j];
        common += p[j] * p[j] * error[j] * error[j];
        error[j] = sqrt(error[j] * error[j] + 4.0 * below * below);
    }
    for (int j = 0; j < count; j++) {
        double rounded = reference_growth(count) + size;
        p[j] /= sum;
        error[j] = sqrt(error[j] * error[j] + common / (sum * sum) + rounded * rounded + w->rounding * w->rounding);
    }
}

/* out (D) = sum_j p_j v_j; v (count, D) */
static void mix(const struct transformer *w, struct field out, const double *p, const double *error, struct field v,
                int count) {
    double growth = reference_growth(count);
    for (int d = 0; d < w->D; d++) {
        double sum = 0.0, squares = 0.0;
        for (int j = 0; j < count; j++) {
            double term = p[j] * v.value[j * w->D + d], passed = p[j] * v.error[j * w->D + d];
            sum += term;
            squares += term * term * (error[j] * error[j] + growth * growth) + passed * passed;
        }
        out.value[d] = count ? sum : 0.0;
        out.error[d] = sqrt(squares + 2.0 * w->rounding * w->rounding * sum * sum);
    }
}

void transformer_probabilities(const struct transformer *w, double *p, double *error, struct field q, struct field k,
                               int count) {
    for (int j = 0; j < count; j++) { score(w, q, at(k, (size_t)j * (size_t)w->D), &p[j], &error[j]); }
    softmax(w, p, error, count);
}

/* out (D) from the query and `count` keys and values */
static void attend(const struct transformer *w, struct field out, struct field q, struct field k, struct field v,
                   int count) {
    double *p = calloc((size_t)count + 1, sizeof *p), *error = calloc((size_t)count + 1, sizeof *error);
    if (!p || !error) { abort(); }
    transformer_probabilities(w, p, error, q, k, count);
    mix(w, out, p, error, v, count);
    free(p);
    free(error);
}

/* ---- prompts ---- */

/* The index of part 0 (q), 1 (k) or 2 (v) of a head in a row of qkv. */
static size_t part_at(const struct transformer *w, int part, int h) {
    if (w->mistake == TRANSFORMER_KV_SWAPPED && part > 0) { part = 3 - part; }
    if (w->mistake == TRANSFORMER_QK_SWAPPED && part < 2) { part = 1 - part; }
    if (w->mistake == TRANSFORMER_QKV_BY_HEAD) { return (size_t)((h * 3 + part) * w->D); }
    return (size_t)((part * w->H + h) * w->D);
}

int transformer_keys(const struct transformer *w, int b, int i) {
    int length = w->mistake == TRANSFORMER_LENGTHS_IGNORED ? w->T : (int)w->lengths[b], keys = i + 1;
    if (w->mistake == TRANSFORMER_MASK_STRICT) { keys = i; }
    if (w->mistake == TRANSFORMER_MASK_ONE_MORE) { keys = i + 2; }
    if (w->mistake == TRANSFORMER_MASK_NONE) { keys = w->T; }
    keys = keys < w->T ? keys : w->T;
    return keys < length ? keys : length;
}

/* The index in out of head h of token t of sequence b. */
static void merge(const struct transformer *w, struct field out, struct field head, int b, int h, int t) {
    size_t n = (size_t)(b * w->T + t), D = (size_t)w->D, C = (size_t)w->C;
    for (size_t d = 0; d < D; d++) {
        size_t to = n * C + (size_t)h * D + d;
        if (w->mistake == TRANSFORMER_HEADS_NOT_MERGED) {
            to = ((size_t)(b * w->H + h) * (size_t)w->T + (size_t)t) * D + d;
        }
        if (w->mistake == TRANSFORMER_HEADS_INSIDE) { to = n * C + d * (size_t)w->H + (size_t)h; }
        copy(at(out, to), at(head, d), 1);
    }
}

/* out_j = sum over i >= j of p_ij v_i: the attention weights transposed */
static void attend_transposed(const struct transformer *w, struct field out, struct field q, struct field k,
                              struct field v, int b) {
    size_t D = (size_t)w->D;
    for (int i = 0; i < w->T; i++) {
        int count = transformer_keys(w, b, i);
        double *p = calloc((size_t)count + 1, sizeof *p), *error = calloc((size_t)count + 1, sizeof *error);
        if (!p || !error) { abort(); }
        transformer_probabilities(w, p, error, at(q, (size_t)i * D), k, count);
        for (int j = 0; j < count; j++) {
            for (size_t d = 0; d < D; d++) { out.value[(size_t)j * D + d] += p[j] * v.value[(size_t)i * D + d]; }
        }
        free(p);
        free(error);
    }
}

static void attend_head(const struct transformer *w, struct field out, struct field k, struct field v, struct field qkv,
                        int b, int h) {
    size_t T = (size_t)w->T, D = (size_t)w->D, C = (size_t)w->C, S = (size_t)w->S;
    struct field part[3] = {field_make(T * D), field_make(T * D), field_make(T * D)}, heads = field_make(T * D);
    for (size_t t = 0; t < T; t++) {
        struct field row = at(qkv, ((size_t)b * T + t) * 3 * C);
        for (int i = 0; i < 3; i++) { copy(at(part[i], t * D), at(row, part_at(w, i, h)), w->D); }
    }
    size_t head = (size_t)(b * w->H + h), stride = w->mistake == TRANSFORMER_CACHE_STRIDE ? T : S;
    for (size_t t = 0; t < T; t++) {
        size_t place = t + (w->mistake == TRANSFORMER_CACHE_ONE_LATE);
        if (place >= S) { continue; }
        copy(at(k, (head * stride + place) * D), at(part[1], t * D), w->D);
        copy(at(v, (head * stride + place) * D), at(part[2], t * D), w->D);
    }
    if (w->mistake == TRANSFORMER_WEIGHTS_TRANSPOSED) { attend_transposed(w, heads, part[0], part[1], part[2], b); }
    for (size_t t = 0; t < T; t++) {
        if (w->mistake != TRANSFORMER_WEIGHTS_TRANSPOSED) {
            bool exchanged = w->mistake == TRANSFORMER_QK_EXCHANGED;
            attend(w, at(heads, t * D), at(part[exchanged], t * D), part[!exchanged], part[2],
                   transformer_keys(w, b, (int)t));
        }
        merge(w, out, at(heads, t * D), b, h, (int)t);
    }
    for (int i = 0; i < 3; i++) { field_free(part[i]); }
    field_free(heads);
}

void transformer_attention(const struct transformer *w, struct field out, struct field k, struct field v,
                           struct field qkv) {
    for (int b = 0; b < w->B; b++) {
        for (int h = 0; h < w->H; h++) { attend_head(w, out, k, v, qkv, b, h); }
    }
}

/* ---- one token per sequence ---- */

static int decode_keys(const struct transformer *w, int position) {
    int keys = position + 1;
    if (w->mistake == TRANSFORMER_NEW_TOKEN_MISSING) { keys = position; }
    if (w->mistake == TRANSFORMER_DECODE_ONE_MORE) { keys = position + 2; }
    if (w->mistake == TRANSFORMER_POSITION_IGNORED) { keys = w->S; }
    return keys < w->S ? keys : w->S;
}

void transformer_decode(const struct transformer *w, struct field out, struct field k, struct field v, struct field qkv,
                        const float *positions) {
    size_t D = (size_t)w->D, S = (size_t)w->S, heads = (size_t)w->H;
    for (size_t b = 0; b < (size_t)w->B; b++) {
        int position = (int)positions[w->mistake == TRANSFORMER_POSITION_OF_0 ? 0 : b];
        int place = position + (w->mistake == TRANSFORMER_CACHE_ONE_LATE) - (w->mistake == TRANSFORMER_CACHE_ONE_EARLY);
        bool stored = w->mistake != TRANSFORMER_CACHE_NOT_WRITTEN && place >= 0 && place < w->S;
        for (size_t h = 0; h < heads; h++) {
            struct field row = at(qkv, b * 3 * heads * D);
            size_t own = (b * heads + h) * S * D;
            struct field was_key = field_make(D), was_value = field_make(D);
            copy(was_key, at(k, own + (size_t)position * D), w->D);
            copy(was_value, at(v, own + (size_t)position * D), w->D);
            if (stored) {
                copy(at(k, own + (size_t)place * D), at(row, part_at(w, 1, (int)h)), w->D);
                copy(at(v, own + (size_t)place * D), at(row, part_at(w, 2, (int)h)), w->D);
            }
            size_t read = w->mistake == TRANSFORMER_CACHE_OF_0 ? h * S * D : own;
            attend(w, at(out, (b * heads + h) * D), at(row, part_at(w, 0, (int)h)), at(k, read), at(v, read),
                   decode_keys(w, position));
            for (size_t d = 0; decode_keys(w, position) == 0 && d < D; d++) { /* 0 / 0 */
                out.value[(b * heads + h) * D + d] = NAN;
            }
            if (w->mistake == TRANSFORMER_CACHE_USED_ONLY) {
                copy(at(k, own + (size_t)place * D), was_key, w->D);
                copy(at(v, own + (size_t)place * D), was_value, w->D);
            }
            field_free(was_key);
            field_free(was_value);
        }
    }
}
