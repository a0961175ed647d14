// Mathematical functions and fast intrinsics, on arrays, and special cases one by one.
#include "test_math.h"

#include <math_constants.h>

__device__ float evaluate(int which, float x) {
    // clang-format off
    switch (which) {
#define SAME(name) \
    case MATH_##name: return name(x);
        SAME(expf) SAME(exp2f) SAME(exp10f) SAME(expm1f) SAME(logf) SAME(log2f) SAME(log10f) SAME(log1pf)
        SAME(sinf) SAME(cosf) SAME(tanf) SAME(sinpif) SAME(cospif) SAME(tanhf) SAME(sinhf) SAME(coshf)
        SAME(asinf) SAME(acosf) SAME(atanf) SAME(erff) SAME(erfcf) SAME(erfcxf) SAME(erfinvf) SAME(erfcinvf)
        SAME(normcdff) SAME(normcdfinvf) SAME(sqrtf) SAME(rsqrtf) SAME(cbrtf) SAME(rcbrtf) SAME(tgammaf)
        case MATH_fast_expf: return __expf(x);
        case MATH_fast_exp10f: return __exp10f(x);
        case MATH_fast_logf: return __logf(x);
        case MATH_fast_log2f: return __log2f(x);
        case MATH_fast_log10f: return __log10f(x);
        case MATH_fast_sinf: return __sinf(x);
        case MATH_fast_cosf: return __cosf(x);
        case MATH_fast_tanf: return __tanf(x);
        case MATH_frcp_rn: return __frcp_rn(x);
        case MATH_fsqrt_rn: return __fsqrt_rn(x);
        case MATH_frsqrt_rn: return __frsqrt_rn(x);
        case MATH_saturatef: return __saturatef(x);
    }
    // clang-format on
    return 0.0f;
}

__device__ double evaluate(int which, double x) {
    // clang-format off
    switch (which) {
        SAME(exp) SAME(log) SAME(sin) SAME(cos) SAME(sinpi) SAME(cospi) SAME(tanh) SAME(erf) SAME(erfc)
        SAME(erfcx) SAME(erfinv) SAME(erfcinv) SAME(normcdf) SAME(normcdfinv) SAME(rsqrt) SAME(rcbrt)
        SAME(cyl_bessel_i0) SAME(cyl_bessel_i1)
        case MATH_dsqrt_rn: return __dsqrt_rn(x);
        case MATH_drcp_rn: return __drcp_rn(x);
    }
    // clang-format on
    return 0.0;
}

template <class T> __global__ void evaluate_all(int which, T *out, const T *in, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = evaluate(which, in[i]); }
}

template <class T> int run(int which, T *out, const T *in, int count) {
    T *device;
    cudaMalloc(&device, 2 * count * sizeof *device);
    cudaMemcpy(device, in, count * sizeof *in, cudaMemcpyHostToDevice);
    evaluate_all<<<(count + 127) / 128, 128>>>(which, device + count, device, count);
    cudaError_t error = cudaMemcpy(out, device + count, count * sizeof *out, cudaMemcpyDeviceToHost);
    cudaFree(device);
    return error;
}

extern "C" int run_float_function(int which, float *out, const float *in, int count) {
    return run(which, out, in, count);
}
extern "C" int run_double_function(int which, double *out, const double *in, int count) {
    return run(which, out, in, count);
}

__global__ void check_specials(unsigned long long *wrong, float zero) {
    float inf = CUDART_INF_F, nan = CUDART_NAN_F, sine, cosine;
    int n = 0;
#define CHECK(condition)                   \
    *wrong |= (condition) ? 0 : 1ull << n; \
    n++
    // 0: the intrinsics' documented ranges
    CHECK(__fdividef(6.0f, 3.0f) == 2.0f);
    CHECK(__fdividef(1.0f, 0x1.8p126f) == 0.0f);
    CHECK(isnan(__fdividef(inf, 0x1.8p126f)));
    CHECK(__fdividef(1.0f, 0x1p126f) == 0x1p-126f);
    CHECK(isnan(__powf(-2.0f, 2.0f)) && __powf(2.0f, 10.0f) == 1024.0f);
    CHECK(__saturatef(nan) == 0.0f && __saturatef(-1.0f) == 0.0f && __saturatef(2.0f) == 1.0f);
    // 6: a number is preferred to a NaN
    CHECK(fmaxf(nan, 1.0f) == 1.0f && fminf(1.0f, nan) == 1.0f && fmax(CUDART_NAN, 2.0) == 2.0);
    CHECK(isnan(fmaxf(nan, nan)) && isnan(fminf(nan, nan)));
    CHECK(max(nan, 3.0f) == 3.0f && min(4.0f, nan) == 4.0f);
    // 9: max and min take mixed arguments as CUDA does
    CHECK(max(-1, 2u) == 0xffffffffu && min(-1, 2u) == 2u && max(3, 4) == 4 && min(5u, 6u) == 5u);
    CHECK(max(1.5f, 2.5) == 2.5 && min(7ll, -8ll) == -8 && max(9ull, 1ull) == 9);
    CHECK(umin(1u, 2u) == 1 && umax(1u, 2u) == 2 && abs(-3) == 3 && labs(-4l) == 4 && fabsf(-5.0f) == 5.0f);
    // 12: exact where the value is
    CHECK(sinpif(1.0f) == 0.0f && cospif(0.5f) == 0.0f && sinpif(0.5f) == 1.0f && cospif(3.0f) == -1.0f);
    CHECK(sinpi(2.0) == 0.0 && cospi(1.5) == 0.0 && isnan(sinpif(inf)));
    CHECK(erfinvf(1.0f) == inf && erfinvf(-1.0f) == -inf && isnan(erfinvf(1.5f)) && erfcinvf(0.0f) == inf);
    CHECK(normcdff(0.0f) == 0.5f && normcdfinvf(0.5f) == 0.0f && normcdf(-inf) == 0.0);
    CHECK(rsqrtf(0.0f) == inf && rsqrtf(inf) == 0.0f && isnan(rsqrtf(-1.0f)) && rsqrt(4.0) == 0.5);
    CHECK(cyl_bessel_i0f(0.0f) == 1.0f && cyl_bessel_i1f(0.0f) == 0.0f && erfcxf(0.0f) == 1.0f);
    // 18: lengths
    CHECK(norm3df(2.0f, 3.0f, 6.0f) == 7.0f && norm4df(2.0f, 4.0f, 5.0f, 6.0f) == 9.0f && rhypotf(3.0f, 4.0f) == 0.2f);
    CHECK(rnorm3df(2.0f, 3.0f, 6.0f) == 1.0f / 7.0f && norm3d(2.0, 3.0, 6.0) == 7.0 &&
          rnorm4d(1.0, 1.0, 1.0, 1.0) == 0.5);
    sincospif(0.25f, &sine, &cosine);
    CHECK(sine == cosine && sine == 0x1.6a09e6p-1f);
    __sincosf(0.0f, &sine, &cosine);
    CHECK(sine == 0.0f && cosine == 1.0f);
    sincosf(1.0f, &sine, &cosine);
    CHECK(fabsf(sine - 0.841470985f) < 1e-7f && fabsf(cosine - 0.540302306f) < 1e-7f);
    // 23: nothing is contracted or reordered
    CHECK(__fadd_rn(__fmul_rn(1.0f + 0x1p-12f, 1.0f + 0x1p-12f), -1.0f) == 0x1p-11f);
    CHECK(__fmaf_rn(1.0f + 0x1p-12f, 1.0f + 0x1p-12f, -1.0f) == 0x1p-11f + 0x1p-24f);
    // 25: classification of a number
    CHECK(isinf(inf) && !isinf(nan) && isfinite(1.0f) && !isfinite(-inf) && signbit(-zero) && isnan(nan));
    CHECK(copysignf(1.0f, -zero) == -1.0f && nextafterf(1.0f, 2.0f) == 1.0f + 0x1p-23f && fmodf(7.0f, 4.0f) == 3.0f);
    // 27: denormals are kept
    CHECK((0x1p-130f + zero) * 2.0f == 0x1p-129f);
    // 28: constants
    CHECK(CUDART_PI_F == 3.14159265f && CUDART_LN2_F == 0.693147181f && CUDART_INF > 1e308 && isnan(CUDART_NAN));
    CHECK(CUDART_MAX_NORMAL_F == 3.402823466e38f && CUDART_SQRT_HALF_F == 0.707106781f);
    // 30: inlined, and the C library's where an address is taken
    CHECK(expf(zero) == 1.0f && expf(-zero) == 1.0f && expf(-inf) == 0.0f && expf(inf) == inf && isnan(expf(nan)));
    CHECK(expf(88.72284f) == inf && expf(88.72283f) < inf && expf(-103.97f) == 0x1p-149f && expf(-104.0f) == 0.0f);
    float (*by_address)(float) = expf;
    CHECK(by_address(1.0f) == expf(1.0f) && std::exp(2.0f) == expf(2.0f) && __expf(3.0f) == expf(3.0f));
    // 33: fmaxf and fminf
    CHECK(fmaxf(1.0f, nan) == 1.0f && fminf(nan, 1.0f) == 1.0f && fmaxf(-inf, inf) == inf && fminf(-inf, inf) == -inf);
    CHECK(fmaxf(zero, 2.0f) == 2.0f && fminf(zero, 2.0f) == zero && fmaxf(-1.0f, -2.0f) == -1.0f);
}

extern "C" int run_math_checks(void) {
    unsigned long long wrong = 0, *device;
    cudaMalloc(&device, sizeof wrong);
    cudaMemset(device, 0, sizeof wrong);
    check_specials<<<1, 1>>>(device, 0.0f);
    cudaError_t error = cudaMemcpy(&wrong, device, sizeof wrong, cudaMemcpyDeviceToHost);
    cudaFree(device);
    return error != cudaSuccess ? -1 : wrong == 0 ? 0 : __builtin_ffsll((long long)wrong);
}
