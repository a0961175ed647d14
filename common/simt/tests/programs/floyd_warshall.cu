/* All shortest paths: one launch per middle vertex, integers, plain C style. */
#include <stdio.h>
#include <stdlib.h>
#include <limits.h>
#define V 40
#define INF (INT_MAX/2)

extern "C" __global__ void relax(int *dist, int k);
extern "C" __global__ void relax(int *dist, int k)
{
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  __shared__ int ik;
  if (threadIdx.x == 0) ik = dist[i*V + k];
  __syncthreads();
  if (j >= V || i == k || j == k) return;
  int through = ik + dist[k*V + j];
  if (through < dist[i*V + j])
    dist[i*V + j] = through;
}

int main(void)
{
  int *d, *h = (int *) malloc(V*V*sizeof(int)), *r = (int *) malloc(V*V*sizeof(int)), i, j, k, bad = 0;
  srand(3);
  for (i = 0; i < V; i++) for (j = 0; j < V; j++)
    h[i*V + j] = i == j ? 0 : rand() % 4 ? INF : rand() % 100;
  cudaMalloc((void **) &d, V*V*sizeof(int));
  cudaMemcpy(d, h, V*V*sizeof(int), cudaMemcpyHostToDevice);
  for (k = 0; k < V; k++) {
    dim3 grid((V + 31)/32, V);
    relax<<<grid, 32>>>(d, k);
  }
  cudaMemcpy(r, d, V*V*sizeof(int), cudaMemcpyDeviceToHost);
  for (k = 0; k < V; k++) for (i = 0; i < V; i++) for (j = 0; j < V; j++)
    if (h[i*V + k] + h[k*V + j] < h[i*V + j]) h[i*V + j] = h[i*V + k] + h[k*V + j];
  for (i = 0; i < V*V; i++) bad += h[i] != r[i];
  cudaFree(d);
  free(h); free(r);
  printf("%d differences\n", bad);
  return bad != 0;
}
