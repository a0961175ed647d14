// Vector types: one warp copies and changes 32 of them; the counters give the number of requests.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdio.h>

template <class T> __global__ void copy(T *out, const T *in) {
    out[threadIdx.x] = in[threadIdx.x];
}

template <class T> __global__ void through_cache_hints(T *out, const T *in) {
    int i = threadIdx.x;
    __stcs(&out[i], __ldcs(&in[i]));
}

__global__ void make(float4 *four, float2 *two, int4 *ints, uchar4 *bytes, __half2 *halves) {
    int i = threadIdx.x;
    four[i] = make_float4(i, 2.0f, 3.0f, 4.0f);
    two[i] = make_float2(i, 1.0f);
    ints[i] = int4{i, 1, 2, 3};
    bytes[i] = make_uchar4(i, 1, 2, 3);
    halves[i] = __floats2half2_rn(i, 1.0f);
}

template <class T> static int run(void (*kernel)(T *, const T *), int bytes, int alignment) {
    if (sizeof(T) != bytes || alignof(T) != alignment) { return -1; }
    T *in, *out;
    cudaMalloc(&in, 32 * sizeof *in);
    cudaMalloc(&out, 32 * sizeof *out);
    cudaMemset(in, 0, 32 * sizeof *in);
    kernel<<<1, 32>>>(out, in);
    int error = cudaDeviceSynchronize();
    cudaFree(in);
    cudaFree(out);
    return error;
}

#define TYPE(T, bytes, alignment)                             \
    extern "C" int run_copy_##T(void) {                       \
        return run(copy<T>, bytes, alignment);                \
    }                                                         \
    extern "C" int run_hints_##T(void) {                      \
        return run(through_cache_hints<T>, bytes, alignment); \
    }
#define PLAIN(T, bytes, alignment)             \
    extern "C" int run_copy_##T(void) {        \
        return run(copy<T>, bytes, alignment); \
    }

// clang-format off
TYPE(char2, 2, 2) TYPE(char4, 4, 4) TYPE(uchar4, 4, 4) TYPE(short2, 4, 4) TYPE(short4, 8, 8) TYPE(ushort4, 8, 8)
TYPE(int2, 8, 8) TYPE(int4, 16, 16) TYPE(uint2, 8, 8) TYPE(uint4, 16, 16) TYPE(longlong2, 16, 16)
TYPE(ulonglong2, 16, 16) TYPE(float2, 8, 8) TYPE(float4, 16, 16) TYPE(double2, 16, 16)
TYPE(__half, 2, 2) TYPE(__half2, 4, 4)
PLAIN(char3, 3, 1) PLAIN(short3, 6, 2) PLAIN(int3, 12, 4) PLAIN(float3, 12, 4) PLAIN(double3, 24, 8) PLAIN(float1, 4, 4)
PLAIN(__nv_bfloat16, 2, 2) PLAIN(__nv_bfloat162, 4, 4)
    // clang-format on

    extern "C" int run_make(int *values) {
    float4 *four;
    float2 *two;
    int4 *ints;
    uchar4 *bytes;
    __half2 *halves;
    cudaMallocManaged(&four, 32 * sizeof *four);
    cudaMallocManaged(&two, 32 * sizeof *two);
    cudaMallocManaged(&ints, 32 * sizeof *ints);
    cudaMallocManaged(&bytes, 32 * sizeof *bytes);
    cudaMallocManaged(&halves, 32 * sizeof *halves);
    make<<<1, 32>>>(four, two, ints, bytes, halves);
    int error = cudaDeviceSynchronize();
    values[0] = (int)(four[7].x + four[7].y + four[7].z + four[7].w);
    values[1] = (int)(two[7].x + two[7].y);
    values[2] = ints[7].x + ints[7].w;
    values[3] = bytes[7].x + bytes[7].w;
    values[4] = (int)__low2float(halves[7]);
    return error;
}

// Uses in C++: aggregates, constants, members of others, arguments of kernels.
struct holds_vectors {
    float4 position[2];
    int3 cell;
};

__global__ void takes_vectors(holds_vectors by_value, float4 vector, dim3 size, float *out) {
    float4 zero = {0}, copied = vector;
    by_value.position[1] = zero;
    copied.w += by_value.position[0].y + by_value.position[1].x + by_value.cell.z;
    volatile float kept = copied.w;
    out[0] = kept + size.x + size.z;
    union {
        float4 whole;
        float parts[4];
    } both;
    both.whole = vector;
    out[1] = both.parts[2];
}

extern "C" int run_takes_vectors(float *out) {
    const float4 constant = {1, 2, 3, 4};
    holds_vectors holder = {{make_float4(5, 6, 7, 8), constant}, {9, 10, 11}};
    static_assert(sizeof(holds_vectors) == 48 && sizeof(dim3) == 12, "CUDA's layout");
    float *device;
    cudaMalloc(&device, 2 * sizeof *device);
    takes_vectors<<<1, 1>>>(holder, constant, dim3(3), device);
    return cudaMemcpy(out, device, 2 * sizeof *out, cudaMemcpyDeviceToHost);
}

// Vectors by reference: a function that reads one in any case reads it at once, as nvcc's code does.
__device__ float4 operator+(const float4 &a, float4 const &b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ float4 &operator+=(float4 &a, const float4 &b) {
    a.x += b.x, a.y += b.y, a.z += b.z, a.w += b.w;
    return a;
}
__device__ float sum_of(const float4 &v);
__device__ float sum_of(const float4 &v) {
    return v.x + v.y + v.z + v.w;
}
struct sum_of_vectors {
    float4 sum;
    __device__ void add(const float4 &v) { sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w; }
};
template <int K> struct alignas(K * sizeof(float)) pack {
    float element[K];
    friend __device__ pack operator*(const pack &a, pack const &b) {
        pack product;
#pragma unroll
        for (int i = 0; i < K; i++) { product.element[i] = a.element[i] * b.element[i]; }
        return product;
    }
};
template <class T> __device__ float sum_of_any(const T &v) {
    return v.x + v.y + v.z + v.w;
}
__device__ float sum_if(const float4 &v, bool used) {
    return used ? v.x + v.y + v.z + v.w : 0.0f;
}
__device__ const float4 &same(const float4 &v) {
    return v;
}

__global__ void by_reference(float *out, const float4 *in, int style) {
    const float4 &v = in[threadIdx.x];
    float4 zero = make_float4(0, 0, 0, 0);
    sum_of_vectors sums = {zero};
    switch (style) {
        case 0: out[threadIdx.x] = sum_of(v + zero); break;
        case 1: zero += v, out[threadIdx.x] = sum_of(zero); break;
        case 2: out[threadIdx.x] = sum_of(v); break;
        case 3: sums.add(v), out[threadIdx.x] = sum_of(sums.sum); break;
        case 4: out[threadIdx.x] = sum_if(in[threadIdx.x + (threadIdx.x >= 32) * 100000], threadIdx.x < 32); break;
        case 5: out[threadIdx.x] = sum_of_any(v); break;
        case 6: {
            const pack<4> *packs = (const pack<4> *)in;
            pack<4> square = packs[threadIdx.x] * pack<4>{{1, 1, 1, 1}};
            out[threadIdx.x] = square.element[0] + square.element[1] + square.element[2] + square.element[3];
            break;
        }
        default: out[threadIdx.x] = sum_of(same(v));
    }
}

extern "C" int run_by_reference(int style, float *sum) {
    float *out;
    float4 *in;
    cudaMallocManaged(&out, 64 * sizeof *out);
    cudaMallocManaged(&in, 32 * sizeof *in);
    for (int i = 0; i < 32; i++) { in[i] = make_float4(i, 1, 2, 3); }
    by_reference<<<1, style == 4 ? 64 : 32>>>(out, in, style);
    int error = cudaDeviceSynchronize();
    *sum = out[31];
    cudaFree(out);
    cudaFree(in);
    return error;
}
