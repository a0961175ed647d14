// Forms of the asm statement.
#include "case.h"

#define ADD(result, left, right) asm("add.s32 %0, %1, %2;" : "=r"(result) : "r"(left), "r"(right))

struct pair {
    int first, second;
};

template <int Constant> __device__ int plus_constant(int x)
{
    int result;
    asm("add.s32 %0, %1, %2;" : "=r"(result) : "r"(x), "n"(Constant * 2));
    return result;
}

__device__ __forceinline__ unsigned lane_of()
{
    unsigned result;
    asm volatile("mov.u32 %0, %laneid;" : "=r"(result));
    return result;
}

__global__ void forms(int *p)
{
    int i = threadIdx.x, d[2] = {0, 0};
    pair both = {0, 0};
    if (i < 32)
        asm("add.s32 %0, %1, 1;" : "=r"(d[0]) : "r"(i));
    else
        ADD(d[0], i, 2);
    __asm__ __volatile__("add.s32 %0, %0, %2;\n\t"
                         "add.s32 %1, %2, 5;" // a second result
                         : "+r"(d[0]), "=r"(both.second) // in this order
                         : "r"(*(p + i)));
    asm volatile("" ::: "memory");
    asm("{.reg .s32 t; /* a comment */ add.s32 t, %1, %1; { .reg .s32 t; mov.s32 t, 7; } mov.s32 %0, t;}"
        : "=r"(d[1])
        : "r"([&](int x) { return x + 1; }(i)));
    asm(R"(add.s32 %0, %0, 100;
           add.s32 %0, %0, 1;)" : "+r"(both.first));
    p[i] = d[0] + d[1] * 1000 + both.first * 100000 + plus_constant<3>(both.second - 5) + (int)lane_of();
}
CASE(asm_statements)
{
    int *p = array();
    for (int i = 0; i < 64; i++) p[i] = i % 3;
    forms<<<1, 64>>>(p);
    WAIT();
    for (int i = 0; i < 64; i++) {
        int old = i % 3, first = i + (i < 32 ? 1 : 2) + old, lane = i % 32;
        if (p[i] != first + (2 * i + 2) * 1000 + 101 * 100000 + old + 6 + lane) printf("%d: %d\n", i, p[i]);
        EXPECT(p[i] == first + (2 * i + 2) * 1000 + 101 * 100000 + old + 6 + lane);
    }
    return true;
}

// Host code keeps its own assembly.
CASE(host_assembly)
{
    int x = 3;
    asm volatile("" : "+r"(x));
    EXPECT(x == 3);
    return true;
}
