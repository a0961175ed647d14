// naive_softmax.cu — a softmax with one thread per row, as beside-numba times it. Prints a line per launch with milliseconds
// between launch and return, then the sum of the output.
//   naive_softmax ROWS COLUMNS BLOCK LAUNCHES
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

__global__ void softmax(float *out, const float *in, int N, int C) { // (N, C), (N, C)
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    float most = -INFINITY, sum = 0;
    for (int i = 0; i < C; i++) most = fmaxf(most, in[row * C + i]);
    for (int i = 0; i < C; i++) sum += expf(in[row * C + i] - most);
    for (int i = 0; i < C; i++) out[row * C + i] = expf(in[row * C + i] - most) / sum;
}

static double milliseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

int main(int count, char **argument) {
    if (count != 5) return 2;
    int N = atoi(argument[1]), C = atoi(argument[2]), block = atoi(argument[3]), launches = atoi(argument[4]);
    size_t elements = (size_t)N * C;
    float *host = (float *)malloc(elements * sizeof *host), *in, *out;
    if (host == nullptr || cudaMalloc(&in, elements * sizeof *in) != cudaSuccess ||
        cudaMalloc(&out, elements * sizeof *out) != cudaSuccess)
        return 1;
    for (size_t i = 0; i < elements; i++) host[i] = (float)(i * 7919 % 1000) / 500.f;
    cudaMemcpy(in, host, elements * sizeof *in, cudaMemcpyHostToDevice);
    for (int i = 0; i < launches; i++) {
        double start = milliseconds();
        softmax<<<(N + block - 1) / block, block>>>(out, in, N, C);
        if (cudaDeviceSynchronize() != cudaSuccess) return 1;
        printf("%.3f\n", milliseconds() - start);
    }
    cudaMemcpy(host, out, elements * sizeof *out, cudaMemcpyDeviceToHost);
    double sum = 0;
    for (size_t i = 0; i < elements; i++) sum += (double)host[i] * (double)(i % 97);
    printf("%.6f\n", sum);
}
