// layernorm_forward.cuh — speed of light for LayerNorm, residual + LayerNorm, and LayerNorm + residual, forward
//
// One template for three ops: `residual_at` says where the residual is added. The row stays in registers, packed: it is read
// once, and the statistics are two passes over the registers.
//
//   layernorm_forward_warps      a warp has a row, 4 or 16 rows a block, no barrier: up to about 2000 columns
//   layernorm_forward_blocks     a block has a row: for long rows, and for few rows, where only the latency counts
//   layernorm_forward_pipeline   persistent blocks walk over rows
//   layernorm_forward_any        a block has a row and reads it element by element: unaligned, or too long for registers
//   layernorm_forward_launch     chooses by the table at the end
#ifndef SPEED_OF_LIGHT_LAYERNORM_FORWARD_CUH
#define SPEED_OF_LIGHT_LAYERNORM_FORWARD_CUH

#include "../layernorm_vec.cuh"
#include "../reduce.cuh"
#include "../vec.cuh"
#include "hopper.cuh"
#include "launch.cuh"
#include "row_pipeline.cuh"

enum class residual_at {
    nowhere, // out = LayerNorm(x)
    before,  // sum = x + residual, rounded to T; out = LayerNorm(sum)
    after,   // out = LayerNorm(x) + residual
};

// How a kernel differs from the usual one.
enum class row_form {
    usual,
    all_at_once,      // weight and bias are loaded with the row, and all of it is prefetched before the dependency wait
    residual_at_once, // residual_at::after: the residual is loaded with x, not when it is added
    residual_to_l2,   // residual_at::after: the residual is prefetched into L2 with x, and loaded when it is added
    out_stays,        // out is stored without a streaming hint
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
    float inverse_C = 0.0f; // 1 / C, set by the launcher
};

// ---- a row in registers ----

// Sum over the threads of a row: one warp, which needs no memory; or WARPS warps, with one value of each in `shared`.
// WARPS 0: all warps of the block.
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

// Two sums with one barrier.
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

// mean and rstd from a first mean, and this thread's sums of the distances from it and of their squares. The first mean
// carries the rounding of a long sum. In fp32 this shows in rows far from 0, so the mean of the distances is added there;
// near 0 it would be less exact, since the distances are rounded themselves, all to the same side.
template <class T, int WARPS>
__device__ inline float2 row_statistics(const layernorm_forward_arguments<T> &a, float mean, float2 sums,
                                        float2 *shared) {
    if (sizeof(T) == 2) {
        float squares = row_sum<WARPS>(sums.y, (float *)shared);
        return make_float2(mean, rsqrtf(fmaf(squares, a.inverse_C, a.eps)));
    }
    sums = row_sum2<WARPS>(sums, shared);
    bool far = mean * mean > sums.y * a.inverse_C;
    float drift = far ? sums.x * a.inverse_C : 0.0f; // its square is smaller than the rounding of the variance
    return make_float2(mean + drift, rsqrtf(fmaf(sums.y, a.inverse_C, a.eps)));
}

// WARPS: of a row (0: all of the block). VECS: of the row, in a thread.
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

// THREADS 0: the block size of the launch.
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

// ---- persistent blocks: each walks over rows ----
//
// Weight and bias stay in registers, and the next rows are in flight through a pipeline in shared memory while this row is
// computed. Best where the rows are so few that all of them are in flight from the start. With many rows, a new block for
// each row uses the memory better.

// WARP: a warp has a row, else a block. BLOCKS: of a multiprocessor.
template <class T, residual_at AT, bool WARP, int VECS, int STAGES, int THREADS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS) layernorm_forward_pipeline(const layernorm_forward_arguments<T> a) {
    constexpr int size = vec<T>::size, tensors = AT == residual_at::nowhere ? 1 : 2, warps = THREADS / warp_size;
    constexpr int WARPS = WARP ? 1 : warps; // that share a row
    extern __shared__ uint4 pipeline_memory[];
    __shared__ float2 shared[2 * warp_size];
    let_next_kernel_start();
    int thread = WARP ? threadIdx.x % warp_size : threadIdx.x, warp = threadIdx.x / warp_size;
    int stride = WARP ? gridDim.x * warps : gridDim.x, n = WARP ? blockIdx.x * warps + warp : blockIdx.x;
    if (starts_early && thread == 0 && n < a.N) { // prefetch of the first row before the dependency wait
        size_t start = (size_t)n * a.C, bytes = (size_t)a.C * sizeof(T);
        prefetch_l2_bulk(a.x + start, bytes);
        if (AT != residual_at::nowhere) { prefetch_l2_bulk(a.residual + start, bytes); }
    }
    wait_for_previous_kernel();
    row_pipeline<T, tensors, VECS, STAGES, THREADS> pipeline(pipeline_memory, thread * size,
                                                             (WARP ? warp_size : THREADS) * size, a.C);
    const T *from[2] = {a.x, a.residual};
    for (int stage = 0; stage < STAGES; stage++) { pipeline.fetch(stage, from, n + (long long)stage * stride, a.N); }
    vec<T> weight[VECS], bias[VECS];
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (pipeline.has(k)) {
            weight[k] = vec_load(a.weight + pipeline.column(k));
            bias[k] = vec_load(a.bias + pipeline.column(k));
        }
    }
    for (int stage = 0; n < a.N; n += stride, stage = stage + 1 == STAGES ? 0 : stage + 1) {
        __pipeline_wait_prior(STAGES - 1);
        size_t start = (size_t)n * a.C;
        vec<T> row[VECS], added[VECS];
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!pipeline.has(k)) { continue; }
            row[k] = pipeline.get(stage, 0, k);
            if (AT == residual_at::after) { added[k] = pipeline.get(stage, 1, k); }
            if (AT == residual_at::before) {
                row[k] = vec_add(row[k], pipeline.get(stage, 1, k));
                vec_store_once(a.sum + start + pipeline.column(k), row[k]);
            }
            float x[size];
            vec_unpack(row[k], x);
#pragma unroll
            for (int i = 0; i < size; i++) { sum += x[i]; }
        }
        pipeline.fetch(stage, from, n + (long long)STAGES * stride, a.N);
        float mean = row_sum<WARPS>(sum, (float *)shared) * a.inverse_C;
        float2 distances = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (!pipeline.has(k)) { continue; }
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
            if (!pipeline.has(k)) { continue; }
            float x[size], w[size], b[size], r[size];
            vec_unpack(row[k], x);
            vec_unpack(weight[k], w);
            vec_unpack(bias[k], b);
            if (AT == residual_at::after) { vec_unpack(added[k], r); }
#pragma unroll
            for (int i = 0; i < size; i++) {
                x[i] = fmaf((x[i] - mean) * rstd, w[i], b[i]);
                if (AT == residual_at::after) { x[i] += r[i]; }
            }
            vec_pack(row[k], x);
            vec_store_once(a.out + start + pipeline.column(k), row[k]);
        }
        if (thread == 0) {
            a.mean[n] = mean;
            a.rstd[n] = rstd;
        }
    }
    __pipeline_wait_prior(0);
}

// ---- any row: unaligned, or too long for the registers ----

// The row is read three times, the second and third time mostly from the caches. A thread reads only elements of `sum` that
// it wrote itself.
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

// ---- the choice ----

// The first line that fits is chosen. A line fits rows of more than (vecs - 1) * threads and at most vecs * threads vecs, and
// at most most_rows rows, if a block of this device may have so much shared memory.
constexpr size_t own_shared = 1024; // static shared memory, at most

template <class T> struct layernorm_forward_choice {
    int vecs, threads; // vecs of a thread, threads of a row (0: one for each vec)
    int most_rows;     // 0: any number
    int rows;          // of a block at a time
    int blocks;        // of a multiprocessor, if they are persistent; 0: one for each row, or `rows` rows
    int capability;    // compute capability, at least
    size_t shared;     // bytes of the pipeline
    void (*kernel)(layernorm_forward_arguments<T>);
};

template <class T, residual_at AT, int VECS, int ROWS = 4, row_form FORM = row_form::usual>
layernorm_forward_choice<T> warps_line(int most_rows = 0) {
    return {VECS, warp_size, most_rows, ROWS, 0, 75, 0, layernorm_forward_warps<T, AT, VECS, ROWS, FORM>};
}
template <class T, residual_at AT, int VECS, int THREADS, row_form FORM = row_form::usual>
layernorm_forward_choice<T> blocks_line(int most_rows = 0) {
    return {VECS, THREADS, most_rows, 1, 0, 75, 0, layernorm_forward_blocks<T, AT, VECS, THREADS, FORM>};
}
template <class T, residual_at AT, bool WARP, int VECS, int STAGES, int THREADS, int BLOCKS>
layernorm_forward_choice<T> pipeline_line(int most_rows) {
    constexpr int tensors = AT == residual_at::nowhere ? 1 : 2;
    return {VECS,
            WARP ? warp_size : THREADS,
            most_rows,
            WARP ? THREADS / warp_size : 1,
            BLOCKS,
            80,
            row_pipeline<T, tensors, VECS, STAGES, THREADS>::bytes,
            layernorm_forward_pipeline<T, AT, WARP, VECS, STAGES, THREADS, BLOCKS>};
}

template <class T, residual_at AT> int layernorm_forward_launch(layernorm_forward_arguments<T> a, cudaStream_t stream) {
    constexpr bool wide = sizeof(T) == 4;
    constexpr int one_wave = 264, few_waves = 20000; // rows
    constexpr int V = wide ? 6 : 3, S = wide ? 2 : 3;
    // The form of a line where the residual is added last. The comments give its speed and that of the usual form on an H200,
    // as fractions of a copy.
    constexpr bool after = AT == residual_at::after;
    constexpr int R = after && !wide ? 16 : 4;
    constexpr row_form stays = after && !wide ? row_form::out_stays : row_form::usual;
    constexpr row_form at_once = after && wide ? row_form::residual_at_once : row_form::usual;
    constexpr row_form to_l2 = after && !wide ? row_form::residual_to_l2 : row_form::usual;
    // 768 columns of 32 bits: one access a thread for each tensor; with more than `few` rows two accesses of half the threads.
    constexpr row_form now = row_form::all_at_once;
    constexpr bool plain = wide && AT == residual_at::nowhere;
    constexpr int T768 = wide ? 192 : 96, V768 = wide ? 2 : 1, few = 16;
    // clang-format off
    const layernorm_forward_choice<T> table[] = {
        // Columns: vecs of a thread, threads of a row, form (rows at most)
        //                 VECS, THREADS                        few rows, where only the latency counts
        blocks_line<T, AT, 1,    T768, now>(few),               // 768 columns
        blocks_line<T, AT, V768, 96,   now>(one_wave),          // 768 columns, more rows
        blocks_line<T, AT, 1,    0,    now>(one_wave),          // one access a thread for each tensor
        //               WARP,  VECS, STAGES, THREADS, BLOCKS   persistent: STAGES rows in flight, BLOCKS a multiprocessor
        pipeline_line<T, AT, true,  V,    S,      512,     1>(few_waves), // 768 columns
        wide ? blocks_line<T, AT, 2, 256>()                     // 1600 columns of 32 bits
             : pipeline_line<T, AT, false, 4, 3, 64, 8>(few_waves), // 1600 columns of 16 bits
        //                VECS, rows of a block, form           a warp has a row
        warps_line<T, AT, 1>(),
        warps_line<T, AT, 2>(),
        warps_line<T, AT, 3>(few_waves),                        // 768 columns of 16 bits
        warps_line<T, AT, 3, R, stays>(),                       // 768 columns of 16 bits, 65536 rows: 0.98, 0.95
        warps_line<T, AT, 4>(),
        //                 VECS, THREADS                        a block has a row
        blocks_line<T, AT, 2,    128>(),                        // 768 columns of 32 bits
        blocks_line<T, AT, 3,    128>(),
        blocks_line<T, AT, 4,    128>(),                        // 4096 columns of 16 bits
        blocks_line<T, AT, 3,    256>(),
        plain ? blocks_line<T, AT, 2, 512, row_form::out_stays>() // 4096 columns of 32 bits
              : blocks_line<T, AT, 4, 256>(),
        blocks_line<T, AT, 8,    512, at_once>(),               // 16384 columns of 32 bits: 0.98, 0.94
        blocks_line<T, AT, 3,    512>(),
        blocks_line<T, AT, 4,    512, to_l2>(),                 // 16384 columns of 16 bits: 0.95, 0.85
        blocks_line<T, AT, 3,    1024>(),
        blocks_line<T, AT, 4,    1024>(),
    };
    // clang-format on
    bool aligned = rows_aligned<T>(a.C, {a.out, a.sum, a.x, a.residual, a.weight, a.bias});
    int row_vecs = a.C / vec<T>::size, capability = compute_capability(), most_shared = most_shared_memory();
    a.inverse_C = 1.0f / a.C;
    auto threads_of = [&](const layernorm_forward_choice<T> &line) {
        return line.threads ? line.threads : (row_vecs + warp_size - 1) / warp_size * warp_size;
    };
    auto fits = [&](const layernorm_forward_choice<T> &line) {
        int threads = threads_of(line);
        return aligned && row_vecs > (line.vecs - 1) * threads && row_vecs <= line.vecs * threads && threads <= 1024 &&
               (line.most_rows == 0 || a.N <= line.most_rows) && capability >= line.capability &&
               line.shared + own_shared <= (size_t)most_shared;
    };
    const layernorm_forward_choice<T> *line = first_that_fits("layernorm_forward", table, fits);
    if (!line) {
        unsigned threads = a.C >= 2048 ? 512 : 128;
        return launch({(unsigned)a.N, threads, stream}, layernorm_forward_any<T, AT>, a);
    }
    int blocks = (a.N - 1) / line->rows + 1;
    if (line->blocks && blocks > line->blocks * multiprocessor_count()) {
        blocks = line->blocks * multiprocessor_count();
    }
    unsigned threads = threads_of(*line) * line->rows;
    return launch({(unsigned)blocks, threads, stream, line->shared}, line->kernel, a);
}

#endif
