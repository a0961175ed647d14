/* triangle.cu — a copy of the elements that the lower-triangle form of causal softmax reads and writes.
 *
 * A contiguous copy of the same number of bytes is faster. Here nearly every row ends inside a sector of 32 bytes, and a
 * sector that is written in part must also be read. The time of the best of these kernels is the cost of such rows alone.
 */
#include <cuda_runtime.h>

#include <stdint.h>
#include <stdio.h>

namespace {

enum { WARP = 32, LOADS = 8, MOST_READS = 2 };

/* The parameters of the sweep. */
struct shape {
    int warps; /* in a block */
    bool pair; /* a warp copies rows i and T-1-i, T+1 elements; else one row */
};
const shape shapes[] = {{2, false}, {4, false}, {8, false}, {2, true}, {4, true}, {8, true}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

struct triangle {
    const void *read[MOST_READS]; /* (matrices, T, T) */
    void *write;                  /* (matrices, T, T) */
    int T;
};

/* Columns 0 .. i of a row, 16 bytes per lane and load, LOADS loads before the stores; the rest of the row by elements. */
template <class E, int reads> struct row_part {
    static constexpr int width = 16 / sizeof(E);
    uint4 vector[LOADS];
    E rest;
    size_t start;
    int whole, keys, lane;

    __device__ row_part(const triangle &t, size_t matrix, int i, int first) {
        lane = threadIdx.x % WARP, keys = i + 1, whole = keys / width * width;
        start = (matrix * t.T + i) * t.T;
#pragma unroll
        for (int l = 0; l < LOADS; l++) {
            int c = first + (l * WARP + lane) * width;
            if (c >= whole) { continue; }
            vector[l] = *(const uint4 *)((const E *)t.read[0] + start + c);
            if (reads == 2) {
                uint4 more = *(const uint4 *)((const E *)t.read[1] + start + c);
                vector[l] =
                    make_uint4(vector[l].x ^ more.x, vector[l].y ^ more.y, vector[l].z ^ more.z, vector[l].w ^ more.w);
            }
        }
        if (first > 0 || whole + lane >= keys) { return; }
        rest = ((const E *)t.read[0])[start + whole + lane];
        if (reads == 2) { rest ^= ((const E *)t.read[1])[start + whole + lane]; }
    }
    __device__ void store(const triangle &t, int first) const {
        E *to = (E *)t.write + start;
#pragma unroll
        for (int l = 0; l < LOADS; l++) {
            int c = first + (l * WARP + lane) * width;
            if (c < whole) { *(uint4 *)(to + c) = vector[l]; }
        }
        if (first == 0 && whole + lane < keys) { to[whole + lane] = rest; }
    }
};

template <class E, int reads, bool pair> __global__ void triangle_kernel(triangle t, size_t warps) {
    constexpr int step = LOADS * WARP * 16 / sizeof(E);
    size_t number = (size_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    int each = pair ? t.T / 2 : t.T, i = number % each;
    if (number >= warps) { return; }
    for (int first = 0; first < t.T; first += step) {
        row_part<E, reads> row(t, number / each, i, first);
        if (pair) {
            row_part<E, reads> other(t, number / each, t.T - 1 - i, first);
            other.store(t, first);
        }
        row.store(t, first);
    }
}

template <class E, int reads>
void launch_triangle(const shape &shape, const triangle &t, int matrices, cudaStream_t stream) {
    size_t warps = (size_t)matrices * (shape.pair ? t.T / 2 : t.T);
    unsigned blocks = (unsigned)((warps + shape.warps - 1) / shape.warps);
    auto kernel = shape.pair ? triangle_kernel<E, reads, true> : triangle_kernel<E, reads, false>;
    kernel<<<blocks, shape.warps * WARP, 0, stream>>>(t, warps);
}

} // namespace

extern "C" {

int yardstick_triangles(void) {
    return SHAPES;
}

void yardstick_describe_triangle(int variant, char *text, size_t size) {
    snprintf(text, size, "a warp has %s, %d threads", shapes[variant].pair ? "two rows" : "a row",
             shapes[variant].warps * WARP);
}

/* T even, rows a multiple of 16 bytes; elements of 2 or 4 bytes; 1 or 2 reads. */
int yardstick_triangle(int variant, const void *const *read, int reads, void *write, int matrices, int T, int bytes,
                       cudaStream_t stream) {
    triangle t = {{read[0], read[reads - 1]}, write, T};
    if (bytes == 4) {
        (reads == 1 ? launch_triangle<uint32_t, 1> : launch_triangle<uint32_t, 2>)(shapes[variant], t, matrices,
                                                                                   stream);
    } else {
        (reads == 1 ? launch_triangle<uint16_t, 1> : launch_triangle<uint16_t, 2>)(shapes[variant], t, matrices,
                                                                                   stream);
    }
    return cudaGetLastError();
}
}
