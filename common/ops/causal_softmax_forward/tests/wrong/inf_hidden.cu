// step: step3  op: causal_softmax_forward_f32  diagnosis: nan-hidden
// reason: Two parts with the same infinite maximum count as nothing: +inf gives zeros beside it, not NaN.
#include "ops/causal_softmax_forward/contract.h"
#include <cuda_runtime.h>

struct __align__(8) MD {
    float m, d;
};

struct Combine {
    __device__ MD operator()(const MD &a, const MD &b) const {
        bool bigger = a.m > b.m || isnan(a.m);
        MD big = bigger ? a : b, small = bigger ? b : a;
        float factor = small.d == 0.f || small.m == big.m && isinf(big.m) ? 0.f : __expf(small.m - big.m) * small.d;
        return MD{big.m, big.d + factor};
    }
};

template <typename T, int THREADS> class BlockReduce {
  public:
    struct TempStorage {
        T partial[THREADS / 32];
        T result;
    };
    __device__ explicit BlockReduce(TempStorage &s) : storage(s) {}
    template <class Op> __device__ T AllReduce(T value, Op op) {
#pragma unroll
        for (int offset = 16; offset > 0; offset >>= 1) {
            T other;
            other.m = __shfl_down_sync(0xffffffff, value.m, offset);
            other.d = __shfl_down_sync(0xffffffff, value.d, offset);
            value = op(value, other);
        }
        if ((threadIdx.x & 31) == 0) storage.partial[threadIdx.x >> 5] = value;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < THREADS / 32; w++) value = op(value, storage.partial[w]);
            storage.result = value;
        }
        __syncthreads();
        return storage.result;
    }

  private:
    TempStorage &storage;
};

template <int THREADS>
__launch_bounds__(THREADS) __global__
    void online_softmax(const float *x, float *y, const int *lengths, int H, int V, float scale, int upper) {
    const long long row = blockIdx.x;
    const int q = row % V;
    int n = q + 1;
    if (lengths) {
        int L = lengths[row / V / H];
        n = L < 0 ? 0 : L < n ? L : n;
    }
    x += row * V;
    y += row * V;
    MD part{-INFINITY, 0.f};
    for (int i = threadIdx.x; i < n; i += THREADS) part = Combine()(part, MD{x[i] * scale, 1.f});
    typedef BlockReduce<MD, THREADS> Reduce;
    __shared__ typename Reduce::TempStorage temp;
    MD total = Reduce(temp).AllReduce(part, Combine());
    for (int i = threadIdx.x; i < n; i += THREADS) y[i] = __expf(x[i] * scale - total.m) / total.d;
    for (int i = n + threadIdx.x; i < (upper ? q + 1 : V); i += THREADS) y[i] = 0.f;
}

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    if (B * H == 0) return cudaSuccess;
    online_softmax<128><<<B * H * T, 128, 0, stream>>>(x, out, lengths, H, T, scale, upper);
    return cudaGetLastError();
}
