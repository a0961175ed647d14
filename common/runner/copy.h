/* copy.h — the reference for bandwidth: the fastest of a small sweep of vectorised kernels that read and write as many
 * tensors as the op.
 *
 * "2R:1W" reads two streams of bytes and writes one. A stream is a tensor. If an op needs only half of some tensors (a
 * causal mask), every stream is half a tensor, and a tensor that is written completely is two streams. A row reduction
 * (1R:0W) is measured against a kernel that only reads.
 */
#ifndef COPY_H
#define COPY_H

#include <cuda_runtime_api.h>
#include <stddef.h>

enum { COPY_MAX_READS = 3, COPY_MAX_WRITES = 2 };

struct copy_streams {
    const void *read[COPY_MAX_READS];
    void *write[COPY_MAX_WRITES];
    int reads, writes;
    size_t bytes; /* in each stream */
};

/* The number of kernels in the sweep for this mix of streams; 0: none. */
int copy_count(int reads, int writes);

/* Launches one of them; early: by programmatic dependent launch, if the GPU has it. */
void copy_launch(int variant, const struct copy_streams *streams, bool early, cudaStream_t stream);

/* "2R:1W, 16 bytes x 4, 512 threads, streaming" */
void copy_describe(int variant, int reads, int writes, char *text, size_t size);

#endif
