// a shuffle that reads lanes which have exited
#include <cstdio>

__global__ void sum(int *out, const int *in, int n) {
    int lane = threadIdx.x;
    if (lane >= n) return;
    int y = in[lane];
    for (int k = 16; k > 0; k /= 2)
        y += __shfl_down_sync(0xffffffff, y, k); // fault: Invalid __shfl_down_sync: lane 4 reads lane 20
    if (lane == 0) *out = y;
}

int main() {
    int *in, *out;
    cudaMalloc(&in, 20 * sizeof(int));
    cudaMalloc(&out, sizeof(int));
    cudaMemset(in, 0, 20 * sizeof(int));
    sum<<<1, 32>>>(out, in, 20);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}
