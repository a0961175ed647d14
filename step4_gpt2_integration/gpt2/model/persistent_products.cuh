// persistent_products.cuh — the products of decode_persistent.cu
//
//   multiply_whole_rows   QKV, fc and logits: rows of C weights. A warp has the same columns of each, and waits for those
//                         columns of x alone. It reads the weights into registers before. The warps meet, and four lanes add
//                         the sums of a row.
//   multiply_columns      projection and the MLP's second product: of each row the columns that belong to the cluster's heads,
//                         or to its hidden values. A warp has 16 rows, or 32, and adds their parts to totals of all clusters.
//
// In a 16-bit type a lane's 16 bytes of a row are four pairs of columns, and the four registers of a factor of an instruction
// of the tensor cores (tensor_core.cuh): eight rows of weights fill its 16 rows, the first and the third pair rows 0 to 7, the
// others rows 8 to 15. The other factor has x in four columns: the upper halves and what they leave, at the first and third
// pair, and at the second and fourth.
//
// Codes are multiplied as they are, as integers (multiply_add_integers), by x in four digits (persistent_block.cuh). A lane's
// 16 bytes are four times four columns, and x fills all eight columns: the four digits at the first and third four, and at the
// second and fourth. Sums of integers are exact. So a weight costs fewer instructions than in 16 bits.
#ifndef GPT2_PERSISTENT_PRODUCTS_CUH
#define GPT2_PERSISTENT_PRODUCTS_CUH

#include "gpt2/model/persistent_block.cuh"
#include "gpt2/model/persistent_stream.cuh"
#include "gpt2/model/vec16.cuh"

// Step i of a row. Beyond the last column come other elements, which x's zeros cancel. On the CPU backend there may be no row.
// to_next: from a step to the next in the ring, in elements
template <class Weight> __device__ inline uint4 weights_at(const Weight *row, int i, int to_next, int columns) {
    if (in_ring) { return *(const uint4 *)(row + i * to_next); }
    const int c = i * box_columns<Weight>;
    return row != nullptr && c < columns ? *(const uint4 *)(row + c) : make_uint4(0, 0, 0, 0);
}

// Where the lane finds its part of x, from the columns of its weights on: half g % 2 of the first pair, or of the second one;
// or digit g % 4 of the first four columns, or of the second four.
template <class T, class Weight> __device__ inline const char *x_of_lane(const char *x) {
    const int lane = (int)threadIdx.x % warp_size, g = lane / 4, t = lane % 4;
    if constexpr (coded<Weight>) {
        return x + t * (vec16<Weight>::size / 4) * bytes_of_four + g / 4 * bytes_of_four + g % 4 * 4;
    } else {
        const int at = t * vec16<T>::size * halves<T> * (int)sizeof(T);
        return x + at + (sizeof(T) == 2 ? g / 2 % 2 * bytes_of_two + g % 2 * bytes_of_two / 2 : 0);
    }
}

// From 64 bytes of a row to the next.
template <class T, class Weight>
constexpr int x_step = coded<Weight> ? box_columns<Weight> / 4 * bytes_of_four : column_bytes *halves<T>;

// The lane's part of the sums of eight rows: of floats, or of integers.
template <class Weight> using lane_sums = std::conditional_t<coded<Weight>, int, float>[4];

// Adds 64 bytes of 8 rows times x. weights: the lane's 16 bytes of row lane / 4; x: x_of_lane
template <class T, class Weight>
__device__ inline void multiply_step(lane_sums<Weight> &sums, const uint4 &weights, const char *x) {
    constexpr int to_third = 2 * (coded<Weight> ? bytes_of_four : bytes_of_two);
    const uint32_t first = *(const uint32_t *)x, third = *(const uint32_t *)(x + to_third);
    if constexpr (coded<Weight>) {
        multiply_add_integers(sums, weights, first, third);
    } else {
        multiply_add<T>(sums, {weights.x, weights.y, weights.z, weights.w}, first, third);
    }
}

// In lanes 4 g and 4 g + 1 the parts of row g.
template <class Weight> __device__ inline float part_of_row(const lane_sums<Weight> &sums) {
    const int t = (int)threadIdx.x % 4;
    // Of codes, lane 2 i + j has digits 2 j and 2 j + 1, of the first and third four columns, or of the others.
    if constexpr (coded<Weight>) {
        const float part = (float)(t < 2 ? sums[0] : sums[2]) + 256.0f * (float)(t < 2 ? sums[1] : sums[3]);
        return (part + __shfl_xor_sync(all_lanes, part, 2)) * (t % 2 == 0 ? 1.0f : 65536.0f);
    } else {
        return t % 2 == 0 ? sums[0] + sums[1] : sums[2] + sums[3];
    }
}

template <class T> __device__ inline void add_product(float *sum, const uint4 &weights, const uint4 &x) {
    float w[vec16<T>::size], values[vec16<T>::size];
    unpack(w, vec16<T>{weights});
    unpack(values, vec16<T>{x});
    for (int e = 0; e < vec16<T>::size; e++) { *sum += w[e] * values[e]; }
}

// In fp32 four lanes have the columns of a row: the sum of the lane's.
template <class T> __device__ inline float multiply_row(const T *row, const T *x, int steps, int to_next, int columns) {
    float sum = 0.0f;
    for (int i = 0; i < steps; i++) {
        add_product<T>(&sum, weights_at(row, i, to_next, columns), *(const uint4 *)(x + i * box_columns<T>));
    }
    return sum;
}

// ---- rows of C weights ----

// Boxes that are multiplied together, a group, and the rows of the groups that are finished together: at most one for each quad
// of lanes.
template <class T, class Weight, int W> struct row_batch {
    static constexpr int steps = W / box_columns<Weight>;
    static constexpr int kept = sizeof(T) == 4 ? 1 : steps < kept_steps<W> ? steps : kept_steps<W>;
    static constexpr bool held = sizeof(T) == 2 && kept == steps; // registers hold all of a group
    static constexpr int to_next_step = box_rows<Weight> * column_bytes / (int)sizeof(Weight); // in a box, in elements

    const matrix_part<Weight> &part;
    const Weight *of_layer;
    const float2 *constants;
    const float *scales; // of codes
    int most;            // boxes of a group
    int all;             // of the part
    int done = 0, boxes; // before this group, in it
    int value;           // of the row that the thread's quad finishes: its number among the cluster's. -1: none
    float2 constant;     // of that row
    float scale;         // likewise
    // Row lane / 4 of each eight, at the lane's first column; null on the CPU backend if there is none. And its first elements.
    const Weight *from[eights];
    uint4 weights[eights][kept];

    __device__ row_batch(const matrix_part<Weight> &part, int layer, const float2 *constants, const float *scales,
                         int most)
        : part(part), of_layer(part.weights + layer * part.layer_stride), constants(constants), scales(scales),
          most(min(most, most_boxes_of_rows<Weight>)), all(part.runs * part.boxes) {}

    struct place {
        int run, in_run; // in_run -1: there is no such row
    };

    // Row of_box of a box.
    __device__ place place_of(int box, int of_box) const {
        const int run = (box >= part.boxes) + (box >= 2 * part.boxes);
        const int in_run = (box - run * part.boxes) * box_rows<Weight> + of_box;
        return {run, box < all && in_run < part.rows ? in_run : -1};
    }

    __device__ int row_at(const place &at) const { return part.row + at.run * part.next + at.in_run; }

    // Before the groups that are finished together: the quad's row.
    __device__ void choose_row() {
        const int own = (int)threadIdx.x / quad, of_group = own % group_rows / box_rows<Weight>;
        const place at = place_of(done + own / group_rows * most + of_group, own % box_rows<Weight>);
        value = -1, constant = make_float2(0.0f, 0.0f);
        if constexpr (coded<Weight>) { scale = 0.0f; }
        if (of_group < most && at.in_run >= 0) {
            value = part.value + at.run * part.values_of_run + at.in_run, constant = constants[row_at(at)];
            if constexpr (coded<Weight>) { scale = scales[row_at(at)]; }
        }
    }

    // Where the rows of the next group are, when they are there.
    __device__ void locate(const box_reader &reader) {
        const int lane = (int)threadIdx.x % warp_size, warp = (int)threadIdx.x / warp_size;
        boxes = min(all - done, most);
        if (boxes > 0) { reader.wait(boxes); }
#pragma unroll
        for (int j = 0; j < eights; j++) {
            const int box = j * boxes_of_eight<Weight> + lane / 4 / box_rows<Weight>,
                      of_box = lane / 4 % box_rows<Weight>, at = lane % 4 * vec16<Weight>::size;
            if (in_ring) {
                from[j] = reader.template row_of<Weight>(min(box, most - 1), of_box) + warp * steps * to_next_step + at;
            } else {
                const place row = place_of(done + box, of_box);
                from[j] = box < boxes && row.in_run >= 0 ? of_layer + (int64_t)row_at(row) * part.pitch + warp * W + at
                                                         : nullptr;
            }
        }
    }

    // The first weights, while x is on its way.
    __device__ void load(int C) {
        [[maybe_unused]] const int columns =
            C - (int)threadIdx.x / warp_size * W - (int)threadIdx.x % 4 * vec16<Weight>::size;
        if constexpr (sizeof(T) == 2) {
#pragma unroll
            for (int j = 0; j < eights; j++) {
#pragma unroll
                for (int i = 0; i < kept; i++) { weights[j][i] = weights_at(from[j], i, to_next_step, columns); }
            }
        }
    }

    // The sums over the warp's columns to where the lanes that add them look, two of each row: to (warps, sums_pitch). x: of
    // these columns
    __device__ void multiply(float *to, const char *x, int C) const {
        const int lane = (int)threadIdx.x % warp_size, warp = (int)threadIdx.x / warp_size, g = lane / 4, t = lane % 4;
        const int columns = C - warp * W - t * vec16<Weight>::size;
        to += warp * sums_pitch;
        x = x_of_lane<T, Weight>(x);
        if constexpr (sizeof(T) == 2) {
            lane_sums<Weight> sums[eights] = {};
#pragma unroll
            for (int i = 0; i < steps; i++) {
#pragma unroll
                for (int j = 0; j < eights; j++) {
                    const uint4 w =
                        i < kept ? weights[j][i < kept ? i : 0] : weights_at(from[j], i, to_next_step, columns);
                    multiply_step<T, Weight>(sums[j], w, x + i * x_step<T, Weight>);
                }
            }
#pragma unroll
            for (int j = 0; j < eights; j++) {
                const float part = part_of_row<Weight>(sums[j]);
                if (t < 2) { to[2 * (8 * j + g) + t] = part; }
            }
        } else {
#pragma unroll
            for (int j = 0; j < eights; j++) {
                if (j * boxes_of_eight<Weight> >= boxes) { break; }
                const float sum = over_quad(multiply_row(from[j], (const T *)x, steps, to_next_step, columns));
                if (t < 2) { to[2 * (8 * j + g) + t] = t == 0 ? sum : 0.0f; }
            }
        }
    }
};

// begin() is called once, when the first rows have been located. aim(value): the target of that row (row_batch.value);
// finish(value, target, y): y of that row, in all lanes of a quad. All threads call each of them. unit: of x in digits. Returns
// norm_of_stream.
template <class T, class Weight, int W, class Begin, class Aim, class Finish>
__device__ inline float2 multiply_whole_rows(const persistent_block<T, Weight> &block, box_reader &reader,
                                             row_batch<T, Weight, W> &batch, const half_layer &now, float unit,
                                             int *turn, Begin begin, Aim aim, Finish finish) {
    const persistent_task<T, Weight> &task = block.task;
    const shared_plan &plan = task.plan;
    const int C = task.C, warp = (int)threadIdx.x / warp_size, lane = (int)threadIdx.x % warp_size;
    const int t = lane % quad, own = (int)threadIdx.x / quad;
    const char *x = block.dynamic + plan.x[now.buffer()] + (size_t)(warp * W / 2) * bytes_of_two;
    float2 norm = {};
    constexpr bool late = coded<Weight>; // measured: with codes 124M is 3 % faster so, in 16 bits no size is
#pragma unroll 1
    for (bool first = true; first || batch.done < batch.all; first = false) {
        float *sums = (float *)(block.dynamic + plan.sums) + *turn * warps * sums_pitch;
        if (!late) { batch.choose_row(); }
        int group = 0;
#pragma unroll 1
        do {
            const bool start = first && group == 0;
            batch.locate(reader);
            if (start) { begin(); }
            if (late && group == 0) { batch.choose_row(); }
            batch.load(C);
            if (start && warp * W < C) {
                block.template x_of_warp<W>(now.buffer(), warp).wait(now.phase, lane == 0, block.flags());
            }
            __syncwarp();
            if constexpr (row_batch<T, Weight, W>::held) { reader.release(batch.boxes); }
            batch.multiply(sums + group * 2 * group_rows, x, C);
            if constexpr (!row_batch<T, Weight, W>::held) { reader.release(batch.boxes); }
            batch.done += batch.boxes;
        } while (++group < groups && batch.done < batch.all);
        target target = aim(batch.value);
        compute_here(target.to), compute_here(target.barrier);
        if (first) {
            norm = await_norm(block, now);
        } else {
            meet_block();
        }
        float sum = 0.0f;
#pragma unroll
        for (int i = t; i < warps; i += quad) {
            const float2 parts = *(const float2 *)(sums + i * sums_pitch + own * 2);
            sum += parts.x + parts.y;
        }
        sum = over_quad(sum);
        const float product = coded<Weight> ? sum * unit * batch.scale : sum * (1.0f / shrink<T>);
        const float y = (product - norm.x * batch.constant.x) * norm.y + batch.constant.y;
        finish(batch.value, target, y);
        *turn ^= 1;
    }
    return norm;
}

// ---- columns of all rows ----

// The boxes of columns that are read together, at most most_boxes. The first ones come into registers before x is there.
template <class T, class Weight, int W> struct column_batch {
    static constexpr int passes = (warps * W / ranks + threads / 2 - 1) / (threads / 2); // of 16 rows for each warp
    static constexpr int kept = kept_columns<W>;

    const matrix_part<Weight> &part;
    const Weight *of_layer;
    int boxes, most;                // of the part; of a batch
    int done = 0, count = 0;        // before this batch, in it
    uint4 weights[kept][passes][2]; // of the first boxes
    float scales[passes];           // of codes: of the lane's row of a pass
    T biases[passes];               // likewise, in one of the clusters

    __device__ column_batch(const matrix_part<Weight> &part, int layer, int most)
        : part(part), of_layer(part.weights + layer * part.layer_stride), boxes(part.runs * part.boxes), most(most) {}

    // bias: of the layer, as of_rows is
    __device__ void load_constants(const float *of_rows, const T *bias) {
#pragma unroll
        for (int pass = 0; pass < passes; pass++) {
            const int row = row_of_lane(pass);
            if constexpr (coded<Weight>) { scales[pass] = row < part.rows ? of_rows[part.row + row] : 0.0f; }
            biases[pass] = cluster_index() == 0 && row < part.rows ? bias[part.row + row] : T(0.0f);
        }
    }

    // The first of the warp's rows in a pass.
    __device__ static int row_of_pass(int pass) {
        return (pass * warps + (int)threadIdx.x / warp_size) * 2 * 8;
    }

    // Of the sum that the lane hands over.
    __device__ static int row_of_lane(int pass) {
        const int lane = (int)threadIdx.x % warp_size;
        return row_of_pass(pass) + 8 * (lane % 4) + lane / 4;
    }

    // The lane's 16 bytes of row lane / 4 of the first eight rows of a pass, or of the second. i: of a box
    __device__ uint4 at(const box_reader &reader, int i, int pass, int eight) const {
        const int row = row_of_pass(pass) + 8 * eight + (int)threadIdx.x % warp_size / 4;
        const int column = (int)threadIdx.x % 4 * vec16<Weight>::size;
        if (in_ring) { return *(const uint4 *)(reader.template row_of<Weight>(i, min(row, part.rows - 1)) + column); }
        const int c = (done + i) * box_columns<Weight> + column;
        return row < part.rows && c < part.columns
                   ? *(const uint4 *)(of_layer + (int64_t)(part.row + row) * part.pitch + part.column + c)
                   : make_uint4(0, 0, 0, 0);
    }

    // The next batch, when it is there. What is kept beyond its last box is not used.
    __device__ void load(const box_reader &reader) {
        count = min(boxes - done, most);
        if (count == 0) { return; }
        reader.wait(count);
#pragma unroll
        for (int i = 0; i < kept; i++) {
#pragma unroll
            for (int pass = 0; pass < passes; pass++) {
#pragma unroll
                for (int eight = 0; eight < 2; eight++) { weights[i][pass][eight] = at(reader, i, pass, eight); }
            }
        }
    }
};

// Adds x times the part's columns to to[row]. When x has been awaited: await(). The first batch has been loaded. unit: of x in
// digits
template <class T, class Weight, int W, class Await>
__device__ inline void multiply_columns(box_reader &reader, column_batch<T, Weight, W> &batch, const char *x,
                                        float unit, total *to, unsigned *too_large, Await await) {
    using columns = column_batch<T, Weight, W>;
    constexpr int passes = columns::passes, kept = columns::kept;
    const int t = (int)threadIdx.x % 4;
    x = x_of_lane<T, Weight>(x);
    to += batch.part.row;
    lane_sums<Weight> sums[passes][2] = {}; // in fp32 only the first
    await();
#pragma unroll 1
    for (;;) {
#pragma unroll
        for (int i = 0; i < most_boxes; i++) {
            if (i >= batch.count) { break; }
#pragma unroll
            for (int pass = 0; pass < passes; pass++) {
#pragma unroll
                for (int eight = 0; eight < 2; eight++) {
                    const uint4 weights =
                        i < kept ? batch.weights[i < kept ? i : 0][pass][eight] : batch.at(reader, i, pass, eight);
                    if constexpr (sizeof(T) == 2) {
                        multiply_step<T, Weight>(sums[pass][eight], weights, x);
                    } else {
                        add_product<T>(sums[pass][eight], weights, *(const uint4 *)x);
                    }
                }
            }
            x += x_step<T, Weight>;
        }
        batch.done += batch.count;
        reader.release(batch.count);
        if (batch.done >= batch.boxes) { break; }
        batch.load(reader);
    }
#pragma unroll
    for (int pass = 0; pass < passes; pass++) {
        float both[2]; // of rows g and g + 8
#pragma unroll
        for (int eight = 0; eight < 2; eight++) {
            if constexpr (sizeof(T) == 2) {
                const float part = part_of_row<Weight>(sums[pass][eight]);
                both[eight] = part + __shfl_xor_sync(all_lanes, part, 1);
            } else {
                both[eight] = over_quad(sums[pass][eight][0]);
            }
        }
        const int row = batch.row_of_lane(pass);
        float sum = t == 0 ? both[0] : both[1];
        if constexpr (coded<Weight>) { sum *= unit * batch.scales[pass]; }
        sum += to_float(batch.biases[pass]);
        if (!(fabsf(sum) < most_part)) { sum = 0.0f, atomicExch(too_large, 1u); }
        if (t < 2 && row < batch.part.rows) { add_to_total(to + row, total_of(sum), 1); }
    }
}

#endif
