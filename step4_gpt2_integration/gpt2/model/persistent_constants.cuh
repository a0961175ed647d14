// persistent_constants.cuh — what decode_persistent.cu computes once of the weights
//
//   fold_norms   of each row into which a LayerNorm is folded, two sums; bounds of values, which products with codes need
//   matrix_of    a layer's matrix: plain, or in codes
#ifndef GPT2_PERSISTENT_CONSTANTS_CUH
#define GPT2_PERSISTENT_CONSTANTS_CUH

#include "gpt2/model/persistent_task.cuh"

// *to becomes at least value, which is not negative.
__device__ inline void raise(float *to, float value) {
    atomicMax((int *)to, __float_as_int(value)); // their bits are in order
}

// to[r] = (sum of W g, sum of W s + bias) over row r of W (rows, C). A warp a row. *most_gain, if not null, becomes at least
// the largest magnitude of g, and *most, if not null, that of a result of the rows from first_bound on: the norm of a
// normalised x is at most sqrt(C).
template <class T>
__global__ void fold_norm_kernel(float2 *to, const lookup_table<T> weights, const T *gain, const T *shift,
                                 const T *bias, int rows, int C, float *most_gain, float *most, int first_bound) {
    const int r = blockIdx.x * (blockDim.x / warp_size) + threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    if (r >= rows) { return; }
    float gains = 0.0f, shifts = 0.0f, squares = 0.0f, largest = 0.0f;
    for (int c = lane; c < C; c += warp_size) {
        const float w = weights.at(r, c), g = to_float(gain[c]);
        gains += w * g, shifts += w * to_float(shift[c]);
        squares += w * g * w * g, largest = fmaxf(largest, fabsf(g));
    }
    gains = warp_sum(gains), shifts = warp_sum(shifts), squares = warp_sum(squares), largest = warp_max(largest);
    if (lane != 0) { return; }
    shifts += bias != nullptr ? to_float(bias[r]) : 0.0f;
    to[r] = make_float2(gains, shifts);
    if (r == 0 && most_gain != nullptr) { raise(most_gain, largest); }
    if (r >= first_bound && most != nullptr) { raise(most, sqrtf(squares * (float)C) + fabsf(shifts)); }
}

// *most becomes at least the largest magnitude of rows (rows, C). A warp a row
template <class T> __global__ void largest_kernel(float *most, const lookup_table<T> rows, int count, int C) {
    const int r = blockIdx.x * (blockDim.x / warp_size) + threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    if (r >= count) { return; }
    float largest = 0.0f;
    for (int c = lane; c < C; c += warp_size) { largest = fmaxf(largest, fabsf(rows.at(r, c))); }
    largest = warp_max(largest);
    if (lane == 0) { raise(most, largest); }
}

// The matrices of all layers: plain, or in codes.
template <class T> inline lookup_table<T> matrix_of(const tensors<T> &all, int layer, int kind) {
    const params<T> &w = all.weights;
    if (all.scheme != GPT2_PLAIN) {
        if (kind == logits) { return {nullptr, w.head_codes, all.scheme, all.config.channels}; }
        const block_codes &codes = w.codes[(size_t)layer];
        const code_matrix matrices[] = {codes.qkv, codes.attention, codes.fc, codes.mlp};
        return {nullptr, matrices[kind], all.scheme, all.config.channels};
    }
    if (kind == logits) { return {w.head, {}, all.scheme, all.config.channels}; }
    const block_weights<T> &b = w.blocks[(size_t)layer];
    const T *const matrices[] = {b.qkv_weight, b.attention_weight, b.fc_weight, b.mlp_weight};
    return {matrices[kind], {}, all.scheme, all.config.channels};
}

template <class T> inline int fold_norms(gpt2_device &device, const tensors<T> &all, const packet_buffers &to) {
    const params<T> &w = all.weights;
    const int C = all.config.channels, L = all.config.layers, each = 8;
    const auto blocks = [&](int rows) { return (unsigned)((rows + each - 1) / each); };
    float2 *constants = to.constants;
    const auto fold = [&](const lookup_table<T> &weights, const T *gain, const T *shift, const T *bias, int rows,
                          float *most_gain, float *most, int first_bound) {
        fold_norm_kernel<T><<<blocks(rows), each * warp_size, 0, device.stream>>>(
            constants, weights, gain, shift, bias, rows, C, most_gain, most, first_bound);
        constants += rows;
        return cudaGetLastError();
    };
    for (int layer = 0; layer < L; layer++) {
        const block_weights<T> &b = w.blocks[(size_t)layer];
        layer_bounds *bounds = to.bounds + layer;
        TRY(fold(matrix_of(all, layer, qkv), b.ln1_weight, b.ln1_bias, b.qkv_bias, 3 * C, &bounds->gain1,
                 &bounds->value, 2 * C));
        TRY(fold(matrix_of(all, layer, fc), b.ln2_weight, b.ln2_bias, b.fc_bias, 4 * C, &bounds->gain2, &bounds->hidden,
                 0));
    }
    TRY(fold(matrix_of(all, 0, logits), w.final_weight, w.final_bias, nullptr, all.config.vocabulary,
             &to.bounds[L].gain1, nullptr, 0));
    // Of an embedding: of a token, and of a position, which is not in codes.
    const int V = all.config.vocabulary;
    largest_kernel<T><<<blocks(V), each * warp_size, 0, device.stream>>>(&to.bounds[L].value, token_table(all), V, C);
    TRY(cudaGetLastError());
    const lookup_table<T> positions = {w.position_embedding, {}, GPT2_PLAIN, C};
    largest_kernel<T>
        <<<blocks(all.context), each * warp_size, 0, device.stream>>>(&to.bounds[L].hidden, positions, all.context, C);
    return cudaGetLastError();
}

#endif
