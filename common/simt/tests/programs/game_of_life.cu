// Conway's game of life on a torus: byte cells, a tile with its border in shared memory, two buffers.
#include <iostream>
#include <vector>
#include <utility>

typedef unsigned char ubyte;
constexpr int W = 40, H = 36, TILE = 8;

__global__ void life(const ubyte *__restrict__ in, ubyte *__restrict__ out)
{
    __shared__ ubyte tile[TILE + 2][TILE + 2];
    const int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;
    for (int i = threadIdx.y * TILE + threadIdx.x; i < (TILE + 2) * (TILE + 2); i += TILE * TILE) {
        int tx = i % (TILE + 2), ty = i / (TILE + 2);
        int gx = (x0 + tx - 1 + W) % W, gy = (y0 + ty - 1 + H) % H;
        tile[ty][tx] = in[gy * W + gx];
    }
    __syncthreads();

    int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= W || y >= H) return;
    int n = 0;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            if (dx != 1 || dy != 1) n += tile[threadIdx.y + dy][threadIdx.x + dx];
    out[y * W + x] = n == 3 || (n == 2 && tile[threadIdx.y + 1][threadIdx.x + 1]);
}

int main()
{
    std::vector<ubyte> cells(W * H), next(W * H), result(W * H);
    for (int i = 0; i < W * H; i++) cells[i] = (i * 7 + i / 13) % 3 == 0;
    ubyte *a = nullptr, *b = nullptr;
    cudaMalloc(&a, W * H);
    cudaMalloc(&b, W * H);
    cudaMemcpy(a, cells.data(), W * H, cudaMemcpyHostToDevice);
    for (int generation = 0; generation < 10; generation++) {
        life<<<dim3((W + TILE - 1) / TILE, (H + TILE - 1) / TILE), dim3(TILE, TILE)>>>(a, b);
        std::swap(a, b);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                int n = 0;
                for (int d = 0; d < 9; d++)
                    if (d != 4) n += cells[(y + d / 3 - 1 + H) % H * W + (x + d % 3 - 1 + W) % W];
                next[y * W + x] = n == 3 || (n == 2 && cells[y * W + x]);
            }
        cells.swap(next);
    }
    cudaMemcpy(result.data(), a, W * H, cudaMemcpyDeviceToHost);
    cudaFree(a);
    cudaFree(b);
    bool same = result == cells;
    std::cout << (same ? "same" : "different") << " after 10 generations\n";
    return !same;
}
