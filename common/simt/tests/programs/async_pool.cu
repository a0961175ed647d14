// Stream-ordered allocation, a non-blocking stream, host functions, and clock64.
#include <cstdio>
#include <cstdlib>

#define CK(x) if (cudaError_t err = (x); err != cudaSuccess) { fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(err)); exit(1); } else (void)0

__global__ void spin(long long *ticks, int *data)
{
    long long start = clock64();
    for (int i = 0; i < 10; i++) data[threadIdx.x] += i;
    if (threadIdx.x == 0) *ticks = clock64() - start;
}

static void CUDART_CB callback(void *flag) { *(int *)flag = 1; }

int main()
{
    cudaStream_t s;
    CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    int *data, flag = 0, result[32];
    long long *ticks, t = -1;
    CK(cudaMallocAsync(&data, 32 * sizeof(int), s));
    CK(cudaMallocAsync((void **)&ticks, sizeof *ticks, s));
    CK(cudaMemsetAsync(data, 0, 32 * sizeof(int), s));
    spin<<<1, 32, 0, s>>>(ticks, data);
    CK(cudaGetLastError());
    CK(cudaMemcpyAsync(result, data, sizeof result, cudaMemcpyDeviceToHost, s));
    CK(cudaMemcpyAsync(&t, ticks, sizeof t, cudaMemcpyDeviceToHost, s));
    CK(cudaLaunchHostFunc(s, callback, &flag));
    CK(cudaFreeAsync(data, s));
    CK(cudaFreeAsync(ticks, s));
    CK(cudaStreamSynchronize(s));
    CK(cudaStreamDestroy(s));
    bool ok = flag == 1 && t >= 0;
    for (int v : result) ok = ok && v == 45;
    CK(cudaDeviceReset());
    puts(ok ? "ok" : "wrong");
    return ok ? 0 : 1;
}
