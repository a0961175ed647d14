// `cudaMemset` of a host array
#include <cstdio>

int main() {
    static float x[64];
    cudaMemset(x, 0, sizeof x); // fault: cudaMemset
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
