// needs: sm_80 (bfloat16 and tf32 fragments)
// mma.h against a product in plain loops: all shapes, types and layouts, from shared and global memory. The matrices are
// random and have no symmetry.
#include <mma.h>

#include <cmath>
#include <cstdio>

using namespace nvcuda;

namespace {

__device__ __host__ float random_value(unsigned i) {
    i = (i ^ 61) ^ (i >> 16);
    i *= 9;
    i ^= i >> 4;
    i *= 0x27d4eb2d;
    i ^= i >> 15;
    return static_cast<int>(i % 257) / 64.0f - 2.0f; // exact in half, bfloat16 and tf32
}
__device__ __host__ float a_of(int row, int k) {
    return random_value(row * 16 + k);
}
__device__ __host__ float b_of(int k, int column) {
    return random_value(1000 + k * 32 + column);
}
__device__ __host__ float c_of(int row, int column) {
    return random_value(2000 + row * 32 + column);
}

template <class T> struct in_memory { typedef T type; };
template <> struct in_memory<wmma::precision::tf32> { typedef float type; };
template <class Layout> constexpr bool by_columns = std::is_same<Layout, wmma::col_major>::value;

// A matrix with padded lines: element (row, column).
enum { LEADING = 48 };
template <bool ByColumns> __device__ int place(int row, int column) {
    return ByColumns ? column * LEADING + row : row * LEADING + column;
}

// d = 2 a b + c, stored with its rows or columns contiguous.
template <int M, int N, int K, class T, class Sum, class LayoutA, class LayoutB, bool OutByColumns>
__global__ void product(float *out, Sum *memory_c) {
    typedef typename in_memory<T>::type Memory;
    __shared__ __align__(32) Memory a[32 * LEADING];
    __shared__ __align__(32) Memory b[32 * LEADING];
    for (int i = threadIdx.x; i < M * K; i += 32) {
        a[place<by_columns<LayoutA>>(i / K, i % K)] = static_cast<Memory>(a_of(i / K, i % K));
    }
    for (int i = threadIdx.x; i < K * N; i += 32) {
        b[place<by_columns<LayoutB>>(i / N, i % N)] = static_cast<Memory>(b_of(i / N, i % N));
    }
    for (int i = threadIdx.x; i < M * N; i += 32) {
        memory_c[place<OutByColumns>(i / N, i % N)] = static_cast<Sum>(c_of(i / N, i % N));
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> x;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> y;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> c, d;
    wmma::load_matrix_sync(x, a, LEADING);
    wmma::load_matrix_sync(y, b, LEADING);
    wmma::fill_fragment(d, 0.0f);
    wmma::mma_sync(d, x, y, d);
    wmma::mma_sync(d, x, y, d);
    wmma::layout_t layout = OutByColumns ? wmma::mem_col_major : wmma::mem_row_major;
    wmma::load_matrix_sync(c, memory_c, LEADING, layout);
    for (int i = 0; i < c.num_elements; i++) c.x[i] = c.x[i] + d.x[i];
    __syncthreads(); // store_matrix_sync writes elements that other lanes have read
    wmma::store_matrix_sync(memory_c, c, LEADING, layout);
    __syncthreads();
    for (int i = threadIdx.x; i < M * N; i += 32)
        out[i] = static_cast<float>(memory_c[place<OutByColumns>(i / N, i % N)]);
}

template <int M, int N, int K, class Sum, class Kernel> int wrong(Kernel kernel, float tolerance) {
    float *out;
    Sum *c;
    cudaMallocManaged(&out, M * N * sizeof *out);
    cudaMalloc(&c, 32 * LEADING * sizeof *c);
    kernel<<<1, 32>>>(out, c);
    cudaError_t error = cudaDeviceSynchronize();
    int count = -static_cast<int>(error);
    for (int i = 0; error == cudaSuccess && i < M * N; i++) {
        double sum = c_of(i / N, i % N);
        for (int k = 0; k < K; k++) sum += 2.0 * a_of(i / N, k) * b_of(k, i % N);
        if (!(std::fabs(out[i] - sum) <= tolerance) && count++ < 4)
            std::printf("(%d, %d): %g, not %g\n", i / N, i % N, out[i], sum);
    }
    cudaFree(out);
    cudaFree(c);
    return count;
}

template <int M, int N, int K, class T, class Sum> int all_layouts(float tolerance) {
    using wmma::col_major;
    using wmma::row_major;
    return wrong<M, N, K, Sum>(product<M, N, K, T, Sum, row_major, row_major, false>, tolerance) +
           wrong<M, N, K, Sum>(product<M, N, K, T, Sum, row_major, col_major, true>, tolerance) +
           wrong<M, N, K, Sum>(product<M, N, K, T, Sum, col_major, row_major, true>, tolerance) +
           wrong<M, N, K, Sum>(product<M, N, K, T, Sum, col_major, col_major, false>, tolerance);
}

} // namespace

// Sums of fp32 are exact, in any order.
extern "C" int run_wmma_half() {
    return all_layouts<16, 16, 16, half, float>(0);
}
extern "C" int run_wmma_half_tall() {
    return all_layouts<32, 8, 16, half, float>(0);
}
extern "C" int run_wmma_half_flat() {
    return all_layouts<8, 32, 16, half, float>(0);
}
extern "C" int run_wmma_half_sums() {
    return all_layouts<16, 16, 16, half, half>(0.2f);
}
extern "C" int run_wmma_bfloat() {
    return all_layouts<16, 16, 16, __nv_bfloat16, float>(0) + all_layouts<32, 8, 16, __nv_bfloat16, float>(0) +
           all_layouts<8, 32, 16, __nv_bfloat16, float>(0);
}
extern "C" int run_wmma_tf32() {
    return all_layouts<16, 16, 8, wmma::precision::tf32, float>(0);
}

#ifdef SIMT_CPU_BACKEND // counters, and faults, which end the program on a GPU

namespace {

typedef wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> factor;

__global__ void load_only(float *out, const half *in) {
    factor x;
    wmma::load_matrix_sync(x, in, 16);
    out[threadIdx.x] = static_cast<float>(x.x[0]);
}

__global__ void loads_beyond(float *out, const half *in) {
    factor x;
    wmma::load_matrix_sync(x, in + 128, 16); // here: beyond the matrix
    out[threadIdx.x] = static_cast<float>(x.x[0]);
}

__global__ void loads_misaligned(float *out, const half *in) {
    factor x;
    wmma::load_matrix_sync(x, in + 8, 8); // here: misaligned matrix
    out[threadIdx.x] = static_cast<float>(x.x[0]);
}

__global__ void loads_with_odd_leading(float *out, const half *in) {
    factor x;
    wmma::load_matrix_sync(x, in, 12); // here: odd leading dimension
    out[threadIdx.x] = static_cast<float>(x.x[0]);
}

__global__ void loads_unwritten(float *out, const half *) {
    __shared__ __align__(32) half tile[16][16];
    if (threadIdx.x < 31) {
        for (int i = 0; i < 8; i++) tile[threadIdx.x / 2][threadIdx.x % 2 * 8 + i] = half(1.0f);
    }
    __syncthreads();
    factor x;
    wmma::load_matrix_sync(x, &tile[0][0], 16); // here: unwritten element
    out[threadIdx.x] = static_cast<float>(x.x[0]);
}

__global__ void loads_in_a_race(float *out, const half *in) {
    __shared__ __align__(32) half tile[32][16];
    for (int i = threadIdx.x; i < 512; i += 64) tile[i / 16][i % 16] = in[i % 256];
    __syncthreads();
    factor x;
    if (threadIdx.x >= 32) {
        tile[threadIdx.x - 32][0] = in[0]; // here: written by another warp
        return;
    }
    wmma::load_matrix_sync(x, &tile[0][0], 16);
    out[threadIdx.x] = static_cast<float>(x.x[0]);
}

__global__ void part_of_a_warp_loads(float *out, const half *in) {
    factor x;
    wmma::load_matrix_sync(x, in, 16); // here: part of a warp
    out[threadIdx.x] = static_cast<float>(x.x[0]);
}

int launch(void (*kernel)(float *, const half *), int threads) {
    float *out;
    half *in;
    cudaMalloc(&out, 64 * sizeof *out);
    cudaMalloc(&in, 256 * sizeof *in);
    cudaMemset(in, 0, 256 * sizeof *in);
    kernel<<<1, threads>>>(out, in);
    return static_cast<int>(cudaDeviceSynchronize());
}

} // namespace

#define RUN(name, threads)            \
    extern "C" int run_##name() {     \
        return launch(name, threads); \
    }
RUN(load_only, 32)
RUN(loads_beyond, 32)
RUN(loads_misaligned, 32)
RUN(loads_with_odd_leading, 32)
RUN(loads_unwritten, 32)
RUN(loads_in_a_race, 64)
RUN(part_of_a_warp_loads, 24)
#endif
