/* targets.h — everything in the GPT-2 library that reads what comes from outside, each as a function of bytes.
 *
 * A target takes any bytes. It must return: with a result that passes its own checks, or after one message; no crash, no hang,
 * no read past the end (both fuzzers run under sanitizers). What it finds wrong itself, it abort()s on.
 * `make fuzz` drives them with libFuzzer (fuzz.c), tests/test_gpt2_fuzz.c with the same mutations every time.
 */
#ifndef GPT2_FUZZ_TARGETS_H
#define GPT2_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_target {
    const char *name;
    void (*run)(const uint8_t *bytes, size_t size);
    const char *seed; /* a valid input: its file in the scratch folder */
    size_t skip;      /* bytes at its start that the target adds itself */
};

extern const struct fuzz_target fuzz_targets[]; /* ended by a NULL name */

/* Make the scratch folder with the seeds in it; once a process. It is removed at exit. */
void fuzz_begin(void);

/* A target's seed in memory, which the caller frees. */
uint8_t *fuzz_seed(const struct fuzz_target *target, size_t *size);

#endif
