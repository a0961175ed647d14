// step: step4  op: decode_attention_f32
// reason: keys and values are stored by a kernel of their own, before the one that reads them

enum { threads_per_block = 128, warps = threads_per_block / warp_size };

template <class T> __global__ void store_kernel(T *k, T *v, const T *qkv, const int *positions, int H, int D, int S) {
    int h = blockIdx.x, b = blockIdx.y;
    const T *from = qkv + ((size_t)b * 3 * H + H + h) * D;
    size_t to = (((size_t)b * H + h) * S + positions[b]) * D;
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        k[to + d] = from[d];
        v[to + d] = from[(size_t)H * D + d];
    }
}

template <class T>
__global__ void decode_kernel(T *__restrict__ out, T *__restrict__ k, T *__restrict__ v, const T *__restrict__ qkv,
                              const int *__restrict__ positions, int H, int D, int S, float scale) {
    extern __shared__ float shared[];
    float *query = shared, *scores = query + D, *partial = scores + S, *results = partial + threads_per_block;
    int h = blockIdx.x, b = blockIdx.y, t = threadIdx.x;
    int last = positions[b];
    T *keys = k + ((size_t)b * H + h) * S * D;
    T *values = v + ((size_t)b * H + h) * S * D;
    const T *from = qkv + ((size_t)b * 3 * H + h) * D;

    for (int d = t; d < D; d += threads_per_block) { query[d] = to_float(from[d]); }
    __syncthreads();

    float largest = -INFINITY;
    for (int j = t; j <= last; j += threads_per_block) {
        const T *key = keys + (size_t)j * D;
        float dots[4] = {};
        int d = 0;
        for (; d + 4 <= D; d += 4) {
            for (int i = 0; i < 4; i++) { dots[i] += query[d + i] * to_float(key[d + i]); }
        }
        for (; d < D; d++) { dots[0] += query[d] * to_float(key[d]); }
        float dot = (dots[0] + dots[1]) + (dots[2] + dots[3]);
        scores[j] = scale * dot;
        largest = fmaxf(largest, scale * dot);
    }
    largest = warp_max(largest);
    if (t % warp_size == 0) { results[t / warp_size] = largest; }
    __syncthreads();
    for (int w = 0; w < warps; w++) { largest = fmaxf(largest, results[w]); }
    __syncthreads();

    float sum = 0.0f;
    for (int j = t; j <= last; j += threads_per_block) {
        scores[j] = expf(scores[j] - largest);
        sum += scores[j];
    }
    sum = warp_sum(sum);
    if (t % warp_size == 0) { results[t / warp_size] = sum; }
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < warps; w++) { sum += results[w]; }

    int groups = D < threads_per_block ? threads_per_block / D : 1;
    for (int first = 0; first < D; first += threads_per_block) {
        int d = first + (groups > 1 ? t % D : t), group = groups > 1 ? t / D : 0;
        float total = 0.0f;
        if (d < D && group < groups) {
            for (int j = group; j <= last; j += groups) { total += scores[j] * to_float(values[(size_t)j * D + d]); }
        }
        partial[t] = total;
        __syncthreads();
        if (d < D && group == 0) {
            for (int g = 1; g < groups; g++) { total += partial[g * D + t]; }
            out[((size_t)b * H + h) * D + d] = from_float<T>(total / sum);
        }
        __syncthreads();
    }
}

template <class T>
int decode_attention(gpt2_device &device, T *out, T *k, T *v, const T *qkv, const int *positions, int B, int H, int D,
                     int S) {
    size_t shared = ((size_t)D + (size_t)S + threads_per_block + warps) * sizeof(float);
    dim3 blocks((unsigned)H, (unsigned)B);
    if (shared > 48 << 10) {
        TRY(cudaFuncSetAttribute(decode_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    }
    store_kernel<<<blocks, threads_per_block, 0, device.stream>>>(k, v, qkv, positions, H, D, S);
    TRY(cudaGetLastError());
    decode_kernel<<<blocks, threads_per_block, shared, device.stream>>>(out, k, v, qkv, positions, H, D, S,
                                                                        1.0f / sqrtf((float)D));
    TRY(cudaGetLastError());
    return 0;
}

#define INSTANTIATE(T) \
    template int decode_attention(gpt2_device &, T *, T *, T *, const T *, const int *, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)
