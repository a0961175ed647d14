// Heads of kernels in every form: order of specifiers, templates, parameters.
#include "case.h"

static __global__ void declared_first(int *p);
extern "C" __global__ void with_c_linkage(int *p);
template <class T> __global__ void template_declared_first(T *p, int n = 3);

CASE(declared_before_defined)
{
    int *p = array();
    declared_first<<<1, 1>>>(p);
    with_c_linkage<<<1, 1>>>(p + 1);
    template_declared_first<<<1, 1>>>(p + 2);
    WAIT();
    EXPECT(p[0] == 1 && p[1] == 2 && p[2] == 3);
    return true;
}

static __global__ void declared_first(int *p) { *p = 1; }
extern "C" __global__ void with_c_linkage(int *p) { *p = 2; }
template <class T> __global__ void template_declared_first(T *p, int n) { *p = n; }

extern "C" {
__global__ void in_c_block(int *p) { *p = 4; }
__device__ int c_device_function(int x) { return x + 1; }
}
void __global__ void_first(int *p) { *p = c_device_function(4); }
__global__ static void static_second(int *p) { *p = 6; }
inline __global__ void inline_first(int *p) { *p = 7; }
__global__
void
on_three_lines(int *p,
               int v)
{
    *p = v;
}
CASE(order_of_words)
{
    int *p = array();
    in_c_block<<<1, 1>>>(p);
    void_first<<<1, 1>>>(p + 1);
    static_second<<<1, 1>>>(p + 2);
    inline_first<<<1, 1>>>(p + 3);
    on_three_lines<<<1, 1>>>(p + 4, 8);
    WAIT();
    EXPECT(p[0] == 4 && p[1] == 5 && p[2] == 6 && p[3] == 7 && p[4] == 8);
    return true;
}

__global__ void __launch_bounds__(64) bounds_one(int *p) { if (threadIdx.x == 0) *p = 1; }
__launch_bounds__(64, 2) __global__ void bounds_two(int *p) { if (threadIdx.x == 0) *p = 2; }
template <int N> __global__ void __launch_bounds__(N * 2, (N > 16 ? 2 : 1)) bounds_template(int *p) { if (threadIdx.x == 0) *p = N; }
__global__ __launch_bounds__(32) void bounds_middle(int *p);
__global__ __launch_bounds__(32) void bounds_middle(int *p) { if (threadIdx.x == 0) *p = 4; }
CASE(launch_bounds)
{
    int *p = array();
    bounds_one<<<1, 64>>>(p);
    WAIT();
    EXPECT(*p == 1);
    bounds_two<<<1, 64>>>(p);
    WAIT();
    EXPECT(*p == 2);
    bounds_template<32><<<1, 64>>>(p);
    WAIT();
    EXPECT(*p == 32);
    bounds_middle<<<1, 32>>>(p);
    WAIT();
    EXPECT(*p == 4);
    return true;
}

template <class... Ts> __global__ void sum_all(int *p, Ts... values) { *p = (0 + ... + (int)values); }
template <int... Ns> __global__ void sum_numbers(int *p) { *p = (Ns + ...); }
template <template <class> class C, class T> __global__ void of_template(int *p) { *p = sizeof(C<T>); }
template <class T> struct Twice { T a, b; };
CASE(packs_and_template_templates)
{
    int *p = array();
    sum_all<<<1, 1>>>(p, 1, 2.5f, 'a', 4ull);
    WAIT();
    EXPECT(*p == 1 + 2 + 97 + 4);
    sum_numbers<1, 2, 3><<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 6);
    of_template<Twice, double><<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 16);
    return true;
}

__global__ void with_defaults(int *p, int a = 3, int (*f)(int) = nullptr, Twice<int> t = Twice<int>{4, 5})
{
    *p = a + t.a + t.b + (f != nullptr);
}
CASE(default_arguments)
{
    int *p = array();
    with_defaults<<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 12);
    with_defaults<<<1, 1>>>(p, 10);
    WAIT();
    EXPECT(*p == 19);
    return true;
}

__global__ void overloaded(int *p, int) { *p = 1; }
__global__ void overloaded(int *p, float) { *p = 2; }
template <class T> __global__ void overloaded(int *p, T *) { *p = 3; }
CASE(overloads)
{
    int *p = array();
    overloaded<<<1, 1>>>(p, 1);
    WAIT();
    EXPECT(*p == 1);
    overloaded<<<1, 1>>>(p, 1.f);
    WAIT();
    EXPECT(*p == 2);
    overloaded<<<1, 1>>>(p, p);
    WAIT();
    EXPECT(*p == 3);
    return true;
}

template <class T> __global__ void specialised(int *p) { *p = 1; }
template <> __global__ void specialised<float>(int *p) { *p = 2; }
template __global__ void specialised<short>(int *);
CASE(specialisation_and_instantiation)
{
    int *p = array();
    specialised<short><<<1, 1>>>(p);
    specialised<float><<<1, 1>>>(p + 1);
    WAIT();
    EXPECT(p[0] == 1 && p[1] == 2);
    return true;
}

__global__ void qualified(const int *const __restrict__ in, int *__restrict__ out, const int n, volatile int *v)
{
    out[threadIdx.x] = in[threadIdx.x] + n;
    if (threadIdx.x == 0) *v = n;
}
__global__ void arrays(const int in[4], int (*out)[2], const __grid_constant__ Twice<int> t)
{
    out[0][1] = in[3] + t.a;
}
CASE(parameters)
{
    int *p = array();
    p[3] = 9;
    qualified<<<1, 4>>>(p, p + 8, 1, p + 20);
    arrays<<<1, 1>>>(p, (int(*)[2])(p + 30), {5, 6});
    WAIT();
    EXPECT(p[11] == 10 && p[20] == 1 && p[31] == 14);
    return true;
}

namespace {
__global__ void anonymous(int *p) { *p = 8; }
}
inline namespace v1 { namespace a::b { __global__ void deep(int *p) { *p = 9; } } }
CASE(namespaces_of_kernels)
{
    int *p = array();
    anonymous<<<1, 1>>>(p);
    a::b::deep<<<1, 1>>>(p + 1);
    v1::a::b::deep<<<1, 1>>>(p + 2);
    WAIT();
    EXPECT(p[0] == 8 && p[1] == 9 && p[2] == 9);
    return true;
}

struct pair_of { int n; float f[4]; };
__global__ void by_reference(const int &x, pair_of &pair, const pair_of &other, float (&four)[4])
{
    if (threadIdx.x == 0) pair.n = x + other.n;
    pair.f[threadIdx.x] = four[3 - threadIdx.x];
}
template <class T> __global__ void adds_to(T &sum, T add) { sum += add; }
template <class... T> __global__ void all_references(int *out, T &...x) { *out = (0 + ... + x); }
__device__ pair_of on_device;
CASE(references)
{
    int *p = array();
    pair_of *pairs;
    cudaMallocManaged(&pairs, 2 * sizeof *pairs);
    pairs[1] = {5, {0, 1, 2, 3}};
    *p = 3;
    by_reference<<<1, 4>>>(*p, pairs[0], pairs[1], pairs[1].f);
    WAIT();
    EXPECT(pairs[0].n == 8 && pairs[0].f[0] == 3 && pairs[0].f[3] == 0);
    adds_to<<<1, 1>>>(pairs[0].f[0], 4.0f);
    adds_to<int><<<1, 1>>>(pairs[0].n, 1);
    all_references<<<1, 1>>>(p, pairs[0].n, pairs[1].n);
    WAIT();
    EXPECT(pairs[0].f[0] == 7 && pairs[0].n == 9 && *p == 14);
    int *number = &pairs[0].n, add = 5; // a reference is an address among the arguments
    void *arguments[] = {&number, &add};
    cudaLaunchKernel((void *)adds_to<int>, 1, 1, arguments, 0, 0);
    WAIT();
    EXPECT(pairs[0].n == 14);
    return true;
}
