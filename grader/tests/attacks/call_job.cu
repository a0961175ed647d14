// Runs a job by the runner's own function.
// stopped by: object rules: run_call
#include "right.cuh"

struct job;
void run_call(const job *);
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    run_call(nullptr);
    return add(out, x, residual, N, C, stream);
}
