// Sparse matrix times vector: a thread per row, a warp per row.
#include <iostream>
#include <vector>
#include <cmath>
using std::vector;

struct CSRMatrix { int rows; int *rowPtrs, *cols; float *values; };

__global__ void spmv_scalar(const CSRMatrix m, const float *__restrict__ x, float *__restrict__ y)
{
    int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < m.rows) {
        float dot = 0;
        for (int jj = m.rowPtrs[row]; jj < m.rowPtrs[row + 1]; jj++)
            dot += m.values[jj] * __ldg(&x[m.cols[jj]]);
        y[row] += dot;
    }
}

__global__ void spmv_vector(CSRMatrix m, const float *x, float *y)
{
    int thread_id = blockDim.x * blockIdx.x + threadIdx.x, warp_id = thread_id / 32, lane = thread_id & (32 - 1);
    int row = warp_id; // one warp per row
    if (row < m.rows) {
        float val = 0;
        for (int jj = m.rowPtrs[row] + lane; jj < m.rowPtrs[row + 1]; jj += 32)
            val += m.values[jj] * x[m.cols[jj]];
        for (int i = 16; i >= 1; i >>= 1)
            val += __shfl_xor_sync(0xffffffff, val, i, 32);
        if (lane == 0) y[row] += val;
    }
}

template <class T> T *upload(const vector<T> &v)
{
    T *p;
    cudaMalloc(&p, v.size() * sizeof(T));
    cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}

int main()
{
    const int n = 97;
    vector<int> ptr{0}, col;
    vector<float> val, x(n), y(n, 0.f), want(n);
    for (int r = 0; r < n; r++) {
        for (int c = r % 3; c < n; c += 1 + r % 11) col.push_back(c), val.push_back(r % 5 - 2);
        ptr.push_back(col.size());
        x[r] = r % 4;
    }
    for (int r = 0; r < n; r++)
        for (int j = ptr[r]; j < ptr[r + 1]; j++) want[r] += 2 * val[j] * x[col[j]];
    CSRMatrix m = {n, upload(ptr), upload(col), upload(val)};
    float *dx = upload(x), *dy = upload(y);
    spmv_scalar<<<(n + 63) / 64, 64>>>(m, dx, dy);
    spmv_vector<<<(n * 32 + 127) / 128, 128>>>(m, dx, dy);
    cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int r = 0; r < n; r++) bad += y[r] != want[r];
    for (void *p : {(void *)m.rowPtrs, (void *)m.cols, (void *)m.values, (void *)dx, (void *)dy}) cudaFree(p);
    std::cout << bad << " wrong rows" << std::endl;
    return bad;
}
