// gemv.cu — products of a few rows: the weights are read once (gemv.cuh)
//
// Purpose   Decoding is limited by reading the weights: with N <= 8 rows a weight serves N multiply-adds. A library's product,
//           made for tiles of 64 rows and more, is far from the speed of memory.
// Math      gemv.cuh
// Bytes     OC C elements of weights; x and y are 1/OC and 1/C of that. 124M in bf16: 14.2 MB a block of the model, 77 MB for the
//           logits, 247 MB a step: 52 us on an H200 (4.8 TB/s).
// Kernel    gemv_kernel<Out, T, W, N, once>: `split` warps compute 2 or 4 columns of y for all N rows, each warp over a part of
//           the columns of W. split is chosen so that a lane reads at most `ahead` vectors of 16 bytes of each row of W: 3 for
//           C = 768 in bf16, 4 with 8 warps for C = 6400. All of these loads are in flight before the first wait. They are
//           issued before the kernel that computes x has ended (programmatic dependent launch), because weights do not depend
//           on it. So are the loads of scales and biases: after the sums, they would be a trip to memory in each kernel. Sums
//           are fp32. Where there are more columns than resident warps, a block computes several groups, and loads the next
//           weights early. `once`: it computes one, and needs no registers for the next.
//           With a LayerNorm each block normalises x itself into shared memory. That reads 1.5 KB a row from L2 and saves a
//           launch. One row is normalised by the whole block, several by a warp each.
//           With codes of 8 bits (eight_bits.cuh) a vector of 16 bytes is 16 weights, so a lane has half as many vectors of a
//           row. For one row or two a warp then computes 4 columns: as many loads are in flight as with 16 bits. The scale of a
//           row, and the unit of the codes, are multiplied into its sum.
//           The sums of a warp are reduced together. Each exchange halves the number of sums in a lane: 16 shuffles in place
//           of 80 for 16 sums.
// Measured  The products of a step at batch 1 on an H100, in bf16 and int8: 124M 204 and 193 us before the early loads, the
//           block's LayerNorm and the 4 columns; 169 and 153 us with prototypes of them. 1558M 1650 and 1262 us before, 1588
//           and 1142 us with.
#include "gpt2/model/gemv.cuh"

#include "common/dependent_launch.cuh"
#include "gpt2/model/activation.cuh"
#include "gpt2/model/step_math.cuh"
#include "gpt2/model/vec16.cuh"

#include <type_traits>

enum { few_warps = 4, most_warps = 8 }; // of a block
enum { ahead = 4, held = 8, kept = 2 };

// The columns of a warp, and the warps of a multiprocessor that their registers leave room for.
template <class T, class W, int N> constexpr bool has_four_columns = !std::is_same_v<T, W> && N <= 2;
template <class T, class W, int N> constexpr int columns_of = has_four_columns<T, W, N> ? 4 : 2;
template <class T, class W, int N> constexpr int warps_each = has_four_columns<T, W, N> ? 12 : 16;
constexpr size_t most_shared = 40 << 10; // available on every GPU without a request, less the kernel's own

// By one warp: to = LayerNorm(x), one row. The first `held` vectors of a lane stay in registers, the others are read again.
template <class T>
__device__ static void normalise(T *to, const T *x, const T *weight, const T *bias, int C, float epsilon) {
    constexpr int size = vec16<T>::size, step = warp_size * size;
    const int start = (int)threadIdx.x % warp_size * size;
    vec16<T> row[held];
#pragma unroll
    for (int p = 0; p < held; p++) {
        if (start + p * step < C) { row[p] = vec16_load(x + start + p * step); }
    }
    auto for_each_vec = [&](auto &&work) {
        float values[size];
#pragma unroll
        for (int p = 0; p < held; p++) {
            if (start + p * step >= C) { continue; }
            unpack(values, row[p]);
            work(values, start + p * step);
        }
        for (int c = start + held * step; c < C; c += step) {
            unpack(values, vec16_load(x + c));
            work(values, c);
        }
    };
    float sum = 0.0f, squares = 0.0f;
    for_each_vec([&](const float(&values)[size], int) {
        for (int e = 0; e < size; e++) { sum += values[e]; }
    });
    const float mean = warp_sum(sum) / C;
    for_each_vec([&](const float(&values)[size], int) {
        for (int e = 0; e < size; e++) { squares += (values[e] - mean) * (values[e] - mean); }
    });
    const float rstd = rsqrtf(warp_sum(squares) / C + epsilon);
    for_each_vec([&](const float(&values)[size], int c) {
        float scale[size], shift[size], y[4];
        unpack(scale, vec16_load(weight + c));
        unpack(shift, vec16_load(bias + c));
        for (int e = 0; e < size; e++) {
            y[e % 4] = (values[e] - mean) * rstd * scale[e] + shift[e];
            if (e % 4 == 3) { store_four(to + c + e - 3, y); }
        }
    });
}

// The same by the whole block, for one row. A thread has up to `kept` vectors of it. Those of weight and bias are loaded before
// the kernel that computes x has ended.
template <class T> struct layernorm_vectors { vec16<T> weight[kept], bias[kept]; };

template <class T> __device__ static bool fits_block(int C) {
    return C <= kept * (int)blockDim.x * vec16<T>::size;
}

template <class T>
__device__ static void load_layernorm(layernorm_vectors<T> &own, const T *weight, const T *bias, int C) {
    const int start = (int)threadIdx.x * vec16<T>::size, step = (int)blockDim.x * vec16<T>::size;
#pragma unroll
    for (int p = 0; p < kept; p++) {
        if (start + p * step >= C) { continue; }
        own.weight[p] = vec16_load(weight + start + p * step), own.bias[p] = vec16_load(bias + start + p * step);
    }
}

__device__ static float block_sum(float value, float *room) { // room: (warps), used once
    value = warp_sum(value);
    if (threadIdx.x % warp_size == 0) { room[threadIdx.x / warp_size] = value; }
    __syncthreads();
    float sum = 0.0f;
    for (int warp = 0; warp < (int)blockDim.x / warp_size; warp++) { sum += room[warp]; }
    return sum;
}

template <class T>
__device__ static void normalise_by_block(T *to, const T *x, const layernorm_vectors<T> &own, int C, float epsilon,
                                          float (*room)[most_warps]) {
    constexpr int size = vec16<T>::size;
    const int start = (int)threadIdx.x * size, step = (int)blockDim.x * size;
    vec16<T> row[kept];
    auto for_each_vec = [&](auto &&work) {
#pragma unroll
        for (int p = 0; p < kept; p++) {
            float values[size];
            if (start + p * step >= C) { continue; }
            unpack(values, row[p]);
            work(values, p);
        }
    };
#pragma unroll
    for (int p = 0; p < kept; p++) {
        if (start + p * step < C) { row[p] = vec16_load(x + start + p * step); }
    }
    float sum = 0.0f, squares = 0.0f;
    for_each_vec([&](const float(&values)[size], int) {
        for (int e = 0; e < size; e++) { sum += values[e]; }
    });
    const float mean = block_sum(sum, room[0]) / C;
    for_each_vec([&](const float(&values)[size], int) {
        for (int e = 0; e < size; e++) { squares += (values[e] - mean) * (values[e] - mean); }
    });
    const float rstd = rsqrtf(block_sum(squares, room[1]) / C + epsilon);
    for_each_vec([&](const float(&values)[size], int p) {
        float scale[size], shift[size], y[4];
        unpack(scale, own.weight[p]), unpack(shift, own.bias[p]);
        for (int e = 0; e < size; e++) {
            y[e % 4] = (values[e] - mean) * rstd * scale[e] + shift[e];
            if (e % 4 == 3) { store_four(to + start + p * step + e - 3, y); }
        }
    });
}

// As many elements of x as a vector of W has.
template <int size, class T> __device__ static void load_row(float (&row)[size], const T *x) {
    constexpr int each = vec16<T>::size;
#pragma unroll
    for (int first = 0; first < size; first += each) {
        float part[each];
        unpack(part, vec16_load(x + first));
#pragma unroll
        for (int e = 0; e < each; e++) { row[first + e] = part[e]; }
    }
}

template <int columns, int N, class T, class W>
__device__ static void multiply_add(float (&sums)[columns * N], const vec16<W> (&weight)[columns], const T *x, int c,
                                    int C, int rows) {
    constexpr int size = vec16<W>::size;
    float w[columns][size];
#pragma unroll
    for (int j = 0; j < columns; j++) { unpack(w[j], weight[j]); }
#pragma unroll
    for (int n = 0; n < N; n++) {
        float row[size];
        load_row(row, x + (int64_t)min(n, rows - 1) * C + c);
#pragma unroll
        for (int e = 0; e < size; e++) {
#pragma unroll
            for (int j = 0; j < columns; j++) { sums[j * N + n] += w[j][e] * row[e]; }
        }
    }
}

// A lane's vectors of a warp's rows of W: the first `ahead` of those between `from` and `to`.
template <int columns, class W>
__device__ static void fetch(vec16<W> (&weights)[ahead][columns], const W *weight, int first, int C, int OC, int from,
                             int to) {
    constexpr int step = warp_size * vec16<W>::size;
#pragma unroll
    for (int i = 0; i < ahead; i++) {
#pragma unroll
        for (int j = 0; j < columns; j++) {
            if (from + i * step < to) {
                weights[i][j] = vec16_load(weight + (int64_t)min(first + j, OC - 1) * C + from + i * step);
            }
        }
    }
}

// What a column of y needs besides its sum: y (n, column) = activation?(scale sum + bias) + residual
struct column_terms {
    float scale, bias;
};

template <class Out, class T, class W>
__device__ static column_terms terms_of(const gemv_task<Out, T, W> &task, int column) {
    column_terms terms = {1.0f, 0.0f};
    if (column >= task.OC) { return terms; }
    if constexpr (!std::is_same_v<T, W>) { terms.scale = task.scales[column] * W::unit; }
    if (task.bias != nullptr) { terms.bias = to_float(task.bias[column]); }
    return terms;
}

// N rows, of which task.N exist: the others read the last row and write nothing. `split` warps, a power of two, share their
// columns.
// groups: the number of groups of columns; a block computes one group at a time. once: a single one.
template <class Out, class T, class W, int N, bool once>
__global__ void __launch_bounds__(most_warps *warp_size, std::is_same_v<T, W> ? 2 : 1)
    gemv_kernel(const gemv_task<Out, T, W> task, int split, int groups) {
    constexpr int columns = columns_of<T, W, N>;
    constexpr int size = vec16<W>::size, step = warp_size * size, share = warp_size / (columns * N);
    __shared__ float parts[2][most_warps][columns * N], sums_of_block[2][most_warps];
    extern __shared__ uint4 dynamic[]; // (N + 2, C) of T with a LayerNorm; else nothing
    const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    const int C = task.C, per_group = warps / split * columns, slice = warp % split;
    const int steps = (C + step - 1) / step, steps_each = (steps + split - 1) / split;
    const int from = slice * steps_each * step + lane * size, to = min(C, (slice + 1) * steps_each * step);
    int first = blockIdx.x * per_group + warp / split * columns;
    const int place = lane / share; // of the warp's sums: a row of x, and a column of y
    const int row = place % N;
    const bool finishes = lane % share == 0 && slice == 0 && row < task.N;

    const bool has_layernorm = task.layernorm_weight != nullptr, by_block = N == 1 && fits_block<T>(C);
    layernorm_vectors<T> own;
    if (has_layernorm && by_block) { load_layernorm(own, task.layernorm_weight, task.layernorm_bias, C); }
    vec16<W> weights[ahead][columns], next[ahead][columns];
    fetch<columns>(weights, task.weight, first, C, task.OC, from, to);
    column_terms terms = {1.0f, 0.0f};
    if (finishes) { terms = terms_of(task, first + place / N); }
    T *normalised = (T *)dynamic, *scale = normalised + task.N * C, *shift = scale + C;
    if (has_layernorm && !by_block) {
        constexpr int each = vec16<T>::size;
        for (int c = threadIdx.x * each; c < C; c += (int)blockDim.x * each) {
            *(uint4 *)(scale + c) = vec16_load(task.layernorm_weight + c).bits;
            *(uint4 *)(shift + c) = vec16_load(task.layernorm_bias + c).bits;
        }
        __syncthreads();
    }
    wait_for_previous_kernel();
    let_next_kernel_start(); // its weights can come while this one computes

    const T *x = task.x;
    if (has_layernorm) {
        if (by_block) {
            normalise_by_block(normalised, x, own, C, task.epsilon, sums_of_block);
        } else {
            for (int n = warp; n < task.N; n += warps) { // a warp a row
                normalise(normalised + n * C, x + (int64_t)n * C, scale, shift, C, task.epsilon);
            }
        }
        __syncthreads();
        x = normalised;
    }

    for (int group = blockIdx.x, turn = 0; group < groups; group += gridDim.x, turn++) {
        const int first_next = first + gridDim.x * per_group, column = first + place / N;
        const bool goes_on = !once && group + (int)gridDim.x < groups, writes = finishes && column < task.OC;
        if (goes_on) { fetch<columns>(next, task.weight, first_next, C, task.OC, from, to); }
        float residual = 0.0f;
        if (writes && task.residual != nullptr) { residual = to_float(task.residual[(int64_t)row * task.ld + column]); }
        float sums[columns * N] = {};
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            if (from + i * step < to) { multiply_add<columns, N>(sums, weights[i], x, from + i * step, C, task.N); }
        }
        for (int c = from + ahead * step; c < to; c += step) {
            vec16<W> now[columns];
#pragma unroll
            for (int j = 0; j < columns; j++) {
                now[j] = vec16_load(task.weight + (int64_t)min(first + j, task.OC - 1) * C + c);
            }
            multiply_add<columns, N>(sums, now, x, c, C, task.N);
        }
        float y = over_warp(sums);
        if (split > 1) {
            if (lane % share == 0) { parts[turn % 2][warp][place] = y; }
            __syncthreads();
            y = 0.0f;
            for (int other = 0; other < split; other++) { y += parts[turn % 2][warp - slice + other][place]; }
        }
        if (writes) {
            y = y * terms.scale + terms.bias;
            if (task.activated) { y = activate(y, task.activation); }
            task.out[(int64_t)row * task.ld + column] = from_float<Out>(y + residual);
        }
        if constexpr (once) {
            break;
        } else {
            if (!goes_on) { break; }
#pragma unroll
            for (int i = 0; i < ahead; i++) {
#pragma unroll
                for (int j = 0; j < columns; j++) { weights[i][j] = next[i][j]; }
            }
            first = first_next;
            if (finishes) { terms = terms_of(task, first + place / N); }
        }
    }
    const int b = threadIdx.x;
    if (task.positions != nullptr && blockIdx.x == 0 && b < task.N) {
        if (task.tokens[b] >= 0 && task.positions[b] + 1 < task.S) { task.positions[b]++; }
    }
}

template <class Out, class T, class W> static size_t shared_bytes(const gemv_task<Out, T, W> &task) {
    return task.layernorm_weight != nullptr ? (size_t)(task.N + 2) * (size_t)task.C * sizeof(T) : 0;
}

template <class Out, class T, class W> bool gemv_takes(const gemv_task<Out, T, W> &task) {
    return task.N >= 1 && task.N <= most_gemv_rows && task.C % vec16<W>::size == 0 && shared_bytes(task) <= most_shared;
}

template <class Out, class T, class W, int N>
static int launch_rows(gpt2_device &device, const gemv_task<Out, T, W> &task) {
    constexpr int step = warp_size * vec16<W>::size;
    int split = 1;
    while (split < most_warps && task.C > ahead * split * step) { split *= 2; }
    const int warps = split > few_warps ? split : few_warps, per_group = warps / split * columns_of<T, W, N>;
    const int groups = (task.OC + per_group - 1) / per_group;
    const int fit = device.multiprocessors * warps_each<T, W, N> / warps, turns = (groups + fit - 1) / fit;
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = dim3((unsigned)((groups + turns - 1) / turns));
    config.blockDim = dim3((unsigned)(warps * warp_size));
    config.dynamicSmemBytes = shared_bytes(task);
    config.stream = device.stream;
    if (device.capability >= 90) {
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.attrs = &attribute, config.numAttrs = 1;
    }
    if (N == 1 && turns == 1) {
        return cudaLaunchKernelEx(&config, gemv_kernel<Out, T, W, N, N == 1>, task, split, groups);
    }
    return cudaLaunchKernelEx(&config, gemv_kernel<Out, T, W, N, false>, task, split, groups);
}

template <class Out, class T, class W> int gemv(gpt2_device &device, const gemv_task<Out, T, W> &task) {
    if (task.N == 1) { return launch_rows<Out, T, W, 1>(device, task); }
    if (task.N == 2) { return launch_rows<Out, T, W, 2>(device, task); }
    if (task.N <= 4) { return launch_rows<Out, T, W, 4>(device, task); }
    return launch_rows<Out, T, W, 8>(device, task);
}

#define INSTANTIATE(Out, T, W)                              \
    template bool gemv_takes(const gemv_task<Out, T, W> &); \
    template int gemv(gpt2_device &, const gemv_task<Out, T, W> &);
#define INSTANTIATE_WEIGHTS(Out, T) INSTANTIATE(Out, T, T) INSTANTIATE(Out, T, int8_code) INSTANTIATE(Out, T, e4m3_code)
#define INSTANTIATE_SAME(T)         INSTANTIATE_WEIGHTS(T, T)
FOR_EACH_TYPE(INSTANTIATE_SAME)
INSTANTIATE_WEIGHTS(float, __half)
INSTANTIATE_WEIGHTS(float, __nv_bfloat16)
