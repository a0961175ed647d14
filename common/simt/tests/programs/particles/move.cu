// One step of all particles.
#include "particles.cuh"

namespace particles {

static __global__ void kernel(Particle *particles, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) particles[i] = moved(particles[i], dt);
}

void move(Particle *particles, int n, float dt, cudaStream_t stream)
{
    kernel<<<(n + 127) / 128, 128, 0, stream>>>(particles, n, dt);
    CHECK_LAST();
}

} // namespace particles
