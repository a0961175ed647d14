// needs: sm_90 (elect.sync)
// Inline PTX: each kernel compares an instruction with plain C++, and counts the differences.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

// The values of `Count` words that a kernel writes, in managed memory.
template <class Kernel> int differences(Kernel kernel, int blocks, int threads) {
    int *errors;
    cudaMallocManaged(&errors, sizeof *errors);
    *errors = 0;
    kernel<<<blocks, threads>>>(errors);
    cudaError_t error = cudaDeviceSynchronize();
    int count = error == cudaSuccess ? *errors : -static_cast<int>(error);
    cudaFree(errors);
    return count;
}

__device__ void expect(int *errors, int line, unsigned long long got, unsigned long long wanted) {
    if (got != wanted) {
        if (atomicAdd(errors, 1) < 5) { printf("test_ptx.cu:%d: %llx, not %llx\n", line, got, wanted); }
    }
}
#define EXPECT(got, wanted) expect(errors, __LINE__, got, wanted)

__device__ unsigned bits(float x) {
    return __float_as_uint(x);
}

} // namespace

#define TEST(name, blocks, threads, ...)                                        \
    __global__ void name(int *errors) __VA_ARGS__ extern "C" int run_##name() { \
        return differences(name, blocks, threads);                              \
    }

TEST(ptx_arithmetic, 1, 64, {
    float x = 0.37f + threadIdx.x * 1.7f, y = 3.3f - threadIdx.x, z = 1e-3f, d;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(x), "f"(y), "f"(z));
    EXPECT(bits(d), bits(fmaf(x, y, z)));
    asm("add.rz.f32 %0, %1, %2;" : "=f"(d) : "f"(x), "f"(y));
    EXPECT(bits(d), bits(__fadd_rz(x, y)));
    asm volatile("mul.f32 %0, %1, 2.5;" : "=f"(d) : "f"(x));
    EXPECT(bits(d), bits(x * 2.5f));
    asm volatile("mul.f32 %0, %1, 0f40200000;" : "=f"(d) : "f"(x));
    EXPECT(bits(d), bits(x * 2.5f));
    asm("max.f32 %0, %1, %2;" : "=f"(d) : "f"(x), "f"(y));
    EXPECT(bits(d), bits(fmaxf(x, y)));
    float tiny = 1e-39f;
    asm("add.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(tiny), "f"(tiny));
    EXPECT(bits(d), 0);
    asm("neg.f32 %0, %1;" : "=f"(d) : "f"(x));
    EXPECT(bits(d), bits(-x));
    asm("{ .reg .f32 t<2>; mul.rn.f32 t0, %1, %1; add.f32 t1, t0, %2; mov.f32 %0, t1; }" : "=f"(d) : "f"(x), "f"(y));
    EXPECT(bits(d), bits(__fadd_rn(__fmul_rn(x, x), y)));
    asm("fma.rn.f32 %0, %1, %2, %0;" : "+f"(d) : "f"(x), "f"(y));
    EXPECT(bits(d), bits(fmaf(x, y, __fadd_rn(__fmul_rn(x, x), y))));
    double e, f = x, g = y;
    asm("mul.f64 %0, %1, %2;" : "=d"(e) : "d"(f), "d"(g));
    EXPECT(__double_as_longlong(e), __double_as_longlong(f * g));
    unsigned a = 0x9e3779b9u * (threadIdx.x + 1), b = ~a >> 3, r;
    unsigned long long w;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(w) : "r"(a), "r"(b));
    EXPECT(w, static_cast<unsigned long long>(a) * b);
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    EXPECT(r, __umulhi(a, b));
    asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(7));
    EXPECT(r, a * b + 7);
    asm("min.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    EXPECT(r, static_cast<unsigned>(min(static_cast<int>(a), static_cast<int>(b))));
})

TEST(ptx_bits, 1, 64, {
    unsigned a = 0x9e3779b9u * (threadIdx.x + 1), b = a * a + 1, c = ~b, r;
    asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); // a ? b : c
    EXPECT(r, (a & b) | (~a & c));
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(c), "n"((0xf0 & 0xcc) ^ 0xaa));
    EXPECT(r, (a & b) ^ c);
    asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(r) : "r"(a), "r"(b));
    EXPECT(r, (a & 0xffff) | b << 16);
    asm("prmt.b32 %0, %1, %2, 0xba3f;" : "=r"(r) : "r"(a), "r"(b));
    EXPECT(r, (b >> 31 ? 0xffu : 0u) | a >> 24 << 8 | (a >> 23 & 1 ? 0xff0000u : 0u) | (a >> 31 ? 0xff000000u : 0u));
    asm("bfe.u32 %0, %1, 5, 7;" : "=r"(r) : "r"(a));
    EXPECT(r, a >> 5 & 127);
    asm("bfe.s32 %0, %1, 28, 12;" : "=r"(r) : "r"(a));
    EXPECT(r, static_cast<unsigned>(static_cast<int>(a) >> 28));
    asm("bfe.s32 %0, %1, 4, 8;" : "=r"(r) : "r"(a));
    EXPECT(r, static_cast<unsigned>(static_cast<int>(a << 20) >> 24));
    asm("bfi.b32 %0, %1, %2, 8, 12;" : "=r"(r) : "r"(a), "r"(b));
    EXPECT(r, (b & ~0xfff00u) | (a & 0xfff) << 8);
    asm("popc.b32 %0, %1;" : "=r"(r) : "r"(a));
    EXPECT(r, static_cast<unsigned>(__popc(a)));
    asm("clz.b32 %0, %1;" : "=r"(r) : "r"(a >> threadIdx.x % 32));
    EXPECT(r, static_cast<unsigned>(__clz(static_cast<int>(a >> threadIdx.x % 32))));
    asm("clz.b32 %0, 0;" : "=r"(r));
    EXPECT(r, 32);
    asm("brev.b32 %0, %1;" : "=r"(r) : "r"(a));
    EXPECT(r, __brev(a));
    asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(threadIdx.x));
    EXPECT(r, threadIdx.x < 32 ? a << threadIdx.x : 0);
    asm("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(threadIdx.x));
    EXPECT(r, static_cast<unsigned>(static_cast<int>(a) >> min(threadIdx.x, 31u)));
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(threadIdx.x));
    EXPECT(r, __funnelshift_l(a, b, threadIdx.x));
    unsigned low, high;
    unsigned long long w = static_cast<unsigned long long>(a) << 32 | b;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(w));
    EXPECT(low, b);
    EXPECT(high, a);
    asm("mov.b64 %0, {%1, %2};" : "=l"(w) : "r"(low), "r"(~high));
    EXPECT(w, static_cast<unsigned long long>(~a) << 32 | b);
    asm("{\n\t"
        ".reg .pred p, q;\n\t"
        "setp.lt.u32 p|q, %1, %2;   // a comment\n\t"
        "selp.u32 %0, 11, 22, p;\n\t"
        "@q add.u32 %0, %0, 100;\n\t"
        "@!p add.u32 %0, %0, 1000;\n\t"
        "}"
        : "=r"(r)
        : "r"(a), "r"(b));
    EXPECT(r, a < b ? 11u : 1122u);
})

TEST(ptx_conversions, 1, 64, {
    float x = -3.75f + threadIdx.x * 0.61f, back;
    unsigned r;
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    EXPECT(h, __half_as_ushort(__float2half_rn(x)));
    asm("cvt.f32.f16 %0, %1;" : "=f"(back) : "h"(h));
    EXPECT(bits(back), bits(__half2float(__ushort_as_half(h))));
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
    EXPECT(h, __bfloat16_as_ushort(__float2bfloat16_rn(x)));
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x), "f"(2.0f)); // the first operand is the upper half
    EXPECT(r, static_cast<unsigned>(__half_as_ushort(__float2half_rn(x))) << 16 | 0x4000);
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x), "f"(2.0f));
    EXPECT(r, static_cast<unsigned>(__bfloat16_as_ushort(__float2bfloat16_rn(x))) << 16 | 0x4000);
    int i;
    asm("cvt.rni.s32.f32 %0, %1;" : "=r"(i) : "f"(x));
    EXPECT(static_cast<unsigned>(i), static_cast<unsigned>(__float2int_rn(x)));
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(i) : "f"(x));
    EXPECT(static_cast<unsigned>(i), static_cast<unsigned>(__float2int_rz(x)));
    asm("cvt.rn.f32.s32 %0, %1;" : "=f"(back) : "r"(i * 16777217));
    EXPECT(bits(back), bits(__int2float_rn(i * 16777217)));
    asm("cvt.rni.f32.f32 %0, %1;" : "=f"(back) : "f"(x));
    EXPECT(bits(back), bits(rintf(x)));
    long long wide;
    asm("cvt.s64.s32 %0, %1;" : "=l"(wide) : "r"(-5));
    EXPECT(static_cast<unsigned long long>(wide), static_cast<unsigned long long>(-5ll));
    asm("cvt.u32.u64 %0, %1;" : "=r"(r) : "l"(0x123456789abcdefull));
    EXPECT(r, 0x89abcdefu);
    asm("cvt.s32.s8 %0, %1;" : "=r"(i) : "r"(0x1f0));
    EXPECT(static_cast<unsigned>(i), 0xfffffff0u);
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(__uint_as_float(0x3f801000u)));
    EXPECT(r, 0x3f802000u); // a tie: away from zero
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(__uint_as_float(0xbf800fffu)));
    EXPECT(r & 0xffffe000u, 0xbf800000u);
    unsigned sum;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(0x40003c00u), "r"(0x42004400u), "r"(0x3c00c000u));
    EXPECT(sum, 0x47004000u); // 2 * 3 + 1, 1 * 4 - 2
})

TEST(ptx_functions, 1, 64, {
    float x = 0.25f + threadIdx.x * 0.125f, d;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(x));
    EXPECT(fabsf(d - exp2f(x)) > 1e-6f * d, 0);
    asm("lg2.approx.f32 %0, %1;" : "=f"(d) : "f"(x));
    EXPECT(fabsf(d - log2f(x)) > 1e-5f, 0);
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(x));
    EXPECT(fabsf(d * x - 1) > 1e-6f, 0);
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(d) : "f"(x));
    EXPECT(fabsf(d * d * x - 1) > 1e-6f, 0);
    asm("sqrt.rn.f32 %0, %1;" : "=f"(d) : "f"(x));
    EXPECT(bits(d), bits(sqrtf(x)));
    asm("tanh.approx.f32 %0, %1;" : "=f"(d) : "f"(x));
    EXPECT(fabsf(d - tanhf(x)) > 1e-3f, 0);
})

__device__ float memory_of_ptx[1024];

TEST(ptx_memory, 1, 64, {
    __shared__ __align__(16) float tile[256];
    float *global = memory_of_ptx + 4 * threadIdx.x;
    float x = threadIdx.x + 0.5f;
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %1, %2};" ::"l"(global), "f"(x), "f"(-x) : "memory");
    EXPECT(bits(global[0]), bits(x));
    EXPECT(bits(global[3]), bits(-x));
    float4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(global));
    EXPECT(bits(v.y), bits(-x));
    float second;
    asm volatile("ld.global.f32 %0, [%1+4];" : "=f"(second) : "l"(global));
    EXPECT(bits(second), bits(-x));
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(tile + 4 * threadIdx.x));
    asm volatile("st.shared.v2.f32 [%0 + 8], {%1, %2};\n\tst.shared.f32 [%0], %2; st.shared.b32 [%0+4], 7;" ::"r"(at),
                 "f"(x), "f"(2 * x)
                 : "memory");
    EXPECT(bits(tile[4 * threadIdx.x]), bits(2 * x));
    EXPECT(bits(tile[4 * threadIdx.x + 1]), 7);
    EXPECT(bits(tile[4 * threadIdx.x + 2]), bits(x));
    unsigned again, bytes;
    asm volatile("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(again) : "l"(tile));
    EXPECT(again + 16 * threadIdx.x, at);
    asm volatile("ld.shared.u8 %0, [%1 + 3];" : "=r"(bytes) : "r"(at));
    EXPECT(bytes, bits(2 * x) >> 24);
    asm volatile("ld.shared.s16 %0, [%1 + 2];" : "=r"(bytes) : "r"(at));
    EXPECT(bytes, static_cast<unsigned>(static_cast<short>(bits(2 * x) >> 16)));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
    asm volatile("fence.acq_rel.gpu; membar.cta;" ::: "memory");
})

__device__ unsigned counter_of_ptx;

TEST(ptx_atomics, 2, 64, {
    unsigned old;
    asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(&counter_of_ptx) : "memory");
    EXPECT(old >= 128, 0);
    asm volatile("red.global.add.u32 [%0], 0;" ::"l"(&counter_of_ptx) : "memory");
    __shared__ unsigned word;
    if (threadIdx.x == 0) word = 5;
    __syncthreads();
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&word));
    if (threadIdx.x == 0) {
        asm volatile("atom.shared.cas.b32 %0, [%1], 5, %2;" : "=r"(old) : "r"(at), "r"(9) : "memory");
        EXPECT(old, 5);
    }
    __syncthreads();
    EXPECT(word, 9);
})

TEST(ptx_warp, 1, 96, {
    unsigned lane, warp, r, leader;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %warpid;" : "=r"(warp));
    EXPECT(lane, threadIdx.x % 32);
    EXPECT(warp, threadIdx.x / 32);
    asm volatile("mov.u32 %0, %tid.x;" : "=r"(r));
    EXPECT(r, threadIdx.x);
    asm volatile("mov.u32 %0, %lanemask_lt;" : "=r"(r));
    EXPECT(r, (1u << lane) - 1);
    asm volatile("shfl.sync.bfly.b32 %0, %1, 5, 0x1f, 0xffffffff;" : "=r"(r) : "r"(threadIdx.x));
    EXPECT(r, threadIdx.x ^ 5);
    unsigned inside;
    asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 3, 0x1800, 0xffffffff; selp.u32 %1, 1, 0, p; }"
                 : "=r"(r), "=r"(inside)
                 : "r"(threadIdx.x));
    EXPECT(r, lane % 8 >= 3 ? threadIdx.x - 3 : threadIdx.x);
    EXPECT(inside, lane % 8 >= 3);
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 7; vote.sync.ballot.b32 %0, p, -1; }" : "=r"(r) : "r"(lane));
    EXPECT(r, 0xffffff00u);
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(lane));
    EXPECT(r, 31 * 16);
    unsigned elected = 0;
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; @p mov.u32 %1, 1; }" : "=r"(leader), "+r"(elected));
    EXPECT(__reduce_add_sync(~0u, elected), 1);
    EXPECT(leader, 0); // a GPU may elect another lane, but elects this one
    asm volatile("bar.warp.sync 0xffffffff;");
    asm volatile("bar.sync 0;" ::: "memory");
    asm volatile("barrier.sync.aligned 1, 96;" ::: "memory");
    asm volatile("nanosleep.u32 20; griddepcontrol.wait;");
    asm volatile("griddepcontrol.launch_dependents;");
    long long before, after;
    asm volatile("mov.u64 %0, %clock64;" : "=l"(before));
    asm volatile("mov.u64 %0, %clock64;" : "=l"(after));
    EXPECT(after < before, 0);
})

TEST(ptx_copies, 1, 64, {
    __shared__ __align__(16) float tile[2][256];
    for (int i = 0; i < 4; i++) memory_of_ptx[4 * threadIdx.x + i] = threadIdx.x * 4.0f + i;
    __syncthreads();
    for (int stage = 0; stage < 2; stage++) {
        unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[stage][4 * threadIdx.x]));
        const float *from = memory_of_ptx + 4 * (63 - threadIdx.x);
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2, %3;\n"
                     "cp.async.commit_group;" ::"r"(at),
                     "l"(from), "n"(16),
                     "r"(stage == 0        ? 16
                         : threadIdx.x % 2 ? 4
                                           : 0)
                     : "memory");
    }
    asm volatile("cp.async.wait_group %0;" ::"n"(1) : "memory");
    __syncthreads();
    EXPECT(bits(tile[0][threadIdx.x]), bits(memory_of_ptx[4 * (63 - threadIdx.x / 4) + threadIdx.x % 4]));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    float wanted = threadIdx.x % 4 == 0 && threadIdx.x / 4 % 2 ? memory_of_ptx[4 * (63 - threadIdx.x / 4)] : 0.0f;
    EXPECT(bits(tile[1][threadIdx.x]), bits(wanted));
})
