// 3D grid: seven-point Laplacian on a small cube, launched with every form of dimensions.
#include <cstdio>
#include <cmath>
#define IDX(x, y, z) (((z) * ny + (y)) * nx + (x))

__global__ void laplace(float *out, const float *in, int nx, int ny, int nz)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    float centre = in[IDX(x, y, z)], sum = -6.f * centre;
    sum += x > 0 ? in[IDX(x - 1, y, z)] : centre;
    sum += x + 1 < nx ? in[IDX(x + 1, y, z)] : centre;
    sum += y > 0 ? in[IDX(x, y - 1, z)] : centre;
    sum += y + 1 < ny ? in[IDX(x, y + 1, z)] : centre;
    sum += z > 0 ? in[IDX(x, y, z - 1)] : centre;
    sum += z + 1 < nz ? in[IDX(x, y, z + 1)] : centre;
    out[IDX(x, y, z)] = sum;
}

__global__ void who(int *out)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] = block * 10000 + thread;
}

int main()
{
    const int nx = 17, ny = 10, nz = 9, n = nx * ny * nz;
    float *in, *out;
    int *ids, bad = 0;
    cudaMallocManaged(&in, n * sizeof(float));
    cudaMallocManaged(&out, n * sizeof(float));
    cudaMallocManaged(&ids, 24 * 24 * sizeof(int));
    for (int z = 0; z < nz; z++)
        for (int y = 0; y < ny; y++)
            for (int x = 0; x < nx; x++) in[IDX(x, y, z)] = x * x + 2 * y * y - z * z;
    const dim3 block{8, 4, 2};
    laplace<<<dim3((nx + 7) / 8, (ny + 3) / 4, (nz + 1) / 2), block>>>(out, in, nx, ny, nz);
    cudaDeviceSynchronize();
    for (int z = 1; z < nz - 1; z++)
        for (int y = 1; y < ny - 1; y++)
            for (int x = 1; x < nx - 1; x++) bad += out[IDX(x, y, z)] != 4.f; // 2 + 4 - 2

    who<<<dim3{2, 3, 4}, {4, 3, 2}>>>(ids);
    cudaDeviceSynchronize();
    for (int b = 0; b < 24; b++)
        for (int t = 0; t < 24; t++) bad += ids[b * 24 + t] != b * 10000 + t;
    dim3 grid(4);
    grid.y = 6;
    who<<<grid, 24>>>(ids);
    cudaDeviceSynchronize();
    for (int b = 0; b < 24; b++) bad += ids[b * 24 + 23] != b * 10000 + 23;
    cudaFree(in), cudaFree(out), cudaFree(ids);
    printf("%d wrong\n", bad);
    return bad != 0;
}
