// Properties of the device.
#include <stdio.h>

int main() {
  int nDevices, driver = 0, runtime = 0;

  cudaGetDeviceCount(&nDevices);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  printf("CUDA runtime %d.%d\n", runtime / 1000, (runtime % 100) / 10);
  for (int i = 0; i < nDevices; i++) {
    cudaDeviceProp prop;
    cudaGetDeviceProperties(&prop, i);
    printf("Device Number: %d\n", i);
    printf("  Device name: %s, compute capability %d.%d\n", prop.name, prop.major, prop.minor);
    printf("  Memory: %.1f GiB, bus %d bits, L2 %d bytes\n", (double)prop.totalGlobalMem / (1 << 30), prop.memoryBusWidth, prop.l2CacheSize);
    printf("  SMs %d, warp %d, threads per block %d, per SM %d\n", prop.multiProcessorCount, prop.warpSize,
           prop.maxThreadsPerBlock, prop.maxThreadsPerMultiProcessor);
    printf("  Shared memory per block %zu, opt-in %zu, per SM %zu; registers %d; constant %zu\n", prop.sharedMemPerBlock,
           prop.sharedMemPerBlockOptin, prop.sharedMemPerMultiprocessor, prop.regsPerBlock, prop.totalConstMem);
    printf("  Max dimensions %d x %d x %d, grid %d x %d x %d\n", prop.maxThreadsDim[0], prop.maxThreadsDim[1],
           prop.maxThreadsDim[2], prop.maxGridSize[0], prop.maxGridSize[1], prop.maxGridSize[2]);
    printf("  unified addressing %s, managed %s, cooperative launch %s\n", prop.unifiedAddressing ? "yes" : "no",
           prop.managedMemory ? "yes" : "no", prop.cooperativeLaunch ? "yes" : "no");
    int sms = 0, clock = 0;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, i);
    cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, i);
    if (sms != prop.multiProcessorCount || prop.warpSize != 32 || prop.maxThreadsPerBlock != 1024) return 2;
    if (prop.sharedMemPerBlock != 48 * 1024 || prop.major < 7) return 3;
  }
  size_t free_bytes, total_bytes;
  cudaMemGetInfo(&free_bytes, &total_bytes);
  int device = -1;
  cudaSetDevice(0);
  cudaGetDevice(&device);
  return !(nDevices >= 1 && device == 0 && free_bytes <= total_bytes && cudaGetLastError() == cudaSuccess);
}
