// Warp primitives: reductions, scan, ballot compaction, match, broadcast with every width.
#include <cstdio>
#include <cuda_runtime.h>

#define FULL_MASK 0xffffffff

__inline__ __device__
int warpReduceSum(int val) {
  for (int offset = warpSize/2; offset > 0; offset /= 2)
    val += __shfl_down_sync(FULL_MASK, val, offset);
  return val;
}

__inline__ __device__
int blockReduceSum(int val) {
  static __shared__ int shared[32]; // Shared mem for 32 partial sums
  int lane = threadIdx.x % warpSize;
  int wid = threadIdx.x / warpSize;

  val = warpReduceSum(val);
  if (lane==0) shared[wid]=val;
  __syncthreads();

  val = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0;
  if (wid==0) val = warpReduceSum(val);
  return val;
}

__global__ void deviceReduceKernel(int *in, int* out, int N) {
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) {
    sum += in[i];
  }
  sum = blockReduceSum(sum);
  if (threadIdx.x==0)
    out[blockIdx.x]=sum;
}

__global__ void warpThings(int *out) {
  const int lane = threadIdx.x & 31;
  int inclusive = lane;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    int n = __shfl_up_sync(FULL_MASK, inclusive, d);
    if (lane >= d) inclusive += n;
  }
  unsigned even = __ballot_sync(FULL_MASK, lane % 2 == 0);
  int rank = __popc(even & ((1u << lane) - 1));
  int partner = __shfl_xor_sync(FULL_MASK, lane, 16, 32);
  int first_of_eight = __shfl_sync(FULL_MASK, lane, 0, 8);
  unsigned same = __match_any_sync(FULL_MASK, lane / 4);
  int all = __all_sync(FULL_MASK, lane < 32), any = __any_sync(FULL_MASK, lane == 40);
  double d = __shfl_down_sync(FULL_MASK, lane * 0.5, 1);
  long long big = __shfl_sync(FULL_MASK, (long long)lane << 40, 31);

  out[lane] = inclusive == lane * (lane + 1) / 2 && rank == (lane + 1) / 2 && partner == (lane ^ 16) &&
              first_of_eight == lane / 8 * 8 && same == (0xfu << lane / 4 * 4) && all && !any &&
              d == (lane == 31 ? 31 : lane + 1) * 0.5 && big == 31LL << 40;
}

int main() {
  const int N = 5000;
  int *in, *out, ok = 1, expected = 0;
  cudaMallocManaged(&in, N * sizeof(int));
  cudaMallocManaged(&out, 1024 * sizeof(int));
  for (int i = 0; i < N; i++) expected += in[i] = i % 17;

  int threads = 512;
  int blocks = min((N + threads - 1) / threads, 4);
  deviceReduceKernel<<<blocks, threads>>>(in, out, N);
  deviceReduceKernel<<<1, 1024>>>(out, out, blocks);
  cudaDeviceSynchronize();
  ok &= out[0] == expected;
  printf("sum %d, expected %d\n", out[0], expected);

  warpThings<<<1, 32>>>(out);
  ok &= cudaDeviceSynchronize() == cudaSuccess;
  for (int i = 0; i < 32; i++) ok &= out[i];
  cudaFree(in);
  cudaFree(out);
  return !ok;
}
