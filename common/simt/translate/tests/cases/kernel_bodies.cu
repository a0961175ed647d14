// Bodies of kernels and device functions, macros, members, functors.
#include "case.h"

__global__ void early_return(int *p, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    auto square = [=](int x) { return x * x; };
    struct Local { int v; __device__ int get() const { return v; } } local{square(i)};
    p[i] = local.get();
    if (i == 0) { return; }
    {
        n = 100; // each thread has its own copy of an argument
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
