// Every integer intrinsic on arrays of arguments.
#include "test_bits.h"

template <class Vector> __device__ Vector vector(uint32_t bits) {
    Vector value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

__device__ uint64_t evaluate(int which, uint32_t a, uint32_t b, uint32_t c) {
    unsigned long long wide = (unsigned long long)b << 32 | a, other = (unsigned long long)a << 32 | c;
    int sa = (int)a, sb = (int)b, sc = (int)c;
    switch (which) {
        case BITS_popc: return (uint32_t)__popc(a);
        case BITS_popcll: return (uint32_t)__popcll(wide);
        case BITS_clz: return (uint32_t)__clz(sa);
        case BITS_clzll: return (uint32_t)__clzll((long long)wide);
        case BITS_ffs: return (uint32_t)__ffs(sa);
        case BITS_ffsll: return (uint32_t)__ffsll((long long)wide);
        case BITS_brev: return __brev(a);
        case BITS_brevll: return __brevll(wide);
        case BITS_byte_perm: return __byte_perm(a, b, c);
        case BITS_funnelshift_l: return __funnelshift_l(a, b, c);
        case BITS_funnelshift_r: return __funnelshift_r(a, b, c);
        case BITS_funnelshift_lc: return __funnelshift_lc(a, b, c);
        case BITS_funnelshift_rc: return __funnelshift_rc(a, b, c);
        case BITS_mulhi: return (uint32_t)__mulhi(sa, sb);
        case BITS_umulhi: return __umulhi(a, b);
        case BITS_mul64hi: return (uint64_t)__mul64hi((long long)wide, (long long)other);
        case BITS_umul64hi: return __umul64hi(wide, other);
        case BITS_mul24: return (uint32_t)__mul24(sa, sb);
        case BITS_umul24: return __umul24(a, b);
        case BITS_sad: return __sad(sa, sb, c);
        case BITS_usad: return __usad(a, b, c);
        case BITS_hadd: return (uint32_t)__hadd(sa, sb);
        case BITS_rhadd: return (uint32_t)__rhadd(sa, sb);
        case BITS_uhadd: return __uhadd(a, b);
        case BITS_urhadd: return __urhadd(a, b);
        case BITS_fns: return __fns(a, b & 31, (int)(c % 9) - 4);
        case BITS_dp4a_s: return (uint32_t)__dp4a(sa, sb, sc);
        case BITS_dp4a_u: return __dp4a(a, b, c);
        case BITS_dp2a_lo_s: return (uint32_t)__dp2a_lo(sa, sb, sc);
        case BITS_dp2a_hi_s: return (uint32_t)__dp2a_hi(sa, sb, sc);
        case BITS_dp2a_lo_u: return __dp2a_lo(a, b, c);
        case BITS_dp2a_hi_u: return __dp2a_hi(a, b, c);
        case BITS_dp4a_c4: return (uint32_t)__dp4a(vector<char4>(a), vector<char4>(b), sc);
        case BITS_dp4a_u4: return __dp4a(vector<uchar4>(a), vector<uchar4>(b), c);
        case BITS_dp2a_lo_s2: return (uint32_t)__dp2a_lo(vector<short2>(a), vector<char4>(b), sc);
        case BITS_dp2a_hi_u2: return __dp2a_hi(vector<ushort2>(a), vector<uchar4>(b), c);
        case BITS_vadd4: return __vadd4(a, b);
        case BITS_vadd2: return __vadd2(a, b);
        case BITS_vsub4: return __vsub4(a, b);
        case BITS_vaddss4: return __vaddss4(a, b);
        case BITS_vaddus4: return __vaddus4(a, b);
        case BITS_vsubss2: return __vsubss2(a, b);
        case BITS_vsubus4: return __vsubus4(a, b);
        case BITS_vmaxs4: return __vmaxs4(a, b);
        case BITS_vmaxu4: return __vmaxu4(a, b);
        case BITS_vmins2: return __vmins2(a, b);
        case BITS_vabsdiffu4: return __vabsdiffu4(a, b);
        case BITS_vavgu4: return __vavgu4(a, b);
        case BITS_vcmpeq4: return __vcmpeq4(a, b);
        case BITS_vcmpgtu4: return __vcmpgtu4(a, b);
        case BITS_vcmplts2: return __vcmplts2(a, b);
        case BITS_vseteq4: return __vseteq4(a, b);
        case BITS_vabs4: return __vabs4(a);
        case BITS_vneg2: return __vneg2(a);
        case BITS_vabsss4: return __vabsss4(a);
        default: return ~0ull;
    }
}

__global__ void evaluate_all(uint64_t *results, const uint32_t *a, const uint32_t *b, const uint32_t *c, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { results[blockIdx.y * count + i] = evaluate((int)blockIdx.y, a[i], b[i], c[i]); }
}

extern "C" int run_bits(uint64_t *results, const uint32_t *a, const uint32_t *b, const uint32_t *c, int count) {
    uint32_t *in;
    uint64_t *out;
    size_t bytes = count * sizeof *in;
    cudaMalloc(&in, 3 * bytes);
    cudaMalloc(&out, BITS_CASE_COUNT * count * sizeof *out);
    cudaMemcpy(in, a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(in + count, b, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(in + 2 * count, c, bytes, cudaMemcpyHostToDevice);
    evaluate_all<<<dim3((count + 127) / 128, BITS_CASE_COUNT), 128>>>(out, in, in + count, in + 2 * count, count);
    cudaError_t error = cudaMemcpy(results, out, BITS_CASE_COUNT * count * sizeof *out, cudaMemcpyDeviceToHost);
    cudaFree(in);
    cudaFree(out);
    return error;
}
