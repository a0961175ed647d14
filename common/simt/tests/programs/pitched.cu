// Rows padded by cudaMallocPitch, moved with cudaMemcpy2D.
#include <cstdio>
#include <cstdlib>

#define CHECK_CUDA_ERROR(val) check((val), #val, __FILE__, __LINE__)
template <typename T>
void check(T err, const char* const func, const char* const file, const int line)
{
    if (err != cudaSuccess)
    {
        fprintf(stderr, "CUDA Runtime Error at: %s:%d\n%s %s\n", file, line, cudaGetErrorString(err), func);
        std::exit(EXIT_FAILURE);
    }
}
#define CHECK_LAST_CUDA_ERROR() checkLast(__FILE__, __LINE__)
void checkLast(const char* const file, const int line)
{
    cudaError_t const err{cudaGetLastError()};
    if (err != cudaSuccess)
    {
        fprintf(stderr, "CUDA Runtime Error at: %s:%d\n%s\n", file, line, cudaGetErrorString(err));
        std::exit(EXIT_FAILURE);
    }
}

__global__ void MyKernel(float* devPtr, size_t pitch, int width, int height)
{
    for (int r = blockIdx.x; r < height; r += gridDim.x) {
        float* row = (float*)((char*)devPtr + r * pitch);
        for (int c = threadIdx.x; c < width; c += blockDim.x) {
            row[c] = row[c] * 2 + r;
        }
    }
}

int main()
{
    const int width = 65, height = 33;
    static float host[height][width];
    for (int r = 0; r < height; r++)
        for (int c = 0; c < width; c++) host[r][c] = c;
    float* devPtr;
    size_t pitch;
    CHECK_CUDA_ERROR(cudaMallocPitch(&devPtr, &pitch, width * sizeof(float), height));
    CHECK_CUDA_ERROR(cudaMemset2D(devPtr, pitch, 0, width * sizeof(float), height));
    CHECK_CUDA_ERROR(cudaMemcpy2D(devPtr, pitch, host, width * sizeof(float), width * sizeof(float), height, cudaMemcpyHostToDevice));
    MyKernel<<<8, 32>>>(devPtr, pitch, width, height);
    CHECK_LAST_CUDA_ERROR();
    CHECK_CUDA_ERROR(cudaMemcpy2D(host, width * sizeof(float), devPtr, pitch, width * sizeof(float), height, cudaMemcpyDeviceToHost));
    CHECK_CUDA_ERROR(cudaFree(devPtr));
    int bad = pitch < width * sizeof(float) || pitch % 32 != 0;
    for (int r = 0; r < height; r++)
        for (int c = 0; c < width; c++) bad += host[r][c] != 2 * c + r;
    printf("%s\n", bad ? "FAILED" : "OK");
    return bad;
}
