// The addresses of shared variables, and that every block has its own, also when several blocks are live.
#include <cooperative_groups.h>
#include <cstdint>

// Blocks keep their shared memory across the grid barrier.
__global__ void kept(int *out) {
    __shared__ int s[64];
    extern __shared__ int d[];
    int t = threadIdx.x, mine = blockIdx.x * 64 + t;
    for (int round = 0; round < 3; round++) {
        s[t] = mine + round;
        d[t] = -(mine + round);
        cooperative_groups::this_grid().sync();
        out[mine] = s[63 - t] + 1000000 * (d[t] + s[t]);
        cooperative_groups::this_grid().sync();
    }
}

template <int N> __device__ int *own_array() {
    __shared__ int array[N];
    return array;
}

// One variable per instance of a template, the same one for every call.
__global__ void instances(uint64_t *out) {
    out[0] = (uint64_t)own_array<8>();
    out[1] = (uint64_t)own_array<16>();
    out[2] = (uint64_t)own_array<8>();
}

struct alignas(16) quad {
    float x[4];
};

__global__ void alignment(uint64_t *out) {
    __shared__ char c;
    __shared__ quad q[3];
    __shared__ double d;
    __shared__ short s[5];
    extern __shared__ float4 dynamic[];
    out[0] = (uint64_t)&c;
    out[1] = (uint64_t)q;
    out[2] = (uint64_t)&d;
    out[3] = (uint64_t)s;
    out[4] = (uint64_t)dynamic;
}

// A block must not see the shared memory of an earlier one.
__global__ void stale(float *out) {
    __shared__ float s[32];
    if (threadIdx.x == 0) out[blockIdx.x] = s[0]; // here: stale
    s[threadIdx.x] = 1.0f;
}

__global__ void stale_dynamic(float *out) {
    __shared__ float beside[32];
    extern __shared__ float rows[];
    beside[threadIdx.x] = 1.0f;
    if (threadIdx.x == 0) { out[blockIdx.x] = rows[0] + beside[0]; } // here: dynamic
}

__global__ void much(int *out, int n) {
    extern __shared__ char bytes[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) bytes[i] = (char)i;
    __syncthreads();
    int bad = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) bad += bytes[i] != (char)i;
    if (bad) atomicAdd(out, bad);
}

// 128 bytes of static memory beside the dynamic.
template <int Instance> __global__ void much_beside(int *out, int n) {
    extern __shared__ char bytes[];
    __shared__ int last[32];
    if (threadIdx.x < 32) last[threadIdx.x] = Instance;
    if (n > 0) bytes[n - 1] = 1;
    __syncthreads();
    if (threadIdx.x == 0 && (last[31] != Instance || (n > 0 && bytes[n - 1] != 1))) atomicAdd(out, 1);
}

template <class T> static T *device(int n) {
    T *p = nullptr;
    cudaMalloc(&p, n * sizeof(T));
    cudaMemset(p, 0, n * sizeof(T));
    return p;
}

template <class T> static int fetch(T *to, const T *from, int n) {
    cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyDeviceToHost);
    return cudaDeviceSynchronize();
}

// Opts in (opt_in >= 0) and launches: the error of the first that fails. The static memory of an instance is known after its
// first launch.
template <int Instance> static int beside(int bytes, int opt_in) {
    int *bad = device<int>(1), result = -1;
    int error = opt_in < 0
                    ? 0
                    : cudaFuncSetAttribute(much_beside<Instance>, cudaFuncAttributeMaxDynamicSharedMemorySize, opt_in);
    cudaGetLastError();
    if (error) return error;
    much_beside<Instance><<<3, 64, bytes>>>(bad, bytes);
    error = cudaGetLastError();
    if (error) return error;
    error = fetch(&result, bad, 1);
    return error ? error : -result;
}

// All blocks exist at the same time. The compiler takes the alignment for granted, so the host looks.
__global__ void aligned(uint64_t *out) {
    extern __shared__ __align__(128) char lines[];
    __shared__ __align__(128) char fixed[128];
    cooperative_groups::this_grid().sync();
    out[2 * blockIdx.x] = (uint64_t)lines;
    out[2 * blockIdx.x + 1] = (uint64_t)fixed;
}

extern "C" {

int run_kept(int blocks, int *out) {
    int *p = device<int>(blocks * 64);
    void *arguments[] = {&p};
    cudaLaunchCooperativeKernel(kept, blocks, 64, arguments, 64 * sizeof(int), 0);
    return fetch(out, p, blocks * 64);
}

int run_instances(uint64_t *out) {
    uint64_t *p = device<uint64_t>(3);
    instances<<<1, 1>>>(p);
    return fetch(out, p, 3);
}

int run_alignment(uint64_t *out) {
    uint64_t *p = device<uint64_t>(5);
    alignment<<<1, 1, 64>>>(p);
    return fetch(out, p, 5);
}

int run_stale(float *out) {
    float *p = device<float>(4);
    stale<<<4, 32>>>(p);
    return fetch(out, p, 4);
}

int run_stale_dynamic(float *out) {
    float *p = device<float>(4);
    stale_dynamic<<<4, 32, 256>>>(p);
    return fetch(out, p, 4);
}

int run_much(int bytes, int opt_in) {
    int *bad = device<int>(1), result = -1;
    int error = cudaFuncSetAttribute(much, cudaFuncAttributeMaxDynamicSharedMemorySize, opt_in);
    if (error) return error;
    much<<<3, 64, bytes>>>(bad, bytes);
    error = cudaGetLastError();
    if (error) return error;
    error = fetch(&result, bad, 1);
    return error ? error : -result;
}

int run_aligned(int blocks, uint64_t *out) {
    uint64_t *p = device<uint64_t>(2 * blocks);
    void *arguments[] = {&p};
    int error = cudaLaunchCooperativeKernel((const void *)aligned, dim3(blocks), dim3(1), arguments, 256);
    return error ? error : fetch(out, p, 2 * blocks);
}

int run_beside(int instance, int bytes, int opt_in) {
    switch (instance) {
        case 0: return beside<0>(bytes, opt_in);
        case 1: return beside<1>(bytes, opt_in);
        case 2: return beside<2>(bytes, opt_in);
        case 3: return beside<3>(bytes, opt_in);
        default: return beside<4>(bytes, opt_in);
    }
}
}
