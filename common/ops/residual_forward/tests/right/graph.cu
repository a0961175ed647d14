// step: step1  op: residual_forward
// reason: The launcher captures a graph and launches that.
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = x[i] + residual[i]; }
}
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    cudaStream_t recorder;
    cudaGraph_t graph;
    cudaGraphExec_t program;
    CUDA_CHECK(cudaStreamCreateWithFlags(&recorder, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamBeginCapture(recorder, cudaStreamCaptureModeThreadLocal));
    kernel<<<(count + 255) / 256, 256, 0, recorder>>>(out, x, residual, count);
    CUDA_CHECK(cudaStreamEndCapture(recorder, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&program, graph, 0));
    CUDA_CHECK(cudaGraphLaunch(program, stream));
    CUDA_CHECK(cudaGraphExecDestroy(program));
    CUDA_CHECK(cudaGraphDestroy(graph));
    CUDA_CHECK(cudaStreamDestroy(recorder));
    return cudaSuccess;
}
