/* block_backward — gradients of a transformer block over whole prompts, as in lab 4's optional block_backward.cu.
 *
 *   x1  = x + attention(LayerNorm1(x))         with projection and biases        x: residual, x1: middle
 *   out = x1 + mlp(LayerNorm2(x1))
 *   dx  = the gradient of x, where dout is the gradient of out; also the gradients of all 12 parameters
 *
 * Defined    by the course, around the template block_backward (declared in block_backward.cuh) of the lab file
 * Shapes     dx, dout: (N, C), N = B * T, C = H * D. A parameter's gradient has the parameter's shape, and is float in
 *            every type; block_forward.h has the shapes of the parameters.
 *            Tensors kept by the forward pass: residual, normalised, attention, middle, normalised2: (N, C);
 *            qkv: (N, 3C); fc (before bias and GELU), hidden (after them): (N, 4C);
 *            mean, rstd (of LayerNorm 1), mean2, rstd2: (N), float.
 *            lengths: (B), int, 1 to T
 * Writes     dx is overwritten; the parameters' gradients are accumulated. The kept tensors are not modified.
 * Sizes      B, T, H, D >= 1
 * Order      fixed: the same call gives the same bits.
 * Returns    0, a cudaError_t, or 100000 + a cublasStatus_t
 */
#ifndef CONTRACT_BLOCK_BACKWARD_H
#define CONTRACT_BLOCK_BACKWARD_H

#include "ops/types.h"

#ifdef __cplusplus
extern "C" {
#endif

int block_backward_f32(float *dmlp_weight, float *dmlp_bias, float *dfc_weight, float *dfc_bias, float *dln2_weight,
                       float *dln2_bias, float *dattention_weight, float *dattention_bias, float *dqkv_weight,
                       float *dqkv_bias, float *dln1_weight, float *dln1_bias, float *dx, const float *dout,
                       const float *residual, const float *normalised, const float *qkv, const float *attention,
                       const float *middle, const float *normalised2, const float *fc, const float *hidden,
                       const float *mean, const float *rstd, const float *mean2, const float *rstd2,
                       const float *ln1_weight, const float *ln1_bias, const float *qkv_weight, const float *qkv_bias,
                       const float *attention_weight, const float *attention_bias, const float *ln2_weight,
                       const float *ln2_bias, const float *fc_weight, const float *fc_bias, const float *mlp_weight,
                       const float *mlp_bias, const int *lengths, int B, int T_, int H, int D, cudaStream_t stream);
int block_backward_f16(float *dmlp_weight, float *dmlp_bias, float *dfc_weight, float *dfc_bias, float *dln2_weight,
                       float *dln2_bias, float *dattention_weight, float *dattention_bias, float *dqkv_weight,
                       float *dqkv_bias, float *dln1_weight, float *dln1_bias, __half *dx, const __half *dout,
                       const __half *residual, const __half *normalised, const __half *qkv, const __half *attention,
                       const __half *middle, const __half *normalised2, const __half *fc, const __half *hidden,
                       const float *mean, const float *rstd, const float *mean2, const float *rstd2,
                       const __half *ln1_weight, const __half *ln1_bias, const __half *qkv_weight,
                       const __half *qkv_bias, const __half *attention_weight, const __half *attention_bias,
                       const __half *ln2_weight, const __half *ln2_bias, const __half *fc_weight, const __half *fc_bias,
                       const __half *mlp_weight, const __half *mlp_bias, const int *lengths, int B, int T_, int H,
                       int D, cudaStream_t stream);
int block_backward_bf16(float *dmlp_weight, float *dmlp_bias, float *dfc_weight, float *dfc_bias, float *dln2_weight,
                        float *dln2_bias, float *dattention_weight, float *dattention_bias, float *dqkv_weight,
                        float *dqkv_bias, float *dln1_weight, float *dln1_bias, __nv_bfloat16 *dx,
                        const __nv_bfloat16 *dout, const __nv_bfloat16 *residual, const __nv_bfloat16 *normalised,
                        const __nv_bfloat16 *qkv, const __nv_bfloat16 *attention, const __nv_bfloat16 *middle,
                        const __nv_bfloat16 *normalised2, const __nv_bfloat16 *fc, const __nv_bfloat16 *hidden,
                        const float *mean, const float *rstd, const float *mean2, const float *rstd2,
                        const __nv_bfloat16 *ln1_weight, const __nv_bfloat16 *ln1_bias, const __nv_bfloat16 *qkv_weight,
                        const __nv_bfloat16 *qkv_bias, const __nv_bfloat16 *attention_weight,
                        const __nv_bfloat16 *attention_bias, const __nv_bfloat16 *ln2_weight,
                        const __nv_bfloat16 *ln2_bias, const __nv_bfloat16 *fc_weight, const __nv_bfloat16 *fc_bias,
                        const __nv_bfloat16 *mlp_weight, const __nv_bfloat16 *mlp_bias, const int *lengths, int B,
                        int T_, int H, int D, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
