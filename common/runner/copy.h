/* copy.h — the yardstick: the fastest of a small sweep of vectorised kernels that read and write as many tensors as the op.
 *
 * "2R:1W" reads two tensors and writes one. A row reduction (1R:0W) is measured against a kernel that only reads.
 */
#ifndef COPY_H
#define COPY_H

#include <cuda_runtime_api.h>
#include <stddef.h>

enum { COPY_MAX_READS = 2, COPY_MAX_WRITES = 2 };

struct copy_streams {
    const float *read[COPY_MAX_READS];
    float *write[COPY_MAX_WRITES];
    int reads, writes;
    size_t floats; /* in each tensor */
};

/* How many kernels the sweep has for this mix; 0: no kernel for it. */
int copy_count(int reads, int writes);

/* Launches one of them. */
void copy_launch(int variant, const struct copy_streams *streams, cudaStream_t stream);

/* "2R:1W, 16 bytes x 4, 512 threads, streaming" */
void copy_describe(int variant, int reads, int writes, char *text, size_t size);

#endif
