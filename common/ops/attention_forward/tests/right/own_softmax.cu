// step: step4  op: attention_forward_f32
// reason: a softmax of its own in place of the set's kernel

enum { threads_per_block = 128 };

inline unsigned blocks_for(int64_t threads) {
    return (unsigned)((threads + threads_per_block - 1) / threads_per_block);
}

template <class T>
__global__ void split_heads(T *__restrict__ query, T *__restrict__ k, T *__restrict__ v, const T *__restrict__ qkv,
                            int64_t count, int T_, int H, int D, int S) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    int d = (int)(i % D), t = (int)(i / D % T_), h = (int)(i / D / T_ % H);
    int64_t b = i / D / T_ / H;
    const T *from = qkv + ((b * T_ + t) * 3 * H + h) * D + d;
    int64_t cached = ((b * H + h) * S + t) * D + d;
    query[i] = from[0];
    k[cached] = from[(int64_t)H * D];
    v[cached] = from[(int64_t)2 * H * D];
}

template <class T>
__global__ void merge_heads(T *__restrict__ out, const T *__restrict__ heads, int64_t count, int T_, int H, int D) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    int d = (int)(i % D), h = (int)(i / D % H), t = (int)(i / D / H % T_);
    int64_t b = i / D / H / T_;
    out[i] = heads[((b * H + h) * T_ + t) * D + d];
}

template <class T> __global__ void own_softmax(T *scores, const int *lengths, int rows, int H, int T_, float scale) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) { return; }
    T *x = scores + (size_t)row * T_;
    int keys = min(row % T_ + 1, lengths[row / (H * T_)]);
    float largest = -INFINITY, sum = 0.0f;
    for (int j = 0; j < keys; j++) { largest = fmaxf(largest, scale * to_float(x[j])); }
    for (int j = 0; j < keys; j++) { sum += expf(scale * to_float(x[j]) - largest); }
    for (int j = 0; j < keys; j++) { x[j] = from_float<T>(expf(scale * to_float(x[j]) - largest) / sum); }
    for (int j = keys; j < T_; j++) { x[j] = from_float<T>(0.0f); }
}

template <class T>
int attention_forward(gpt2_device &device, const kernel_table &, T *out, T *k, T *v, T *query, T *scores, const T *qkv,
                      const int *lengths, int B, int T_, int H, int D, int S) {
    const float one = 1.0f, zero = 0.0f, scale = 1.0f / sqrtf((float)D);
    const cudaDataType type = type_of<T>::cuda;
    const int64_t count = (int64_t)B * T_ * H * D;
    const long long cache_stride = (long long)S * D, head_stride = (long long)T_ * D, score_stride = (long long)T_ * T_;

    split_heads<<<blocks_for(count), threads_per_block, 0, device.stream>>>(query, k, v, qkv, count, T_, H, D, S);
    TRY(cudaGetLastError());

    TRY_BLAS(cublasGemmStridedBatchedEx(device.blas, CUBLAS_OP_T, CUBLAS_OP_N, T_, T_, D, &one, k, type, D,
                                        cache_stride, query, type, D, head_stride, &zero, scores, type, T_,
                                        score_stride, B * H, device.compute, CUBLAS_GEMM_DEFAULT));
    TRY(mark(device, "attention scores", -1));

    own_softmax<<<blocks_for((int64_t)B * H * T_), threads_per_block, 0, device.stream>>>(scores, lengths, B * H * T_,
                                                                                          H, T_, scale);
    TRY(cudaGetLastError());
    TRY(mark(device, "causal softmax", -1));

    TRY_BLAS(cublasGemmStridedBatchedEx(device.blas, CUBLAS_OP_N, CUBLAS_OP_N, D, T_, T_, &one, v, type, D,
                                        cache_stride, scores, type, T_, score_stride, &zero, query, type, D,
                                        head_stride, B * H, device.compute, CUBLAS_GEMM_DEFAULT));

    merge_heads<<<blocks_for(count), threads_per_block, 0, device.stream>>>(out, query, count, T_, H, D);
    TRY(cudaGetLastError());
    return 0;
}

#define INSTANTIATE(T)                                                                                      \
    template int attention_forward(gpt2_device &, const kernel_table &, T *, T *, T *, T *, T *, const T *, \
                                   const int *, int, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)
