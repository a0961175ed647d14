// persistent_products.cuh — the products of decode_persistent.cu
//
//   multiply_whole_rows   QKV, fc and logits: rows of C weights. A warp has the same columns of each, and waits for those columns of x alone.
//                         It reads the weights into registers before. The warps meet, and eight lanes add the sums of a row.
//   multiply_pieces       projection and the MLP's second product: of each row the columns that belong to the cluster's heads, or to its
//                         hidden values. A warp has 16 rows, and hands over their parts of a sum as packets.
//
// In a 16-bit type the tensor cores multiply 16 rows of weights, of two units, by x (16, 8): its rows are columns there, upper and lower half
// in turn. A lane's 16 bytes of a row are four pairs of columns: two for each of two instructions, of the weights as of x.
#ifndef GPT2_PERSISTENT_PRODUCTS_CUH
#define GPT2_PERSISTENT_PRODUCTS_CUH

#include "gpt2/model/persistent_block.cuh"
#include "gpt2/model/persistent_stream.cuh"
#include "gpt2/model/vec16.cuh"

// Step i of a row. Beyond the last column come other elements, which x's zeros cancel. On the CPU backend there may be no row.
template <class T> __device__ inline uint4 weights_at(const T *row, int i, int columns) {
    const int c = i * step_columns<T>;
    return in_ring || (row != nullptr && c < columns) ? *(const uint4 *)(row + c) : make_uint4(0, 0, 0, 0);
}

// Adds 64 bytes of 16 rows times x. a, b: the lane's 16 bytes of row g of the first eight and of the second; x: of row g of x. The two sums of
// a row do not wait for each other.
template <class T>
__device__ inline void multiply_step(float (&sums)[2][4], const uint4 &a, const uint4 &b, const uint4 &x) {
    multiply_add<T>(sums[0], {a.x, b.x, a.y, b.y}, x.x, x.y);
    multiply_add<T>(sums[1], {a.z, b.z, a.w, b.w}, x.z, x.w);
}

// The sum of row g of the first unit, or of the second. Neighbouring columns are those of x's halves.
template <class T> __device__ inline float finished(const float (&sums)[2][4], int unit, int rows_of_x) {
    const float upper = unit == 0 ? sums[0][0] + sums[1][0] : sums[0][2] + sums[1][2];
    const float lower = unit == 0 ? sums[0][1] + sums[1][1] : sums[0][3] + sums[1][3];
    return rows_of_x == 2 ? upper + lower : upper;
}

// In fp32 four lanes have the columns of a row.
template <class T> __device__ inline float multiply_row(const T *row, const T *x, int steps, int columns) {
    constexpr int size = vec16<T>::size;
    float sum = 0.0f;
    for (int i = 0; i < steps; i++) {
        float w[size], values[size];
        unpack(w, vec16<T>{weights_at(row, i, columns)});
        unpack(values, vec16_load(x + i * step_columns<T>));
        for (int e = 0; e < size; e++) { sum += w[e] * values[e]; }
    }
    for (int offset = 1; offset < 4; offset *= 2) { sum += __shfl_xor_sync(all_lanes, sum, offset); }
    return sum;
}

// ---- rows of C weights ----

// Up to four units that are multiplied together.
template <class T, int W> struct row_batch {
    static constexpr int steps = W / step_columns<T>,
                         kept = sizeof(T) == 2 ? (steps < kept_steps ? steps : kept_steps) : 1;

    const matrix_part<T> &part;
    const T *of_layer;
    const float2 *constants;
    int done = 0, units; // of the part's units: before this batch, in it
    int row, run;        // of the matrix, which the thread's octet owns; row -1: none
    float2 constant;     // of that row
    // Of each unit row lane / 4, at the lane's first column; null on the CPU backend if there is none. And its first elements.
    const T *from[most_units];
    uint4 weights[most_units][kept];

    __device__ row_batch(const matrix_part<T> &part, int layer, const float2 *constants)
        : part(part), of_layer(part.weights + layer * part.layer_stride), constants(constants) {}

    // Where the units are, when they are there; and the octet's row.
    __device__ void locate(const unit_reader &reader, int C, int batch) {
        const int lane = (int)threadIdx.x % warp_size, warp = (int)threadIdx.x / warp_size;
        const int of_run = (part.rows + unit_rows - 1) / unit_rows;
        const int at = warp * W + lane % 4 * vec16<T>::size;
        units = min(part.runs * of_run - done, batch);
        const auto place = [&](int unit, int of_unit) { // row in the run
            run = 0;
            for (; unit >= of_run && run < part.runs; unit -= of_run) { run++; }
            return unit * unit_rows + of_unit;
        };
        reader.wait(units);
#pragma unroll
        for (int j = 0; j < most_units; j++) {
            if (in_ring) {
                from[j] = reader.template rows<T>(min(j, max(units - 1, 0))) +
                          lane / 4 * (ring_stride(C * (int)sizeof(T)) / (int)sizeof(T)) + at;
            } else {
                const int r = place(done + j, lane / 4);
                from[j] = j < units && r < part.rows ? of_layer + run * part.run_stride + (int64_t)r * C + at : nullptr;
            }
        }
        const int own = (int)threadIdx.x / (octet * unit_rows),
                  in_run = place(done + own, (int)threadIdx.x / octet % unit_rows);
        row = own < units && in_run < part.rows ? part.first + run * part.next + in_run : -1;
        constant = row >= 0 ? constants[row] : make_float2(0.0f, 0.0f);
    }

    // The first weights, while x is on its way.
    __device__ void load(int C) {
        [[maybe_unused]] const int columns =
            C - (int)threadIdx.x / warp_size * W - (int)threadIdx.x % 4 * vec16<T>::size;
        if constexpr (sizeof(T) == 2) {
#pragma unroll
            for (int j = 0; j < most_units; j++) {
                if (j > 0 && j >= units) { break; }
#pragma unroll
                for (int i = 0; i < kept; i++) { weights[j][i] = weights_at(from[j], i, columns); }
            }
        }
    }

    // The sums over the warp's columns to where the lanes that add them look: all (group_rows, warps). x: (halves, pitch)
    __device__ void multiply(float *all, const T *x, int pitch, int C) const {
        const int lane = (int)threadIdx.x % warp_size, warp = (int)threadIdx.x / warp_size, g = lane / 4, t = lane % 4;
        x += t * vec16<T>::size;
        const int columns = C - warp * W - t * vec16<T>::size;
        if constexpr (sizeof(T) == 2) {
            x += g % halves<T> * pitch;
            uint4 of_x[steps];
#pragma unroll
            for (int i = 0; i < steps; i++) { of_x[i] = *(const uint4 *)(x + i * step_columns<T>); }
#pragma unroll
            for (int j = 0; j < most_units; j += 2) {
                if (j >= units) { break; }
                float sums[2][4] = {};
#pragma unroll
                for (int i = 0; i < steps; i++) {
                    const int k = i < kept ? i : 0;
                    const uint4 a = i < kept ? weights[j][k] : weights_at(from[j], i, columns);
                    const uint4 b = i < kept ? weights[j + 1][k] : weights_at(from[j + 1], i, columns);
                    multiply_step<T>(sums, a, b, of_x[i]);
                }
                if (t < 2) { all[((j + t) * unit_rows + g) * warps + warp] = finished<T>(sums, t, halves<T>); }
            }
        } else {
#pragma unroll
            for (int j = 0; j < most_units; j++) {
                if (j >= units) { break; }
                const float sum = multiply_row(from[j], x, steps, columns);
                if (t == 0) { all[(j * unit_rows + g) * warps + warp] = sum; }
            }
        }
    }
};

// finish(run, row, there, y): y of that row of the matrix in all lanes of an octet; there: it exists. All threads call it together.
// batch: the first one, located. buffer: of x; phase: how many results were in this buffer before. *pivot becomes the mean.
template <class T, int W, class Finish>
__device__ inline void multiply_whole_rows(const persistent_block<T> &block, unit_reader &units, row_batch<T, W> &batch,
                                           int buffer, unsigned phase, float *pivot, int *turn, bool *good,
                                           Finish finish) {
    const persistent_task<T> &task = block.task;
    const shared_plan &plan = task.plan;
    const int C = task.C, warp = (int)threadIdx.x / warp_size, lane = (int)threadIdx.x % warp_size;
    const T *x = (const T *)(block.dynamic + plan.x[buffer]) + (size_t)warp * halves<T> * plan.x_pitch;
    batch.load(C);
    if (warp * W < C) {
        *good &= block.template x_of_warp<W>(buffer, warp).wait(phase, lane == 0, task.packets.failed);
    }
    __syncwarp();
    float2 norm = {};
    for (bool first = true;; first = false) {
        float *all = (float *)(block.dynamic + plan.sums) + *turn * group_rows * warps;
        float2 *norms = (float2 *)(block.dynamic + plan.norms) + buffer * warps;
        batch.multiply(all, x, plan.x_pitch, C);
        units.release(batch.units);
        if (first) {
            *good &= block.statistics(buffer).wait(phase, threadIdx.x == 0, task.packets.failed);
            sum_statistics(block, buffer, norms);
        }
        *good = !any_of_block(!*good);
        if (!*good) { return; }
        const bool there = batch.row >= 0;
        const float sum = over_octet(there ? all[threadIdx.x] : 0.0f);
        if (first) { norm = norm_of_stream(norms, task); }
        const float y = (sum * (1.0f / shrink<T>)-norm.x * batch.constant.x) * norm.y + batch.constant.y;
        finish(batch.run, batch.row, there, y);
        *turn ^= 1;
        batch.done += batch.units;
        if (batch.done >= batch.part.runs * ((batch.part.rows + unit_rows - 1) / unit_rows)) { break; }
        batch.locate(units, C, plan.batch);
        batch.load(C);
    }
    *pivot += norm.x;
}

// ---- pieces of rows ----

// A warp has 16 rows, and further ones after those of all warps.
template <class T> struct piece_rows {
    const matrix_part<T> &part;
    const T *of_layer;
    int steps, shift, stride; // shift: part.unit is a power of two; stride: of the ring
    int first = 0;            // row of the part: of all warps
    // Row lane / 4 of the warp's first eight and of the next; null on the CPU backend if there is none.
    const T *from[2] = {};

    __device__ piece_rows(const matrix_part<T> &part, int layer)
        : part(part), of_layer(part.weights + layer * part.layer_stride),
          steps((part.columns + step_columns<T> - 1) / step_columns<T>), shift(__ffs(part.unit) - 1),
          stride(ring_stride(part.columns * (int)sizeof(T)) / (int)sizeof(T)) {}

    __device__ int of_warp() const { return first + (int)threadIdx.x / warp_size * 2 * unit_rows; }

    // Where the rows are, when they are there.
    __device__ void locate(const unit_reader &units) {
        const int g = (int)threadIdx.x % warp_size / 4, at = (int)threadIdx.x % 4 * vec16<T>::size;
        if (part.runs == 0 || of_warp() >= part.rows) { return; }
#pragma unroll
        for (int j = 0; j < 2; j++) {
            const int row = of_warp() + j * unit_rows, unit = min(row, part.rows - 1) >> shift;
            if (in_ring) {
                const int next = unit - (first >> shift); // units before `first` have been released
                units.wait_for(next);
                from[j] = units.rows<T>(next) + ((row & (part.unit - 1)) + g) * stride + at;
            } else {
                from[j] = row + g < part.rows ? of_layer + (int64_t)(row + g) * part.pitch + at : nullptr;
            }
        }
    }
};

// to[row] = x (`rows_of_x`, with a pitch) times the pieces, as packets. rows: the first ones, located
template <class T>
__device__ inline void multiply_pieces(unit_reader &units, piece_rows<T> &rows, const T *x, int rows_of_x, int pitch,
                                       packet *to, unsigned tag) {
    constexpr int pass = warps * 2 * unit_rows;
    const matrix_part<T> &part = rows.part;
    const int lane = (int)threadIdx.x % warp_size, g = lane / 4, t = lane % 4;
    if (part.runs == 0) { return; }
    const int at = t * vec16<T>::size, columns = part.columns - at;
    x += at + (sizeof(T) == 2 ? g % rows_of_x * pitch : 0);
    to += part.first;
    for (;;) {
        if (rows.of_warp() < part.rows) {
            float result;
            if constexpr (sizeof(T) == 2) {
                float sums[2][4] = {};
#pragma unroll 4
                for (int i = 0; i < rows.steps; i++) {
                    multiply_step<T>(sums, weights_at(rows.from[0], i, columns), weights_at(rows.from[1], i, columns),
                                     *(const uint4 *)(x + i * step_columns<T>));
                }
                result = finished<T>(sums, t % 2, rows_of_x);
            } else {
                const float a = multiply_row(rows.from[0], x, rows.steps, columns);
                const float b = multiply_row(rows.from[1], x, rows.steps, columns);
                result = t == 0 ? a : b;
            }
            const int row = rows.of_warp() + t * unit_rows + g;
            if (t < 2 && row < part.rows) { publish(to + row, bits_of(result), tag); }
        }
        const int passed = min(pass, part.rows - rows.first);
        units.release((passed + part.unit - 1) >> rows.shift);
        rows.first += pass;
        if (rows.first >= part.rows) { return; }
        rows.locate(units);
    }
}

#endif
