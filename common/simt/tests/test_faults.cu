// Faults of the processor: in the fast build no hook detects them first.
#include <cstdint>
#include <cstring>

__global__ void write_to(int *p) {
    *p = 1; // here: write
}

__global__ void divide(int *out, int by) {
    out[threadIdx.x] = 1000 / by; // here: divide
}

__device__ __noinline__ int depth(const int *next, int n) { // here: depth
    int local[16];
    for (int i = 0; i < 16; i++) local[i] = next[n + i];
    int below = next[n] < 0 ? 0 : depth(next, next[n]);
    for (int i = 0; i < 16; i++) below = (below * 3) ^ (local[i] & next[i]);
    return below;
}

__global__ void deep(int *out, const int *next) {
    out[threadIdx.x] = depth(next, 0);
}

template <int Bytes> __global__ void local_bytes(int *out, int n) {
    volatile char local[Bytes];
    for (int i = 0; i < n; i++) local[i * 97 % Bytes] = (char)i;
    out[threadIdx.x] = local[97 % Bytes];
}

// Leaves less of the stack than the frame of a signal needs, and runs until one comes.
__global__ void fill_and_wait(int *out) {
    volatile char local[63 * 1024 - 300];
    local[0] = 0;
    while (local[0] == 0) local[1] = 1;
    out[0] = local[1];
}

__global__ void wait_for_nobody(volatile int *flag) {
    while (*flag == 0) {} // here: poll
}

__global__ void fine(int *out) {
    out[threadIdx.x] = (int)threadIdx.x;
}

static int *zeros(int n) {
    int *p = nullptr;
    cudaMalloc(&p, n * sizeof(int));
    cudaMemset(p, 0, n * sizeof(int));
    return p;
}

extern "C" {

int run_null() {
    write_to<<<2, 32>>>(nullptr);
    return cudaDeviceSynchronize();
}

int run_nowhere() {
    write_to<<<2, 32>>>(reinterpret_cast<int *>(static_cast<uintptr_t>(0x123456789000)));
    return cudaDeviceSynchronize();
}

int run_divide(int by) {
    divide<<<1, 32>>>(zeros(32), by);
    return cudaDeviceSynchronize();
}

int run_endless_recursion() {
    deep<<<2, 32>>>(zeros(32), zeros(32)); // next[0] is 0: no end
    return cudaDeviceSynchronize();
}

int run_local(int kilobytes) {
    int *out = zeros(32);
    switch (kilobytes) {
        case 40: local_bytes<40 * 1024><<<1, 32>>>(out, 64); break;
        case 60: local_bytes<60 * 1024 + 512><<<1, 32>>>(out, 64); break;
        case 70: local_bytes<70 * 1024><<<1, 32>>>(out, 64); break;
        case 4096: local_bytes<4096 * 1024><<<1, 32>>>(out, 64); break;
    }
    return cudaDeviceSynchronize();
}

int run_full_stack() {
    fill_and_wait<<<1, 1>>>(zeros(1));
    return cudaDeviceSynchronize();
}

int run_endless_loop() {
    wait_for_nobody<<<1, 32>>>(zeros(1));
    return cudaDeviceSynchronize();
}

/* After a fault the context is lost, as on a device, until it is reset. */
int run_after_reset(int *out) {
    int *p = nullptr, error = cudaMalloc(&p, 4);
    if (error == 0) return -1;
    cudaDeviceReset();
    p = zeros(32);
    fine<<<1, 32>>>(p);
    error = cudaMemcpy(out, p, 32 * sizeof(int), cudaMemcpyDeviceToHost);
    return error ? error : cudaDeviceSynchronize();
}
}
