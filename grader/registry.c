#include "registry.h"

#include "registry_wiring.h"

#define CORRECTNESS(shapes, values, memory, secret)                           \
    {CHECK_SHAPES, shapes}, {CHECK_VALUES, values}, {CHECK_MEMORY, memory}, { \
        CHECK_SECRET, secret                                                  \
    }

/* A planted bug: repaired it is right, and that is all. */
#define PLANTED_BUG(name, words)                                                             \
    {                                                                                        \
        .op = name, .title = words, .file = "bugs.cu", .checks = { CORRECTNESS(3, 1, 1, 1) } \
    }

/* Lab 3's exercises, each once a type: sizes are of its type, and so are the requests of a warp that takes 16 bytes a lane. */
#define LAB3(op_name, words, source, of_type) \
    .op = op_name, .title = words, .file = source, .type = of_type, .includes = {"reduce.cuh", "vec.cuh"}

#define MATRICES(of_type, b, h, t) \
    { .N = (b) * (h) * (t), .C = t, .type = of_type, .B = b, .H = h, .T = t, .scale = 0.125f }
#define ROWS(of_type, n, c) \
    { .N = n, .C = c, .eps = 1e-5f, .type = of_type }

/* The vec that the diagonal cuts is read element by element: up to 7 sectors for 16 bytes of a 16-bit row. */
#define CAUSAL(op_name, words, source, of_type, chain, slow)         \
    LAB3(op_name, words, source, of_type),                           \
        .traffic = {TRAFFIC_SECTORS,                                 \
                    MATRICES(of_type, 1, 1, 1024),                   \
                    {of_type == TYPE_F32 ? 1.02 : 1.06, slow, 2.10}, \
                    {100, 60, 30}},                                  \
        .parallel = {512, chain}, .bands = {MATRICES(of_type, 8, 12, 1024), 0.50, 0.80, 0.90}
#define FUSED(op_name, words, source, of_type, chain) LAB3(op_name, words, source, of_type), .parallel = {256, chain}

#define CAUSAL_FORWARD(of_type, words, chain, ...)                                                                    \
    {                                                                                                                 \
        CAUSAL("causal_softmax_forward", words, "causal_softmax.cu", of_type, chain, 1.40), .checks = { __VA_ARGS__ } \
    }
#define RESIDUAL_FORWARD(of_type, words, chain, ...)                                                   \
    {                                                                                                  \
        FUSED("residual_layernorm_forward", words, "residual_layernorm.cu", of_type, chain),           \
            .traffic = {TRAFFIC_SECTORS, ROWS(of_type, 1024, 768), {1.02, 1.30, 1.80}, {100, 60, 30}}, \
            .bands = {ROWS(of_type, 8192, 768), 0.50, 0.80, 0.92}, .checks = {                         \
                __VA_ARGS__                                                                            \
            }                                                                                          \
    }

/* Track B. Partial sums of dweight and dbias are traffic too: little, where there are many rows. */
#define OPTIONAL \
    .optional = true, .checks = {CORRECTNESS(0, 0, 0, 0), {CHECK_TRAFFIC, 0}, {CHECK_PARALLEL, 0}, {CHECK_BAND, 0}}
#define CAUSAL_BACKWARD(of_type, words, chain) \
    { CAUSAL("causal_softmax_backward", words, "causal_softmax_backward.cu", of_type, chain, 1.55), OPTIONAL }
#define RESIDUAL_BACKWARD(of_type, words, chain)                                                       \
    {                                                                                                  \
        FUSED("residual_layernorm_backward", words, "residual_layernorm_backward.cu", of_type, chain), \
            .traffic = {TRAFFIC_SECTORS, ROWS(of_type, 4096, 768), {1.15, 1.60, 2.10}, {100, 60, 30}}, \
            .bands = {ROWS(of_type, 8192, 768), 0.30, 0.60, 0.75}, OPTIONAL                            \
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
                            .traffic =
                                {TRAFFIC_SECTORS, {.N = 1024, .C = 768, .eps = 1e-5f}, {1.05, 2.1, 4.2}, {100, 50, 25}},
                            .parallel = {1024, 12},
                            .bands = {{.N = 8192, .C = 768, .eps = 1e-5f}, 0.50, 0.80, 0.92},
                        },
                        {
                            .op = "softmax_forward",
                            .title = "softmax, forward",
                            .file = "softmax.cu",
                            .checks =
                                {CORRECTNESS(14, 7, 4, 3), {CHECK_TRAFFIC, 5}, {CHECK_PARALLEL, 2}, {CHECK_BAND, 0}},
                            .traffic =
                                {TRAFFIC_BYTES, {.N = 1024, .C = 768, .eps = 1e-5f}, {2.05, 2.6, 4.1}, {100, 70, 40}},
                            .parallel = {32, 4 * 768},
                            .bands = {{.N = 8192, .C = 768, .eps = 1e-5f}, 0.02, 0.05, 0.90},
                        },
                        {
                            .op = "layernorm_forward",
                            .title = "LayerNorm, forward",
                            .file = "layernorm.cu",
                            .checks =
                                {CORRECTNESS(14, 7, 4, 3), {CHECK_TRAFFIC, 5}, {CHECK_PARALLEL, 2}, {CHECK_BAND, 0}},
                            .traffic =
                                {TRAFFIC_BYTES, {.N = 1024, .C = 768, .eps = 1e-5f}, {2.05, 2.6, 4.1}, {100, 70, 40}},
                            .parallel = {32, 6 * 768},
                            .bands = {{.N = 8192, .C = 768, .eps = 1e-5f}, 0.02, 0.05, 0.90},
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
                            .includes = {"reduce.cuh"},
                            .checks =
                                {CORRECTNESS(10, 6, 3, 3), {CHECK_TRAFFIC, 7}, {CHECK_PARALLEL, 3}, {CHECK_BAND, 0}},
                            .traffic = {TRAFFIC_SECTORS,
                                        {.N = 1024, .C = 768, .eps = 1e-5f},
                                        {1.55, 2.05, 4.1},
                                        {100, 80, 40}},
                            .parallel = {512, 3 * 24},
                            .bands = {{.N = 8192, .C = 1024, .eps = 1e-5f}, 0.40, 0.60, 0.92},
                        },
                        {
                            .op = "layernorm_forward",
                            .title = "LayerNorm, forward",
                            .file = "layernorm.cu",
                            .includes = {"reduce.cuh"},
                            .checks =
                                {CORRECTNESS(11, 7, 3, 3), {CHECK_TRAFFIC, 7}, {CHECK_PARALLEL, 3}, {CHECK_BAND, 0}},
                            .traffic =
                                {TRAFFIC_SECTORS, {.N = 1024, .C = 768, .eps = 1e-5f}, {2.05, 3.1, 8.2}, {100, 60, 20}},
                            .parallel = {512, 6 * 24 + 2},
                            .bands = {{.N = 8192, .C = 768, .eps = 1e-5f}, 0.40, 0.60, 0.92},
                        },
                        PLANTED_BUG("row_sum", "planted bug: row sum"),
                        PLANTED_BUG("row_sum_squares", "planted bug: sum of squares"),
                        PLANTED_BUG("row_dot", "planted bug: dot product"),
                        PLANTED_BUG("bias_add", "planted bug: bias add"),
                        {
                            .op = "layernorm_backward",
                            .title = "LayerNorm, backward (track B)",
                            .file = "layernorm_backward.cu",
                            .includes = {"reduce.cuh"},
                            .optional = true,
                            .checks =
                                {CORRECTNESS(0, 0, 0, 0), {CHECK_TRAFFIC, 0}, {CHECK_PARALLEL, 0}, {CHECK_BAND, 0}},
                            .traffic =
                                {TRAFFIC_SECTORS, {.N = 1024, .C = 768, .eps = 1e-5f}, {2.6, 4.0, 8.2}, {100, 60, 20}},
                            .parallel = {512, 12 * 24 + 2},
                            .bands = {{.N = 8192, .C = 768, .eps = 1e-5f}, 0.20, 0.50, 0.90},
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
            {
                .name = "step3",
                .folder = "step3_fused",
                .title = "fused kernels at the byte floor, in three types",
                .predictions = {CHECK_PREDICTION, 10},
                .exercises =
                    {
                        CAUSAL_FORWARD(TYPE_F32, "causal softmax, fp32", 24, CORRECTNESS(10, 6, 3, 3),
                                       {CHECK_TRAFFIC, 4}, {CHECK_PARALLEL, 2}, {CHECK_BAND, 0}),
                        RESIDUAL_FORWARD(TYPE_F32, "residual + LayerNorm, fp32", 48, CORRECTNESS(10, 6, 3, 3),
                                         {CHECK_TRAFFIC, 4}, {CHECK_PARALLEL, 2}, {CHECK_BAND, 0}),
                        CAUSAL_FORWARD(TYPE_BF16, "causal softmax, bf16", 16, CORRECTNESS(3, 2, 1, 1),
                                       {CHECK_TRAFFIC, 2}, {CHECK_PARALLEL, 1}, {CHECK_BAND, 0}),
                        CAUSAL_FORWARD(TYPE_F16, "causal softmax, fp16", 16, CORRECTNESS(3, 1, 1, 1),
                                       {CHECK_TRAFFIC, 1}, {CHECK_BAND, 0}),
                        RESIDUAL_FORWARD(TYPE_BF16, "residual + LayerNorm, bf16", 28, CORRECTNESS(3, 2, 1, 1),
                                         {CHECK_TRAFFIC, 2}, {CHECK_PARALLEL, 1}, {CHECK_BAND, 0}),
                        RESIDUAL_FORWARD(TYPE_F16, "residual + LayerNorm, fp16", 28, CORRECTNESS(3, 1, 1, 1),
                                         {CHECK_TRAFFIC, 1}, {CHECK_BAND, 0}),
                        CAUSAL_BACKWARD(TYPE_F32, "causal softmax, backward, fp32", 36),
                        CAUSAL_BACKWARD(TYPE_BF16, "causal softmax, backward, bf16", 24),
                        CAUSAL_BACKWARD(TYPE_F16, "causal softmax, backward, fp16", 24),
                        RESIDUAL_BACKWARD(TYPE_F32, "residual + LN, backward, fp32", 400),
                        RESIDUAL_BACKWARD(TYPE_BF16, "residual + LN, backward, bf16", 230),
                        RESIDUAL_BACKWARD(TYPE_F16, "residual + LN, backward, fp16", 230),
                    },
                .questions =
                    {
                        {.key = "three_kernels",
                         .text = "Scale, causal mask and softmax as three kernels, each reading and writing all of "
                                 "(B, H, T, T) once. How many times the bytes of one kernel that reads only what is "
                                 "on or below the diagonal, and writes everything?",
                         .unit = "x",
                         .low = 1.0,
                         .high = 20.0,
                         .truth = 4.0},
                        {.key = "two_kernels",
                         .text = "A residual add that writes the sum, and then a LayerNorm that holds its row in "
                                 "registers. How many times the bytes of the two in one kernel that writes the sum "
                                 "too?",
                         .unit = "x",
                         .low = 1.0,
                         .high = 20.0,
                         .truth = 1.25},
                        {.key = "causal_traffic",
                         .text = "Your causal softmax in fp32, rows in registers: how many times its floor in sectors "
                                 "of 32 bytes will it move? (Rows end anywhere within a sector.)",
                         .unit = "x",
                         .low = 1.0,
                         .high = 20.0,
                         .counted = "causal_softmax_forward_f32"},
                        {.key = "row_bytes",
                         .text = "A warp that holds a row of 768 elements in bf16 loads 16 bytes a lane at a time. How "
                                 "many load instructions is that for each lane? (In fp32, 4 bytes at a time, it was "
                                 "24.)",
                         .unit = "loads",
                         .low = 1.0,
                         .high = 100.0,
                         .truth = 3.0},
                        {.key = "all_share",
                         .text = "Lab 1's table once more. With causal softmax and residual + LayerNorm at these "
                                 "floors, in fp32, how many times faster than naive is the whole forward pass? "
                                 "(Amdahl's law)",
                         .unit = "x",
                         .low = 1.0,
                         .high = 100.0,
                         .truth = 2.16},
                    },
            },
            STEP_4,
            {.name = NULL},
};
