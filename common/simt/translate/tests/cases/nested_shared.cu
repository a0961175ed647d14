// Shared variables where CUDA's storage and C++'s locals differ most: in a switch, and in lambdas.
#include "case.h"

template <int BIAS> __global__ void in_a_switch(int *p, int mode)
{
    int t = threadIdx.x;
    switch (mode) {
    case 0: __shared__ int all[32]; all[t] = t; __syncthreads(); p[t] = all[31 - t]; break;
    case 1:
        __shared__ int one;
        __shared__ __align__(16) int row[32];
        if (t == 0) one = BIAS;
        row[t] = 2 * t;
        __syncthreads();
        p[t] = one + row[t ^ 1];
        break;
    default: p[t] = -1;
    }
}
CASE(in_a_switch)
{
    int *p = array();
    in_a_switch<7><<<1, 32>>>(p, 0);
    WAIT();
    EXPECT(p[0] == 31 && p[31] == 0);
    in_a_switch<7><<<1, 32>>>(p, 1);
    WAIT();
    EXPECT(p[0] == 9 && p[3] == 11);
    in_a_switch<7><<<1, 32>>>(p, 2);
    WAIT();
    EXPECT(p[5] == -1);
    return true;
}

__shared__ int of_the_file[32];

__global__ void in_lambdas(int *p)
{
    __shared__ int s[32];
    extern __shared__ int dynamic[];
    auto put = [](int i, int value) { s[i] = value; };
    auto put_by_value = [=](int i) { dynamic[i] = s[i ^ 1], of_the_file[i] = 100 * i; };
    auto own = [](int i) {
        __shared__ int inner[32];
        inner[i] = i;
        __syncwarp();
        return inner[i ^ 1];
    };
    auto other = [](int s) { return s + 1; };
    int t = threadIdx.x;
    put(t, t);
    __syncthreads();
    put_by_value(t);
    __syncthreads();
    auto sum = [&] { return s[t] + dynamic[t] + of_the_file[t] + own(t) + other(t); };
    p[t] = sum();
}
CASE(in_lambdas)
{
    int *p = array();
    in_lambdas<<<1, 32, 32 * sizeof(int)>>>(p);
    WAIT();
    for (int t = 0; t < 32; t++) EXPECT(p[t] == t + (t ^ 1) + 100 * t + (t ^ 1) + t + 1);
    return true;
}
