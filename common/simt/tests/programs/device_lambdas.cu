// nvcc: --extended-lambda
// A parallel for with device lambdas.
#include <cstdio>

template <class F> __global__ void for_each(int n, F f)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}

template <class F> void parallel_for(int n, F f)
{
    for_each<<<(n + 127) / 128, 128>>>(n, f);
    cudaDeviceSynchronize();
}

struct Particle { float x, v; };

int main()
{
    const int n = 500;
    Particle *p;
    int *hits;
    cudaMallocManaged(&p, n * sizeof(Particle));
    cudaMallocManaged(&hits, sizeof(int));
    *hits = 0;
    parallel_for(n, [=] __device__ (int i) { p[i] = {float(i), 1.f}; });
    const float dt = 0.5f;
    parallel_for(n, [=] __host__ __device__ (int i) {
        p[i].x += p[i].v * dt;
    });
    auto count = [p, hits, limit = 100.f] __device__ (int i) mutable -> void {
        auto over = [&](float x) { return x > limit; };
        if (over(p[i].x)) atomicAdd(hits, 1);
    };
    parallel_for(n, count);
    int bad = *hits != n - 100;
    for (int i = 0; i < n; i++) bad += p[i].x != i + 0.5f;
    printf("%d hits, %d wrong\n", *hits, bad);
    cudaFree(p);
    cudaFree(hits);
    return bad;
}
