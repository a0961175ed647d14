// step: step1  op: residual_forward  diagnosis: computed-on-host
// reason: Copies the inputs to the host, adds there, copies the sum back: no kernel at all.
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>
#include <vector>

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    size_t n = (size_t)N * C;
    std::vector<float> a(n + 1), b(n + 1);
    cudaMemcpy(a.data(), x, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(b.data(), residual, n * 4, cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < n; i++) { a[i] += b[i]; }
    cudaMemcpy(out, a.data(), n * 4, cudaMemcpyHostToDevice);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
