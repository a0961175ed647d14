// CUDA in included headers: included by another header, in a folder, included twice.
#include "case.h"
#include "local.cuh"
#include "local.cuh"
#include "inner/deep.cuh"

CASE(kernel_in_a_header)
{
    int *p = array();
    fill_from_header<<<1, 4>>>(p, 3);
    WAIT();
    EXPECT(p[0] == 6 && p[3] == 3);
    return true;
}
CASE(launch_in_a_header)
{
    int *p = array();
    EXPECT(launch_from_header(p) == cudaSuccess);
    WAIT();
    EXPECT(p[0] == 8 && p[3] == 5);
    return true;
}
CASE(device_variable_in_a_header)
{
    int v = 0;
    EXPECT(cudaMemcpyFromSymbol(&v, deep_variable, sizeof v) == cudaSuccess && v == 77);
    return true;
}
__global__ void from_macro(int *p) { DEEP_SHARED(int, s, 4); s[threadIdx.x] = 2; __syncthreads(); p[threadIdx.x] = s[3]; }
CASE(shared_memory_by_a_macro_of_a_header)
{
    int *p = array();
    DEEP_LAUNCH(from_macro, 4, p);
    WAIT();
    EXPECT(p[0] == 2);
    return true;
}
CASE(lines)
{
    EXPECT(line_in_header == 20);
    EXPECT(__LINE__ == 41);
    return true;
}
