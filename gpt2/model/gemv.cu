// gemv.cu — weights streamed once past a few rows
//
// Purpose   Decoding is reading the weights: with N <= 8 rows a weight is used for N multiply-adds, and a library's product, made
//           for tiles of 64 rows and more, is far from the speed of memory.
// Math      gemv.cuh
// Bytes     OC C elements of weights; x and y are 1/OC and 1/C of that. 124M in bf16: 14.2 MB a block of the model, 77 MB for the
//           logits, 247 MB a step: 52 us on an H200 (4.8 TB/s).
// Kernel    gemv_kernel<Out, T, N>: a warp computes 2 columns of y for all N rows. A lane reads 16 bytes of each of its 2 rows of
//           W at a time, so a warp reads 512 bytes in a row, and the first `ahead` pieces of both rows are under way before
//           anything is waited for: also before the kernel that makes x has ended (programmatic dependent launch), because
//           weights do not depend on it. C = 768 in bf16 is 3 pieces a lane: all of it. Sums are fp32.
//           Blocks of 4 warps: 96 for OC = 768, 288 for QKV, 384 for the MLP's first, 6,283 for the logits.
//           With a LayerNorm each block normalises x itself, a warp a row, into shared memory: 1.5 KB a row from L2, against
//           a launch. Its parameters are fetched early too.
//           The 2 N sums of a warp are added up together: each exchange halves the sums that a lane still has to add, 16
//           shuffles in place of 80 for N = 8.
#include "gpt2/model/gemv.cuh"

#include "common/hopper.cuh"
#include "gpt2/model/piece.cuh"

#include <cmath>

enum { threads_per_block = 128, warp_size = 32, warps = threads_per_block / warp_size };
enum { columns = 2, columns_of_block = warps * columns, ahead = 4 };
constexpr size_t most_shared = 40 << 10; // what every GPU has without being asked, less the kernel's own

__device__ static float warp_sum(float value) {
    for (int offset = warp_size / 2; offset > 0; offset /= 2) { value += __shfl_xor_sync(0xffffffffu, value, offset); }
    return value;
}

// A warp's work: to = LayerNorm(x), one row. x is read once; the statistics are taken from `to`, in shared memory, of which
// each lane reads what it wrote.
template <class T>
__device__ static void normalise(T *to, const T *x, const T *weight, const T *bias, int C, float epsilon) {
    constexpr int size = piece<T>::size, step = warp_size * size;
    const int start = (int)threadIdx.x % warp_size * size;
    float sum = 0.0f, squares = 0.0f, values[size];
    for (int c = start; c < C; c += step) {
        piece<T> row = load_piece(x + c);
        *(uint4 *)(to + c) = row.bits;
        unpack(values, row);
        for (int e = 0; e < size; e++) { sum += values[e]; }
    }
    const float mean = warp_sum(sum) / C;
    for (int c = start; c < C; c += step) {
        unpack(values, load_piece(to + c));
        for (int e = 0; e < size; e++) { squares += (values[e] - mean) * (values[e] - mean); }
    }
    const float rstd = rsqrtf(warp_sum(squares) / C + epsilon);
    for (int c = start; c < C; c += step) {
        unpack(values, load_piece(to + c));
        for (int e = 0; e < size; e++) {
            to[c + e] = from_float<T>((values[e] - mean) * rstd * to_float(weight[c + e]) + to_float(bias[c + e]));
        }
    }
}

// sums[i] added up over the warp, for all `count` of them (a power of two, at most 32): lane l gets number l / (32 / count).
template <int count> __device__ static float over_warp(float (&sums)[count]) {
    int lane = threadIdx.x % warp_size, offset = warp_size / 2;
#pragma unroll
    for (int left = count; left > 1; left /= 2, offset /= 2) {
        bool upper = lane & offset; // this half of the lanes keeps the upper half of the sums
#pragma unroll
        for (int i = 0; i < left / 2; i++) {
            float kept = upper ? sums[i + left / 2] : sums[i], given = upper ? sums[i] : sums[i + left / 2];
            sums[i] = kept + __shfl_xor_sync(0xffffffffu, given, offset);
        }
    }
    for (; offset > 0; offset /= 2) { sums[0] += __shfl_xor_sync(0xffffffffu, sums[0], offset); }
    return sums[0];
}

template <class T, int N>
__device__ static void multiply_add(float (&sums)[columns * N], const piece<T> (&weight)[columns], const T *x, int c,
                                    int C, int rows) {
    constexpr int size = piece<T>::size;
    float w[columns][size];
#pragma unroll
    for (int j = 0; j < columns; j++) { unpack(w[j], weight[j]); }
#pragma unroll
    for (int n = 0; n < N; n++) {
        float row[size];
        unpack(row, load_piece(x + (int64_t)min(n, rows - 1) * C + c));
#pragma unroll
        for (int e = 0; e < size; e++) {
#pragma unroll
            for (int j = 0; j < columns; j++) { sums[j * N + n] += w[j][e] * row[e]; }
        }
    }
}

__device__ static float gelu(float u) {
    return 0.5f * u * (1.0f + tanhf(0.7978845608028654f * (u + 0.044715f * u * u * u)));
}

// N rows, of which task.N are there: what is read for the others is the last row again, and is not written.
template <class Out, class T, int N>
__global__ void __launch_bounds__(threads_per_block) gemv_kernel(const gemv_task<Out, T> task) {
    constexpr int size = piece<T>::size, step = warp_size * size;
    extern __shared__ uint4 dynamic[]; // (N + 2, C) of T with a LayerNorm; else nothing
    const int lane = threadIdx.x % warp_size, C = task.C;
    const int first = blockIdx.x * columns_of_block + (int)threadIdx.x / warp_size * columns;
    const T *weight[columns];
#pragma unroll
    for (int j = 0; j < columns; j++) { weight[j] = task.weight + (int64_t)min(first + j, task.OC - 1) * C; }

    piece<T> early[ahead][columns];
#pragma unroll
    for (int i = 0; i < ahead; i++) {
        int c = i * step + lane * size;
#pragma unroll
        for (int j = 0; j < columns; j++) {
            if (c < C) { early[i][j] = load_piece(weight[j] + c); }
        }
    }
    T *normalised = (T *)dynamic, *scale = normalised + task.N * C, *shift = scale + C;
    const bool has_layernorm = task.layernorm_weight != nullptr;
    if (has_layernorm) {
        for (int c = threadIdx.x * size; c < C; c += threads_per_block * size) {
            *(uint4 *)(scale + c) = load_piece(task.layernorm_weight + c).bits;
            *(uint4 *)(shift + c) = load_piece(task.layernorm_bias + c).bits;
        }
        __syncthreads();
    }
    wait_for_previous_kernel();
    let_next_kernel_start(); // its weights can come while this one computes

    const T *x = task.x;
    if (has_layernorm) {
        for (int n = (int)threadIdx.x / warp_size; n < task.N; n += warps) { // a warp a row
            normalise(normalised + n * C, x + (int64_t)n * C, scale, shift, C, task.epsilon);
        }
        __syncthreads();
        x = normalised;
    }

    float sums[columns * N] = {};
#pragma unroll
    for (int i = 0; i < ahead; i++) {
        int c = i * step + lane * size;
        if (c < C) { multiply_add<T, N>(sums, early[i], x, c, C, task.N); }
    }
#pragma unroll 2
    for (int c = ahead * step + lane * size; c < C; c += step) {
        piece<T> now[columns];
#pragma unroll
        for (int j = 0; j < columns; j++) { now[j] = load_piece(weight[j] + c); }
        multiply_add<T, N>(sums, now, x, c, C, task.N);
    }
    float y = over_warp(sums);

    constexpr int share = warp_size / (columns * N);
    const int n = lane / share % N, column = first + lane / share / N;
    if (lane % share == 0 && n < task.N && column < task.OC) {
        if (task.bias != nullptr) { y += to_float(task.bias[column]); }
        if (task.gelu) { y = gelu(y); }
        int64_t place = (int64_t)n * task.ld + column;
        if (task.residual != nullptr) { y += to_float(task.residual[place]); }
        task.out[place] = from_float<Out>(y);
    }
    const int b = threadIdx.x;
    if (task.positions != nullptr && blockIdx.x == 0 && b < task.N) {
        if (task.tokens[b] >= 0 && task.positions[b] + 1 < task.S) { task.positions[b]++; }
    }
}

template <class Out, class T> static size_t shared_bytes(const gemv_task<Out, T> &task) {
    return task.layernorm_weight != nullptr ? (size_t)(task.N + 2) * (size_t)task.C * sizeof(T) : 0;
}

template <class Out, class T> bool gemv_takes(const gemv_task<Out, T> &task) {
    return task.N >= 1 && task.N <= most_gemv_rows && task.C % piece<T>::size == 0 && shared_bytes(task) <= most_shared;
}

template <class Out, class T> int gemv(gpt2_device &device, const gemv_task<Out, T> &task) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = dim3((unsigned)((task.OC + columns_of_block - 1) / columns_of_block));
    config.blockDim = dim3(threads_per_block);
    config.dynamicSmemBytes = shared_bytes(task);
    config.stream = device.stream;
    if (device.capability >= 90) {
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.attrs = &attribute, config.numAttrs = 1;
    }
    if (task.N == 1) { return cudaLaunchKernelEx(&config, gemv_kernel<Out, T, 1>, task); }
    if (task.N == 2) { return cudaLaunchKernelEx(&config, gemv_kernel<Out, T, 2>, task); }
    if (task.N <= 4) { return cudaLaunchKernelEx(&config, gemv_kernel<Out, T, 4>, task); }
    return cudaLaunchKernelEx(&config, gemv_kernel<Out, T, 8>, task);
}

#define INSTANTIATE(Out, T)                              \
    template bool gemv_takes(const gemv_task<Out, T> &); \
    template int gemv(gpt2_device &, const gemv_task<Out, T> &);
#define INSTANTIATE_BOTH(T) INSTANTIATE(T, T)
FOR_EACH_TYPE(INSTANTIATE_BOTH)
INSTANTIATE(float, __half)
INSTANTIATE(float, __nv_bfloat16)
