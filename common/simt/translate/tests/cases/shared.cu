// Shared memory of fixed size, in every order and shape.
#include "case.h"

#define N 32
typedef unsigned int uint_type;
template <class T> struct Traits { typedef T value_type; };
template <class A, class B> struct Two { A a; B b; };
struct Empty { float x; __device__ Empty() {} };

__global__ void orders(int *p)
{
    __shared__ int a[N];
    static __shared__ int b[N];
    __shared__ static int c[N];
    int __shared__ d[N];
    unsigned long long int __shared__ e[N];
    volatile __shared__ int f[N];
    __shared__ volatile int g[N];
    __shared__ __align__(16) char h[N];
    __shared__ alignas(64) short i[N];
    __attribute__((aligned(32))) __shared__ float j[N];
    int t = threadIdx.x, r = N - 1 - t;
    a[t] = b[t] = c[t] = d[t] = t, e[t] = t, f[t] = t, g[t] = t, h[t] = t, i[t] = t, j[t] = t;
    __syncthreads();
    p[t] = a[r] + b[r] + c[r] + d[r] + (int)e[r] + f[r] + g[r] + h[r] + i[r] + (int)j[r];
    if (t == 0) p[N] = (size_t)h % 16 == 0 && (size_t)i % 64 == 0 && (size_t)j % 32 == 0;
}
CASE(order_of_words)
{
    int *p = array();
    orders<<<1, N>>>(p);
    WAIT();
    EXPECT(p[0] == 310 && p[31] == 0 && p[N]);
    return true;
}

__global__ void shapes(int *p)
{
    __shared__ int matrix[N][N + 1], row[N], *pointer, single;
    __shared__ int cube[2][4][4], (*to_row)[N + 1];
    __shared__ float4 vectors[4];
    __shared__ struct { int a; float b[2]; } record, records[2];
    __shared__ union { int i; float f; } either;
    __shared__ Two<int, Two<float, double>> two[2];
    __shared__ int (*function)(int);
    __shared__ bool flag;
    int t = threadIdx.x;
    for (int i = 0; i < N; i++) matrix[i][t] = i * t;
    row[t] = t;
    cube[t / 16][t / 4 % 4][t % 4] = t;
    if (t == 0) {
        pointer = &row[3], single = 4, to_row = matrix, record.b[1] = 2, records[1].a = 5, either.f = 1.f;
        two[1].b.b = 6, function = nullptr, flag = true, vectors[3] = make_float4(0, 0, 0, 7);
    }
    __syncthreads();
    p[t] = matrix[t][2] + row[N - 1 - t] + cube[1][3][3];
    if (t == 0)
        p[N] = *pointer + single + to_row[2][2] + (int)record.b[1] + records[1].a + (either.i == 0x3f800000) +
               (int)two[1].b.b + (function == nullptr) + flag + (int)vectors[3].w;
    if (t == 1) p[N + 1] = sizeof(matrix) + sizeof row / sizeof *row;
}
CASE(shapes)
{
    int *p = array();
    shapes<<<1, N>>>(p);
    WAIT();
    EXPECT(p[5] == 10 + 26 + 31);
    EXPECT(p[N] == 3 + 4 + 4 + 2 + 5 + 1 + 6 + 1 + 1 + 7);
    EXPECT(p[N + 1] == N * (N + 1) * 4 + N);
    return true;
}

template <class T, int M> __global__ void dependent(int *p)
{
    __shared__ T plain[M], padded[M][M + (sizeof(T) > 4 ? 1 : 2)];
    __shared__ typename Traits<T>::value_type member[M];
    __shared__ Two<T, T> pairs[(M > 16) ? M : 16];
    __shared__ decltype(T() + 1) sum;
    int t = threadIdx.x;
    plain[t] = t, padded[t][1] = t, member[t] = t, pairs[t].b = t;
    if (t == 0) sum = T(10);
    __syncthreads();
    int r = M - 1 - t;
    p[t] = plain[r] + padded[r][1] + member[r] + pairs[r].b + sum;
}
CASE(in_templates)
{
    int *p = array();
    dependent<double, 8><<<1, 8>>>(p);
    WAIT();
    EXPECT(p[0] == 38 && p[7] == 10);
    dependent<short, 16><<<1, 16>>>(p);
    WAIT();
    EXPECT(p[0] == 70);
    return true;
}

__device__ int in_function(int t)
{
    __shared__ int s[N];
    s[t] = t;
    __syncthreads();
    int result = s[(t + 1) % N];
    __syncthreads();
    return result;
}
struct Helper {
    int base;
    __device__ int method(int t) const
    {
        __shared__ int s[N];
        s[t] = base + t;
        __syncthreads();
        return s[(t + 1) % N];
    }
};
template <class T> __device__ T in_template(T v)
{
    __shared__ T s;
    if (threadIdx.x == 5) s = v;
    __syncthreads();
    return s;
}
__global__ void functions(int *p)
{
    int t = threadIdx.x;
    p[t] = in_function(t) + in_function(t) + Helper{100}.method(t) + in_template(t) + (int)in_template(t * 2.0);
}
CASE(in_device_functions)
{
    int *p = array();
    functions<<<1, N>>>(p);
    WAIT();
    EXPECT(p[0] == 1 + 1 + 101 + 5 + 10);
    return true;
}

__global__ void scopes(int *p)
{
    int t = threadIdx.x, total = 0;
    for (int i = 0; i < 3; i++) {
        __shared__ int s[N];
        s[t] = i * t;
        __syncthreads();
        total += s[N - 1 - t];
        __syncthreads();
    }
    {
        __shared__ int s[N]; // another variable of the same name
        s[t] = 1000;
        __syncthreads();
        total += s[N - 1 - t];
    }
    if (total >= 0) { __shared__ int s; if (t == 0) s = 10000; __syncthreads(); total += s; }
    p[t] = total;
}
CASE(in_loops_and_braces)
{
    int *p = array();
    scopes<<<1, N>>>(p);
    WAIT();
    EXPECT(p[31] == 11000 && p[30] == 11003);
    return true;
}

__global__ void constructors(int *p)
{
    __shared__ Empty s[4];
    s[threadIdx.x].x = threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = (int)s[3 - threadIdx.x].x;
}
CASE(empty_constructor)
{
    int *p = array();
    constructors<<<1, 4>>>(p);
    WAIT();
    EXPECT(p[0] == 3);
    return true;
}

template <int M> __device__ int sum_of(const int (&a)[M])
{
    int s = 0;
    for (int v : a) s += v;
    return s;
}
__device__ int first_of(int *a) { return a[0]; }
__global__ void as_array(int *p)
{
    __shared__ int s[4];
    s[threadIdx.x] = threadIdx.x + 1;
    __syncthreads();
    auto from_lambda = [&](int i) { return s[i]; };
    static_assert(sizeof(s) == 16, "the array keeps its type");
    p[threadIdx.x] = sum_of(s) + first_of(s) + *(s + 1) + (&s[2])[1] + from_lambda(0) + int(sizeof(s) / sizeof(s[0]));
}
CASE(stays_an_array)
{
    int *p = array();
    as_array<<<1, 4>>>(p);
    WAIT();
    EXPECT(p[0] == 10 + 1 + 2 + 4 + 1 + 4);
    return true;
}

__global__ void own_memory(int *p)
{
    __shared__ int s;
    if (threadIdx.x == 0) s = blockIdx.x;
    __syncthreads();
    p[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
CASE(each_block_its_own)
{
    int *p = array(1024);
    own_memory<<<32, 32>>>(p);
    WAIT();
    for (int i = 0; i < 1024; i++) EXPECT(p[i] == i / 32);
    return true;
}
