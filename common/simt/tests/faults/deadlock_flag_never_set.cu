// deadlock: a block waits for a flag that no block sets
#include <cstdio>

__global__ void produce_and_consume(volatile int *flag, int *data, int producer) {
    if (blockIdx.x == producer) { // the host passes 2, the blocks are 0 and 1
        data[0] = 42;
        __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) {} // fault: Endless loop: the thread polls a value that no thread changes
        data[1 + blockIdx.x] = data[0];
    }
}

int main() {
    int *flag, *data;
    cudaMalloc(&flag, sizeof(int));
    cudaMalloc(&data, 4 * sizeof(int));
    cudaMemset(flag, 0, sizeof(int));
    produce_and_consume<<<2, 1>>>(flag, data, 2);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(flag);
    cudaFree(data);
}
