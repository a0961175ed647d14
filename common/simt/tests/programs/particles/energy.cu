// The energy of all particles. Its kernel has the same name as the one in move.cu; the sum is a device variable.
#include "particles.cuh"

namespace particles {

__device__ static double total;

static __global__ void kernel(const Particle *particles, int n)
{
    double mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += 0.5 * (dot(particles[i].velocity, particles[i].velocity) + dot(particles[i].position, particles[i].position));
    mine = block_sum<64>(mine);
    if (threadIdx.x == 0) atomicAdd(&total, mine);
}

double energy(const Particle *particles, int n)
{
    double result = 0;
    cudaMemcpyToSymbol(total, &result, sizeof(result));
    kernel<<<4, 64>>>(particles, n);
    CHECK_LAST();
    cudaMemcpyFromSymbol(&result, total, sizeof(result));
    CHECK_LAST();
    return result;
}

} // namespace particles
