// Radix sort of 32-bit keys, 4 bits a pass: count the digits of each tile, scan the counts of all tiles, scatter. The order
// of equal digits is kept.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUCHECK(cmd) do {                                                               \
  cudaError_t e = cmd;                                                                  \
  if (e != cudaSuccess) {                                                               \
    printf("Failed: Cuda error %s:%d '%s'\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
    exit(EXIT_FAILURE);                                                                 \
  }                                                                                     \
} while (0)

enum { BITS = 4, DIGITS = 1 << BITS, THREADS = 128, WARPS = THREADS / 32 };

__device__ __forceinline__ unsigned digit_of(unsigned key, int shift) { return key >> shift & (DIGITS - 1); }

// counts[digit][tile], so that one scan over all counts gives the places
__global__ void count_digits(unsigned *counts, const unsigned *keys, int n, int shift)
{
  __shared__ unsigned local[DIGITS];
  if (threadIdx.x < DIGITS) local[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) atomicAdd(&local[digit_of(keys[i], shift)], 1u);
  __syncthreads();
  if (threadIdx.x < DIGITS) counts[threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}

__device__ unsigned warp_scan(unsigned value)
{
  for (int offset = 1; offset < 32; offset <<= 1) {
    unsigned other = __shfl_up_sync(0xffffffff, value, offset);
    if ((threadIdx.x & 31) >= offset) value += other;
  }
  return value;
}

// Exclusive scan in place, by one block
__global__ void scan_counts(unsigned *counts, int n)
{
  __shared__ unsigned sums[WARPS], carry;
  if (threadIdx.x == 0) carry = 0;
  __syncthreads();
  for (int base = 0; base < n; base += THREADS) {
    int i = base + threadIdx.x, warp = threadIdx.x / 32;
    unsigned value = i < n ? counts[i] : 0, inclusive = warp_scan(value);
    if (threadIdx.x % 32 == 31) sums[warp] = inclusive;
    __syncthreads();
    unsigned before = carry;
    for (int w = 0; w < warp; w++) before += sums[w];
    if (i < n) counts[i] = before + inclusive - value;
    __syncthreads();
    if (threadIdx.x == THREADS - 1) carry = before + inclusive;
    __syncthreads();
  }
}

__global__ void scatter(unsigned *keys_out, unsigned *values_out, const unsigned *keys, const unsigned *values,
                        const unsigned *places, int n, int shift)
{
  __shared__ unsigned warp_counts[WARPS][DIGITS];
  int i = blockIdx.x * THREADS + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane < DIGITS) warp_counts[warp][lane] = 0;
  __syncwarp();
  unsigned key = i < n ? keys[i] : 0, digit = i < n ? digit_of(key, shift) : DIGITS;
  unsigned peers = __match_any_sync(0xffffffff, digit);
  unsigned rank = __popc(peers & ((1u << lane) - 1)); // among equal digits of the warp
  if (rank == 0 && digit < DIGITS) warp_counts[warp][digit] = __popc(peers);
  __syncthreads();
  if (i >= n) return;
  for (int w = 0; w < warp; w++) rank += warp_counts[w][digit];
  unsigned place = places[digit * gridDim.x + blockIdx.x] + rank;
  keys_out[place] = key;
  values_out[place] = values[i];
}

int main(int argc, char **argv)
{
  int n = argc > 1 ? atoi(argv[1]) : 3001, tiles = (n + THREADS - 1) / THREADS;
  std::vector<unsigned> keys(n), values(n), order(n), got_keys(n), got_values(n);
  srand(12345);
  for (int i = 0; i < n; i++) {
    keys[i] = i % 3 ? (unsigned)rand() * 2u + (rand() & 1) : (unsigned)(i % 50); // some are equal
    values[i] = order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return keys[a] < keys[b]; });

  unsigned *d_keys[2], *d_values[2], *d_counts;
  for (int b = 0; b < 2; b++) {
    CUCHECK(cudaMalloc(&d_keys[b], n * sizeof(unsigned)));
    CUCHECK(cudaMalloc(&d_values[b], n * sizeof(unsigned)));
  }
  CUCHECK(cudaMalloc(&d_counts, DIGITS * tiles * sizeof(unsigned)));
  CUCHECK(cudaMemcpy(d_keys[0], keys.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
  CUCHECK(cudaMemcpy(d_values[0], values.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
  int in = 0;
  for (int shift = 0; shift < 32; shift += BITS, in ^= 1) {
    count_digits<<<tiles, THREADS>>>(d_counts, d_keys[in], n, shift);
    scan_counts<<<1, THREADS>>>(d_counts, DIGITS * tiles);
    scatter<<<tiles, THREADS>>>(d_keys[in ^ 1], d_values[in ^ 1], d_keys[in], d_values[in], d_counts, n, shift);
    CUCHECK(cudaGetLastError());
  }
  CUCHECK(cudaMemcpy(got_keys.data(), d_keys[in], n * sizeof(unsigned), cudaMemcpyDeviceToHost));
  CUCHECK(cudaMemcpy(got_values.data(), d_values[in], n * sizeof(unsigned), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += got_keys[i] != keys[order[i]] || got_values[i] != order[i];
  printf("%d keys, smallest %u, largest %u, %d in the wrong place\n", n, got_keys[0], got_keys[n - 1], wrong);
  for (int b = 0; b < 2; b++) { CUCHECK(cudaFree(d_keys[b])); CUCHECK(cudaFree(d_values[b])); }
  CUCHECK(cudaFree(d_counts));
  return wrong ? 1 : 0;
}
