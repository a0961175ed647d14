// Variables in device memory.
#include "case.h"

__device__ int plain;
static __device__ int with_static = 3;
int __device__ word_second = 4;
__device__ float table[4] = {1, 2, 3, 4};
__device__ int sized_by_values[] = {5, 6, 7};
__device__ int several = 1, of_them[2] = {2, 3}, *and_a_pointer;
__constant__ float coefficients[2][2] = {{1, 2}, {3, 4}};
static __constant__ int constant_number;
__device__ __constant__ int both_words = 9;
__constant__ const char letters[] = "abc";
__managed__ int shared_by_both = 6;
__device__ __managed__ double managed_array[4];
#ifdef SIMT_CPU_BACKEND // nvcc takes these only with -rdc=true
extern __device__ int defined_later;
extern __constant__ int constant_later[2];
#else
__device__ int defined_later = 50;
__constant__ int constant_later[2] = {60, 61};
#endif
__device__ volatile int changing;
__device__ __align__(32) unsigned char raw[32];
struct Point { int x, y; };
__device__ Point origin = {7, 8};
__constant__ Point corners[2] = {{1, 2}, {3, 4}};
__device__ struct { int a; float b; } unnamed;
template <class T, int N> struct Box { T value[N]; };
__device__ Box<Box<int, 2>, 3> boxes;
__device__ constexpr int fixed = 12;
__device__ const float pi = 3.5f;
__device__ unsigned long long counter;
namespace ns { __device__ int inside = 10; __constant__ int constant_inside = 11; }
namespace { __device__ int anonymous = 12; }
__device__ int add(int a, int b) { return a + b; }
typedef int (*binary)(int, int);
__device__ binary operation = add;
__device__ int (*raw_operation)(int, int) = add;
__device__ int (*operations[2])(int, int) = {add, add};
#define DEVICE_COUNTER(name) __device__ int name##_counter = 20
DEVICE_COUNTER(macro);

__global__ void read(int *p)
{
    p[0] = plain, p[1] = with_static, p[2] = word_second, p[3] = (int)table[3], p[4] = sized_by_values[2];
    p[5] = several + of_them[1], p[6] = (int)coefficients[1][0], p[7] = constant_number, p[8] = both_words;
    p[9] = letters[1], p[10] = shared_by_both, p[11] = (int)managed_array[2], p[12] = defined_later;
    p[13] = constant_later[1], p[14] = changing, p[15] = (size_t)raw % 32 == 0, p[16] = origin.y, p[17] = corners[1].x;
    p[18] = unnamed.a, p[19] = boxes.value[2].value[1], p[20] = fixed, p[21] = (int)(pi * 2), p[22] = (int)counter;
    p[23] = ns::inside + ns::constant_inside + anonymous;
    p[24] = operation(1, 2) + raw_operation(3, 4) + operations[1](5, 6), p[25] = macro_counter;
    p[26] = *and_a_pointer;
}
__global__ void write(int *p)
{
    plain = 1, with_static = 4, table[3] = 40, of_them[1] = 30, and_a_pointer = p, changing = 5, unnamed.a = 6;
    boxes.value[2].value[1] = 8, defined_later = 51, managed_array[2] = 9, shared_by_both *= 2;
    counter = 0;
    atomicAdd(&counter, 3ull);
}
#ifdef SIMT_CPU_BACKEND
__device__ int defined_later = 50;
__constant__ int constant_later[2] = {60, 61};
#endif

CASE(read_and_written)
{
    int *p = array();
    const int seven = 7;
    shared_by_both = 6;
    EXPECT(cudaMemcpyToSymbol(constant_number, &seven, sizeof seven) == cudaSuccess);
    write<<<1, 1>>>(p);
    read<<<1, 1>>>(p);
    WAIT();
    const int want[] = {1, 4, 4, 40, 7, 31, 3, 7, 9, 'b', 12, 9, 51, 61, 5, 1, 8, 3, 6, 8, 12, 7, 3, 33, 21, 20, 1};
    for (int i = 0; i < 27; i++)
        if (p[i] != want[i]) {
            printf("p[%d] is %d, not %d\n", i, p[i], want[i]);
            return false;
        }
    return true;
}
CASE(symbols)
{
    float back[4], values[4] = {9, 8, 7, 6};
    EXPECT(cudaMemcpyToSymbol(table, values, sizeof values) == cudaSuccess);
    EXPECT(cudaMemcpyFromSymbol(back, table, sizeof back) == cudaSuccess && memcmp(back, values, sizeof back) == 0);
    EXPECT(cudaMemcpyToSymbol(coefficients, values, 8, 8) == cudaSuccess);
    EXPECT(cudaMemcpyFromSymbol(back, coefficients, 16) == cudaSuccess && back[2] == 9 && back[1] == 2);
    const float old_table[4] = {1, 2, 3, 4}, old_coefficients[2] = {3, 4};
    EXPECT(cudaMemcpyToSymbol(table, old_table, 16) == cudaSuccess);
    EXPECT(cudaMemcpyToSymbol(coefficients, old_coefficients, 8, 8) == cudaSuccess);
    void *address;
    size_t bytes;
    EXPECT(cudaGetSymbolAddress(&address, ns::inside) == cudaSuccess);
    EXPECT(cudaGetSymbolSize(&bytes, boxes) == cudaSuccess && bytes == 24);
    int ten = 0;
    EXPECT(cudaMemcpy(&ten, address, sizeof ten, cudaMemcpyDeviceToHost) == cudaSuccess && ten == 10);
    return true;
}
CASE(managed_on_the_host)
{
    managed_array[3] = 2.5;
    EXPECT(managed_array[3] == 2.5);
    shared_by_both = 1;
    write<<<1, 1>>>(array());
    WAIT();
    EXPECT(shared_by_both == 2);
    return true;
}
__global__ void counts(int *p)
{
    static __device__ int calls = 100;
    int before = atomicAdd(&calls, 1);
    if (threadIdx.x == 0 && blockIdx.x == 0) p[0] = before >= 100;
    atomicMax(&p[1], before + 1);
}
CASE(static_in_a_function)
{
    int *p = array();
    counts<<<2, 32>>>(p);
    counts<<<1, 32>>>(p);
    WAIT();
    EXPECT(p[0] == 1 && p[1] == 196);
    return true;
}
// A variable for each type that is used.
template <class T> __device__ T doubled(T x) { return x + x; }
template <typename T> using unary = T (*)(T);
template <typename T> __device__ unary<T> p_doubled = doubled<T>;
template <class T, int N = 2> __device__ T of_template[N] = {1, 2};
template <class... Ts> __constant__ int how_many = sizeof...(Ts);
template <typename T> __global__ void through_template(unary<T> f, T *p)
{
    p[0] = f(3);
    of_template<T>[1] += of_template<T, 3>[0];
    p[1] = of_template<T>[1];
    p[2] = p_doubled<T>(4) + how_many<int, T, T>;
}
CASE(templates)
{
    unary<float> f;
    float *p = array<float>(), two = 0;
    EXPECT(cudaMemcpyFromSymbol(&f, p_doubled<float>, sizeof f) == cudaSuccess);
    through_template<float><<<1, 1>>>(f, p);
    WAIT();
    EXPECT(p[0] == 6 && p[1] == 3 && p[2] == 11);
    EXPECT(cudaMemcpyFromSymbol(&two, of_template<float>, sizeof two, sizeof two) == cudaSuccess && two == 3);
    return true;
}
