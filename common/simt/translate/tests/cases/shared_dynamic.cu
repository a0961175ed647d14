// Dynamic shared memory, and shared memory at namespace scope.
#include "case.h"

#define N 32

__global__ void dynamic_int(int *p)
{
    extern __shared__ int s[];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__global__ void dynamic_float(int *p)
{
    __shared__ extern float floats[];
    floats[threadIdx.x] = threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = (int)*(floats + (blockDim.x - 1 - threadIdx.x));
}
__global__ void dynamic_aligned(int *p)
{
    extern __shared__ __align__(16) unsigned char raw[];
    __shared__ int fixed[4];
    float4 *v = (float4 *)raw;
    short *after = reinterpret_cast<short *>(&v[4]);
    int t = threadIdx.x;
    v[t] = make_float4(t, 0, 0, 1);
    after[t] = t;
    fixed[t] = 3;
    __syncthreads();
    p[t] = (int)v[3 - t].x + after[t] + fixed[3 - t];
}
template <class T> __global__ void dynamic_template(T *p)
{
    extern __shared__ char bytes[];
    T *s = reinterpret_cast<T *>(bytes);
    s[threadIdx.x] = T(threadIdx.x);
    __syncthreads();
    p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__global__ void dynamic_rows(int *p)
{
    extern volatile __shared__ int rows[][4];
    rows[threadIdx.x][threadIdx.y] = threadIdx.x * 10 + threadIdx.y;
    __syncthreads();
    p[threadIdx.x * 4 + threadIdx.y] = rows[1 - threadIdx.x][3 - threadIdx.y];
}
CASE(dynamic)
{
    int *p = array();
    dynamic_int<<<1, 8, 8 * sizeof(int)>>>(p);
    WAIT();
    EXPECT(p[0] == 7);
    dynamic_float<<<1, 16, 16 * sizeof(float)>>>(p);
    WAIT();
    EXPECT(p[0] == 15);
    dynamic_aligned<<<1, 4, 4 * 16 + 8>>>(p);
    WAIT();
    EXPECT(p[0] == 6 && p[3] == 6);
    double *d = array<double>();
    dynamic_template<<<1, 4, 32>>>(d);
    dynamic_template<<<1, 4, 16>>>(p);
    WAIT();
    EXPECT(d[0] == 3 && p[0] == 3);
    dynamic_rows<<<1, dim3(2, 4), 32>>>(p);
    WAIT();
    EXPECT(p[0] == 13 && p[7] == 0);
    return true;
}

extern __shared__ int at_file_scope[];
namespace ns { extern __shared__ __align__(8) float inside[]; }
__shared__ int fixed_at_file_scope[N];
__device__ int reader(int i) { return at_file_scope[i] + fixed_at_file_scope[i]; }
__device__ int parameter_of_that_name(const int *at_file_scope, int i) { return at_file_scope[i]; }
__device__ int local_of_that_name(int i)
{
    int fixed_at_file_scope = i + 1;
    return fixed_at_file_scope;
}
struct Member { int at_file_scope; };
__global__ void namespace_scope(int *p)
{
    int t = threadIdx.x;
    at_file_scope[t] = t;
    fixed_at_file_scope[t] = 100;
    __syncthreads();
    Member m{t};
    p[t] = reader(N - 1 - t) + parameter_of_that_name(at_file_scope, t) + m.at_file_scope + local_of_that_name(t);
}
namespace ns {
__global__ void floats(int *p)
{
    inside[threadIdx.x] = 0.5f * threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = (int)(inside[1] * 4);
}
}
CASE(at_namespace_scope)
{
    int *p = array();
    namespace_scope<<<1, N, N * sizeof(int)>>>(p);
    WAIT();
    EXPECT(p[0] == 131 + 0 + 0 + 1 && p[31] == 100 + 31 + 31 + 32);
    ns::floats<<<1, 4, 16>>>(p);
    WAIT();
    EXPECT(p[0] == 2);
    return true;
}
