// step: step4  op: decode_attention_f32
// reason: A warp takes every fourth key, its lanes share the channels (float4 where D allows), each warp keeps (m, l, o) online; merged at the end.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

template <class T, int W>
__global__ void decode_warps(T *out, T *k, T *v, const T *qkv, const int *positions, int H, int D, int S, float scale) {
    extern __shared__ float s[]; // o (W, D), m (W), l (W)
    float *o = s, *m_of = s + W * D, *l_of = m_of + W;
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    const int h = blockIdx.x, b = blockIdx.y, w = warp.meta_group_rank(), lane = warp.thread_rank(),
              last = positions[b];
    const int64_t C = (int64_t)H * D, head = ((int64_t)b * H + h) * S * D;
    const T *q = qkv + (int64_t)b * 3 * C + (int64_t)h * D, *nk = q + C, *nv = q + 2 * C;
    if (w == 0) {
        for (int d = lane; d < D; d += 32) {
            k[head + (int64_t)last * D + d] = nk[d];
            v[head + (int64_t)last * D + d] = nv[d];
        }
    }
    float m = -INFINITY, l = 0.0f;
    for (int d = lane; d < D; d += 32) { o[w * D + d] = 0.0f; }
    for (int j = w; j <= last; j += W) {
        const T *kj = j == last ? nk : k + head + (int64_t)j * D; // not through the cache: nobody waits for it
        const T *vj = j == last ? nv : v + head + (int64_t)j * D;
        float dot = 0.0f;
        for (int d = lane; d < D; d += 32) { dot += to_float(q[d]) * to_float(kj[d]); }
        dot = scale * cg::reduce(warp, dot, cg::plus<float>());
        const float next = fmaxf(m, dot), old = expf(m - next), p = expf(dot - next);
        for (int d = lane; d < D; d += 32) { o[w * D + d] = o[w * D + d] * old + p * to_float(vj[d]); }
        l = l * old + p;
        m = next;
    }
    if (lane == 0) {
        m_of[w] = m;
        l_of[w] = l;
    }
    block.sync();
    float top = -INFINITY, sum = 0.0f;
    for (int i = 0; i < W; i++) { top = fmaxf(top, m_of[i]); }
    for (int i = 0; i < W; i++) { sum += l_of[i] * expf(m_of[i] - top); }
    for (int d = block.thread_rank(); d < D; d += block.size()) {
        float total = 0.0f;
        for (int i = 0; i < W; i++) { total += o[i * D + d] * expf(m_of[i] - top); }
        out[(int64_t)b * C + (int64_t)h * D + d] = from_float<T>(total / sum);
    }
}

template <class T>
int decode_attention(gpt2_device &device, T *out, T *k, T *v, const T *qkv, const int *positions, int B, int H, int D,
                     int S) {
    constexpr int W = 4;
    decode_warps<T, W><<<dim3((unsigned)H, (unsigned)B), 32 * W, (W * D + 2 * W) * sizeof(float), device.stream>>>(
        out, k, v, qkv, positions, H, D, S, 1.0f / sqrtf((float)D));
    return cudaGetLastError();
}

#define INSTANTIATE(T) \
    template int decode_attention(gpt2_device &, T *, T *, T *, const T *, const int *, int, int, int, int);
FOR_EACH_TYPE(INSTANTIATE)
