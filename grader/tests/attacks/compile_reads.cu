// Includes a file of the machine by a link in the submission.
// stopped by: source rules: not allowed
#include "/etc/passwd"
#include "right.cuh"

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    return add(out, x, residual, N, C, stream);
}
