// Half precision and bfloat16 in kernels: every operation, on arrays. Compute capability 8.0 and up has all of bfloat16's;
// below, the kernels are empty.
#include "minifloat_kernels.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define ARITHMETIC 1
#endif

template <class T> __device__ T evaluate(int which, T a, T b, T c) {
#ifdef ARITHMETIC
    typedef typename format<T>::pair pair;
    pair p(a, a), q(b, b), r(c, c);
    switch (which) {
        case MINI_add: return __hadd(a, b);
        case MINI_sub: return __hsub(a, b);
        case MINI_mul: return __hmul(a, b);
        case MINI_div: return __hdiv(a, b);
        case MINI_fma: return __hfma(a, b, c);
        case MINI_add2: return __hadd2(p, q).y;
        case MINI_sub2: return __hsub2(p, q).x;
        case MINI_mul2: return __hmul2(p, q).y;
        case MINI_div2: return __h2div(p, q).x;
        case MINI_fma2: return __hfma2(p, q, r).y;
        case MINI_operator_add: return a + b;
        case MINI_operator_sub: return a - b;
        case MINI_operator_mul: a *= b; return a;
        case MINI_operator_div: return a / b;
        case MINI_increment: ++a; return a;
        case MINI_neg: return __hneg(a);
        case MINI_abs: return __habs(a);
        case MINI_min: return __hmin(a, b);
        case MINI_max: return __hmax(a, b);
        case MINI_min_nan: return __hmin_nan(a, b);
        case MINI_max_nan: return __hmax_nan(a, b);
        case MINI_min2: return __hmin2(p, q).x;
        case MINI_max2: return __hmax2(p, q).y;
        case MINI_add_sat: return __hadd_sat(a, b);
        case MINI_sub_sat: return __hsub_sat(a, b);
        case MINI_mul_sat: return __hmul_sat(a, b);
        case MINI_fma_sat: return __hfma_sat(a, b, c);
        case MINI_fma_relu: return __hfma_relu(a, b, c);
        case MINI_eq: return format<T>::of(__heq(a, b));
        case MINI_ne: return format<T>::of(__hne(a, b));
        case MINI_lt: return format<T>::of(__hlt(a, b));
        case MINI_le: return format<T>::of(__hle(a, b));
        case MINI_gt: return format<T>::of(__hgt(a, b));
        case MINI_ge: return format<T>::of(__hge(a, b));
        case MINI_equ: return format<T>::of(__hequ(a, b));
        case MINI_neu: return format<T>::of(__hneu(a, b));
        case MINI_ltu: return format<T>::of(__hltu(a, b));
        case MINI_leu: return format<T>::of(__hleu(a, b));
        case MINI_gtu: return format<T>::of(__hgtu(a, b));
        case MINI_geu: return format<T>::of(__hgeu(a, b));
        case MINI_eq2: return __heq2(p, q).y;
        case MINI_lt2_mask: return format<T>::of((uint16_t)__hlt2_mask(p, q));
        case MINI_bge2: return format<T>::of(__hbge2(p, q));
        case MINI_is_equal: return format<T>::of(a == b);
        case MINI_is_less: return format<T>::of(a < b);
        case MINI_isnan: return format<T>::of(__hisnan(a));
        case MINI_isinf: return format<T>::of((uint16_t)__hisinf(a));
        case MINI_sqrt: return hsqrt(a);
        case MINI_rsqrt: return hrsqrt(a);
        case MINI_rcp: return hrcp(a);
        case MINI_exp: return hexp(a);
        case MINI_exp2: return hexp2(a);
        case MINI_exp10: return hexp10(a);
        case MINI_log: return hlog(a);
        case MINI_log2: return hlog2(a);
        case MINI_log10: return hlog10(a);
        case MINI_sin: return hsin(a);
        case MINI_cos: return hcos(a);
        case MINI_tanh: return h2tanh(p).x;
        case MINI_ceil: return hceil(a);
        case MINI_floor: return hfloor(a);
        case MINI_trunc: return htrunc(a);
        case MINI_rint: return h2rint(p).y;
    }
#endif
    return a;
}

template <class T> __global__ void operate(int which, uint16_t *out, const uint16_t *in, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        out[i] = format<T>::bits(
            evaluate<T>(which, format<T>::of(in[i]), format<T>::of(in[count + i]), format<T>::of(in[2 * count + i])));
    }
}

extern "C" int run_operation(int format, int operation, uint16_t *out, const uint16_t *a, const uint16_t *b,
                             const uint16_t *c, int count) {
    uint16_t *in = new uint16_t[3 * (size_t)count];
    for (int i = 0; i < count; i++) {
        in[i] = a[i];
        in[count + i] = b[i];
        in[2 * count + i] = c[i];
    }
    int error = around(out, count, in, 3 * (size_t)count, [&](uint16_t *o, uint16_t *i) {
        format == FORMAT_HALF ? operate<__half><<<BLOCKS>>>(operation, o, i, count)
                              : operate<__nv_bfloat16><<<BLOCKS>>>(operation, o, i, count);
    });
    delete[] in;
    return error;
}

// sums[i] += in[i] by atomics: one number each, or two at once.
template <class T> __global__ void accumulate(uint16_t *sums, const uint16_t *in, int count, bool pairs) {
#ifdef ARITHMETIC
    typedef typename format<T>::pair pair;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!pairs && i < count) {
        sums[i] = in[i];
        atomicAdd(reinterpret_cast<T *>(sums + i), format<T>::of(in[count + i]));
    } else if (pairs && 2 * i + 1 < count) {
        sums[2 * i] = in[2 * i];
        sums[2 * i + 1] = in[2 * i + 1];
        atomicAdd(reinterpret_cast<pair *>(sums + 2 * i),
                  pair(format<T>::of(in[count + 2 * i]), format<T>::of(in[count + 2 * i + 1])));
    }
#endif
}

extern "C" int run_accumulate(int format, int pairs, uint16_t *sums, const uint16_t *a, const uint16_t *b, int count) {
    uint16_t *in = new uint16_t[2 * (size_t)count];
    memcpy(in, a, count * sizeof *in);
    memcpy(in + count, b, count * sizeof *in);
    int error = around(sums, count, in, 2 * (size_t)count, [&](uint16_t *o, uint16_t *i) {
        format == FORMAT_HALF ? accumulate<__half><<<BLOCKS>>>(o, i, count, pairs)
                              : accumulate<__nv_bfloat16><<<BLOCKS>>>(o, i, count, pairs);
    });
    delete[] in;
    return error;
}
