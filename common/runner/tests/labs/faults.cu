// A lab file for the runner's own tests: what goes wrong on the device or on the host.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "ops/bias_add/contract.h"
#include "ops/layernorm_forward/contract.h"
#include "ops/row_dot/contract.h"
#include "ops/row_sum/contract.h"
#include "ops/row_sum_squares/contract.h"
#include "ops/softmax_forward/contract.h"

__global__ void past_the_end(float *out, int N) {
    if (threadIdx.x == 0) { out[N] = 1; }
}

extern "C" int row_sum_f32(float *out, const float *, int N, int, cudaStream_t stream) {
    past_the_end<<<1, 32, 0, stream>>>(out, N);
    return (int)cudaDeviceSynchronize();
}

// Reads what nobody wrote: an output, before writing it.
__global__ void accumulate(float *out, const float *x, int N) {
    if (threadIdx.x < N) { out[threadIdx.x] += x[threadIdx.x]; }
}

extern "C" int row_sum_squares_f32(float *out, const float *x, int N, int, cudaStream_t stream) {
    accumulate<<<1, 32, 0, stream>>>(out, x, N);
    return (int)cudaGetLastError();
}

// The device pointer is read on the host: on a GPU a crash, on the CPU backend a finding.
extern "C" int row_dot_f32(float *, const float *, const float *, int, int, cudaStream_t) {
    abort();
}

extern "C" int bias_add_f32(float *, const float *, const float *, int, int, cudaStream_t) {
    exit(0);
}

// Closes the runner's socket and goes on as if nothing were.
extern "C" int softmax_forward_f32(float *, const float *, int, int, cudaStream_t) {
    return close(3);
}

// How many of these files the lab's code can open.
extern "C" int layernorm_forward_f32(float *, float *, float *, const float *, const float *, const float *, int, int,
                                     float, cudaStream_t) {
    static const char *const files[] = {
        "/proc/self/maps", "/proc/self/mem", "/proc/self/environ", "/proc/1/cmdline", "/etc/passwd", "/", "."};
    int opened = 0;
    for (const char *file : files) {
        int descriptor = open(file, O_RDONLY);
        opened += descriptor >= 0;
        if (descriptor >= 0) { close(descriptor); }
    }
    return opened;
}
