/* yardsticks.cu — random inputs, the copies that the ladders are compared with (common/runner/copy.h), and a kernel with the
 * minimum of work of an op on one row. Called from Python.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/runner/copy.h"
#include "common/runner/generate.h"

enum { FILL_THREADS = 256, FILL_BLOCKS = 8192, WARP = 32, MAX_STREAMS = 4 };

namespace {

template <class T> __global__ void fill_kernel(T *out, size_t count, uint64_t key, float offset, float scale) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        out[i] = (T)(offset + scale * generate_float(key, true, i));
    }
}

struct row_streams {
    const float4 *read[MAX_STREAMS];
    float4 *write[MAX_STREAMS];
    int reads, writes;
};

/* One block: each thread loads 16 bytes of each input, the block sums them, each thread stores. This is the minimum for an
 * op whose outputs depend on the whole row. */
__global__ void row_kernel(row_streams s, int loads) {
    __shared__ float sums[WARP];
    float4 value = {};
#pragma unroll
    for (int r = 0; r < MAX_STREAMS; r++) {
        if (r >= s.reads || (int)threadIdx.x >= loads) { continue; }
        float4 more = s.read[r][threadIdx.x];
        value = make_float4(value.x + more.x, value.y + more.y, value.z + more.z, value.w + more.w);
    }
    float sum = value.x + value.y + value.z + value.w;
    for (int lane = WARP / 2; lane > 0; lane /= 2) { sum += __shfl_xor_sync(~0u, sum, lane); }
    if (threadIdx.x % WARP == 0) { sums[threadIdx.x / WARP] = sum; }
    __syncthreads();
    sum = threadIdx.x % WARP < blockDim.x / WARP ? sums[threadIdx.x % WARP] : 0.0f;
    for (int lane = WARP / 2; lane > 0; lane /= 2) { sum += __shfl_xor_sync(~0u, sum, lane); }
    if ((int)threadIdx.x >= loads) { return; }
#pragma unroll
    for (int w = 0; w < MAX_STREAMS; w++) {
        if (w < s.writes) {
            s.write[w][threadIdx.x] = make_float4(value.x + sum, value.y + sum, value.z + sum, value.w + sum);
        }
    }
}

} // namespace

extern "C" {

/* count elements of `bytes` bytes each: offset + scale * (a triangular distribution on (-2, 2)). */
int yardstick_fill(void *out, size_t count, int bytes, int brain_float, int set, int tensor, float offset, float scale,
                   cudaStream_t stream) {
    size_t blocks = (count + FILL_THREADS - 1) / FILL_THREADS;
    unsigned grid = (unsigned)(blocks < (size_t)FILL_BLOCKS ? blocks : (size_t)FILL_BLOCKS);
    uint64_t key = generate_key(1, set, tensor);
    if (bytes == 4) {
        fill_kernel<<<grid, FILL_THREADS, 0, stream>>>((float *)out, count, key, offset, scale);
    } else if (brain_float) {
        fill_kernel<<<grid, FILL_THREADS, 0, stream>>>((__nv_bfloat16 *)out, count, key, offset, scale);
    } else {
        fill_kernel<<<grid, FILL_THREADS, 0, stream>>>((__half *)out, count, key, offset, scale);
    }
    return cudaGetLastError();
}

int yardstick_row(const float4 *const *read, int reads, float4 *const *write, int writes, int bytes,
                  cudaStream_t stream) {
    row_streams s = {};
    s.reads = reads;
    s.writes = writes;
    for (int i = 0; i < reads; i++) { s.read[i] = read[i]; }
    for (int i = 0; i < writes; i++) { s.write[i] = write[i]; }
    int loads = bytes / (int)sizeof(float4), warps = (loads + WARP - 1) / WARP;
    row_kernel<<<1, (unsigned)(warps * WARP), 0, stream>>>(s, loads);
    return cudaGetLastError();
}
int yardstick_copies(int reads, int writes) {
    return copy_count(reads, writes);
}

void yardstick_describe(int variant, int reads, int writes, char *text, size_t size) {
    copy_describe(variant, reads, writes, text, size);
}

int yardstick_copy(int variant, const void *const *read, int reads, void *const *write, int writes, size_t bytes,
                   int early, cudaStream_t stream) {
    copy_streams s = {};
    s.reads = reads;
    s.writes = writes;
    s.bytes = bytes;
    for (int i = 0; i < reads; i++) { s.read[i] = read[i]; }
    for (int i = 0; i < writes || i < 1; i++) { s.write[i] = write[i]; }
    copy_launch(variant, &s, early, stream);
    return cudaGetLastError();
}
}
