// Launches in every form.
// nvcc: --extended-lambda
#include "case.h"

template <class T> struct W { T value; };
template <int N> struct Number { static const int value = N; };

__global__ void set(int *p, int v) { p[threadIdx.x + blockIdx.x * blockDim.x] = v; }
__global__ void set2(int *p, int v) { p[threadIdx.x] = 2 * v; }
__global__ void pointer(int *p, const int *q) { *p = q == nullptr; }
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

CASE(plain)
{
    int *p = array();
    set<<<2, 32>>>(p, 5);
    WAIT();
    EXPECT(p[0] == 5 && p[63] == 5);
    set <<< 1, 32 >>> (p, 6);
    WAIT();
    EXPECT(p[31] == 6 && p[32] == 5);
    return true;
}
CASE(three_and_four_arguments)
{
    int *p = array();
    cudaStream_t s;
    cudaStreamCreate(&s);
    set<<<1, 8, 0>>>(p, 1);
    set<<<1, 8, 16, s>>>(p, 2);
    cudaStreamSynchronize(s);
    EXPECT(p[7] == 2);
    set<<<1, 8, 0, 0>>>(p, 3);
    set<<<1, 8, 0, NULL>>>(p, 4);
    set<<<1, 8, 0, nullptr>>>(p, 5);
    set<<<1, 8, 0, cudaStreamPerThread>>>(p, 6);
    WAIT();
    EXPECT(p[7] == 6);
    cudaStreamDestroy(s);
    return true;
}
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
#define LAUNCH_COPY(T, to, from) copy_##T<<<1, 1>>>(to, from)
#define CHECKED(...)                             \
    do {                                         \
        __VA_ARGS__;                             \
        if (cudaGetLastError() != cudaSuccess) { \
            return false;                        \
        }                                        \
    } while (0)
#define CONFIGURED(kernel, ...) kernel<<<1, 2>>> /* a comment */ (__VA_ARGS__)
__global__ void copy_int(int *to, const int *from) { *to = *from; }
CASE(macros)
{
    int *p = array();
    p[1] = 9;
    LAUNCH_COPY(int, p, p + 1);
    WAIT();
    EXPECT(p[0] == 9);
    CHECKED(set<<<1, 1>>>(p, 3));
    CHECKED((size<W<W<char>>><<<1, 1>>>(p + 1)));
    CONFIGURED(set2, p + 2, 4);
    WAIT();
    EXPECT(p[0] == 3 && p[1] == 1 && p[3] == 8);
    return true;
}
CASE(branches_without_braces)
{
    int *p = array();
    for (int i = 0; i < 3; i++)
        if (i == 0) set<<<1, 1>>>(p, 1);
        else if (i == 1) set<<<1, 1>>>(p + 1, 2);
        else set<<<1, 1>>>(p + 2, 3);
    int n = 2;
    while (n--) set2<<<1, 1>>>(p + 3 + n, 4);
    do set<<<1, 1>>>(p + 5, 6); while (0);
    switch (n) { case -1: set<<<1, 1>>>(p + 6, 7); break; default: set<<<1, 1>>>(p + 6, 8); }
    WAIT();
    EXPECT(p[0] == 1 && p[1] == 2 && p[2] == 3 && p[3] == 8 && p[4] == 8 && p[5] == 6 && p[6] == 7);
    return true;
}
CASE(as_an_expression)
{
    int *p = array(), yes = 1;
    yes ? set<<<1, 1>>>(p, 1) : set2<<<1, 1>>>(p, 1);
    set<<<1, 1>>>(p + 1, 2), set<<<1, 1>>>(p + 2, 3);
    (void)(set<<<1, 1>>>(p + 3, 4));
    for (int i = 0; i < 2; set<<<1, 1>>>(p + 4 + i, 5), i++);
    WAIT();
    EXPECT(p[0] == 1 && p[1] == 2 && p[2] == 3 && p[3] == 4 && p[4] == 5 && p[5] == 5);
    return true;
}
static int launch_and_count(int *p)
{
    set<<<1, 4>>>(p + 8, 1);
    cudaDeviceSynchronize();
    return p[8] + p[11];
}
CASE(arguments_that_launch)
{
    int *p = array();
    set<<<1, 2>>>(p, launch_and_count(p));
    set<<<launch_and_count(p), 1>>>(p + 16, [&] { set<<<1, 1>>>(p + 20, 3); return 4; }());
    WAIT();
    EXPECT(p[0] == 2 && p[1] == 2 && p[2] == 0 && p[16] == 4 && p[17] == 4 && p[20] == 3);
    return true;
}
CASE(null_arguments)
{
    int *p = array();
    pointer<<<1, 1>>>(p, NULL);
    pointer<<<1, 1>>>(p + 1, 0);
    pointer<<<1, 1>>>(p + 2, nullptr);
    pointer<<<1, 1>>>(p + 3, {});
    WAIT();
    EXPECT(p[0] && p[1] && p[2] && p[3]);
    return true;
}
CASE(braces_in_the_configuration)
{
    int *p = array();
    set<<<dim3{2, 1, 1}, {32, 1}>>>(p, 3);
    WAIT();
    EXPECT(p[0] == 3 && p[63] == 3);
    set<<<{1}, dim3(3, 1, 1)>>>(p, 4);
    WAIT();
    EXPECT(p[2] == 4 && p[3] == 3);
    return true;
}
template <class T> constexpr int blocks(T) { return 2; }
template <int N> constexpr int four = 4;
CASE(templates_in_the_configuration)
{
    int *p = array(), n = 40;
    set<<<blocks<W<W<int>>>({}), Number<16>::value>>>(p, 1);
    WAIT();
    EXPECT(p[31] == 1 && p[32] == 0);
    set<<<n < 64 ? 1 : 2, n >> 3>>>(p, 2);
    WAIT();
    EXPECT(p[4] == 2 && p[5] == 1);
    set<<<1, (four<3>)>>>(p, 3);
    WAIT();
    EXPECT(p[3] == 3 && p[4] == 2);
    set<<<(n + 19) / 20, sizeof(W<W<short>>) > 1 ? 1 << 2 : 1>>>(p, 5);
    WAIT();
    EXPECT(p[7] == 5 && p[8] == 1);
    return true;
}
CASE(over_several_lines)
{
    int *p = array();
    set /* the kernel */
        <<< // its configuration
            2,
            /* threads */ 8
        >>>
        (p, // where
         __LINE__);
    int line = __LINE__ - 1;
    WAIT();
    EXPECT(p[15] == line || p[15] == line - 6); // nvcc and g++ may differ in a spread call
    EXPECT(p[16] == 0);
    return true;
}
CASE(strings_stay)
{
    EXPECT(strlen("k<<<1, 2>>>(x)") == 14);
    EXPECT(strcmp(R"x(set<<<1, 2>>>(p, ")x", "set<<<1, 2>>>(p, \"") == 0);
    const char c = '"'; /* set<<<1, 1>>>(0, 0); "*/ const char d = '<';
    EXPECT(c == 34 && d == 60); // k<<<1,1>>>("
    EXPECT(1 << 3 == 8 && (16 >> 2) == 4 && 1'000 == 1000);
    return true;
}
CASE(lambdas_launch)
{
    int *p = array();
    auto launch = [=](int v, auto kernel) { kernel<<<1, 2>>>(p, v); };
    launch(4, set);
    WAIT();
    EXPECT(p[1] == 4);
    [&] { set2<<<1, 1>>>(p, 1); }();
    WAIT();
    EXPECT(p[0] == 2 && p[1] == 4);
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
__global__ void kernel_named_like_a_macro_argument(int *p, int x) { *p = x; }
#define APPLY(function, ...) function(__VA_ARGS__)
#define RUN_KERNEL(kernel, count, args) kernel<<<count>>>args
#define GRID_AND_BLOCK 2, 4
CASE(configuration_from_a_macro)
{
    int *p = array();
    RUN_KERNEL(set, GRID_AND_BLOCK, (p, 3));
    set<<<GRID_AND_BLOCK>>>(p + 8, APPLY([](int a, int b) { return a + b; }, 1, 2));
    WAIT();
    EXPECT(p[7] == 3 && p[15] == 3 && p[16] == 0);
    return true;
}
CASE(in_a_condition_and_a_loop_head)
{
    int *p = array();
    if (set<<<1, 1>>>(p, 1), cudaDeviceSynchronize() == cudaSuccess) p[1] = 1;
    for (set<<<1, 1>>>(p + 2, 2); p[3] < 2; p[3]++) kernel_named_like_a_macro_argument<<<1, 1>>>(p + 4, p[3]);
    WAIT();
    EXPECT(p[0] == 1 && p[1] == 1 && p[2] == 2 && p[4] == 1);
    return true;
}
