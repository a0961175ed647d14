// step: step4  op: attention_forward_f32
// reason: No product of a library: a warp for each query, keys a tile at a time through shared memory, an online softmax.

namespace {
constexpr int WARPS = 4, TILE = 32;

template <class T> __global__ void store_cache(T *k, T *v, const T *qkv, int B, int T_, int H, int D, int S) {
    const int64_t C = (int64_t)H * D, count = (int64_t)B * T_ * C;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) {
        const int64_t bt = i / C, c = i % C, b = bt / T_, t = bt % T_, h = c / D, d = c % D;
        const int64_t to = ((b * H + h) * S + t) * D + d;
        k[to] = qkv[bt * 3 * C + C + c];
        v[to] = qkv[bt * 3 * C + 2 * C + c];
    }
}

// dynamic shared memory: query (WARPS, D), accumulated (WARPS, D), probabilities (WARPS, TILE)
template <class T>
__global__ void __launch_bounds__(32 * WARPS)
    attend(T *out, const T *k, const T *v, const T *qkv, const int *lengths, int T_, int H, int D, int S, float scale) {
    extern __shared__ float smem[];
    const int lane = threadIdx.x, w = threadIdx.y, h = blockIdx.y, b = blockIdx.z, t = blockIdx.x * WARPS + w;
    if (t >= T_) { return; } // the other warps share nothing with this one
    float *q = smem + w * D, *acc = smem + (WARPS + w) * D, *p = smem + 2 * WARPS * D + w * TILE;
    const T *keys = k + ((int64_t)b * H + h) * S * D, *values = v + ((int64_t)b * H + h) * S * D;
    for (int d = lane; d < D; d += 32) {
        q[d] = to_float(qkv[(((int64_t)b * T_ + t) * 3 * H + h) * D + d]);
        acc[d] = 0.f;
    }
    __syncwarp();
    const int n = min(t + 1, lengths ? lengths[b] : T_);
    float m = -INFINITY, l = 0.f;
    for (int first = 0; first < n; first += TILE) {
        const int j = first + lane;
        float s = -INFINITY;
        if (j < n) {
            s = 0.f;
            for (int d = 0; d < D; d++) { s = fmaf(q[d], to_float(keys[(int64_t)j * D + d]), s); }
            s *= scale;
        }
        float next = s;
        for (int o = 16; o; o >>= 1) { next = fmaxf(next, __shfl_xor_sync(0xffffffffu, next, o)); }
        next = fmaxf(next, m);
        const float correction = expf(m - next), e = j < n ? expf(s - next) : 0.f;
        float sum = e;
        for (int o = 16; o; o >>= 1) { sum += __shfl_xor_sync(0xffffffffu, sum, o); }
        l = l * correction + sum;
        m = next;
        p[lane] = e;
        __syncwarp();
        for (int d = lane; d < D; d += 32) {
            float a = acc[d] * correction;
            for (int i = 0; i < min(TILE, n - first); i++) {
                a = fmaf(p[i], to_float(values[(int64_t)(first + i) * D + d]), a);
            }
            acc[d] = a;
        }
        __syncwarp();
    }
    for (int d = lane; d < D; d += 32) { out[(((int64_t)b * T_ + t) * H + h) * D + d] = from_float<T>(acc[d] / l); }
}
} // namespace

template <class T>
int attention_forward(gpt2_device &device, const kernel_table &, T *out, T *k, T *v, T *, T *, const T *qkv,
                      const int *lengths, int B, int T_, int H, int D, int S) {
    store_cache<<<64, 128, 0, device.stream>>>(k, v, qkv, B, T_, H, D, S);
    TRY(cudaGetLastError());
    const size_t bytes = (2 * WARPS * (size_t)D + WARPS * TILE) * sizeof(float);
    attend<<<dim3((unsigned)((T_ + WARPS - 1) / WARPS), (unsigned)H, (unsigned)B), dim3(32, WARPS), bytes,
             device.stream>>>(out, k, v, qkv, lengths, T_, H, D, S, rsqrtf((float)D));
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                                      \
    template int attention_forward(gpt2_device &, const kernel_table &, T *, T *, T *, T *, T *, const T *, \
                                   const int *, int, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)
