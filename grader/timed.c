#include "timed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/elements.h"
#include "common/ops/reference.h"
#include "common/runner/generate.h"

enum { SAMPLED_COLUMNS = 4 };

/* Tensors of a part of the op: some rows with all columns, or some columns with all rows. */
struct part {
    const struct op *op;
    struct op_sizes sizes;
    float *tensor[OP_MAX_TENSORS];
    double *expected[OP_MAX_TENSORS], *condition[OP_MAX_TENSORS];
};

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory) { abort(); }
    return memory;
}

/* Row r of the part is row rows[r] of the op, or r; column c is columns[c], or c. Accumulated outputs start at 0. */
static void part_make(struct part *part, const struct op *op, const struct op_sizes *whole, uint64_t seed, int set,
                      const int *rows, int row_count, const int *columns, int column_count) {
    *part = (struct part){.op = op, .sizes = *whole};
    if (rows) { part->sizes.N = row_count; }
    if (columns) { part->sizes.C = column_count; }
    for (int t = 0; t < op_tensor_count(op); t++) {
        bool by_row = op_shape_is(op, t, "N"), by_column = op_shape_is(op, t, "C");
        size_t count = op_elements(op, t, &part->sizes), C = (size_t)part->sizes.C;
        uint64_t key = generate_key(seed, set, t);
        part->tensor[t] = allocate(count, sizeof(float));
        if (op->tensor[t].role != ROLE_IN) {
            part->expected[t] = allocate(count, sizeof(double));
            part->condition[t] = allocate(count, sizeof(double));
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            bool matrix = op_has_rows(op, t);
            size_t r = matrix ? i / C : i, c = matrix ? i % C : i;
            size_t row = rows ? (size_t)rows[by_column ? 0 : r] : r;
            size_t column = columns ? (size_t)columns[by_row ? 0 : c] : c;
            size_t at = matrix ? row * (size_t)whole->C + column : by_row ? row : column;
            part->tensor[t][i] =
                (float)element_round(element_type(op, t, whole->type), generate_float(key, matrix, at));
        }
    }
    reference_compute_rows(op, &part->sizes, rows, (const float *const *)part->tensor, part->expected, part->condition);
}

static void part_free(struct part *part) {
    for (int t = 0; t < OP_MAX_TENSORS; t++) {
        free(part->tensor[t]);
        free(part->expected[t]);
        free(part->condition[t]);
    }
}

/* Reads the next `count` elements of a tensor from the sampled bytes. The caller frees them. */
static float *take(const struct part *part, int t, size_t count, const char **data) {
    enum op_type type = part->sizes.type;
    float *values = allocate(count, sizeof *values);
    elements_unpack(part->op->tensor[t].element, type, *data, count, values);
    *data += count * op_element_bytes(part->op, t, type);
    return values;
}

/* `data` is advanced past the sampled rows. */
static bool rows_right(const struct part *part, const char **data) {
    bool right = true;
    for (int r = 0; r < part->sizes.N; r++) {
        for (int t = 0; t < op_tensor_count(part->op); t++) {
            enum op_type type = element_type(part->op, t, part->sizes.type);
            if (part->op->tensor[t].role == ROLE_IN || op_shape_is(part->op, t, "C")) { continue; }
            size_t width = op_has_rows(part->op, t) ? (size_t)part->sizes.C : 1;
            float *got = take(part, t, width, data);
            for (size_t c = 0; c < width; c++) {
                size_t i = (size_t)r * width + c;
                right = reference_accepts(type, part->expected[t][i], part->condition[t][i], got[c]) && right;
            }
            free(got);
        }
    }
    return right;
}

/* (C) outputs, accumulated over `calls` calls, at a few columns, which depend on no other column. */
static bool columns_right(const struct part *part, const int *columns, int C, int calls, const char *data) {
    bool right = true;
    for (int t = 0; t < op_tensor_count(part->op); t++) {
        enum op_type type = element_type(part->op, t, part->sizes.type);
        if (part->op->tensor[t].role == ROLE_IN || !op_shape_is(part->op, t, "C")) { continue; }
        float *got = take(part, t, (size_t)C, &data);
        for (int c = 0; c < part->sizes.C; c++) {
            double expected = part->expected[t][c] * calls, condition = part->condition[t][c] * calls * sqrt(calls);
            right = reference_accepts(type, expected, condition, got[columns[c]]) && right;
        }
        free(got);
    }
    return right;
}

bool timed_check(void *context, const struct op *op, const struct op_sizes *sizes, uint64_t seed, int set, int calls,
                 const int *rows, int row_count, const void *sampled) {
    (void)context;
    const char *data = sampled;
    struct part part;
    bool has_columns = false, right;
    int columns[SAMPLED_COLUMNS];
    part_make(&part, op, sizes, seed, set, rows, row_count, NULL, 0);
    right = rows_right(&part, &data);
    part_free(&part);
    for (int t = 0; t < op_tensor_count(op); t++) {
        has_columns = has_columns || (op->tensor[t].role != ROLE_IN && op_shape_is(op, t, "C"));
    }
    if (!has_columns || !right) { return right; }
    for (int i = 0; i < SAMPLED_COLUMNS; i++) {
        columns[i] = (int)(generate_mix(seed + (uint64_t)i + 1) % (uint64_t)sizes->C);
    }
    part_make(&part, op, sizes, seed, set, NULL, 0, columns, SAMPLED_COLUMNS);
    right = columns_right(&part, columns, sizes->C, calls, data);
    part_free(&part);
    return right;
}

struct timing timed_measure(struct runner *runner, const struct exercise *exercise) {
    const struct band_target *bands = &exercise->bands;
    const double edges[] = {bands->pass, bands->good, bands->speed_of_light};
    struct measure_options options = {
        .op = op_find(exercise->op), .sizes = bands->sizes, .edges = edges, .edge_count = 3, .check = timed_check};
    struct timing timing;
    struct result result;
    timing.verdict = measure_run(runner, &options, &timing.measurement, &result, timing.message, sizeof timing.message);
    return timing;
}
