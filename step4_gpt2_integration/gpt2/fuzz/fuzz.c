/* fuzz.c — runs the target that FUZZ_TARGET names under libFuzzer. `make fuzz` builds and runs all targets.
 *
 * With FUZZ_SEED=FILE it only writes the target's seed to the file.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/fuzz/targets.h"

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    const char *name = getenv("FUZZ_TARGET"), *seed_file = getenv("FUZZ_SEED");
    (void)count, (void)arguments;
    for (target = fuzz_targets; name && target->name && strcmp(target->name, name) != 0;) { target++; }
    if (!name || !target->name) {
        fprintf(stderr, "FUZZ_TARGET is one of:");
        for (target = fuzz_targets; target->name; target++) { fprintf(stderr, " %s", target->name); }
        fprintf(stderr, "\n");
        exit(2);
    }
    fuzz_begin();
    if (seed_file) {
        size_t size;
        uint8_t *seed = fuzz_seed(target, &size);
        FILE *file = fopen(seed_file, "wb");
        bool ok = file && fwrite(seed, 1, size, file) == size;
        if (file && fclose(file) != 0) { ok = false; }
        free(seed);
        exit(ok ? 0 : 2);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    target->run(bytes, size);
    return 0;
}
