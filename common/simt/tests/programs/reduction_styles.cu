// The seven steps of "Optimizing Parallel Reduction in CUDA", brought up to date with __syncwarp and shuffles.
#include <cstdio>
#include <cstdlib>

template <class T>
struct SharedMemory
{
    __device__ inline operator       T *()
    {
        extern __shared__ int __smem[];
        return (T *)__smem;
    }

    __device__ inline operator const T *() const
    {
        extern __shared__ int __smem[];
        return (T *)__smem;
    }
};

template <class T> __global__ void reduce0(T *g_idata, T *g_odata, unsigned int n)
{
    T *sdata = SharedMemory<T>();
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x*blockDim.x + threadIdx.x;
    sdata[tid] = (i < n) ? g_idata[i] : 0;
    __syncthreads();
    for (unsigned int s=1; s < blockDim.x; s *= 2)
    {
        if ((tid % (2*s)) == 0)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

template <class T> __global__ void reduce1(T *g_idata, T *g_odata, unsigned int n)
{
    T *sdata = SharedMemory<T>();
    unsigned int tid = threadIdx.x, i = blockIdx.x*blockDim.x + threadIdx.x;
    sdata[tid] = (i < n) ? g_idata[i] : 0;
    __syncthreads();
    for (unsigned int s=1; s < blockDim.x; s *= 2)
    {
        int index = 2 * s * tid;
        if (index < blockDim.x)
            sdata[index] += sdata[index + s];
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

template <class T> __global__ void reduce3(T *g_idata, T *g_odata, unsigned int n)
{
    T *sdata = SharedMemory<T>();
    unsigned int tid = threadIdx.x, i = blockIdx.x*(blockDim.x*2) + threadIdx.x;
    T mySum = (i < n) ? g_idata[i] : 0;
    if (i + blockDim.x < n)
        mySum += g_idata[i+blockDim.x];
    sdata[tid] = mySum;
    __syncthreads();
    for (unsigned int s=blockDim.x/2; s>0; s>>=1)
    {
        if (tid < s)
            sdata[tid] = mySum = mySum + sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = mySum;
}

template <class T, unsigned int blockSize>
__device__ void warpReduce(volatile T *sdata, unsigned int tid)
{
    T v = sdata[tid];
    if (blockSize >= 64) { v += sdata[tid + 32]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >= 32) { v += sdata[tid + 16]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >= 16) { v += sdata[tid +  8]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >=  8) { v += sdata[tid +  4]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >=  4) { v += sdata[tid +  2]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >=  2) { v += sdata[tid +  1]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
}

template <class T, unsigned int blockSize, bool nIsPow2>
__global__ void reduce6(T *g_idata, T *g_odata, unsigned int n)
{
    T *sdata = SharedMemory<T>();
    unsigned int tid = threadIdx.x, i = blockIdx.x*blockSize*2 + threadIdx.x, gridSize = blockSize*2*gridDim.x;
    T mySum = 0;
    while (i < n)
    {
        mySum += g_idata[i];
        if (nIsPow2 || i + blockSize < n)
            mySum += g_idata[i+blockSize];
        i += gridSize;
    }
    sdata[tid] = mySum;
    __syncthreads();
    if (blockSize >= 512) { if (tid < 256) sdata[tid] += sdata[tid + 256]; __syncthreads(); }
    if (blockSize >= 256) { if (tid < 128) sdata[tid] += sdata[tid + 128]; __syncthreads(); }
    if (blockSize >= 128) { if (tid <  64) sdata[tid] += sdata[tid +  64]; __syncthreads(); }
    if (tid < 32) {
        T v = sdata[tid] + (blockSize >= 64 ? sdata[tid + 32] : 0);
        for (int offset = warpSize/2; offset > 0; offset /= 2)
            v += __shfl_down_sync(0xffffffff, v, offset);
        if (tid == 0) g_odata[blockIdx.x] = v;
    }
}

template <class T, unsigned int blockSize>
__global__ void reduce5(T *g_idata, T *g_odata, unsigned int n)
{
    __shared__ T sdata[blockSize + 32]; // the last warp reads past its half
    unsigned int tid = threadIdx.x;
    if (tid < 32) sdata[blockSize + tid] = 0;
    T sum = 0;
    for (unsigned int i = blockIdx.x * blockSize + tid; i < n; i += blockSize * gridDim.x) sum += g_idata[i];
    sdata[tid] = sum;
    __syncthreads();
    for (unsigned int s = blockSize / 2; s > 32; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid < 32) warpReduce<T, blockSize>(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

template <class T> bool runTest(unsigned int size)
{
    const int threads = 128, maxBlocks = 64;
    T *h_idata = (T *) malloc(size * sizeof(T)), sum = 0;
    for (unsigned int i = 0; i < size; i++) { h_idata[i] = (T)(rand() & 0xF); sum += h_idata[i]; }
    T *d_idata = NULL, *d_odata = NULL, h_odata[maxBlocks];
    cudaMalloc((void **) &d_idata, size * sizeof(T));
    cudaMalloc((void **) &d_odata, maxBlocks * sizeof(T));
    cudaMemcpy(d_idata, h_idata, size * sizeof(T), cudaMemcpyHostToDevice);
    bool ok = true;
    for (int whichKernel = 0; whichKernel < 6; whichKernel++) {
        int blocks = whichKernel < 2 ? (size + threads - 1) / threads : (size + threads * 2 - 1) / (threads * 2);
        int smemSize = (threads <= 32) ? 2 * threads * sizeof(T) : threads * sizeof(T);
        dim3 dimBlock(threads, 1, 1), dimGrid(blocks, 1, 1);
        switch (whichKernel) {
            case 0: reduce0<T><<< dimGrid, dimBlock, smemSize >>>(d_idata, d_odata, size); break;
            case 1: reduce1<T><<< dimGrid, dimBlock, smemSize >>>(d_idata, d_odata, size); break;
            case 2: reduce3<T><<< dimGrid, dimBlock, smemSize >>>(d_idata, d_odata, size); break;
            case 3: reduce5<T, 128><<< dimGrid, dimBlock >>>(d_idata, d_odata, size); break;
            case 4: reduce6<T, 128, true><<< dimGrid.x / 2, dimBlock, smemSize >>>(d_idata, d_odata, size / 512 * 512); blocks /= 2; break;
            case 5: reduce6<T, 128, false><<< dimGrid, dimBlock, smemSize >>>(d_idata, d_odata, size); break;
        }
        cudaMemcpy(h_odata, d_odata, blocks * sizeof(T), cudaMemcpyDeviceToHost);
        T gpu = 0, expected = sum;
        for (int b = 0; b < blocks; b++) gpu += h_odata[b];
        if (whichKernel == 4) { expected = 0; for (unsigned i = 0; i < size / 512 * 512; i++) expected += h_idata[i]; }
        if (gpu != expected) { printf("kernel %d: %f, not %f\n", whichKernel, (double)gpu, (double)expected); ok = false; }
    }
    cudaFree(d_idata); cudaFree(d_odata); free(h_idata);
    return ok;
}

int main()
{
    bool ok = runTest<int>(4000) & runTest<float>(4096) & runTest<double>(3001);
    printf(ok ? "Test passed\n" : "Test failed!\n");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
