// local array: read after the end
#include <cstdio>

__global__ void weigh(float *out, const int *classes, int n) {
    float weights[8];
    for (int k = 0; k < 8; k++) weights[k] = 1.0f / (threadIdx.x + k + 1);
    float sum = 0;
    for (int i = 0; i < n; i++) sum += weights[classes[i]]; // fault: Array index out of bounds
    out[threadIdx.x] = sum;
}

int main() {
    int classes[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, *in; // 8 and 9 are no classes
    float *out;
    cudaMalloc(&in, sizeof classes);
    cudaMalloc(&out, 32 * sizeof(float));
    cudaMemcpy(in, classes, sizeof classes, cudaMemcpyHostToDevice);
    weigh<<<1, 32>>>(out, in, 10);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}
