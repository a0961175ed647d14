// Image blur: 5 x 5 filter in constant memory with an initialiser, halo tile, clamped edges.
#include <cstdio>
#include <vector>
#define R 2
#define TILE 12
#define BLOCK (TILE + 2 * R)
__constant__ const float filter[5][5] = {
    {1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, 36, 24, 6}, {4, 16, 24, 16, 4}, {1, 4, 6, 4, 1}};
static const float host_filter[5] = {1, 4, 6, 4, 1};

__device__ __host__ inline int clampi(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

__global__ void blur(const unsigned char *in, unsigned char *out, int w, int h, int channels)
{
    __shared__ unsigned char tile[BLOCK][BLOCK];
    const int x = blockIdx.x * TILE + threadIdx.x - R, y = blockIdx.y * TILE + threadIdx.y - R;
    const bool inner = threadIdx.x >= R && threadIdx.x < BLOCK - R && threadIdx.y >= R && threadIdx.y < BLOCK - R;
    for (int c = 0; c < channels; c++) {
        __syncthreads();
        tile[threadIdx.y][threadIdx.x] = in[(clampi(y, 0, h - 1) * w + clampi(x, 0, w - 1)) * channels + c];
        __syncthreads();
        if (inner && x < w && y < h) {
            float sum = 0;
            for (int i = -R; i <= R; i++)
                for (int j = -R; j <= R; j++)
                    sum += filter[i + R][j + R] * tile[threadIdx.y + i][threadIdx.x + j];
            out[(y * w + x) * channels + c] = (unsigned char)(sum / 256.f);
        }
    }
}

int main()
{
    const int w = 50, h = 41, ch = 3, bytes = w * h * ch;
    std::vector<unsigned char> image(bytes), result(bytes);
    for (int i = 0; i < bytes; i++) image[i] = (unsigned char)(i * 31 + i / 7);
    unsigned char *d_in, *d_out;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    cudaMemcpy(d_in, image.data(), bytes, cudaMemcpyHostToDevice);
    dim3 block(BLOCK, BLOCK);
    dim3 grid((w + TILE - 1) / TILE, (h + TILE - 1) / TILE);
    blur<<<grid, block>>>(d_in, d_out, w, h, ch);
    cudaMemcpy(result.data(), d_out, bytes, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < ch; c++) {
                float s = 0;
                for (int i = -R; i <= R; i++)
                    for (int j = -R; j <= R; j++)
                        s += host_filter[i + R] * host_filter[j + R] * image[(clampi(y + i, 0, h - 1) * w + clampi(x + j, 0, w - 1)) * ch + c];
                bad += result[(y * w + x) * ch + c] != (unsigned char)(s / 256.f);
            }
    cudaFree(d_in);
    cudaFree(d_out);
    printf("%d wrong bytes\n", bad);
    return bad != 0;
}
