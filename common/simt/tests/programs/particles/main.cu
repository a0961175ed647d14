// Particles on springs; three sources and a header, compiled by one command: nvcc *.cu -o particles
#include "particles.cuh"

#include <cmath>
#include <vector>

using particles::Particle;

static double energy_on_host(const std::vector<Particle> &all)
{
    double sum = 0;
    for (const Particle &p : all) sum += 0.5 * (particles::dot(p.velocity, p.velocity) + particles::dot(p.position, p.position));
    return sum;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1000, steps = argc > 2 ? atoi(argv[2]) : 20;
    std::vector<Particle> all(n), got(n);
    for (int i = 0; i < n; i++) all[i] = {{i % 10 - 4.5f, i % 7 - 3.0f, i % 3 - 1.0f}, {0.1f * (i % 4), 0, -0.2f * (i % 5)}};
    Particle *device;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&device, n * sizeof(Particle));
    cudaMemcpy(device, all.data(), n * sizeof(Particle), cudaMemcpyHostToDevice);
    CHECK_LAST();

    int wrong = 0;
    double before = particles::energy(device, n);
    wrong += !(std::fabs(before - energy_on_host(all)) <= 1e-6 * before);
    for (int step = 0; step < steps; step++) {
        particles::move(device, n, 0.05f, stream);
        for (Particle &p : all) p = particles::moved(p, 0.05f);
    }
    cudaStreamSynchronize(stream);
    double after = particles::energy(device, n);
    wrong += !(after < before) || !(std::fabs(after - energy_on_host(all)) <= 1e-4 * before);
    cudaMemcpy(got.data(), device, n * sizeof(Particle), cudaMemcpyDeviceToHost);
    CHECK_LAST();
    for (int i = 0; i < n; i++)
        wrong += !(particles::dot(got[i].position - all[i].position, got[i].position - all[i].position) <= 1e-8f);
    printf("energy %.3f, after %d steps %.3f\n%s\n", before, steps, after, wrong ? "FAILED" : "PASSED");
    cudaFree(device);
    cudaStreamDestroy(stream);
    CHECK_LAST();
    return wrong != 0;
}
