// layernorm_forward.cuh — speed of light for LayerNorm, residual + LayerNorm, and LayerNorm + residual, forward
//
// One template for three ops: `residual_at` says where the residual is added. All keep the row in registers, packed as
// it came: it is read once, and the statistics are taken in two passes over the registers. What is left to choose is who
// shares a row, and that is the table at the end:
//
//   a warp     4 or 16 rows a block, no barrier: up to about 2000 columns
//   a block    one row a block; for the long rows, and, with one or two vecs a thread, where rows are few and latency is all
//   anything   a block walks over the row, element by element: unaligned pointers, rows too long for the registers
#ifndef SPEED_OF_LIGHT_LAYERNORM_FORWARD_CUH
#define SPEED_OF_LIGHT_LAYERNORM_FORWARD_CUH

#include "../layernorm_vec.cuh"
#include "../reduce.cuh"
#include "../vec.cuh"
#include "common/hopper.cuh"

enum class residual_at {
    nowhere, // out = LayerNorm(x)
    before,  // sum = x + residual, rounded to T; out = LayerNorm(sum)
    after,   // out = LayerNorm(x) + residual
};

// What a line of the table may do in another way.
enum class row_form {
    usual,
    all_at_once, // weight and bias are loaded with the row; all starts for the L2 before the kernel ahead has ended
    residual_at_once, // residual_at::after: into registers with x, not when it is added
    residual_to_l2,   // the same: into the L2 with x, into registers when it is added
    out_stays,        // out by a plain store
};

template <class T> struct layernorm_forward_arguments {
    T *out;            // (N, C)
    T *sum;            // (N, C), residual_at::before
    float *mean;       // (N)
    float *rstd;       // (N)
    const T *x;        // (N, C)
    const T *residual; // (N, C), unless residual_at::nowhere
    const T *weight;   // (C)
    const T *bias;     // (C)
    int N, C;
    float eps;
    float inverse_C = 0.0f; // 1 / C, which the launcher sets
};

// ---- a row in registers ----

// Sum over the threads that share a row: of one warp, which needs no memory; or of WARPS warps, which meet once in
// `shared`, one value a warp. WARPS 0: as many as the block has.
template <int WARPS> __device__ inline float row_sum(float value, float *shared) {
    value = warp_sum(value);
    if (WARPS == 1) { return value; }
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = WARPS ? WARPS : blockDim.x / warp_size;
    if (lane == 0) { shared[warp] = value; }
    __syncthreads();
    if (WARPS == 0 || WARPS > 8) { return warp_sum(lane < warps ? shared[lane] : 0.0f); }
    value = shared[0];
#pragma unroll
    for (int other = 1; other < WARPS; other++) { value += shared[other]; }
    return value;
}

// Two of them with one barrier.
template <int WARPS> __device__ inline float2 row_sum2(float2 value, float2 *shared) {
    value = make_float2(warp_sum(value.x), warp_sum(value.y));
    if (WARPS == 1) { return value; }
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = WARPS ? WARPS : blockDim.x / warp_size;
    if (lane == 0) { shared[warp] = value; }
    __syncthreads();
    if (WARPS == 0 || WARPS > 8) {
        value = lane < warps ? shared[lane] : make_float2(0.0f, 0.0f);
        return make_float2(warp_sum(value.x), warp_sum(value.y));
    }
    value = shared[0];
#pragma unroll
    for (int other = 1; other < WARPS; other++) {
        value.x += shared[other].x;
        value.y += shared[other].y;
    }
    return value;
}

// mean and rstd, from the mean as it was first found, which carries the rounding of a long sum, and this thread's sums of
// the distances from it and of their squares. In fp32 that rounding would show in rows far from 0, so it is taken back
// there. Near 0 the distances are rounded themselves, all to the same side.
template <class T, int WARPS>
__device__ inline float2 row_statistics(const layernorm_forward_arguments<T> &a, float mean, float2 sums,
                                        float2 *shared) {
    if (sizeof(T) == 2) {
        float squares = row_sum<WARPS>(sums.y, (float *)shared);
        return make_float2(mean, rsqrtf(fmaf(squares, a.inverse_C, a.eps)));
    }
    sums = row_sum2<WARPS>(sums, shared);
    bool far = mean * mean > sums.y * a.inverse_C;
    float drift = far ? sums.x * a.inverse_C : 0.0f; // tiny; its square is smaller than the rounding of the variance
    return make_float2(mean + drift, rsqrtf(fmaf(sums.y, a.inverse_C, a.eps)));
}

// WARPS share a row (0: all of the block). VECS: how many 16-byte pieces of the row a thread holds.
template <class T, residual_at AT, int WARPS, int VECS, row_form FORM>
__device__ inline void layernorm_forward_row(const layernorm_forward_arguments<T> &a, size_t n, int thread, int threads,
                                             float2 *shared) {
    constexpr int size = vec<T>::size;
    constexpr bool early = FORM == row_form::all_at_once;
    constexpr bool residual_early =
        AT == residual_at::before || early || (VECS <= 4 && WARPS <= 8) || FORM == row_form::residual_at_once;
    const T *x_row = a.x + n * a.C;
    T *out_row = a.out + n * a.C;
    const T *residual_row = AT == residual_at::nowhere ? nullptr : a.residual + n * a.C;
    int step = threads * size, first = thread * size;

    auto has = [&](int k) { return k + 1 < VECS || first + k * step < a.C; }; // only the last vec may be missing
    vec<T> row[VECS], added[VECS], weight[early ? VECS : 1], bias[early ? VECS : 1];
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step;
        if (has(k)) { row[k] = vec_load(x_row + c); }
        if (AT != residual_at::nowhere && residual_early && has(k)) { added[k] = vec_load(residual_row + c); }
        if (AT == residual_at::after && FORM == row_form::residual_to_l2 && has(k)) { prefetch_l2(residual_row + c); }
        if (early && has(k)) {
            weight[k] = vec_load(a.weight + c);
            bias[k] = vec_load(a.bias + c);
        }
    }

    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step;
        if (!has(k)) { continue; }
        if (AT == residual_at::before) {
            row[k] = vec_add(row[k], added[k]);
            vec_store(a.sum + n * a.C + c, row[k]);
        }
        float x[size];
        vec_unpack(row[k], x);
#pragma unroll
        for (int i = 0; i < size; i++) { sum += x[i]; }
    }
    float mean = row_sum<WARPS>(sum, (float *)shared) * a.inverse_C;

    float2 distances = make_float2(0.0f, 0.0f);
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (!has(k)) { continue; }
        float x[size];
        vec_unpack(row[k], x);
#pragma unroll
        for (int i = 0; i < size; i++) {
            float distance = x[i] - mean;
            if (sizeof(T) == 4) { distances.x += distance; }
            distances.y = fmaf(distance, distance, distances.y);
        }
    }
    float2 statistics = row_statistics<T, WARPS>(a, mean, distances, shared + warp_size);
    mean = statistics.x;
    float rstd = statistics.y;

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step;
        if (!has(k)) { continue; }
        if (!early) {
            weight[0] = vec_load(a.weight + c);
            bias[0] = vec_load(a.bias + c);
            if (AT == residual_at::after && !residual_early) { added[k] = vec_load(residual_row + c); }
        }
        float x[size], w[size], b[size], r[size];
        vec_unpack(row[k], x);
        vec_unpack(weight[early ? k : 0], w);
        vec_unpack(bias[early ? k : 0], b);
        if (AT == residual_at::after) { vec_unpack(added[k], r); }
#pragma unroll
        for (int i = 0; i < size; i++) {
            x[i] = fmaf((x[i] - mean) * rstd, w[i], b[i]);
            if (AT == residual_at::after) { x[i] += r[i]; }
        }
        vec_pack(row[k], x);
        if (FORM == row_form::out_stays) {
            vec_store(out_row + c, row[k]);
        } else {
            vec_store_once(out_row + c, row[k]);
        }
    }
    if (thread == 0) {
        a.mean[n] = mean;
        a.rstd[n] = rstd;
    }
}

template <class T, residual_at AT, int VECS, int ROWS, row_form FORM>
__global__ void __launch_bounds__(ROWS *warp_size) layernorm_forward_warps(const layernorm_forward_arguments<T> a) {
    let_next_kernel_start();
    wait_for_previous_kernel();
    size_t n = (size_t)blockIdx.x * ROWS + threadIdx.x / warp_size;
    if (n >= (size_t)a.N) { return; }
    layernorm_forward_row<T, AT, 1, VECS, FORM>(a, n, threadIdx.x % warp_size, warp_size, nullptr);
}

// THREADS 0: as many as the launch says.
template <class T, residual_at AT, int VECS, int THREADS, row_form FORM>
__global__ void __launch_bounds__(THREADS ? THREADS : 1024, FORM == row_form::residual_to_l2 ? 2 : 0)
    layernorm_forward_blocks(const layernorm_forward_arguments<T> a) {
    __shared__ float2 shared[2 * warp_size];
    let_next_kernel_start();
    if (starts_early && FORM == row_form::all_at_once) {
        constexpr int size = vec<T>::size;
        size_t start = (size_t)blockIdx.x * a.C;
        for (int c = threadIdx.x * size; c < a.C; c += blockDim.x * size) {
            prefetch_l2(a.x + start + c);
            if (AT != residual_at::nowhere) { prefetch_l2(a.residual + start + c); }
            prefetch_l2(a.weight + c);
            prefetch_l2(a.bias + c);
        }
    }
    wait_for_previous_kernel();
    layernorm_forward_row<T, AT, THREADS / warp_size, VECS, FORM>(a, blockIdx.x, threadIdx.x,
                                                                  THREADS ? THREADS : blockDim.x, shared);
}

// ---- any row: unaligned, or too long for the registers ----

// The row is read three times, the second and third time mostly from the caches. A thread reads only what it wrote.
template <class T, residual_at AT>
__global__ void __launch_bounds__(512) layernorm_forward_any(const layernorm_forward_arguments<T> a) {
    __shared__ float2 shared[2 * warp_size];
    let_next_kernel_start();
    wait_for_previous_kernel();
    size_t start = (size_t)blockIdx.x * a.C;
    const T *row = AT == residual_at::before ? a.sum + start : a.x + start; // (C)

    float sum = 0.0f;
    for (int c = threadIdx.x; c < a.C; c += blockDim.x) {
        T x = a.x[start + c];
        if (AT == residual_at::before) {
            x = from_float<T>(to_float(x) + to_float(a.residual[start + c]));
            a.sum[start + c] = x;
        }
        sum += to_float(x);
    }
    float mean = row_sum<0>(sum, (float *)shared) * a.inverse_C;

    float2 distances = make_float2(0.0f, 0.0f);
    for (int c = threadIdx.x; c < a.C; c += blockDim.x) {
        float distance = to_float(row[c]) - mean;
        distances.x += distance;
        distances.y = fmaf(distance, distance, distances.y);
    }
    float2 statistics = row_statistics<T, 0>(a, mean, distances, shared + warp_size);
    mean = statistics.x;
    float rstd = statistics.y;

    for (int c = threadIdx.x; c < a.C; c += blockDim.x) {
        float y = fmaf((to_float(row[c]) - mean) * rstd, to_float(a.weight[c]), to_float(a.bias[c]));
        if (AT == residual_at::after) { y += to_float(a.residual[start + c]); }
        a.out[start + c] = from_float<T>(y);
    }
    if (threadIdx.x == 0) {
        a.mean[blockIdx.x] = mean;
        a.rstd[blockIdx.x] = rstd;
    }
}

#endif
