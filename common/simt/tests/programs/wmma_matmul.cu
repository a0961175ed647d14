// needs: sm_70 (mma.h)
// C = alpha A B + beta C with mma.h: one warp for each tile of 16 x 16, B stored by columns.
#include <mma.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace nvcuda::wmma;

__global__ void matmul(float *c, const half *a, const half *b, int m, int n, int k, float alpha, float beta) {
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * 16, column = blockIdx.x * 16;
    if (row >= m) { return; }
    fragment<matrix_a, 16, 16, 16, half, row_major> x;
    fragment<matrix_b, 16, 16, 16, half, col_major> y;
    fragment<accumulator, 16, 16, 16, float> sums, old;
    fill_fragment(sums, 0.0f);
    for (int at = 0; at < k; at += 16) {
        load_matrix_sync(x, a + row * k + at, k);
        load_matrix_sync(y, b + column * k + at, k);
        mma_sync(sums, x, y, sums);
    }
    float *tile = c + row * n + column;
    load_matrix_sync(old, tile, n, mem_row_major);
    for (int i = 0; i < old.num_elements; i++) { old.x[i] = alpha * sums.x[i] + beta * old.x[i]; }
    store_matrix_sync(tile, old, n, mem_row_major);
}

int main() {
    const int m = 80, n = 48, k = 64;
    const float alpha = 0.5f, beta = -2.0f;
    half *a, *b;
    float *c;
    cudaMallocManaged(&a, m * k * sizeof *a);
    cudaMallocManaged(&b, k * n * sizeof *b);
    cudaMallocManaged(&c, m * n * sizeof *c);
    srand(5);
    for (int i = 0; i < m * k; i++) { a[i] = __float2half(rand() % 2001 / 1000.0f - 1); }
    for (int i = 0; i < k * n; i++) { b[i] = __float2half(rand() % 2001 / 1000.0f - 1); }
    for (int i = 0; i < m * n; i++) { c[i] = rand() % 100 / 10.0f; }
    std::vector<float> before(c, c + m * n);
    matmul<<<dim3(n / 16, (m / 16 + 3) / 4), dim3(32, 4)>>>(c, a, b, m, n, k, alpha, beta);
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        return 1;
    }
    double worst = 0;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++) { sum += (double)__half2float(a[i * k + l]) * __half2float(b[j * k + l]); }
            worst = std::fmax(worst, std::fabs(alpha * sum + beta * before[i * n + j] - c[i * n + j]));
        }
    }
    printf("largest error %.2g\n", worst);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    return worst < 1e-4 ? 0 : 1;
}
