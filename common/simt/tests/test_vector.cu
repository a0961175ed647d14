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
