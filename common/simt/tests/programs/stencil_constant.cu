// 1D stencil of radius 3 with weights in constant memory and a halo in shared memory.
#include <cstdio>
#include <cstring>
#include <algorithm>

#define RADIUS 3
#define BLOCK_SIZE 64
using namespace std;

__constant__ float c_weights[2 * RADIUS + 1];
static __constant__ int c_length;

__global__ void stencil_1d(const float *in, float *out) {
  __shared__ float temp[BLOCK_SIZE + 2 * RADIUS];
  int gindex = threadIdx.x + blockIdx.x * blockDim.x;
  int lindex = threadIdx.x + RADIUS;

  // Read input elements into shared memory
  temp[lindex] = gindex < c_length ? in[gindex] : 0.f;
  if (threadIdx.x < RADIUS) {
    temp[lindex - RADIUS] = gindex - RADIUS >= 0 ? in[gindex - RADIUS] : 0.f;
    temp[lindex + BLOCK_SIZE] = gindex + BLOCK_SIZE < c_length ? in[gindex + BLOCK_SIZE] : 0.f;
  }
  __syncthreads();

  float result = 0;
  for (int offset = -RADIUS ; offset <= RADIUS ; offset++)
    result += c_weights[offset + RADIUS] * temp[lindex + offset];
  if (gindex < c_length) out[gindex] = result;
}

int main(void) {
  const int n = 1000;
  float weights[2 * RADIUS + 1] = {1, 2, 3, 4, 3, 2, 1}, h_in[n], h_out[n];
  fill_n(h_in, n, 1.f);
  for (int i = 0; i < n; i += 5) h_in[i] = -(float)i;
  float *d_in, *d_out;
  cudaMalloc((void **)&d_in, sizeof h_in);
  cudaMalloc((void **)&d_out, sizeof h_out);
  cudaMemcpy(d_in, h_in, sizeof h_in, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(c_weights, weights, sizeof(weights));
  cudaMemcpyToSymbol(c_length, &n, sizeof n, 0, cudaMemcpyHostToDevice);

  stencil_1d<<<(n + BLOCK_SIZE - 1)/BLOCK_SIZE, BLOCK_SIZE>>>(d_in, d_out);

  cudaMemcpy(h_out, d_out, sizeof h_out, cudaMemcpyDeviceToHost);
  float back[2 * RADIUS + 1];
  cudaMemcpyFromSymbol(back, c_weights, sizeof back);
  int bad = memcmp(back, weights, sizeof back) != 0;
  for (int i = 0; i < n; i++) {
    float expected = 0;
    for (int k = -RADIUS; k <= RADIUS; k++)
      if (i + k >= 0 && i + k < n) expected += weights[k + RADIUS] * h_in[i + k];
    if (expected != h_out[i]) { printf("[%d] %f, expected %f\n", i, h_out[i], expected); bad++; break; }
  }
  cudaFree(d_in); cudaFree(d_out);
  return bad;
}
