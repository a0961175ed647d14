// Kernels and device functions in every form.
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

class Secret {
    int value = 5;
    friend __global__ void reveal(int *p, Secret s);
    template <class T> friend __global__ void reveal_as(T *p, Secret s);
public:
    __host__ __device__ Secret() {}
    __host__ __device__ explicit Secret(int v) : value{v} {}
    __device__ int operator()(int x) const { return value + x; }
    __host__ __device__ operator int() const { return value; }
    __device__ ~Secret() = default;
    static __device__ int twice(int x) { return 2 * x; }
};
__global__ void reveal(int *p, Secret s) { *p = s.value + Secret::twice(1); }
template <class T> __global__ void reveal_as(T *p, Secret s) { *p = (T)s.value + s(1) + s; }
CASE(friends_and_members)
{
    int *p = array();
    reveal<<<1, 1>>>(p, Secret());
    reveal_as<<<1, 1>>>(p + 1, Secret(7));
    WAIT();
    EXPECT(p[0] == 7 && p[1] == 7 + 8 + 7);
    return true;
}

#define KERNEL __global__ void
#define DEFINE(name, type, op)                       \
    KERNEL name##_##type(type *p, const type *q)      \
    {                                                \
        __shared__ type s[4];                        \
        s[threadIdx.x] = q[threadIdx.x];             \
        __syncthreads();                             \
        p[threadIdx.x] = s[3 - threadIdx.x] op 2;    \
    }
DEFINE(add, int, +)
DEFINE(times, float, *)
CASE(kernels_in_macros)
{
    int *p = array();
    p[4] = 1, p[7] = 4;
    add_int<<<1, 4>>>(p, p + 4);
    float *f = array<float>();
    f[4] = 1.5f;
    times_float<<<1, 4>>>(f, f + 4);
    WAIT();
    EXPECT(p[0] == 6 && p[3] == 3 && f[3] == 3.f);
    return true;
}

#if defined(NEVER)
__global__ void branches(int *p, int a, {{{ unbalanced on purpose
#elif 1
__global__ void branches(int *p)
{
#else
__global__ void branches(short *p)
{
#endif
    *p = 3;
#ifdef NEVER
}
#endif
}
CASE(preprocessor_branches)
{
    int *p = array();
    branches<<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 3);
    return true;
}

__global__ void early_return(int *p, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    auto square = [=](int x) { return x * x; };
    struct Local { int v; __device__ int get() const { return v; } } local{square(i)};
    p[i] = local.get();
    if (i == 0) { return; }
    {
        n = 100; // an argument is the thread's own
        p[i] += n;
    }
}
CASE(bodies)
{
    int *p = array();
    early_return<<<1, 8>>>(p, 3);
    WAIT();
    EXPECT(p[0] == 0 && p[1] == 101 && p[2] == 104 && p[3] == 0);
    return true;
}

__global__ void names(int *p)
{
    const char *a = __func__, *b = __FUNCTION__;
    p[0] = a[0] == 'n' && a[4] == 's' && a[5] == 0;
    p[1] = b[0] == 'n' && b[4] == 's' && b[5] == 0;
    p[2] = __PRETTY_FUNCTION__[0] == 'v';
}
CASE(function_names)
{
    int *p = array();
    names<<<1, 1>>>(p);
    WAIT();
    EXPECT(p[0] && p[1] && p[2]);
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

__device__ __forceinline__ int forced(int x) { return x + 1; }
__device__ __noinline__ int kept(int x) { return x + 2; }
__attribute__((__noinline__)) __device__ int spelled(int x) { return x + 3; }
__host__ __device__ constexpr int everywhere(int x) { return x + 4; }
template <class T> __device__ auto trailing(T x) -> decltype(x + 1) { return x + 5; }
__device__ int recursive(int n) { return n < 2 ? 1 : n * recursive(n - 1); }
__global__ void calls(int *p)
{
    p[0] = forced(0), p[1] = kept(0), p[2] = spelled(0), p[3] = everywhere(0), p[4] = trailing(0), p[5] = recursive(5);
}
CASE(device_functions)
{
    int *p = array();
    calls<<<1, 1>>>(p);
    WAIT();
    EXPECT(p[0] == 1 && p[1] == 2 && p[2] == 3 && p[3] == 4 && p[4] == 5 && p[5] == 120);
    EXPECT(everywhere(1) == 5);
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

struct Functor {
    int factor;
    __host__ __device__ Functor(int f) : factor{f}, offset(1) { }
    template <class T> __device__ T operator()(T x) const { return x * factor + offset; }
    __host__ __device__ bool operator<(const Functor &other) const { return factor < other.factor; }
    __host__ __device__ friend Functor operator+(Functor a, Functor b) { return Functor(a.factor + b.factor); }
    int offset;
};
template <class T, class F> __global__ void transform(T *p, F f) { p[threadIdx.x] = f(p[threadIdx.x]); }
CASE(functors)
{
    int *p = array();
    p[1] = 4;
    transform<<<1, 2>>>(p, Functor(2) + Functor(1));
    WAIT();
    EXPECT(p[0] == 1 && p[1] == 13 && Functor(1) < Functor(2));
    return true;
}

enum class Mode { plain, twice };
template <Mode mode, typename T = int> __global__ void by_mode(T *p)
{
    if constexpr (mode == Mode::twice) p[threadIdx.x] *= 2;
    else p[threadIdx.x] += 1;
    switch (mode) {
    case Mode::plain: { p[threadIdx.x] += 10; break; }
    default: break;
    }
}
CASE(enumerators_and_constexpr_if)
{
    int *p = array();
    by_mode<Mode::plain><<<1, 2>>>(p);
    by_mode<Mode::twice><<<1, 1>>>(p);
    WAIT();
    EXPECT(p[0] == 22 && p[1] == 11);
    return true;
}
