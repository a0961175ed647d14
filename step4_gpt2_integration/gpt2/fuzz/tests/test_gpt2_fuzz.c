/* gpt2_fuzz: all readers and the tokenizer on mutated valid inputs, the same ones in every run.
 *
 * Mutations: bytes changed, parts removed, doubled or moved, keywords inserted; and every prefix of a file. `make test-asan` runs
 * this under the address and UB sanitizers; `make fuzz` covers more. GPT2_FUZZ=N: N times as many.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/formats/number.h"
#include "gpt2/fuzz/targets.h"

TestSuite(gpt2_fuzz, .timeout = 600);

enum { ROUNDS = 1500, ROOM = 1 << 16 };

static uint64_t state;

static uint32_t next(uint32_t below) {
    uint64_t random = gpt2_mix(state);
    state += 0x9e3779b97f4a7c15u;
    return (uint32_t)(random >> 32) % below;
}

static const char *const words[] = {
    "0",
    "-1",
    "1",
    "7",
    "255",
    "2147483647",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "1e999",
    "18446744073709551615",
    "0.5",
    "null",
    "true",
    "[",
    "]",
    "{",
    "}",
    "[[[[",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\u0120",
    ",",
    ":",
    "\"F32\"",
    "\"BF16\"",
    "\"I64\"",
    "shape",
    "dtype",
    "\"__metadata__\":{}",
    "h.0.",
    "h.1.",
    ".attn.bias",
    "lm_head.weight",
    "transformer.",
    "vocab_size",
    "n_layer",
    " ",
    "\n",
    "\r\n",
    "\xc4\xa0",
    "\xff",
    "\xe2\x80\xa8",
    "\xf0\x9f\x98\x80",
    "<|endoftext|>",
    "'ll",
    "the",
};

/* A number of a header: a small one, or one near a power of two. */
static void put_number(uint8_t *bytes, size_t size) {
    uint32_t number = next(3) ? next(10) : (1u << next(32)) - next(3);
    size_t place = next(12) * 4;
    if (place + sizeof number <= size) { memcpy(bytes + place, &number, sizeof number); }
}

static void mutate(uint8_t *bytes, size_t *size) {
    uint32_t at = next((uint32_t)*size), length = 1 + next(40), kind = next(7);
    length = at + length > *size ? (uint32_t)*size - at : length;
    if (kind == 0) {
        bytes[at] = (uint8_t)next(256);
    } else if (kind == 1) {
        bytes[at] ^= (uint8_t)(1u << next(8));
    } else if (kind == 2) { /* cut */
        memmove(bytes + at, bytes + at + length, *size - at - length);
        *size -= length;
    } else if (kind == 3 && *size + length < ROOM) { /* double */
        memmove(bytes + at + length, bytes + at, *size - at);
        *size += length;
    } else if (kind == 4) { /* overwrite with bytes from another place */
        memmove(bytes + at, bytes + next((uint32_t)*size - length + 1), length);
    } else if (kind == 5) {
        put_number(bytes, *size);
    } else {
        const char *word = words[next(sizeof words / sizeof *words)];
        size_t size_of_word = strlen(word), instead = next(2) ? (size_t)next(4) : 0;
        if (at + instead > *size || *size + size_of_word >= ROOM) { return; }
        memmove(bytes + at + size_of_word, bytes + at + instead, *size - at - instead);
        memcpy(bytes + at, word, size_of_word);
        *size += size_of_word - instead;
    }
}

/* In a buffer of exactly its size, so that a read past its end is detected. */
static void run(const struct fuzz_target *target, const uint8_t *bytes, size_t size) {
    uint8_t *exact = malloc(size ? size : 1);
    memcpy(exact, bytes, size);
    target->run(exact, size);
    free(exact);
}

ParameterizedTestParameters(gpt2_fuzz, target) {
    static int indices[32];
    size_t count = 0;
    for (; fuzz_targets[count].name; count++) { indices[count] = (int)count; }
    return cr_make_param_array(int, indices, count);
}

ParameterizedTest(int *index, gpt2_fuzz, target) {
    const struct fuzz_target *target = &fuzz_targets[*index];
    const char *more = getenv("GPT2_FUZZ");
    int rounds = ROUNDS * (more && atoi(more) > 0 ? atoi(more) : 1);
    size_t size;
    fuzz_begin();
    uint8_t *seed = fuzz_seed(target, &size), *bytes = malloc(ROOM);
    cr_assert(seed && bytes && size > 0 && size < ROOM / 2);
    run(target, seed, size);
    for (size_t end = 0; end < size; end += 1 + size / 300) { run(target, seed, end); }
    for (int round = 0; round < rounds; round++) {
        size_t mutated = size;
        state = (uint64_t)*index << 32 | (uint64_t)round;
        memcpy(bytes, seed, size);
        for (uint32_t changes = 1 + next(4); changes > 0 && mutated > 0; changes--) { mutate(bytes, &mutated); }
        run(target, bytes, mutated);
    }
    free(seed);
    free(bytes);
}
