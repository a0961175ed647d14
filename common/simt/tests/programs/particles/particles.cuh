// Shared by the program's three sources: types, error checks, declarations.
#pragma once
#include <cstdio>
#include <cstdlib>

__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }

namespace particles {

struct Particle {
    float3 position, velocity;
};

__host__ __device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

// A spring to the centre and friction
__host__ __device__ inline Particle moved(Particle p, float dt)
{
    p.velocity = p.velocity + dt * (-1.0f * p.position - 0.1f * p.velocity);
    p.position = p.position + dt * p.velocity;
    return p;
}

template <int Threads> __device__ double block_sum(double value)
{
    __shared__ double partial[Threads];
    partial[threadIdx.x] = value;
    for (int half = Threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    return threadIdx.x == 0 ? partial[0] : 0;
}

void move(Particle *particles, int n, float dt, cudaStream_t stream); // move.cu
double energy(const Particle *particles, int n);                      // energy.cu

} // namespace particles

#define CHECK_LAST() particles_check(cudaGetLastError(), __FILE__, __LINE__)
static inline void particles_check(cudaError_t error, const char *file, int line)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}
