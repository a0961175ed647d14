// 3D stencil of radius 2: a block marches along z. The plane in the middle is in shared memory, with its halo; the planes
// before and behind it are in registers and move on by one in each step.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RADIUS 2
#define BX 16
#define BY 8
#define CUDA_SAFE_CALL(x)                                                                             \
    do {                                                                                              \
        cudaError_t error_ = (x);                                                                     \
        if (error_ != cudaSuccess) {                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));           \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

__constant__ float coefficient[RADIUS + 1];

__global__ void stencil_planes(float *__restrict__ out, const float *__restrict__ in, int nx, int ny, int nz)
{
    __shared__ float plane[BY + 2 * RADIUS][BX + 2 * RADIUS];
    const int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    const int tx = threadIdx.x + RADIUS, ty = threadIdx.y + RADIUS;
    const int stride = nx * ny;
    const bool inside = x < nx && y < ny;
    const bool computes = x >= RADIUS && x < nx - RADIUS && y >= RADIUS && y < ny - RADIUS;
    int index = y * nx + x; // of the plane that enters the registers

    float behind[RADIUS], front[RADIUS], current = 0;
    for (int i = RADIUS - 1; i >= 0; i--, index += stride) behind[i] = inside ? in[index] : 0;
    if (inside) current = in[index];
    index += stride;
    for (int i = 0; i < RADIUS; i++, index += stride) front[i] = inside ? in[index] : 0;

    for (int z = RADIUS; z < nz - RADIUS; z++) {
        const int here = (z * ny + y) * nx + x;
        plane[ty][tx] = current;
        if (threadIdx.y < RADIUS && x < nx) { // halo rows
            if (y >= RADIUS) plane[threadIdx.y][tx] = in[here - RADIUS * nx];
            if (y + BY < ny) plane[threadIdx.y + BY + RADIUS][tx] = in[here + BY * nx];
        }
        if (threadIdx.x < RADIUS && y < ny) { // halo columns
            if (x >= RADIUS) plane[ty][threadIdx.x] = in[here - RADIUS];
            if (x + BX < nx) plane[ty][threadIdx.x + BX + RADIUS] = in[here + BX];
        }
        __syncthreads();
        if (computes) {
            float value = coefficient[0] * current;
            #pragma unroll
            for (int i = 1; i <= RADIUS; i++) {
                value += coefficient[i] * (front[i - 1] + behind[i - 1] + plane[ty - i][tx] + plane[ty + i][tx] +
                                           plane[ty][tx - i] + plane[ty][tx + i]);
            }
            out[here] = value;
        }
        __syncthreads();
        for (int i = RADIUS - 1; i > 0; i--) behind[i] = behind[i - 1];
        behind[0] = current;
        current = front[0];
        for (int i = 0; i < RADIUS - 1; i++) front[i] = front[i + 1];
        if (inside && z + RADIUS + 1 < nz) front[RADIUS - 1] = in[index];
        index += stride;
    }
}

static void stencil_host(float *out, const float *in, const float *c, int nx, int ny, int nz)
{
    for (int z = RADIUS; z < nz - RADIUS; z++)
        for (int y = RADIUS; y < ny - RADIUS; y++)
            for (int x = RADIUS; x < nx - RADIUS; x++) {
                const float *p = in + (z * ny + y) * nx + x;
                float value = c[0] * *p;
                for (int i = 1; i <= RADIUS; i++)
                    value += c[i] * (p[i] + p[-i] + p[i * nx] + p[-i * nx] + p[i * nx * ny] + p[-i * nx * ny]);
                out[(z * ny + y) * nx + x] = value;
            }
}

int main(int argc, char **argv)
{
    int nx = argc > 3 ? atoi(argv[1]) : 40, ny = argc > 3 ? atoi(argv[2]) : 27, nz = argc > 3 ? atoi(argv[3]) : 12;
    const int steps = 2;
    const float c[RADIUS + 1] = {0.4f, 0.08f, 0.02f};
    size_t n = (size_t)nx * ny * nz, bytes = n * sizeof(float);
    float *h[2] = {(float *)malloc(bytes), (float *)malloc(bytes)}, *result = (float *)malloc(bytes), *d[2];
    for (size_t i = 0; i < n; i++) h[0][i] = h[1][i] = (float)(i * 37 % 101) / 101;
    for (int i = 0; i < 2; i++) {
        CUDA_SAFE_CALL(cudaMalloc((void **)&d[i], bytes));
        CUDA_SAFE_CALL(cudaMemcpy(d[i], h[0], bytes, cudaMemcpyHostToDevice));
    }
    CUDA_SAFE_CALL(cudaMemcpyToSymbol(coefficient, c, sizeof(c)));
    dim3 block(BX, BY), grid((nx + BX - 1) / BX, (ny + BY - 1) / BY);
    for (int step = 0; step < steps; step++) {
        stencil_planes<<<grid, block>>>(d[(step + 1) % 2], d[step % 2], nx, ny, nz);
        CUDA_SAFE_CALL(cudaGetLastError());
        stencil_host(h[(step + 1) % 2], h[step % 2], c, nx, ny, nz);
    }
    CUDA_SAFE_CALL(cudaMemcpy(result, d[steps % 2], bytes, cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) wrong += !(fabsf(result[i] - h[steps % 2][i]) <= 1e-5f);
    printf("%d x %d x %d, %d steps: %zu points differ\n", nx, ny, nz, steps, wrong);
    for (int i = 0; i < 2; i++) { CUDA_SAFE_CALL(cudaFree(d[i])); free(h[i]); }
    free(result);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
