// Error checks in common forms; every error below is provoked.
#include <stdio.h>
#include <stdlib.h>
#include <stdexcept>
#include <string>

#define CUDA_CALL(x) do { if((x)!=cudaSuccess) { printf("Error at %s:%d\n",__FILE__,__LINE__); return EXIT_FAILURE;}} while(0)
#define CUDA_TRY(call)                                                                      \
  do {                                                                                      \
    cudaError_t const status = (call);                                                      \
    if (cudaSuccess != status) {                                                            \
      cudaGetLastError();                                                                   \
      throw std::runtime_error(std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status)); \
    }                                                                                       \
  } while (0);
#define LAUNCH(kernel, grid, block, ...)  \
  kernel<<<grid, block>>>(__VA_ARGS__);   \
  CUDA_TRY(cudaGetLastError())

__global__ void write(int *p, int v) { p[threadIdx.x] = v; }

static int expect(cudaError_t got, cudaError_t want, const char *what)
{
  if (got == want) return 0;
  printf("%s: %s, expected %s\n", what, cudaGetErrorName(got), cudaGetErrorName(want));
  return 1;
}

// The documented error is cudaErrorInvalidConfiguration; the runtime of CUDA 13.0 returns cudaErrorInvalidValue.
static int expect_refused(cudaError_t got, const char *what)
{
  return got == cudaErrorInvalidValue ? 0 : expect(got, cudaErrorInvalidConfiguration, what);
}

int main()
{
  int *d, bad = 0;
  CUDA_CALL(cudaMalloc(&d, 1024 * sizeof(int)));
  LAUNCH(write, 1, 32, d, 7)
  CUDA_CALL(cudaDeviceSynchronize());

  write<<<1, 2048>>>(d, 1);
  bad += expect_refused(cudaPeekAtLastError(), "2048 threads");
  bad += expect_refused(cudaGetLastError(), "2048 threads, again");
  bad += expect(cudaGetLastError(), cudaSuccess, "cleared");
  write<<<0, 32>>>(d, 1);
  bad += expect_refused(cudaGetLastError(), "no blocks");
  write<<<1, 32, 1 << 20>>>(d, 1);
  bad += expect(cudaGetLastError(), cudaErrorInvalidValue, "a megabyte of shared memory");
  try {
    LAUNCH(write, 1, 1025, d, 3);
    bad++;
  } catch (std::runtime_error const &e) {
    std::string text = e.what();
    bad += text.find("cudaErrorInvalidConfiguration: ") != 0 && text.find("cudaErrorInvalidValue: ") != 0;
  }
  bad += expect(cudaMemcpy(d, NULL, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue, "copy from NULL");
  bad += expect(cudaGetLastError(), cudaErrorInvalidValue, "copy from NULL, last");
  bad += expect(cudaSetDevice(99), cudaErrorInvalidDevice, "device 99");
  cudaGetLastError();

  int host = 0;
  CUDA_CALL(cudaMemcpy(&host, d + 31, sizeof(int), cudaMemcpyDeviceToHost));
  bad += host != 7;
  CUDA_CALL(cudaFree(d));
  printf("%d unexpected\n", bad);
  return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
