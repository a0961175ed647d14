// assert() in a kernel, with a true condition. test_device_side tests a false one.
#include <cassert>
#include <cstdio>

__global__ void testAssert(const int *values, int n)
{
    int is_one = 1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(is_one);
    assert(n > 0 && "no values");
    if (i < n)
        assert(values[i] == i * 3);
}

int main()
{
    int *values;
    cudaMallocManaged(&values, 100 * sizeof(int));
    for (int i = 0; i < 100; i++) values[i] = 3 * i;
    testAssert<<<4, 32>>>(values, 100);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    cudaFree(values);
    return error == cudaSuccess ? 0 : 1;
}
