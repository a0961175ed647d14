// Launches in every place and layout, with every configuration.
#include "case.h"

template <class T> struct W { T value; };
template <int N> struct Number { static const int value = N; };

__global__ void set(int *p, int v) { p[threadIdx.x + blockIdx.x * blockDim.x] = v; }
__global__ void set2(int *p, int v) { p[threadIdx.x] = 2 * v; }
__global__ void pointer(int *p, const int *q) { *p = q == nullptr; }
template <class T> __global__ void size(int *p) { *p = sizeof(T); }

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
