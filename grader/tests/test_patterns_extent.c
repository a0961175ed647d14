/* patterns_extent: a wrong bound is recognised by the elements that are not written. */
#include <criterion/criterion.h>

#include "diagnosing.h"

TestSuite(patterns_extent, .timeout = 120);

static bool whole_groups_of_32(const struct op_sizes *s, long i) {
    return i % s->C < s->C / 32 * 32;
}
static bool whole_vectors(const struct op_sizes *s, long i) {
    return i % s->C < s->C / 4 * 4;
}
static bool all_but_the_last_row(const struct op_sizes *s, long i) {
    return i / s->C < s->N - 1;
}
static bool all_but_the_last_column(const struct op_sizes *s, long i) {
    return i % s->C < s->C - 1;
}
static bool from_row_1(const struct op_sizes *s, long i) {
    return i / s->C > 0;
}
static bool from_column_1(const struct op_sizes *s, long i) {
    return i % s->C > 0;
}
static bool first_100_columns(const struct op_sizes *s, long i) {
    return i % s->C < 100;
}
static bool whole_blocks(const struct op_sizes *s, long i) {
    return i < (long)s->N * s->C / 128 * 128;
}
static bool odd_columns(const struct op_sizes *s, long i) {
    return i % s->C % 2 == 1;
}

static const struct {
    bool (*written)(const struct op_sizes *, long);
    const char *id;
} extents[] = {
    {whole_groups_of_32, "columns-rounded-down"},
    {whole_vectors, "vector-tail"},
    {all_but_the_last_row, "last-row-missing"},
    {all_but_the_last_column, "last-column-missing"},
    {from_row_1, "first-row-missing"},
    {from_column_1, "first-column-missing"},
    {first_100_columns, "columns-past-block"},
    {whole_blocks, "last-block-missing"},
    {odd_columns, "output-partly-untouched"},
};

static int which;

static int add_some(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    (void)fake;
    for (long i = 0; i < (long)sizes->N * sizes->C; i++) {
        if (extents[which].written(sizes, i)) { tensor[0][i] = tensor[1][i] + tensor[2][i]; }
    }
    return 0;
}

Test(patterns_extent, each_extent_is_named) {
    for (which = 0; which < (int)(sizeof extents / sizeof extents[0]); which++) {
        struct fake fake = {.kernel = add_some};
        const char *found = diagnosis(&fake, "residual_forward", 64);
        cr_assert_str_eq(found, extents[which].id, "%s was taken for '%s'", extents[which].id, found);
    }
}
