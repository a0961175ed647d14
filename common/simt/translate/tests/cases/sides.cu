// Sources that test __CUDA_ARCH__: host code and device code see different text.
// nvcc: --extended-lambda --expt-relaxed-constexpr
#include "case.h"

#if __CUDA_ARCH__
#define SIDE 2
#define LOAD(p) __ldg(p)
__device__ int only_device() { return 20; }
#else
#define SIDE 1
#define LOAD(p) (*(p))
static int only_host() { return 10; }
#endif

#ifdef __CUDA_ARCH__
#define SEES_ARCH 1
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 300
#error too old
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#else
static __inline__ __device__ double atomicAdd(double *address, double value) { return *address + value; }
#endif

static __host__ __device__ int by_macro() { return SIDE; }

static __host__ __device__ int by_branch(const int *p)
{
    int sum = 100;
#ifdef __CUDA_ARCH__
    sum += only_device();
#else
    sum += only_host();
#endif
    for (int i = 0; i < 2; i++) {
#if !defined(__CUDA_ARCH__)
        sum++;
#endif
    }
    return sum + LOAD(p);
}

template <class T> struct wrapper {
    T value;
    __host__ __device__ explicit wrapper(T v) : value(v)
    {
#ifdef __CUDA_ARCH__
        value += 1000;
#endif
    }
    __host__ __device__ T get() const
    {
#ifdef __CUDA_ARCH__
        return value + 1;
#else
        return value - 1;
#endif
    }
    int host_side() const { return SIDE; }
};

static int in_host_code()
{
#ifdef SEES_ARCH
    return 2;
#elif defined(__CUDA_ARCH__)
    return 3;
#else
    return 1;
#endif
}

__device__ int in_device_code()
{
#if __CUDA_ARCH__ >= 200
    return SIDE;
#else
    return 0;
#endif
}

__global__ void ask(int *p)
{
    p[0] = by_macro();
    p[1] = by_branch(p + 8);
    p[2] = wrapper<int>(5).get();
    p[3] = in_device_code();
#ifdef __CUDA_ARCH__
    p[4] = __CUDA_ARCH__ >= 300;
#endif
}

CASE(each_side_sees_its_own_text)
{
    int *p = array();
    p[8] = 7;
    ask<<<1, 1>>>(p);
    WAIT();
    EXPECT(p[0] == 2 && p[1] == 127 && p[2] == 1006 && p[3] == 2 && p[4] == 1);
    EXPECT(by_macro() == 1 && by_branch(p + 8) == 119 && wrapper<int>(5).get() == 4);
    EXPECT(wrapper<int>(5).host_side() == 1 && in_host_code() == 1);
    return true;
}

template <class F> __global__ void call(int *p, F f) { *p = f(3); }

CASE(lambdas_of_both_sides)
{
    int *p = array();
    auto f = [=] __host__ __device__(int x) {
#ifdef __CUDA_ARCH__
        return x * 2;
#else
        return x * 3;
#endif
    };
    call<<<1, 1>>>(p, f);
    call<<<1, 1>>>(p + 1, [=] __device__(int x) { return x + SIDE; });
    WAIT();
    EXPECT(p[0] == 6 && p[1] == 5 && f(3) == 9 && SIDE == 1);
    return true;
}
