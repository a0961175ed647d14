// deadlock: a thread takes a spin lock that it holds
#include <cstdio>

__device__ int lock, balance;

__device__ void acquire() {
    while (atomicCAS(&lock, 0, 1) != 0) {} // fault: Endless loop: the thread polls a value that no thread changes
    __threadfence();
}

__device__ void release() {
    __threadfence();
    atomicExch(&lock, 0);
}

__device__ void deposit(int amount) {
    acquire();
    balance += amount;
    release();
}

__global__ void transfer(int amount) {
    acquire();
    if (balance < 1000) deposit(amount);
    release();
}

int main() {
    transfer<<<2, 1>>>(10);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
