/* targets.h — the functions of the GPT-2 library that read untrusted input, each as a function of bytes.
 *
 * A target accepts any bytes. It returns with a result that passes its own checks, or after one message, without a crash, a
 * hang or a read past the end (both fuzzers run under sanitizers). A failed check calls abort().
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
    size_t skip;      /* bytes at its start that the target adds */
};

extern const struct fuzz_target fuzz_targets[]; /* terminated by a NULL name */

/* Makes the scratch folder with the seeds, once per process. It is removed at exit. */
void fuzz_begin(void);

/* The target's seed in memory, which the caller frees. */
uint8_t *fuzz_seed(const struct fuzz_target *target, size_t *size);

#endif
