// transpose.cu — a tiled transpose with a mistake: the threads of a block exchange a tile without a barrier.
// The chapter on simt-cc finds the mistake, mends it, and compares the kernels' memory traffic.
#include <cstdio>
#include <vector>

constexpr int TILE = 32;

__global__ void transpose_naive(float *out, const float *in, int n) { // (n, n)
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}

__global__ void transpose_tiled(float *out, const float *in, int n) { // (n, n)
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE, y = blockIdx.y * TILE;
    tile[threadIdx.y][threadIdx.x] = in[(y + threadIdx.y) * n + x + threadIdx.x];
    out[(x + threadIdx.y) * n + y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
    const int n = 256, bytes = n * n * sizeof(float);
    std::vector<float> in(n * n), out(n * n);
    for (int i = 0; i < n * n; i++) { in[i] = i; }
    float *d_in, *d_out;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice);
    dim3 grid(n / TILE, n / TILE), block(TILE, TILE);
    transpose_naive<<<grid, block>>>(d_out, d_in, n);
    transpose_tiled<<<grid, block>>>(d_out, d_in, n);
    cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n * n; i++) { wrong += out[i] != in[i % n * n + i / n]; }
    printf("%d of %d elements are wrong\n", wrong, n * n);
    cudaFree(d_in);
    cudaFree(d_out);
    return wrong != 0;
}
