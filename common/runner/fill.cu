#include "fill.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string.h>

#include "generate.h"

enum { FILL_THREADS = 256 };

__device__ void store(float *to, float value) {
    *to = value;
}
__device__ void store(__half *to, float value) {
    *to = __float2half_rn(value);
}
__device__ void store(__nv_bfloat16 *to, float value) {
    *to = __float2bfloat16_rn(value);
}
__device__ void store(int *to, float value) {
    *to = (int)value;
}

/* The poison's upper half is a NaN of both 16-bit types. */
template <typename T> __device__ void store_poison(T *to, uint32_t poison) {
    poison >>= 8 * (sizeof poison - sizeof(T));
    memcpy(to, &poison, sizeof(T));
}

/* One tensor of every set: blockIdx.y is the set. Lengths are all `length`. */
template <typename T>
__global__ void fill_kernel(char *first, size_t stride, size_t count, uint64_t seed, int tensor, op_role role,
                            op_element element, bool has_rows, int length) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    uint64_t key = generate_key(seed, (int)blockIdx.y, tensor);
    T *out = (T *)(first + blockIdx.y * stride);
    if (role == ROLE_IN) { store(out + i, element == ELEMENT_INT ? (float)length : generate_float(key, has_rows, i)); }
    if (role == ROLE_OUT) { store_poison(out + i, generate_poison(key, i)); }
    if (role == ROLE_ACCUMULATE) { store(out + i, 0.0f); }
}

template <typename T>
static void launch(const struct op *op, int tensor, const struct op_sizes *sizes, char *first, size_t stride, int sets,
                   uint64_t seed, cudaStream_t stream) {
    size_t count = op_elements(op, tensor, sizes);
    dim3 blocks((unsigned)((count + FILL_THREADS - 1) / FILL_THREADS), (unsigned)sets);
    fill_kernel<T><<<blocks, FILL_THREADS, 0, stream>>>(first, stride, count, seed, tensor, op->tensor[tensor].role,
                                                        op->tensor[tensor].element, op_has_rows(op, tensor), sizes->T);
}

void fill_tensor(const struct op *op, int tensor, const struct op_sizes *sizes, char *first, size_t stride, int sets,
                 uint64_t seed, cudaStream_t stream) {
    enum op_type type = op->tensor[tensor].element == ELEMENT_T ? sizes->type : TYPE_F32;
    auto function = op->tensor[tensor].element == ELEMENT_INT ? launch<int>
                    : type == TYPE_F16                        ? launch<__half>
                    : type == TYPE_BF16                       ? launch<__nv_bfloat16>
                                                              : launch<float>;
    if (op_elements(op, tensor, sizes) == 0) { return; }
    function(op, tensor, sizes, first, stride, sets, seed, stream);
}
