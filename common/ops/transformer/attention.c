/* attention.c — fields, and attention over prompts and over a cache; see transformer.h. */
#include "transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/reference.h"

double *transformer_numbers(size_t count) {
    double *numbers = calloc(count + 1, sizeof *numbers);
    if (numbers) { return numbers; }
    fprintf(stderr, "out of memory for a reference of %zu values\n", count);
    abort();
}

struct field transformer_field(const struct transformer *w, size_t count) {
    return (struct field){transformer_numbers(count), w->errors ? transformer_numbers(count) : NULL};
}

void field_free(struct field field) {
    free(field.value);
    free(field.error);
}

struct field field_at(struct field field, size_t offset) {
    return (struct field){field.value + offset, field.error ? field.error + offset : NULL};
}

void field_copy(struct field to, struct field from, size_t count) {
    memcpy(to.value, from.value, count * sizeof(double));
    if (to.error) { memcpy(to.error, from.error, count * sizeof(double)); }
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

/* scores (count) = scale q . k_j, of fp32 sums, and stored in the tensors' type */
static void products(const struct transformer *w, struct field scores, struct field q, struct field k, int count) {
    size_t D = (size_t)w->D;
    double growth = reference_growth(w->D), scale = scale_of(w);
    for (int j = 0; j < count; j++) {
        struct field key = field_at(k, (size_t)j * D);
        double sum = 0.0, passed = 0.0, squares = 0.0;
        for (size_t d = 0; d < D; d++) { sum += q.value[d] * key.value[d]; }
        scores.value[j] = scale * sum;
        if (!scores.error) { continue; }
        for (size_t d = 0; d < D; d++) {
            double term = q.value[d] * key.value[d], a = q.error[d] * key.value[d], b = q.value[d] * key.error[d];
            squares += term * term;
            passed += a * a + b * b;
        }
        scores.error[j] = scale * sqrt(passed + growth * growth * squares + w->rounding * w->rounding * sum * sum);
    }
}

/* p (count) = softmax of count scores, in place; the errors of p are relative to it */
static void softmax(const struct transformer *w, struct field p, int count) {
    double largest = -INFINITY, sum = 0.0, common = 0.0, size = 0.0;
    for (int j = 0; j < count; j++) {
        largest = fmax(largest, p.value[j]);
        size = fmax(size, fabs(p.value[j]));
    }
    for (int j = 0; j < count; j++) {
        double below = largest - p.value[j];
        sum += p.value[j] = exp(-below);
        if (!p.error) { continue; }
        common += p.value[j] * p.value[j] * p.error[j] * p.error[j];
        p.error[j] = sqrt(p.error[j] * p.error[j] + 4.0 * below * below);
    }
    double rounded = reference_growth(count) + size;
    if (w->mistake == TRANSFORMER_NOT_DIVIDED) { sum = 1.0; }
    for (int j = 0; j < count; j++) {
        p.value[j] /= sum;
        if (!p.error) { continue; }
        p.error[j] =
            sqrt(p.error[j] * p.error[j] + common / (sum * sum) + rounded * rounded + w->rounding * w->rounding);
    }
}

void transformer_probabilities(const struct transformer *w, struct field p, struct field q, struct field k, int count) {
    products(w, p, q, k, count);
    softmax(w, p, count);
}

void transformer_drop(const struct transformer *w, enum transformer_dropout place, double *x, size_t first,
                      size_t count) {
    for (size_t i = 0; w->factor && i < count; i++) { x[i] *= w->factor(w->context, place, first + i); }
}

/* out (D) from the query and `count` keys and values: sum_j p_j v_j. first: the index of the weight of key 0. */
static void attend(const struct transformer *w, struct field out, struct field q, struct field k, struct field v,
                   int count, size_t first) {
    size_t D = (size_t)w->D;
    double growth = reference_growth(count);
    struct field p = transformer_field(w, (size_t)count);
    transformer_probabilities(w, p, q, k, count);
    transformer_drop(w, DROPOUT_OF_WEIGHTS, p.value, first, (size_t)count);
    memset(out.value, 0, D * sizeof(double));
    int summed = w->mistake == TRANSFORMER_LAST_VALUE_MISSING ? count - 1 : count;
    for (int j = 0; j < summed; j++) {
        for (size_t d = 0; d < D; d++) { out.value[d] += p.value[j] * v.value[(size_t)j * D + d]; }
    }
    for (size_t d = 0; out.error && d < D; d++) {
        double squares = 0.0;
        for (int j = 0; j < count; j++) {
            double term = p.value[j] * v.value[(size_t)j * D + d], passed = p.value[j] * v.error[(size_t)j * D + d];
            squares += term * term * (p.error[j] * p.error[j] + growth * growth) + passed * passed;
        }
        out.error[d] = sqrt(squares + 2.0 * w->rounding * w->rounding * out.value[d] * out.value[d]);
    }
    field_free(p);
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
    bool whole = !w->lengths || w->mistake == TRANSFORMER_LENGTHS_IGNORED;
    int length = whole ? w->T : (int)w->lengths[b], keys = i + 1;
    if (w->mistake == TRANSFORMER_MASK_STRICT) { keys = i; }
    if (w->mistake == TRANSFORMER_MASK_ONE_MORE) { keys = i + 2; }
    if (w->mistake == TRANSFORMER_MASK_NONE) { keys = w->T; }
    keys = keys < w->T ? keys : w->T;
    return keys < length ? keys : length;
}

/* The index in out of head h of token t of sequence b. */
static void merge(const struct transformer *w, struct field out, struct field head, int b, int h, int t) {
    size_t D = (size_t)w->D, C = (size_t)w->C, T = (size_t)w->T, n = (size_t)b * T + (size_t)t;
    for (size_t d = 0; d < D; d++) {
        size_t to = n * C + (size_t)h * D + d;
        if (w->mistake == TRANSFORMER_HEADS_NOT_MERGED) { to = ((size_t)(b * w->H + h) * T + (size_t)t) * D + d; }
        if (w->mistake == TRANSFORMER_HEADS_INSIDE) { to = n * C + d * (size_t)w->H + (size_t)h; }
        field_copy(field_at(out, to), field_at(head, d), 1);
    }
}

/* out_j = sum over i >= j of p_ij v_i: the attention weights transposed */
static void attend_transposed(const struct transformer *w, struct field out, struct field q, struct field k,
                              struct field v, int b) {
    size_t D = (size_t)w->D;
    for (int i = 0; i < w->T; i++) {
        int count = transformer_keys(w, b, i);
        struct field p = transformer_field(w, (size_t)count);
        transformer_probabilities(w, p, field_at(q, (size_t)i * D), k, count);
        for (int j = 0; j < count; j++) {
            for (size_t d = 0; d < D; d++) { out.value[(size_t)j * D + d] += p.value[j] * v.value[(size_t)i * D + d]; }
        }
        field_free(p);
    }
}

/* One head of one sequence. Each part, and heads, are (T, D). */
static void attend_head(const struct transformer *w, struct field out, struct field k, struct field v, struct field qkv,
                        int b, int h) {
    size_t T = (size_t)w->T, D = (size_t)w->D, C = (size_t)w->C, S = (size_t)w->S;
    struct field part[3], heads = transformer_field(w, T * D);
    for (int i = 0; i < 3; i++) {
        part[i] = transformer_field(w, T * D);
        for (size_t t = 0; t < T; t++) {
            field_copy(field_at(part[i], t * D), field_at(qkv, ((size_t)b * T + t) * 3 * C + part_at(w, i, h)), D);
        }
    }
    size_t head = (size_t)(b * w->H + h), stride = w->mistake == TRANSFORMER_CACHE_STRIDE ? T : S;
    for (size_t t = 0; k.value && t < T; t++) {
        size_t place = t + (w->mistake == TRANSFORMER_CACHE_ONE_LATE);
        if (place >= S) { continue; }
        field_copy(field_at(k, (head * stride + place) * D), field_at(part[1], t * D), D);
        field_copy(field_at(v, (head * stride + place) * D), field_at(part[2], t * D), D);
    }
    bool transposed = w->mistake == TRANSFORMER_WEIGHTS_TRANSPOSED, exchanged = w->mistake == TRANSFORMER_QK_EXCHANGED;
    if (transposed) { attend_transposed(w, heads, part[0], part[1], part[2], b); }
    for (size_t t = 0; t < T; t++) {
        struct field row = field_at(heads, t * D), query = field_at(part[exchanged], t * D);
        if (!transposed) {
            attend(w, row, query, part[!exchanged], part[2], transformer_keys(w, b, (int)t), (head * T + t) * T);
        }
        merge(w, out, row, b, h, (int)t);
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
    if (w->mistake == TRANSFORMER_NEW_TOKEN_MISSING || w->mistake == TRANSFORMER_POSITION_MINUS_ONE) {
        keys = position;
    }
    if (w->mistake == TRANSFORMER_DECODE_ONE_MORE) { keys = position + 2; }
    if (w->mistake == TRANSFORMER_POSITION_IGNORED) { keys = w->S; }
    return keys < w->S ? keys : w->S;
}

void transformer_decode(const struct transformer *w, struct field out, struct field k, struct field v, struct field qkv,
                        const float *positions) {
    size_t D = (size_t)w->D, S = (size_t)w->S, heads = (size_t)w->H;
    struct field was_key = transformer_field(w, D), was_value = transformer_field(w, D);
    for (size_t b = 0; b < (size_t)w->B; b++) {
        int position = (int)positions[w->mistake == TRANSFORMER_POSITION_OF_0 ? 0 : b];
        bool early = w->mistake == TRANSFORMER_CACHE_ONE_EARLY || w->mistake == TRANSFORMER_POSITION_MINUS_ONE;
        int place = position + (w->mistake == TRANSFORMER_CACHE_ONE_LATE) - early;
        bool inside = place >= 0 && place < w->S;
        for (size_t h = 0; h < heads; h++) {
            struct field row = field_at(qkv, b * 3 * heads * D), head = field_at(out, (b * heads + h) * D);
            size_t own = (b * heads + h) * S * D, to = own + (size_t)place * D;
            field_copy(was_key, field_at(k, own + (size_t)position * D), D);
            field_copy(was_value, field_at(v, own + (size_t)position * D), D);
            /* one position before the first is the last of the head before */
            bool before = w->mistake == TRANSFORMER_POSITION_MINUS_ONE && own > 0 && place < 0;
            if (w->mistake != TRANSFORMER_CACHE_NOT_WRITTEN && (inside || before)) {
                field_copy(field_at(k, to), field_at(row, part_at(w, 1, (int)h)), D);
                field_copy(field_at(v, to), field_at(row, part_at(w, 2, (int)h)), D);
            }
            size_t read = w->mistake == TRANSFORMER_CACHE_OF_0 ? h * S * D : own;
            attend(w, head, field_at(row, part_at(w, 0, (int)h)), field_at(k, read), field_at(v, read),
                   decode_keys(w, position), 0);
            for (size_t d = 0; decode_keys(w, position) == 0 && d < D; d++) { head.value[d] = NAN; } /* 0 / 0 */
            if (w->mistake == TRANSFORMER_CACHE_USED_ONLY) {
                field_copy(field_at(k, to), was_key, D);
                field_copy(field_at(v, to), was_value, D);
            }
        }
    }
    field_free(was_key);
    field_free(was_value);
}
