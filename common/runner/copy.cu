#include <stdio.h>

#include "../dependent_launch.cuh"
#include "copy.h"

namespace {

/* The parameters of the sweep. */
struct shape {
    int unroll, threads;
    bool streaming;  /* __ldcs and __stcs: this data is used once */
    bool persistent; /* as many blocks as fit, each looping over the tensor; else one block per chunk */
};

const shape shapes[] = {
    {1, 256, false, false}, {1, 512, false, false}, {1, 1024, false, false}, {2, 256, false, false},
    {2, 512, false, false}, {4, 256, false, false}, {4, 512, false, false},  {2, 512, false, true},
    {4, 256, false, true},  {1, 256, true, false},  {1, 512, true, false},   {1, 1024, true, false},
    {2, 256, true, false},  {2, 512, true, false},  {4, 256, true, false},   {4, 512, true, false},
    {2, 512, true, true},   {4, 256, true, true},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, BLOCKS_PER_MULTIPROCESSOR = 8 };

template <int READS, int WRITES, int UNROLL, bool STREAMING> __global__ void copy_kernel(copy_streams s, size_t loads) {
    let_next_kernel_start();
    wait_for_previous_kernel();
    size_t stride = (size_t)gridDim.x * blockDim.x * UNROLL;
    for (size_t first = (size_t)blockIdx.x * blockDim.x * UNROLL + threadIdx.x; first < loads; first += stride) {
        float4 value[READS][UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            size_t i = first + (size_t)u * blockDim.x;
#pragma unroll
            for (int r = 0; r < READS; r++) {
                const float4 *from = (const float4 *)s.read[r] + i;
                if (i < loads) { value[r][u] = STREAMING ? __ldcs(from) : *from; }
            }
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            size_t i = first + (size_t)u * blockDim.x;
            if (i >= loads) { continue; }
            float4 sum = value[0][u];
#pragma unroll
            for (int r = 1; r < READS; r++) {
                sum = make_float4(sum.x + value[r][u].x, sum.y + value[r][u].y, sum.z + value[r][u].z,
                                  sum.w + value[r][u].w);
            }
#pragma unroll
            for (int w = 0; w < WRITES; w++) {
                float4 *to = (float4 *)s.write[w] + i;
                if (STREAMING) {
                    __stcs(to, sum);
                } else {
                    *to = sum;
                }
            }
            /* A kernel that only reads has a write that never happens; otherwise the compiler removes the reads. */
            if (WRITES == 0 && sum.x == -1.25e38f) { *(volatile float *)s.write[0] = sum.y; }
        }
    }
}

template <int READS, int WRITES>
void launch_copy(const shape &shape, const copy_streams &s, unsigned blocks, size_t loads, bool early,
                 cudaStream_t stream) {
    auto kernel = copy_kernel<READS, WRITES, 1, false>;
    if (shape.streaming) {
        kernel = shape.unroll == 1   ? copy_kernel<READS, WRITES, 1, true>
                 : shape.unroll == 2 ? copy_kernel<READS, WRITES, 2, true>
                                     : copy_kernel<READS, WRITES, 4, true>;
    } else if (shape.unroll > 1) {
        kernel = shape.unroll == 2 ? copy_kernel<READS, WRITES, 2, false> : copy_kernel<READS, WRITES, 4, false>;
    }
    if (early) {
        launch({blocks, (unsigned)shape.threads, stream}, kernel, s, loads);
    } else {
        kernel<<<blocks, shape.threads, 0, stream>>>(s, loads);
    }
}

unsigned block_count(const shape &shape, size_t loads) {
    size_t piece = (size_t)shape.threads * shape.unroll, blocks = (loads + piece - 1) / piece;
    if (shape.persistent) {
        int multiprocessors = 1;
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
        size_t resident = (size_t)multiprocessors * BLOCKS_PER_MULTIPROCESSOR * 256 / shape.threads;
        if (blocks > resident) { blocks = resident; }
    }
    return (unsigned)(blocks > 0 ? blocks : 1);
}

} // namespace

int copy_count(int reads, int writes) {
    bool known =
        (reads == 1 && writes <= 2) || (reads == 2 && (writes == 1 || writes == 2)) || (reads == 3 && writes == 1);
    return known ? SHAPES : 0;
}

void copy_launch(int variant, const struct copy_streams *s, bool early, cudaStream_t stream) {
    size_t loads = s->bytes / sizeof(float4);
    const shape &shape = shapes[variant];
    unsigned blocks = block_count(shape, loads);
    switch (s->reads * 10 + s->writes) {
        case 10: launch_copy<1, 0>(shape, *s, blocks, loads, early, stream); break;
        case 11: launch_copy<1, 1>(shape, *s, blocks, loads, early, stream); break;
        case 12: launch_copy<1, 2>(shape, *s, blocks, loads, early, stream); break;
        case 21: launch_copy<2, 1>(shape, *s, blocks, loads, early, stream); break;
        case 22: launch_copy<2, 2>(shape, *s, blocks, loads, early, stream); break;
        case 31: launch_copy<3, 1>(shape, *s, blocks, loads, early, stream); break;
    }
}

void copy_describe(int variant, int reads, int writes, char *text, size_t size) {
    const shape &shape = shapes[variant];
    snprintf(text, size, "%dR:%dW, 16 bytes x %d, %d threads%s%s", reads, writes, shape.unroll, shape.threads,
             shape.streaming ? ", streaming" : "", shape.persistent ? ", persistent" : "");
}
