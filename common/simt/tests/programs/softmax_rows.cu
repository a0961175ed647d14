// Row softmax with a block per row: templated block reductions through shared memory and shuffles.
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <vector>

template <template <typename> class Op, typename T, int threads>
__inline__ __device__ T block_all_reduce(T val)
{
    __shared__ __align__(alignof(T)) T shared[threads / 32];
    __shared__ T result;
    for (int mask = 16; mask > 0; mask >>= 1) val = Op<T>()(val, __shfl_xor_sync(0xffffffff, val, mask));
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = val;
    __syncthreads();
    if (threadIdx.x == 0) {
        T total = shared[0];
        for (int i = 1; i < threads / 32; i++) total = Op<T>()(total, shared[i]);
        result = total;
    }
    __syncthreads();
    T all = result;
    __syncthreads();
    return all;
}
template <typename T> struct Sum { __device__ T operator()(T a, T b) const { return a + b; } };
template <typename T> struct Max { __device__ T operator()(T a, T b) const { return fmaxf(a, b); } };

template <int threads>
__launch_bounds__(threads) __global__ void softmax(float *__restrict__ out, const float *__restrict__ in, int cols)
{
    const float *row = in + blockIdx.x * cols;
    float m = -FLT_MAX, s = 0;
    for (int c = threadIdx.x; c < cols; c += threads) m = fmaxf(m, row[c]);
    m = block_all_reduce<Max, float, threads>(m);
    for (int c = threadIdx.x; c < cols; c += threads) s += __expf(row[c] - m);
    s = block_all_reduce<Sum, float, threads>(s);
    for (int c = threadIdx.x; c < cols; c += threads) out[blockIdx.x * cols + c] = __fdividef(__expf(row[c] - m), s);
}

int main()
{
    const int rows = 7, cols = 300;
    std::vector<float> x(rows * cols), y(rows * cols);
    for (size_t i = 0; i < x.size(); i++) x[i] = 5 * std::sin(i * 0.7);
    float *dx, *dy;
    cudaMalloc(&dx, x.size() * sizeof(float));
    cudaMalloc(&dy, x.size() * sizeof(float));
    cudaMemcpy(dx, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
    softmax<64><<<rows, 64>>>(dy, dx, cols);
    cudaMemcpy(y.data(), dy, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(dx);
    cudaFree(dy);
    double worst = 0;
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int c = 0; c < cols; c++) sum += std::exp((double)x[r * cols + c]);
        for (int c = 0; c < cols; c++) {
            double want = std::exp((double)x[r * cols + c]) / sum;
            worst = std::fmax(worst, std::fabs(y[r * cols + c] - want) / want);
        }
    }
    printf("worst relative error %s 1e-5\n", worst < 1e-5 ? "below" : "above");
    return !(worst < 1e-5);
}
