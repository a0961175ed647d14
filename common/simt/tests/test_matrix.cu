// needs: sm_80 (mma.sync, ldmatrix, cp.async)
// ldmatrix and mma.sync against a product in plain loops. The matrices are random and have no symmetry, so that an element
// in a wrong place is a wrong result.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstdio>

namespace {

__device__ __host__ float random_value(unsigned i) {
    i = (i ^ 61) ^ (i >> 16);
    i *= 9;
    i ^= i >> 4;
    i *= 0x27d4eb2d;
    i ^= i >> 15;
    return static_cast<int>(i % 257) / 64.0f - 2.0f; // exact in half, bfloat16 and tf32
}

struct f16 {
    typedef __half type;
};
struct bf16 {
    typedef __nv_bfloat16 type;
};

__device__ unsigned shared_address(const void *pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

template <class T> __device__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
#define MMA(types)                                                                                          \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." types ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, " \
                 "{%8, %9}, {%0, %1, %2, %3};\n"                                                            \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                           \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
template <> __device__ void multiply<f16>(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    MMA("f16.f16");
}
template <> __device__ void multiply<bf16>(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    MMA("bf16.bf16");
}

__device__ void store(float *out, const float (&d)[4]) {
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    out[g * 8 + 2 * t] = d[0];
    out[g * 8 + 2 * t + 1] = d[1];
    out[(g + 8) * 8 + 2 * t] = d[2];
    out[(g + 8) * 8 + 2 * t + 1] = d[3];
}

// a: (16, 16), row by row. b: (16, 8), by columns, or by rows when it is to be transposed.
template <class Kind, bool Transposed> __global__ void loaded(float *out) {
    typedef typename Kind::type T;
    __shared__ __align__(16) T a[16][24], b[Transposed ? 16 : 8][Transposed ? 8 : 24];
    for (int i = threadIdx.x; i < 256; i += 32) a[i / 16][i % 16] = T(random_value(i));
    for (int i = threadIdx.x; i < 128; i += 32) {
        if (Transposed) {
            b[i / 8][i % 8] = T(random_value(1000 + i));
        } else {
            b[i % 8][i / 8] = T(random_value(1000 + i));
        }
    }
    __syncwarp();
    uint32_t x[4], y[2];
    float d[4];
    int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; i++) d[i] = random_value(2000 + (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared_address(&a[lane % 16][lane / 16 * 8])));
    if constexpr (Transposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(y[0]), "=r"(y[1])
                     : "r"(shared_address(&b[lane % 16][0])));
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(y[0])
                     : "r"(shared_address(&b[lane % 8][0])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(y[1])
                     : "r"(shared_address(&b[lane % 8][8])));
    }
    multiply<Kind>(d, x, y);
    store(out, d);
}

// With k = 8, and sums in half precision: registers are filled from the formulas of the PTX manual.
__device__ uint32_t pair(float low, float high) {
    return __half_as_ushort(__float2half(low)) | static_cast<uint32_t>(__half_as_ushort(__float2half(high))) << 16;
}
__device__ float a_of(int row, int k) {
    return random_value(row * 16 + k);
}
__device__ float b_of(int k, int column) {
    return random_value(1000 + k * 8 + column);
}
__device__ float c_of(int row, int column) {
    return random_value(2000 + row * 8 + column);
}

__global__ void short_product(float *out) {
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    uint32_t a[2] = {pair(a_of(g, 2 * t), a_of(g, 2 * t + 1)), pair(a_of(g + 8, 2 * t), a_of(g + 8, 2 * t + 1))};
    uint32_t b = pair(b_of(2 * t, g), b_of(2 * t + 1, g));
    float d[4];
    for (int i = 0; i < 4; i++) d[i] = c_of(g + i / 2 * 8, 2 * t + i % 2);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
    store(out, d);
}

__global__ void half_sums(float *out) {
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    uint32_t a[4], b[2], d[2];
    for (int r = 0; r < 4; r++)
        a[r] = pair(a_of(g + r % 2 * 8, 2 * t + r / 2 * 8), a_of(g + r % 2 * 8, 2 * t + r / 2 * 8 + 1));
    for (int r = 0; r < 2; r++) b[r] = pair(b_of(2 * t + 8 * r, g), b_of(2 * t + 8 * r + 1, g));
    for (int r = 0; r < 2; r++) d[r] = pair(c_of(g + 8 * r, 2 * t), c_of(g + 8 * r, 2 * t + 1));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    float sums[4];
    for (int i = 0; i < 4; i++)
        sums[i] = __half2float(__ushort_as_half(static_cast<unsigned short>(d[i / 2] >> i % 2 * 16)));
    store(out, sums);
}

template <int K> __global__ void tf32_product(float *out) {
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    float d[4], a[4], b[2];
    for (int r = 0; r < K / 2; r++) a[r] = a_of(g + r % 2 * 8, t + r / 2 * 4);
    for (int r = 0; r < K / 4; r++)
        b[r] = __uint_as_float(__float_as_uint(b_of(t + 4 * r, g)) | 0x1fff); // ignored bits
    for (int i = 0; i < 4; i++) d[i] = c_of(g + i / 2 * 8, 2 * t + i % 2);
    if constexpr (K == 8) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
                       "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
    } else {
        asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(b[0])));
    }
    store(out, d);
}

// Whole numbers from -128 to 128, so 128 becomes -128.
__device__ __host__ int integer(unsigned i) {
    return static_cast<signed char>(static_cast<int>(random_value(i) * 64));
}
__device__ uint32_t four(int a, int b, int c, int d) {
    return (a & 255) | (b & 255) << 8 | (c & 255) << 16 | static_cast<uint32_t>(d & 255) << 24;
}
__global__ void integer_product(int *out) {
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    uint32_t a[4], b[2];
    int d[4];
    for (int r = 0; r < 4; r++) {
        int first = (g + r % 2 * 8) * 32 + 4 * t + r / 2 * 16;
        a[r] = four(integer(first), integer(first + 1), integer(first + 2), integer(first + 3));
    }
    for (int r = 0; r < 2; r++) {
        int first = 1000 + (4 * t + 16 * r) * 8 + g;
        b[r] = four(integer(first), integer(first + 8), integer(first + 16), integer(first + 24));
    }
    for (int i = 0; i < 4; i++) d[i] = 0x7fffff00 + (g + i / 2 * 8) * 8 + 2 * t + i % 2; // most sums wrap
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 4; i++) out[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}

// How many of the 128 sums are wrong.
int wrong(void (*kernel)(float *), int k, float tolerance) {
    float *out;
    cudaMallocManaged(&out, 128 * sizeof *out);
    kernel<<<1, 32>>>(out);
    cudaError_t error = cudaDeviceSynchronize();
    int count = -static_cast<int>(error);
    for (int i = 0; error == cudaSuccess && i < 128; i++) {
        double sum = random_value(2000 + i);
        for (int j = 0; j < k; j++)
            sum += static_cast<double>(random_value(i / 8 * 16 + j)) * random_value(1000 + j * 8 + i % 8);
        if (!(std::fabs(out[i] - sum) <= tolerance) && count++ < 4)
            std::printf("(%d, %d): %g, not %g\n", i / 8, i % 8, out[i], sum);
    }
    cudaFree(out);
    return count;
}

} // namespace

// The sums are multiples of 2^-12 below 2^7: exact in fp32, in any order.
extern "C" int run_matrix_f16() {
    return wrong(loaded<f16, false>, 16, 0);
}
extern "C" int run_matrix_f16_transposed() {
    return wrong(loaded<f16, true>, 16, 0);
}
extern "C" int run_matrix_bf16() {
    return wrong(loaded<bf16, false>, 16, 0);
}
extern "C" int run_matrix_bf16_transposed() {
    return wrong(loaded<bf16, true>, 16, 0);
}
extern "C" int run_matrix_k8() {
    return wrong(short_product, 8, 0);
}
extern "C" int run_matrix_half_sums() {
    return wrong(half_sums, 16, 0.04f);
}
extern "C" int run_matrix_tf32() {
    return wrong(tf32_product<8>, 8, 0);
}
extern "C" int run_matrix_tf32_k4() {
    return wrong(tf32_product<4>, 4, 0);
}

extern "C" int run_matrix_s8() {
    int *out, count = 0;
    cudaMallocManaged(&out, 128 * sizeof *out);
    integer_product<<<1, 32>>>(out);
    cudaError_t error = cudaDeviceSynchronize();
    for (int i = 0; error == cudaSuccess && i < 128; i++) {
        int sum = 0;
        for (int k = 0; k < 32; k++) sum += integer(i / 8 * 32 + k) * integer(1000 + k * 8 + i % 8);
        count += out[i] != static_cast<int>(0x7fffff00u + static_cast<unsigned>(i) + static_cast<unsigned>(sum));
    }
    cudaFree(out);
    return count - static_cast<int>(error);
}

#ifdef SIMT_CPU_BACKEND // the faults: on a GPU most of them end the program

namespace {

#define LOAD_MATRIX(address) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(shared_address(address)))

__global__ void reads_beyond_tile(uint32_t *out) {
    __shared__ __align__(16) __half tile[8][8];
    tile[threadIdx.x / 4][threadIdx.x % 4 * 2] = tile[threadIdx.x / 4][threadIdx.x % 4 * 2 + 1] = __half(1.0f);
    __syncwarp();
    uint32_t x;
    LOAD_MATRIX(&tile[0][0] + 8 * (threadIdx.x % 8 + 1)); // here: beyond the tile
    out[threadIdx.x] = x;
}

__global__ void reads_misaligned_row(uint32_t *out) {
    __shared__ __align__(16) __half tile[9][8];
    for (int i = threadIdx.x; i < 72; i += 32) tile[i / 8][i % 8] = __half(1.0f);
    __syncwarp();
    uint32_t x;
    LOAD_MATRIX(&tile[threadIdx.x % 8][4]); // here: misaligned row
    out[threadIdx.x] = x;
}

__global__ void reads_unwritten_tile(uint32_t *out) {
    __shared__ __align__(16) __half tile[8][8];
    if (threadIdx.x < 31) {
        tile[threadIdx.x / 4][threadIdx.x % 4 * 2] = tile[threadIdx.x / 4][threadIdx.x % 4 * 2 + 1] = __half(1.0f);
    }
    __syncwarp();
    uint32_t x;
    LOAD_MATRIX(&tile[threadIdx.x % 8][0]); // here: unwritten tile
    out[threadIdx.x] = x;
}

__global__ void reads_in_a_race(uint32_t *out) {
    __shared__ __align__(16) __half tile[8][8];
    tile[threadIdx.x / 4][threadIdx.x % 4 * 2] = tile[threadIdx.x / 4][threadIdx.x % 4 * 2 + 1] = __half(1.0f);
    uint32_t x;
    __syncwarp();
    LOAD_MATRIX(&tile[threadIdx.x % 8][0]);
    tile[threadIdx.x / 4][threadIdx.x % 4 * 2 + 1] = __half(2.0f); // here: store behind ldmatrix
    out[threadIdx.x] = x;
}

__global__ void half_a_warp_loads(uint32_t *out) {
    __shared__ __align__(16) __half tile[8][8];
    for (int i = threadIdx.x; i < 64; i += 16) tile[i / 8][i % 8] = __half(1.0f);
    __syncthreads();
    uint32_t x;
    LOAD_MATRIX(&tile[threadIdx.x % 8][0]); // here: half a warp
    out[threadIdx.x] = x;
}

__device__ float source_of_copies[256];

__device__ void copy_16(void *to, const void *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
__device__ void commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int Pending> __device__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

__global__ void reads_before_wait(float *out) {
    __shared__ __align__(16) float tile[128];
    copy_16(tile + 4 * threadIdx.x, source_of_copies + 4 * threadIdx.x);
    commit();
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x]; // here: before the wait
}

__global__ void waits_for_too_few(float *out) {
    __shared__ __align__(16) float tile[2][128];
    for (int i = 0; i < 2; i++) {
        copy_16(tile[i] + 4 * threadIdx.x, source_of_copies + 4 * threadIdx.x);
        commit();
    }
    wait_for_copies<1>();
    __syncthreads();
    out[threadIdx.x] = tile[0][threadIdx.x];
    out[threadIdx.x] += tile[1][threadIdx.x]; // here: one group is left
}

__global__ void copies_without_barrier(float *out) {
    __shared__ __align__(16) float tile[128];
    copy_16(tile + 4 * threadIdx.x, source_of_copies + 4 * threadIdx.x);
    commit();
    wait_for_copies<0>();
    out[threadIdx.x] = tile[threadIdx.x]; // here: no barrier
}

__global__ void copies_out_of_bounds(float *out) {
    __shared__ __align__(16) float tile[136];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" // here: beyond the source
                 ::"r"(shared_address(tile + 4 * threadIdx.x)),
                 "l"(out + 4 * threadIdx.x + 4)
                 : "memory");
}

__global__ void copies_to_misaligned(float *out) {
    __shared__ __align__(16) float tile[136];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" // here: misaligned copy
                 ::"r"(shared_address(tile + 4 * threadIdx.x + 1)),
                 "l"(source_of_copies + 4 * threadIdx.x)
                 : "memory");
    out[threadIdx.x] = 0;
}

__global__ void syncs_part_of_a_block(float *out) {
    if (threadIdx.x < 64) asm volatile("bar.sync 1, 64;" ::: "memory"); // here: part of a block
    out[threadIdx.x] = 0;
}

template <class T> int launch(void (*kernel)(T *), int threads) {
    T *out;
    cudaMalloc(&out, 128 * sizeof *out);
    cudaMemset(out, 0, 128 * sizeof *out);
    kernel<<<1, threads>>>(out);
    return static_cast<int>(cudaDeviceSynchronize());
}

} // namespace

#define RUN(name, threads)            \
    extern "C" int run_##name() {     \
        return launch(name, threads); \
    }
RUN(reads_beyond_tile, 32)
RUN(reads_misaligned_row, 32)
RUN(reads_unwritten_tile, 32)
RUN(reads_in_a_race, 32)
RUN(half_a_warp_loads, 16)
RUN(reads_before_wait, 32)
RUN(waits_for_too_few, 32)
RUN(copies_without_barrier, 32)
RUN(copies_out_of_bounds, 32)
RUN(copies_to_misaligned, 32)
RUN(syncs_part_of_a_block, 128)
#endif
