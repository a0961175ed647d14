// Kernels with several mistakes in many blocks.

__device__ float g(const float *in, int i) {
    return in[i]; // here: unwritten
}

__global__ void several(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = g(in, i);                                     // here: the call
    v += in[n + i];                                         // here: also unwritten
    if (threadIdx.x < 16) v += __shfl_sync(0xffffu, v, 20); // here: absent
    out[i] = v;
}

// Block 0 reaches its mistake late, the others at once.
__global__ void late_first_block(float *out, const float *in, int n) {
    float sum = 0.0f;
    if (blockIdx.x == 0)
        for (int i = 0; i < n; i++) sum += in[i % 64];
    out[64 + threadIdx.x + blockIdx.x] = sum; // here: out of bounds
}

// Lanes 0 and 1 store one value, lanes 1 and 2 two.
__global__ void pairs(int *out) {
    *out = threadIdx.x / 2; // here: pairs
}

// Block 0 races late.
__global__ void late_race(float *out, const float *in, int n) {
    __shared__ float s[64];
    float sum = 0.0f;
    if (blockIdx.x == 0)
        for (int i = 0; i < n; i++) sum += in[i % 64];
    s[threadIdx.x] = sum; // here: late race
    out[blockIdx.x * 64 + threadIdx.x] = s[(threadIdx.x + 1) % 64];
}

template <class T> static T *device(int n, bool written) {
    T *p = nullptr;
    cudaMalloc(&p, n * sizeof(T));
    if (written) cudaMemset(p, 0, n * sizeof(T));
    return p;
}

extern "C" {

int run_several(void) {
    enum { N = 64 * 40 };
    float *in = device<float>(2 * N, false), *out = device<float>(N, false);
    several<<<40, 64>>>(out, in, N);
    int error = cudaDeviceSynchronize();
    cudaFree(in);
    cudaFree(out);
    return error;
}

int run_pairs(void) {
    int *out = device<int>(1, false);
    pairs<<<2, 64>>>(out);
    int error = cudaDeviceSynchronize();
    cudaFree(out);
    return error;
}

int run_late_race(void) {
    float *in = device<float>(64, true), *out = device<float>(64 * 20, false);
    late_race<<<20, 64>>>(out, in, 20000);
    int error = cudaDeviceSynchronize();
    cudaDeviceReset();
    return error;
}

int run_late_first_block(void) {
    float *in = device<float>(64, true), *out = device<float>(64, false);
    late_first_block<<<20, 32>>>(out, in, 20000);
    int error = cudaDeviceSynchronize();
    cudaDeviceReset();
    return error;
}
}
