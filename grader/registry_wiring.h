/* registry_wiring.h — lab 4's part of registry.c's table: exercises that are parts of a model. */
#ifndef REGISTRY_WIRING_H
#define REGISTRY_WIRING_H

#include "registry.h"

/* Lab 4's: each file a part of the model, and the block's program all of it. */
#define WIRED(op_name, words, source, of_type) .op = op_name, .title = words, .file = source, .type = of_type
#define BY_PRODUCTS                            .library = "cuBLAS"
#define WITH_ALL                               .parts = {"attention.cu", "decode.cu"}, BY_PRODUCTS
/* B sequences of T tokens, H heads of D channels, S positions, layer or layers L, V tokens. */
#define WIRING(of_type, b, t, h, d, s, l, v)                                                                         \
    {                                                                                                                \
        .N = (b) * (t), .C = (h) * (d), .eps = 1e-5f, .type = of_type, .B = b, .H = h, .T = t, .lengths = 1, .S = s, \
        .L = l, .V = v                                                                                               \
    }
#define ATTENTION(of_type, words, ...)                                                                             \
    {                                                                                                              \
        WIRED("attention_forward", words, "attention.cu", of_type), BY_PRODUCTS,                                   \
            .bands = {.sizes.type = of_type},                                                                      \
            .traffic = {TRAFFIC_BYTES, WIRING(of_type, 1, 64, 4, 16, 64, 1, 0), {1.02, 1.55, 3.0}, {100, 60, 30}}, \
            .launches = {{3, 4, 8}, {100, 60, 30}}, .parallel = {32, 64}, .checks = {                              \
                __VA_ARGS__                                                                                        \
            }                                                                                                      \
    }
#define DECODE(of_type, words, ...)                                                                                 \
    {                                                                                                               \
        WIRED("decode_attention", words, "decode.cu", of_type),                                                     \
            .bands = {.sizes.type = of_type},                                                                       \
            .traffic = {TRAFFIC_BYTES, WIRING(of_type, 1, 1, 12, 64, 256, 1, 0), {1.05, 1.60, 4.0}, {100, 60, 30}}, \
            .launches = {{1, 3, 6}, {100, 60, 30}}, .parallel = {32, 400}, .checks = {                              \
                __VA_ARGS__                                                                                         \
            }                                                                                                       \
    }
#define BLOCK(of_type, words, ...)                                                                              \
    {                                                                                                           \
        WIRED("block_forward", words, "block.cu", of_type), WITH_ALL,                                           \
            .bands = {.sizes.type = of_type},                                                                   \
            .traffic = {TRAFFIC_BYTES, WIRING(of_type, 1, 16, 2, 8, 16, 1, 0), {1.0, 2.0, 3.0}, {100, 60, 30}}, \
            .launches = {{8, 10, 14}, {100, 60, 30}}, .parallel = {1, 1}, .checks = {                           \
                __VA_ARGS__                                                                                     \
            }                                                                                                   \
    }
/* Track B. Its launches are those of what is given. */
#define BLOCK_BACKWARD(of_type, words)                                                                          \
    {                                                                                                           \
        WIRED("block_backward", words, "block_backward.cu", of_type), BY_PRODUCTS,                              \
            .optional = true, .bands = {.sizes.type = of_type}, .traffic = {.sizes.type = of_type}, .checks = { \
                CORRECTNESS(0, 0, 0, 0)                                                                         \
            }                                                                                                   \
    }
#define MODEL(op_name, words, most, some, more, ...)                                                             \
    {                                                                                                            \
        WIRED(op_name, words, "block.cu", TYPE_F32), WITH_ALL,                                                   \
            .traffic = {TRAFFIC_BYTES, WIRING(TYPE_F32, 1, 8, 2, 8, 12, 2, 32), {1.0, 2.0, 3.0}, {100, 60, 30}}, \
            .launches = {{most, some, more}, {100, 60, 30}}, .parallel = {1, 1}, .checks = {                     \
                __VA_ARGS__                                                                                      \
            }                                                                                                    \
    }

#define STEP_4                                                                                               \
    {                                                                                                        \
        .name = "step4", .folder = "step4_gpt2_integration", .title = "a GPT-2 around your kernels",         \
        .predictions = {CHECK_PREDICTION, 10},                                                               \
        .exercises =                                                                                         \
            {                                                                                                \
                ATTENTION(TYPE_F32, "attention, fp32", CORRECTNESS(10, 3, 2, 3), {CHECK_TRAFFIC, 3},         \
                          {CHECK_LAUNCHES, 3}),                                                              \
                BLOCK(TYPE_F32, "block, fp32", CORRECTNESS(10, 2, 2, 2), {CHECK_LAUNCHES, 4}),               \
                DECODE(TYPE_F32, "decode attention, fp32", CORRECTNESS(8, 4, 2, 2), {CHECK_TRAFFIC, 3},      \
                       {CHECK_LAUNCHES, 2}, {CHECK_PARALLEL, 2}),                                            \
                MODEL("gpt2_forward", "whole model, prompts", 20, 26, 40, CORRECTNESS(3, 1, 1, 1)),          \
                MODEL("gpt2_decode", "whole model, decoding", 80, 100, 140, CORRECTNESS(3, 1, 1, 1),         \
                      {CHECK_LAUNCHES, 3}, {CHECK_RATE, 0}),                                                 \
                ATTENTION(TYPE_BF16, "attention, bf16", CORRECTNESS(1, 1, 0, 0)),                            \
                ATTENTION(TYPE_F16, "attention, fp16", CORRECTNESS(1, 1, 0, 0)),                             \
                BLOCK(TYPE_BF16, "block, bf16", CORRECTNESS(1, 1, 0, 0)),                                    \
                DECODE(TYPE_BF16, "decode attention, bf16", CORRECTNESS(1, 0, 0, 0)),                        \
                DECODE(TYPE_F16, "decode attention, fp16", CORRECTNESS(1, 0, 0, 0)),                         \
                BLOCK_BACKWARD(TYPE_F32, "block, backward, fp32"),                                           \
                BLOCK_BACKWARD(TYPE_BF16, "block, backward, bf16"),                                          \
            },                                                                                               \
        .questions = {                                                                                       \
            {.key = "scores_bytes",                                                                          \
             .text = "GPT-2 small, one prompt of 1024 tokens, fp32. How many MB are one block's attention "  \
                     "scores, (H, T, T), written once?",                                                     \
             .unit = "MB",                                                                                   \
             .low = 0.001,                                                                                   \
             .high = 100000.0,                                                                               \
             .truth = 50.3},                                                                                 \
            {.key = "cache_bytes",                                                                           \
             .text = "The same model in bf16: how many KB does one token put into the KV cache of all 12 "   \
                     "blocks?",                                                                              \
             .unit = "KB",                                                                                   \
             .low = 0.01,                                                                                    \
             .high = 100000.0,                                                                               \
             .truth = 36.9},                                                                                 \
            {.key = "decode_floor",                                                                          \
             .text = "Decoding one token reads every weight of a block once: 124M parameters in bf16, on a " \
                     "GPU of 4.8 TB/s. At most how many tokens a second can that give, one sequence at a "   \
                     "time?",                                                                                \
             .unit = "tokens/s",                                                                             \
             .low = 1.0,                                                                                     \
             .high = 10000000.0,                                                                             \
             .truth = 19300.0},                                                                              \
            {.key = "decode_launches",                                                                       \
             .text = "The grader's model has 2 blocks, reads a prompt and decodes 4 tokens, with the "       \
                     "course's plain kernels. How many kernel launches will it count in all, matrix "        \
                     "products "                                                                             \
                     "not among them?",                                                                      \
             .unit = "launches",                                                                             \
             .low = 1.0,                                                                                     \
             .high = 10000.0,                                                                                \
             .counted = "gpt2_decode"},                                                                      \
            {.key = "all_share",                                                                             \
             .text = "Lab 1's table for the last time. If every kernel that is no matrix product took no "   \
                     "time at all, how many times faster than naive could the forward pass be? (Amdahl's "   \
                     "law)",                                                                                 \
             .unit = "x",                                                                                    \
             .low = 1.0,                                                                                     \
             .high = 100.0,                                                                                  \
             .truth = 2.36},                                                                                 \
        },                                                                                                   \
    }

#endif
