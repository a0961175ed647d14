// Kernels with a wrong access, each on a marked line, and right ones.
#include <cstdio>

__global__ void fill(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 1.0f; // here: past the end
}

__global__ void read_before(float *out, const float *in) {
    out[0] = in[-1]; // here: before the start
}

__global__ void misaligned(float4 *out, const float *in) {
    out[0] = *reinterpret_cast<const float4 *>(in + 1); // here: misaligned
}

__global__ void misaligned_member(float *out, const float *in) {
    const float4 *vectors = reinterpret_cast<const float4 *>(in + 1);
    out[0] = vectors[0].x + vectors[0].w; // here: member
}

__global__ void copy(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i]; // here: unwritten
}

__global__ void shared_overrun(float *out) {
    __shared__ float first[32];
    __shared__ float second[32];
    second[threadIdx.x] = 0.0f;
    float *p = first;
    p[threadIdx.x + 1] = 1.0f; // here: past shared
    __syncthreads();
    out[threadIdx.x] = second[threadIdx.x];
}

__global__ void shared_index(float *out, int i) {
    __shared__ float tile[4][8];
    tile[threadIdx.x / 8][threadIdx.x % 8] = 0.0f;
    __syncthreads();
    out[threadIdx.x] = tile[0][i]; // here: row index
}

__global__ void shared_unwritten(float *out) {
    __shared__ float tile[64];
    tile[threadIdx.x] = 1.0f;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x + 32]; // here: stale shared
}

__global__ void dynamic_overrun(float *out, int n) {
    extern __shared__ float buffer[];
    buffer[threadIdx.x] = 1.0f; // here: past dynamic
    __syncthreads();
    out[blockIdx.x * n + threadIdx.x] = buffer[threadIdx.x];
}

__global__ void bytes(unsigned char *out, const unsigned char *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i]; // here: bytes
}

struct three {
    char a, b, c;
};

__global__ void structs(three *out, const three *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

__device__ int counter[4];
__constant__ float weight[4] = {1.0f, 2.0f, 3.0f, 4.0f};

__global__ void variables(float *out) {
    if (threadIdx.x < 4) {
        counter[threadIdx.x] = (int)threadIdx.x;
        out[threadIdx.x] = weight[threadIdx.x] + (float)counter[threadIdx.x];
    }
}

__global__ void variable_overrun(float *out, int i) {
    const float *p = weight;
    out[0] = p[i]; // here: past constant
}

__global__ void share_local(float *out) {
    __shared__ float *pointer;
    float local = (float)threadIdx.x;
    if (threadIdx.x == 0) pointer = &local;
    __syncthreads();
    if (threadIdx.x == 1) *pointer = 1.0f; // here: another's local
    __syncthreads();
    out[threadIdx.x] = local;
}

__device__ float helper(const float *in, int i) {
    return in[i]; // here: in helper
}

__global__ void through_helper(float *out, const float *in, int n) {
    out[threadIdx.x] = helper(in, (int)threadIdx.x + n);
}

static float *device(int n) {
    float *p = nullptr;
    cudaMalloc(&p, n * sizeof(float));
    return p;
}

static float *device_zeros(int n) {
    float *p = device(n);
    cudaMemset(p, 0, n * sizeof(float));
    return p;
}

#define RUN(name, ...)                  \
    extern "C" int run_##name() {       \
        __VA_ARGS__;                    \
        return cudaDeviceSynchronize(); \
    }

RUN(past_end, fill<<<4, 256>>>(device(1000), 1000))
RUN(before_start, read_before<<<1, 1>>>(device(1), device_zeros(8)))
RUN(freed, float *p = device_zeros(64); cudaFree(p); copy<<<1, 64>>>(device(64), p, 64))
RUN(misaligned_member, misaligned_member<<<1, 1>>>(device(1), device_zeros(8)))
RUN(misaligned, misaligned<<<1, 1>>>((float4 *)device(4), device_zeros(8)))
RUN(uninitialised, copy<<<1, 64>>>(device(64), device(64), 64))
RUN(partly_written, float *p = device(64); cudaMemset(p, 0, 63 * 4); copy<<<1, 64>>>(device(64), p, 64))
RUN(copied_unwritten, float *p = device(64); float *q = device_zeros(64);
    cudaMemcpy(q, p, 64 * 4, cudaMemcpyDeviceToDevice); copy<<<1, 64>>>(device(64), q, 64))
RUN(host_pointer, static float on_host[64]; copy<<<1, 64>>>(device(64), on_host, 64))
RUN(null_pointer, copy<<<1, 64>>>(device(64), nullptr, 64))
RUN(shared_overrun, shared_overrun<<<1, 32>>>(device(32)))
RUN(shared_index, shared_index<<<1, 32>>>(device(32), 8))
RUN(shared_unwritten, shared_unwritten<<<1, 32>>>(device(32)))
RUN(dynamic_overrun, dynamic_overrun<<<1, 64, 32 * sizeof(float)>>>(device(64), 64))
RUN(local_of_another, share_local<<<1, 32>>>(device(32)))
RUN(variable_overrun, variable_overrun<<<1, 1>>>(device(1), 4))
RUN(in_helper, through_helper<<<1, 32>>>(device(32), device_zeros(32), 1))

extern "C" float run_device_pointer() {
    float *p = device_zeros(4);
    return p[2]; // here: host follows
}

// These are right.
RUN(right_bytes, unsigned char *p; cudaMalloc(&p, 1001); cudaMemset(p, 1, 1001); unsigned char *q; cudaMalloc(&q, 1001);
    bytes<<<4, 256>>>(q, p, 1001); bytes<<<4, 256>>>(p, q, 1001))
RUN(right_structs, three *p; cudaMalloc(&p, 3 * 100); cudaMemset(p, 1, 3 * 100); three * q; cudaMalloc(&q, 3 * 100);
    structs<<<1, 128>>>(q, p, 100); structs<<<1, 128>>>(p, q, 100))
RUN(right_variables, variables<<<1, 32>>>(device(4)))
RUN(right_dynamic, dynamic_overrun<<<3, 64, 64 * sizeof(float)>>>(device(192), 64))
RUN(right_pinned, float *p; cudaMallocHost(&p, 64 * 4); for (int i = 0; i < 64; i++) p[i] = i;
    copy<<<1, 64>>>(device(64), p, 64))
RUN(one_byte_past, unsigned char *p; cudaMalloc(&p, 1001); cudaMemset(p, 1, 1001); unsigned char *q;
    cudaMalloc(&q, 1001); bytes<<<4, 256>>>(q, p, 1002))

extern "C" int run_leak() {
    float *p = nullptr, *q = device(50);
    cudaMalloc(&p, 400); // here: leaked
    cudaFree(q);
    cudaDeviceReset();
    return p != nullptr;
}
