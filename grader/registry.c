#include "registry.h"

#include <string.h>

#define CORRECTNESS(shapes, values, memory, secret)                           \
    {CHECK_SHAPES, shapes}, {CHECK_VALUES, values}, {CHECK_MEMORY, memory}, { \
        CHECK_SECRET, secret                                                  \
    }

/* A planted bug: repaired it is right, and that is all. */
#define PLANTED_BUG(name, words)                                                             \
    {                                                                                        \
        .op = name, .title = words, .file = "bugs.cu", .checks = { CORRECTNESS(3, 1, 1, 1) } \
    }

const struct step
    steps[] =
        {
            {
                .name = "step1",
                .folder = "step1_naive",
                .title = "naive kernels",
                .predictions = {CHECK_PREDICTION, 10},
                .exercises =
                    {
                        {
                            .op = "residual_forward",
                            .title = "residual add",
                            .file = "residual.cu",
                            .checks =
                                {CORRECTNESS(8, 2, 2, 2), {CHECK_TRAFFIC, 4}, {CHECK_PARALLEL, 2}, {CHECK_BAND, 0}},
                            .traffic = {TRAFFIC_SECTORS, {1024, 768, 1e-5f}, {1.05, 2.1, 4.2}, {100, 50, 25}},
                            .parallel = {1024, 12},
                            .bands = {{8192, 768, 1e-5f}, 0.50, 0.80, 0.92},
                        },
                        {
                            .op = "softmax_forward",
                            .title = "softmax, forward",
                            .file = "softmax.cu",
                            .checks =
                                {CORRECTNESS(14, 7, 4, 3), {CHECK_TRAFFIC, 5}, {CHECK_PARALLEL, 2}, {CHECK_BAND, 0}},
                            .traffic = {TRAFFIC_BYTES, {1024, 768, 1e-5f}, {2.05, 2.6, 4.1}, {100, 70, 40}},
                            .parallel = {32, 4 * 768},
                            .bands = {{8192, 768, 1e-5f}, 0.02, 0.05, 0.90},
                        },
                        {
                            .op = "layernorm_forward",
                            .title = "LayerNorm, forward",
                            .file = "layernorm.cu",
                            .checks =
                                {CORRECTNESS(14, 7, 4, 3), {CHECK_TRAFFIC, 5}, {CHECK_PARALLEL, 2}, {CHECK_BAND, 0}},
                            .traffic = {TRAFFIC_BYTES, {1024, 768, 1e-5f}, {2.05, 2.6, 4.1}, {100, 70, 40}},
                            .parallel = {32, 6 * 768},
                            .bands = {{8192, 768, 1e-5f}, 0.02, 0.05, 0.90},
                        },
                    },
                .questions =
                    {
                        {.key = "softmax_traffic",
                         .text = "Your softmax, one thread per row, will read each row as often as it needs to and "
                                 "write it. How "
                                 "many times the bytes of reading it once and writing it once will it ask for?",
                         .unit = "x",
                         .low = 1.0,
                         .high = 100.0,
                         .counted = "softmax_forward"},
                        {.key = "layernorm_traffic",
                         .text = "And your LayerNorm?",
                         .unit = "x",
                         .low = 1.0,
                         .high = 100.0,
                         .counted = "layernorm_forward"},
                        {.key = "softmax_share",
                         .text = "Look at the table. If softmax alone were brought from its naive time down to its "
                                 "floor, how many "
                                 "times faster would the whole forward pass be? (Amdahl's law)",
                         .unit = "x",
                         .low = 1.0,
                         .high = 100.0,
                         .truth = 1.87},
                        {.key = "all_share",
                         .text = "And if softmax, LayerNorm and the residual adds all ran at their floors?",
                         .unit = "x",
                         .low = 1.0,
                         .high = 100.0,
                         .truth = 2.12},
                    },
            },
            {
                .name = "step2",
                .folder = "step2_warp_reduce",
                .title = "coalescing and warp reductions",
                .predictions = {CHECK_PREDICTION, 10},
                .exercises =
                    {
                        {
                            .op = "softmax_forward",
                            .title = "softmax, forward",
                            .file = "softmax.cu",
                            .includes = "reduce.cuh",
                            .checks =
                                {CORRECTNESS(10, 6, 3, 3), {CHECK_TRAFFIC, 7}, {CHECK_PARALLEL, 3}, {CHECK_BAND, 0}},
                            .traffic = {TRAFFIC_SECTORS, {1024, 768, 1e-5f}, {1.55, 2.05, 4.1}, {100, 80, 40}},
                            .parallel = {512, 3 * 24},
                            .bands = {{8192, 1024, 1e-5f}, 0.40, 0.60, 0.92},
                        },
                        {
                            .op = "layernorm_forward",
                            .title = "LayerNorm, forward",
                            .file = "layernorm.cu",
                            .includes = "reduce.cuh",
                            .checks =
                                {CORRECTNESS(11, 7, 3, 3), {CHECK_TRAFFIC, 7}, {CHECK_PARALLEL, 3}, {CHECK_BAND, 0}},
                            .traffic = {TRAFFIC_SECTORS, {1024, 768, 1e-5f}, {2.05, 3.1, 8.2}, {100, 60, 20}},
                            .parallel = {512, 6 * 24 + 2},
                            .bands = {{8192, 768, 1e-5f}, 0.40, 0.60, 0.92},
                        },
                        PLANTED_BUG("row_sum", "planted bug: row sum"),
                        PLANTED_BUG("row_sum_squares", "planted bug: sum of squares"),
                        PLANTED_BUG("row_dot", "planted bug: dot product"),
                        PLANTED_BUG("bias_add", "planted bug: bias add"),
                        {
                            .op = "layernorm_backward",
                            .title = "LayerNorm, backward (track B)",
                            .file = "layernorm_backward.cu",
                            .includes = "reduce.cuh",
                            .optional = true,
                            .checks =
                                {CORRECTNESS(0, 0, 0, 0), {CHECK_TRAFFIC, 0}, {CHECK_PARALLEL, 0}, {CHECK_BAND, 0}},
                            .traffic = {TRAFFIC_SECTORS, {1024, 768, 1e-5f}, {2.6, 4.0, 8.2}, {100, 60, 20}},
                            .parallel = {512, 12 * 24 + 2},
                            .bands = {{8192, 768, 1e-5f}, 0.20, 0.50, 0.90},
                        },
                    },
                .questions =
                    {
                        {.key = "thread_per_row",
                         .text = "Lab 1's softmax, one thread per row: 32 lanes read 32 different rows, 4 bytes each, "
                                 "and memory "
                                 "comes in sectors of 32 bytes. How many times the floor in sectors? (lab 1 counted 2x "
                                 "in bytes)",
                         .unit = "x",
                         .low = 1.0,
                         .high = 200.0,
                         .truth = 16.0},
                        {.key = "softmax_traffic",
                         .text = "Your best softmax of this lab, a warp per row and online: how many times the floor "
                                 "in sectors?",
                         .unit = "x",
                         .low = 1.0,
                         .high = 100.0,
                         .counted = "softmax_forward"},
                        {.key = "layernorm_traffic",
                         .text = "Your LayerNorm of this lab, a warp per row, mean first and then the variance?",
                         .unit = "x",
                         .low = 1.0,
                         .high = 100.0,
                         .counted = "layernorm_forward"},
                        {.key = "all_share",
                         .text = "Look at lab 1's table again. With softmax and LayerNorm at these figures in place of "
                                 "the naive "
                                 "ones, how many times faster is the whole forward pass? (Amdahl's law)",
                         .unit = "x",
                         .low = 1.0,
                         .high = 100.0,
                         .truth = 2.03},
                    },
            },
            {.name = NULL},
};

const struct step *step_find(const char *name) {
    for (const struct step *step = steps; step->name; step++) {
        if (strcmp(step->name, name) == 0) { return step; }
    }
    return NULL;
}

const struct step *step_after(const struct step *step) {
    return step[1].name ? step + 1 : NULL;
}

const struct exercise *exercise_find(const struct step *step, const char *op) {
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        if (strcmp(exercise->op, op) == 0) { return exercise; }
    }
    return NULL;
}

bool step_owns_file(const struct step *step, const char *file) {
    if (strcmp(file, PREDICTIONS_FILE) == 0) { return true; }
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        if (strcmp(file, exercise->file) == 0) { return true; }
        if (exercise->includes && strcmp(file, exercise->includes) == 0) { return true; }
    }
    return false;
}

const char *check_name(enum check_kind kind) {
    switch (kind) {
        case CHECK_SHAPES: return "shapes";
        case CHECK_VALUES: return "values";
        case CHECK_MEMORY: return "memory";
        case CHECK_SECRET: return "secret";
        case CHECK_TRAFFIC: return "traffic";
        case CHECK_PARALLEL: return "parallelism";
        case CHECK_BAND: return "speed";
        case CHECK_PREDICTION: return "predictions";
    }
    return "?";
}

bool check_is_correctness(enum check_kind kind) {
    return kind <= CHECK_SECRET;
}
