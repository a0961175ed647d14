// Launches of kernels that are named in every way: templates, namespaces, pointers, members; and by the API.
// nvcc: --extended-lambda
#include "case.h"

template <class T> struct W { T value; };
template <int N> struct Number { static const int value = N; };

__global__ void set(int *p, int v) { p[threadIdx.x + blockIdx.x * blockDim.x] = v; }
__global__ void set2(int *p, int v) { p[threadIdx.x] = 2 * v; }
template <class T> __global__ void size(int *p) { *p = sizeof(T); }
template <class T, int N> __global__ void both(int *p, T v) { *p = (int)v + N; }
template <bool B> __global__ void flag(int *p) { *p = B ? 7 : 8; }
template <class T> __global__ void copy(T *to, const T *from) { *to = *from; }
namespace ns {
__global__ void k(int *p) { *p = 11; }
namespace inner { template <class T> __global__ void k(T *p) { *p = 12; } }
}
struct Methods {
    typedef void (*kernel)(int *, int);
    kernel member = set;
    static kernel choose(int i) { return i ? set2 : set; }
    const Methods *operator->() const { return this; }
};

CASE(nested_template_arguments)
{
    int *p = array();
    size<W<W<int>>><<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 4);
    size<W<W<double> > ><<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 8);
    return true;
}
CASE(comparison_as_template_argument)
{
    int *p = array();
    flag<(5 > 3)><<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 7);
    flag<(sizeof(int) < 3)><<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 8);
    flag<(8 >> 3) != 0><<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 7);
    return true;
}
CASE(several_template_arguments)
{
    int *p = array();
    both<float, 3><<<1, 1>>>(p, 4.f);
    WAIT();
    EXPECT(*p == 7);
    both<unsigned int, Number<6>::value><<<1, 1>>>(p, 1);
    WAIT();
    EXPECT(*p == 7);
    return true;
}
CASE(deduced_template_argument)
{
    double *a = array<double>(), *b = array<double>();
    *b = 2.5;
    copy<<<1, 1>>>(a, b);
    WAIT();
    EXPECT(*a == 2.5);
    return true;
}
CASE(namespaces)
{
    int *p = array();
    ns::k<<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 11);
    ::ns::inner::k<int><<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 12);
    ns :: k <<<1, 1>>>(p);
    WAIT();
    EXPECT(*p == 11);
    if (*p)
        ::set<<<1, 1>>>(p, 1);
    WAIT();
    EXPECT(*p == 1);
    return true;
}
CASE(function_pointers)
{
    int *p = array();
    void (*fp)(int *, int) = set;
    fp<<<1, 4>>>(p, 1);
    (*fp)<<<1, 2>>>(p, 2);
    fp = &set2;
    (fp)<<<1, 1>>>(p, 3);
    WAIT();
    EXPECT(p[0] == 6 && p[1] == 2 && p[2] == 1);
    auto *by_type = size<W<short>>;
    by_type<<<1, 1>>>(p);
    WAIT();
    EXPECT(p[0] == 2);
    return true;
}
CASE(array_of_kernels)
{
    int *p = array();
    void (*const table[])(int *, int) = {set, set2};
    for (int i = 0; i < 2; i++)
        table[i]<<<1, 1>>>(p + i, 10);
    (*table[1 - 0])<<<1, 1>>>(p + 2, 20);
    WAIT();
    EXPECT(p[0] == 10 && p[1] == 20 && p[2] == 40);
    return true;
}
CASE(members_and_calls)
{
    int *p = array();
    Methods m, *q = &m;
    m.member<<<1, 1>>>(p, 1);
    q->member<<<1, 1>>>(p + 1, 2);
    Methods::choose(1)<<<1, 1>>>(p + 2, 3);
    WAIT();
    EXPECT(p[0] == 1 && p[1] == 2 && p[2] == 6);
    return true;
}
template <class F> __global__ void run(F f) { f(threadIdx.x); }
CASE(lambda_as_argument)
{
    int *p = array(), k = 3;
    run<<<1, 4>>>([=] __device__ (int i) { p[i] = k * i; });
    WAIT();
    EXPECT(p[3] == 9);
    return true;
}
template <class T, void (*kernel)(int *, int)> struct Launcher {
    T *p;
    template <class... A> void operator()(A... a) const { kernel<<<1, 2>>>(p, a...); }
    template <class U> static void of(int *q) { both<U, sizeof(T)><<<1, 1>>>(q, U(1)); }
};
CASE(inside_templates)
{
    int *p = array();
    Launcher<int, set>{p}(8);
    WAIT();
    EXPECT(p[1] == 8);
    Launcher<double, set2>::of<char>(p);
    WAIT();
    EXPECT(p[0] == 9);
    return true;
}
CASE(by_value_struct)
{
    struct Pair { int a, b; };
    int *p = array();
    copy<<<1, 1>>>(p, (const int *)p);
    W<W<int>> *to = array<W<W<int>>>(), *from = array<W<W<int>>>();
    from->value.value = 6;
    copy<W<W<int>>><<<1, 1>>>(to, from);
    WAIT();
    EXPECT(to->value.value == 6);
    return true;
}
// Its copy constructor and its destructor run on the host, and are host code.
struct Counted {
    int *p;
    static int copies, living;
    explicit Counted(int *to) : p(to) { living++; }
    Counted(const Counted &other) : p(other.p) { copies++, living++; }
    ~Counted() { living--; }
    __device__ void add() { atomicAdd(p, 1); }
};
int Counted::copies, Counted::living;
__global__ void by_value(Counted c, int times)
{
    for (int i = 0; i < times; i++) c.add();
}
CASE(by_value_class_with_a_copy_constructor)
{
    int *p = array();
    {
        Counted c(p);
        by_value<<<2, 32>>>(c, 3);
        WAIT();
        EXPECT(*p == 2 * 32 * 3);
        EXPECT(Counted::copies < 32);
    }
    EXPECT(Counted::living == 0);
    return true;
}
CASE(the_api_launches)
{
    int *p = array(), v = 5;
    void *arguments[] = {&p, &v};
    EXPECT(cudaLaunchKernel((void *)set, 1, 2, arguments) == cudaSuccess);
    WAIT();
    EXPECT(p[1] == 5 && p[2] == 0);
    v = 6;
    EXPECT(cudaLaunchKernel((const void *)&set2, dim3(1), dim3(1), arguments, 0, 0) == cudaSuccess);
    WAIT();
    EXPECT(p[0] == 12 && p[1] == 5);
    EXPECT(cudaLaunchKernel(reinterpret_cast<const void *>(set), dim3(1), dim3(1), arguments, 0, NULL) == cudaSuccess);
    WAIT();
    EXPECT(p[0] == 6);
    float f = 2;
    void *others[] = {&p, &f};
    EXPECT(cudaLaunchKernel((void const *)both<float, 3>, 1, 1, others) == cudaSuccess);
    WAIT();
    EXPECT(p[0] == 5);
    return true;
}
CASE(the_api_asks)
{
    cudaFuncAttributes a;
    int blocks = 0;
    EXPECT(cudaFuncGetAttributes(&a, (const void *)set) == cudaSuccess && a.maxThreadsPerBlock >= 32);
    EXPECT(cudaFuncGetAttributes(&a, (const void *)size<float>) == cudaSuccess);
    EXPECT(cudaFuncSetAttribute((const void *)ns::k, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000) == cudaSuccess);
    EXPECT(cudaFuncSetCacheConfig(set, cudaFuncCachePreferL1) == cudaSuccess);
    EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)set, 256, 0) == cudaSuccess && blocks > 0);
    return true;
}
