/* Bitonic sort: one launch a step in global memory, and a whole block's worth in shared memory. */
#include <stdlib.h>
#include <stdio.h>

#define THREADS 128 // 2^7
#define BLOCKS 4
#define NUM_VALS THREADS*BLOCKS

float random_float() { return (float)rand()/(float)RAND_MAX; }

__global__ void bitonic_sort_step(float *dev_values, int j, int k)
{
  unsigned int i, ixj; /* Sorting partners: i and ixj */
  i = threadIdx.x + blockDim.x * blockIdx.x;
  ixj = i^j;

  /* The threads with the lowest ids sort the array. */
  if ((ixj)>i) {
    if ((i&k)==0) {
      /* Sort ascending */
      if (dev_values[i]>dev_values[ixj]) {
        float temp = dev_values[i];
        dev_values[i] = dev_values[ixj];
        dev_values[ixj] = temp;
      }
    }
    if ((i&k)!=0) {
      /* Sort descending */
      if (dev_values[i]<dev_values[ixj]) {
        float temp = dev_values[i];
        dev_values[i] = dev_values[ixj];
        dev_values[ixj] = temp;
      }
    }
  }
}

__device__ inline void swap(float & a, float & b)
{
  float tmp = a; a = b; b = tmp;
}

__global__ static void bitonicSort(float * values)
{
  extern __shared__ float shared[];
  const unsigned int tid = threadIdx.x;
  shared[tid] = values[tid];
  __syncthreads();
  for (unsigned int k = 2; k <= blockDim.x; k *= 2)
  {
    for (unsigned int j = k / 2; j>0; j /= 2)
    {
      unsigned int ixj = tid ^ j;
      if (ixj > tid)
      {
        if ((tid & k) == 0)
        {
          if (shared[tid] > shared[ixj]) swap(shared[tid], shared[ixj]);
        }
        else
        {
          if (shared[tid] < shared[ixj]) swap(shared[tid], shared[ixj]);
        }
      }
      __syncthreads();
    }
  }
  values[tid] = shared[tid];
}

void bitonic_sort(float *values)
{
  float *dev_values;
  size_t size = NUM_VALS * sizeof(float);
  cudaMalloc((void**) &dev_values, size);
  cudaMemcpy(dev_values, values, size, cudaMemcpyHostToDevice);
  dim3 blocks(BLOCKS,1);    /* Number of blocks   */
  dim3 threads(THREADS,1);  /* Number of threads  */
  int j, k;
  /* Major step */
  for (k = 2; k <= NUM_VALS; k <<= 1) {
    /* Minor step */
    for (j=k>>1; j>0; j=j>>1) {
      bitonic_sort_step<<<blocks, threads>>>(dev_values, j, k);
    }
  }
  cudaMemcpy(values, dev_values, size, cudaMemcpyDeviceToHost);
  cudaFree(dev_values);
}

int main(void)
{
  float *values = (float*) malloc( NUM_VALS * sizeof(float)), *small, copy[256];
  int bad = 0;
  for (int i = 0; i < NUM_VALS; ++i) values[i] = random_float();
  bitonic_sort(values);
  for (int i = 1; i < NUM_VALS; i++) bad += values[i - 1] > values[i];

  for (int i = 0; i < 256; i++) copy[i] = random_float();
  cudaMalloc(&small, sizeof copy);
  cudaMemcpy(small, copy, sizeof copy, cudaMemcpyDefault);
  bitonicSort<<<1, 256, sizeof(float) * 256>>>(small);
  cudaMemcpy(copy, small, sizeof copy, cudaMemcpyDefault);
  for (int i = 1; i < 256; i++) bad += copy[i - 1] > copy[i];
  cudaFree(small);
  free(values);
  printf("%d out of order\n", bad);
  return bad != 0;
}
