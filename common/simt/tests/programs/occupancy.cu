// Block size by the occupancy calculator, and the resulting occupancy.
#include "stdio.h"

__global__ void MyKernel(int *array, int arrayCount)
{
  int idx = threadIdx.x + blockIdx.x * blockDim.x;
  if (idx < arrayCount)
  {
    array[idx] *= array[idx];
  }
}

template <typename T> __global__ void __launch_bounds__(256) heavy(T *d)
{
  extern __shared__ T s[];
  s[threadIdx.x] = d[threadIdx.x];
  __syncthreads();
  d[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

int launchMyKernel(int *array, int arrayCount)
{
  int blockSize;      // The launch configurator returned block size
  int minGridSize;    // The minimum grid size needed to achieve the maximum occupancy for a full device launch
  int gridSize;       // The actual grid size needed, based on input size

  cudaOccupancyMaxPotentialBlockSize( &minGridSize, &blockSize, MyKernel, 0, 0);
  gridSize = (arrayCount + blockSize - 1) / blockSize;

  MyKernel<<< gridSize, blockSize >>>(array, arrayCount);
  cudaDeviceSynchronize();

  int maxActiveBlocks;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor( &maxActiveBlocks, MyKernel, blockSize, 0);

  int device;
  cudaDeviceProp props;
  cudaGetDevice(&device);
  cudaGetDeviceProperties(&props, device);
  float occupancy = (maxActiveBlocks * blockSize / props.warpSize) / (float)(props.maxThreadsPerMultiProcessor / props.warpSize);
  printf("Launched blocks of size %d. Theoretical occupancy: %f\n", blockSize, occupancy);
  return occupancy > 0.4f && occupancy <= 1.0f && minGridSize > 0;
}

int main()
{
  const int n = 3000;
  int *a, ok = 1;
  cudaMallocManaged(&a, n * sizeof(int));
  for (int i = 0; i < n; i++) a[i] = i;
  ok &= launchMyKernel(a, n);
  for (int i = 0; i < n; i++) ok &= a[i] == i * i;

  // more than 48 KB of shared memory needs cudaFuncSetAttribute
  int bytes = 64 * 1024;
  cudaFuncAttributes attributes;
  ok &= cudaFuncGetAttributes(&attributes, heavy<int>) == cudaSuccess;
  heavy<int><<<1, 32, bytes>>>(a);
  ok &= cudaGetLastError() == cudaErrorInvalidValue;
  ok &= cudaFuncSetAttribute(heavy<int>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) == cudaSuccess;
  heavy<int><<<1, 32, bytes>>>(a);
  ok &= cudaGetLastError() == cudaSuccess;
  ok &= cudaDeviceSynchronize() == cudaSuccess;
  for (int i = 0; i < 32; i++) ok &= a[i] == (31 - i) * (31 - i);
  printf("%s\n", ok ? "right" : "wrong");
  cudaFree(a);
  return !ok;
}
