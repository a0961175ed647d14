// Overlap of copies and kernels with streams: pinned memory, asynchronous copies, events between streams.
#include <cstdio>
#include <cstring>
#include <cmath>

#define cudaCheck(expr)                                                                                   \
  {                                                                                                       \
    cudaError_t status_ = (expr);                                                                         \
    if (status_ != cudaSuccess) {                                                                         \
      std::fprintf(stderr, "%s failed at %s:%d: %s\n", #expr, __FILE__, __LINE__, cudaGetErrorString(status_)); \
      return 1;                                                                                           \
    }                                                                                                     \
  }

__global__ void kernel(float *a, int offset)
{
  int i = offset + threadIdx.x + blockIdx.x*blockDim.x;
  float x = (float)i;
  float s = sinf(x);
  float c = cosf(x);
  a[i] = a[i] + sqrtf(s*s+c*c);
}

int main()
{
  const int blockSize = 128, nStreams = 4;
  const int n = 4 * 2 * blockSize * nStreams;
  const int streamSize = n / nStreams;
  const int streamBytes = streamSize * sizeof(float);
  const int bytes = n * sizeof(float);

  float *a, *d_a;
  cudaCheck(cudaMallocHost((void**)&a, bytes)); // host pinned
  cudaCheck(cudaMalloc((void**)&d_a, bytes));

  cudaStream_t stream[nStreams];
  cudaEvent_t done;
  cudaCheck(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int i = 0; i < nStreams; ++i)
    cudaCheck(cudaStreamCreate(&stream[i]));

  memset(a, 0, bytes);
  for (int i = 0; i < nStreams; ++i) {
    int offset = i * streamSize;
    cudaCheck(cudaMemcpyAsync(&d_a[offset], &a[offset], streamBytes, cudaMemcpyHostToDevice, stream[i]));
    kernel<<<streamSize/blockSize, blockSize, 0, stream[i]>>>(d_a, offset);
    cudaCheck(cudaMemcpyAsync(&a[offset], &d_a[offset], streamBytes, cudaMemcpyDeviceToHost, stream[i]));
  }
  cudaCheck(cudaEventRecord(done, stream[nStreams - 1]));
  cudaCheck(cudaStreamWaitEvent(stream[0], done, 0));
  kernel<<<1, blockSize, 0, stream[0]>>>(d_a, 0);
  cudaCheck(cudaMemcpyAsync(a, d_a, blockSize * sizeof(float), cudaMemcpyDeviceToHost, stream[0]));
  for (auto &s : stream) cudaCheck(cudaStreamSynchronize(s));
  cudaCheck(cudaStreamQuery(stream[1]));

  float maxE = 0;
  for (int i = 0; i < n; i++) {
    float error = fabs(a[i] - (i < blockSize ? 2.0f : 1.0f));
    if (error > maxE) maxE = error;
  }
  printf("max error: %s\n", maxE < 1e-5f ? "small" : "large");
  for (int i = 0; i < nStreams; ++i)
    cudaCheck(cudaStreamDestroy(stream[i]));
  cudaCheck(cudaEventDestroy(done));
  cudaCheck(cudaFree(d_a));
  cudaCheck(cudaFreeHost(a));
  return maxE < 1e-5f ? 0 : 1;
}
