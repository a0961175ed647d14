// Arithmetic and conversions with a rounding mode, on arrays; reinterpretation of bits.
#include "test_rounding.h"

// One case for each rounding mode in a function's name.
#define BY_ROUNDING(name, ...)                          \
    switch (rounding) {                                 \
        case ROUND_ZERO: return name##_rz(__VA_ARGS__); \
        case ROUND_UP: return name##_ru(__VA_ARGS__);   \
        case ROUND_DOWN: return name##_rd(__VA_ARGS__); \
        default: return name##_rn(__VA_ARGS__);         \
    }

__device__ float operate(int operation, int rounding, float a, float b, float c) {
    switch (operation) {
        case ROUNDED_ADD: BY_ROUNDING(__fadd, a, b)
        case ROUNDED_SUB: BY_ROUNDING(__fsub, a, b)
        case ROUNDED_MUL: BY_ROUNDING(__fmul, a, b)
        case ROUNDED_DIV: BY_ROUNDING(__fdiv, a, b)
        case ROUNDED_FMA: BY_ROUNDING(__fmaf, a, b, c)
        case ROUNDED_SQRT: BY_ROUNDING(__fsqrt, a)
        default: BY_ROUNDING(__frcp, a)
    }
}

__device__ double operate(int operation, int rounding, double a, double b, double c) {
    switch (operation) {
        case ROUNDED_ADD: BY_ROUNDING(__dadd, a, b)
        case ROUNDED_SUB: BY_ROUNDING(__dsub, a, b)
        case ROUNDED_MUL: BY_ROUNDING(__dmul, a, b)
        case ROUNDED_DIV: BY_ROUNDING(__ddiv, a, b)
        case ROUNDED_FMA: BY_ROUNDING(__fma, a, b, c)
        case ROUNDED_SQRT: BY_ROUNDING(__dsqrt, a)
        default: BY_ROUNDING(__drcp, a)
    }
}

#define INTEGERS_OF(from, From)                                                                           \
    __device__ int from##_to_int(From x, int rounding){                                                   \
        BY_ROUNDING(__##from##2int, x)} __device__ unsigned from##_to_uint(From x, int rounding){         \
        BY_ROUNDING(__##from##2uint, x)} __device__ long long from##_to_ll(From x, int rounding){         \
        BY_ROUNDING(__##from##2ll, x)} __device__ unsigned long long from##_to_ull(From x, int rounding){ \
        BY_ROUNDING(__##from##2ull, x)} __device__ int64_t                                                \
    to_integer(From x, int integer, int rounding) {                                                       \
        switch (integer) {                                                                                \
            case INTEGER_INT: return from##_to_int(x, rounding);                                          \
            case INTEGER_UINT: return from##_to_uint(x, rounding);                                        \
            case INTEGER_LL: return from##_to_ll(x, rounding);                                            \
            default: return (int64_t)from##_to_ull(x, rounding);                                          \
        }                                                                                                 \
    }
INTEGERS_OF(float, float)
INTEGERS_OF(double, double)

__device__ float int_to_float(int x, int rounding){BY_ROUNDING(__int2float, x)} __device__
    float uint_to_float(unsigned x, int rounding){BY_ROUNDING(__uint2float, x)} __device__
    float ll_to_float(long long x, int rounding){BY_ROUNDING(__ll2float, x)} __device__
    float ull_to_float(unsigned long long x, int rounding){BY_ROUNDING(__ull2float, x)} __device__
    double ll_to_double(long long x, int rounding){BY_ROUNDING(__ll2double, x)} __device__
    double ull_to_double(unsigned long long x, int rounding){BY_ROUNDING(__ull2double, x)} __device__
    float narrowed(double x, int rounding){BY_ROUNDING(__double2float, x)}

__device__ void from_integer(float &out, int64_t x, int integer, int rounding) {
    out = integer == INTEGER_INT    ? int_to_float((int)x, rounding)
          : integer == INTEGER_UINT ? uint_to_float((unsigned)x, rounding)
          : integer == INTEGER_LL   ? ll_to_float(x, rounding)
                                    : ull_to_float((unsigned long long)x, rounding);
}
__device__ void from_integer(double &out, int64_t x, int integer, int rounding) {
    out = integer == INTEGER_INT    ? __int2double_rn((int)x)
          : integer == INTEGER_UINT ? __uint2double_rn((unsigned)x)
          : integer == INTEGER_LL   ? ll_to_double(x, rounding)
                                    : ull_to_double((unsigned long long)x, rounding);
}

template <class T> __global__ void operate_all(T *out, const T *in, int count, int operation, int rounding) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = operate(operation, rounding, in[i], in[count + i], in[2 * count + i]); }
}

template <class T> __global__ void to_integers(int64_t *out, const T *in, int count, int integer, int rounding) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = to_integer(in[i], integer, rounding); }
}

template <class T> __global__ void from_integers(T *out, const int64_t *in, int count, int integer, int rounding) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { from_integer(out[i], in[i], integer, rounding); }
}

__global__ void narrow_all(float *out, const double *in, int count, int, int rounding) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = narrowed(in[i], rounding); }
}

template <class Out, class In>
int run(void (*kernel)(Out *, const In *, int, int, int), Out *out, const In *in, int count, int in_count, int what,
        int rounding) {
    Out *device_out;
    In *device_in;
    cudaMalloc(&device_out, count * sizeof *out);
    cudaMalloc(&device_in, in_count * sizeof *in);
    cudaMemcpy(device_in, in, in_count * sizeof *in, cudaMemcpyHostToDevice);
    kernel<<<(count + 127) / 128, 128>>>(device_out, device_in, count, what, rounding);
    cudaError_t error = cudaMemcpy(out, device_out, count * sizeof *out, cudaMemcpyDeviceToHost);
    cudaFree(device_out);
    cudaFree(device_in);
    return error;
}

extern "C" int run_float_operation(int operation, int rounding, float *out, const float *in, int count) {
    return run(operate_all<float>, out, in, count, 3 * count, operation, rounding);
}
extern "C" int run_double_operation(int operation, int rounding, double *out, const double *in, int count) {
    return run(operate_all<double>, out, in, count, 3 * count, operation, rounding);
}
extern "C" int run_float_to_integer(int integer, int rounding, int64_t *out, const float *in, int count) {
    return run(to_integers<float>, out, in, count, count, integer, rounding);
}
extern "C" int run_double_to_integer(int integer, int rounding, int64_t *out, const double *in, int count) {
    return run(to_integers<double>, out, in, count, count, integer, rounding);
}
extern "C" int run_integer_to_float(int integer, int rounding, float *out, const int64_t *in, int count) {
    return run(from_integers<float>, out, in, count, count, integer, rounding);
}
extern "C" int run_integer_to_double(int integer, int rounding, double *out, const int64_t *in, int count) {
    return run(from_integers<double>, out, in, count, count, integer, rounding);
}
extern "C" int run_double_to_float(int rounding, float *out, const double *in, int count) {
    return run(narrow_all, out, in, count, count, 0, rounding);
}

__global__ void cast_bits(int *first_wrong) {
    int n = 0;
#define CHECK(condition) \
    n++;                 \
    if (!(condition) && *first_wrong == 0) *first_wrong = n
    CHECK(__float_as_int(1.0f) == 0x3f800000 && __float_as_uint(-0.0f) == 0x80000000u);
    CHECK(__int_as_float(0x40000000) == 2.0f && __uint_as_float(0xc0000000u) == -2.0f);
    CHECK(__double_as_longlong(1.0) == 0x3ff0000000000000ll && __longlong_as_double(0x4000000000000000ll) == 2.0);
    CHECK(__double2hiint(1.0) == 0x3ff00000 && __double2loint(1.0) == 0);
    CHECK(__hiloint2double(0x3ff00000, 0) == 1.0);
}

extern "C" int run_casts(void) {
    int first_wrong = 0, *device;
    cudaMalloc(&device, sizeof *device);
    cudaMemset(device, 0, sizeof *device);
    cast_bits<<<1, 1>>>(device);
    cudaError_t error = cudaMemcpy(&first_wrong, device, sizeof first_wrong, cudaMemcpyDeviceToHost);
    cudaFree(device);
    return error == cudaSuccess ? first_wrong : -1;
}
