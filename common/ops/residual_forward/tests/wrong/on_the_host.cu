// step: step1  op: residual_forward  diagnosis: device-pointer
// reason: The launcher adds on the host with device pointers: a crash on a machine with a GPU.
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    (void)stream;
    for (size_t i = 0; i < (size_t)N * C; i++) { out[i] = x[i] + residual[i]; }
    return cudaSuccess;
}
