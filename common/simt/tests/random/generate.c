/* generate.c — random_kernels FIRST COUNT: that many random kernels as one CUDA source, which registers them. */
#include <stdlib.h>

#include "program.h"

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s FIRST_SEED COUNT > kernels.cu\n", argv[0]);
        return 2;
    }
    unsigned long long first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    static struct program program;
    printf("// Random kernels %llu to %llu, by common/simt/tests/random/generate.c.\n#include <cuda_runtime.h>\n",
           first, first + count - 1);
    for (unsigned long long seed = first; seed < first + count; seed++) {
        program_make(&program, seed);
        program_print(&program, stdout);
    }
    printf(
        "extern \"C\" int random_register(unsigned long long, unsigned, void (*const *)(unsigned *, const unsigned *, "
        "unsigned *));\nstatic void (*const table[])(unsigned *, const unsigned *, unsigned *) = {");
    for (unsigned long long seed = first; seed < first + count; seed++) printf("run_%llu, ", seed);
    printf("};\nstatic int registered = random_register(%lluu, %lluu, table);\n", first, count);
    return 0;
}
