// k-means in the plane: assignment with the centroids in shared memory, new centroids from sums in shared memory and
// atomics, until no point changes its cluster.
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define K 5
#define TPB 128
#define CUDA_OK(x) if (auto e_ = (x); e_ != cudaSuccess) { printf("line %d: %s\n", __LINE__, cudaGetErrorName(e_)); return 2; }

// Coordinates are whole numbers, so the sums do not depend on the order of the atomics
struct Sums {
    unsigned long long x[K], y[K];
    int count[K], changed;
};

__global__ void assign(int *cluster, Sums *sums, const int2 *points, const float2 *centroids, int n)
{
    __shared__ float2 center[K];
    __shared__ unsigned long long sum_x[K], sum_y[K];
    __shared__ int count[K], changed;
    if (threadIdx.x < K) {
        center[threadIdx.x] = centroids[threadIdx.x];
        sum_x[threadIdx.x] = sum_y[threadIdx.x] = 0;
        count[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) changed = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const int2 p = points[i];
        float best = FLT_MAX;
        int nearest = 0;
        for (int k = 0; k < K; ++k) {
            const float dx = p.x - center[k].x, dy = p.y - center[k].y, distance = dx * dx + dy * dy;
            if (distance < best) {
                best = distance;
                nearest = k;
            }
        }
        if (cluster[i] != nearest) {
            cluster[i] = nearest;
            atomicAdd(&changed, 1);
        }
        atomicAdd(&sum_x[nearest], (unsigned long long)p.x);
        atomicAdd(&sum_y[nearest], (unsigned long long)p.y);
        atomicAdd(&count[nearest], 1);
    }
    __syncthreads();
    if (threadIdx.x < K) {
        atomicAdd(&sums->x[threadIdx.x], sum_x[threadIdx.x]);
        atomicAdd(&sums->y[threadIdx.x], sum_y[threadIdx.x]);
        atomicAdd(&sums->count[threadIdx.x], count[threadIdx.x]);
    }
    if (threadIdx.x == 0 && changed) atomicAdd(&sums->changed, changed);
}

__global__ void move_centroids(float2 *centroids, const Sums *sums)
{
    const int k = threadIdx.x, count = sums->count[k];
    if (count > 0) centroids[k] = make_float2((float)((double)sums->x[k] / count), (float)((double)sums->y[k] / count));
}

static void lloyd_on_host(std::vector<float2> &center, const std::vector<int2> &points, int &rounds)
{
    std::vector<int> cluster(points.size(), -1);
    for (rounds = 0;; rounds++) {
        double x[K] = {}, y[K] = {};
        int count[K] = {}, changed = 0;
        for (size_t i = 0; i < points.size(); i++) {
            int nearest = 0;
            float best = FLT_MAX;
            for (int k = 0; k < K; k++) {
                float dx = points[i].x - center[k].x, dy = points[i].y - center[k].y, d = dx * dx + dy * dy;
                if (d < best) { best = d; nearest = k; }
            }
            changed += cluster[i] != nearest;
            cluster[i] = nearest;
            x[nearest] += points[i].x; y[nearest] += points[i].y; count[nearest]++;
        }
        if (changed == 0) return;
        for (int k = 0; k < K; k++) if (count[k]) center[k] = make_float2((float)(x[k] / count[k]), (float)(y[k] / count[k]));
    }
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 2000;
    std::mt19937 random(7);
    std::vector<int2> points(n);
    for (int i = 0; i < n; ++i) { // four corners and the middle, each with noise
        int corner = i % K;
        points[i] = make_int2(20000 + (corner == 4 ? 10000 : corner % 2 * 20000) + (int)(random() % 6000),
                              20000 + (corner == 4 ? 10000 : corner / 2 * 20000) + (int)(random() % 6000));
    }
    std::vector<float2> start(K), centroids(K);
    for (int k = 0; k < K; ++k) start[k] = make_float2((float)points[k].x, (float)points[k].y);

    int2 *d_points;
    float2 *d_centroids;
    int *d_cluster;
    Sums *d_sums, sums;
    CUDA_OK(cudaMalloc(&d_points, n * sizeof(int2)));
    CUDA_OK(cudaMalloc(&d_centroids, K * sizeof(float2)));
    CUDA_OK(cudaMalloc(&d_cluster, n * sizeof(int)));
    CUDA_OK(cudaMalloc(&d_sums, sizeof(Sums)));
    CUDA_OK(cudaMemcpy(d_points, points.data(), n * sizeof(int2), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(d_centroids, start.data(), K * sizeof(float2), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemset(d_cluster, -1, n * sizeof(int)));
    int rounds = 0;
    for (;; ++rounds) {
        CUDA_OK(cudaMemset(d_sums, 0, sizeof(Sums)));
        assign<<<(n + TPB - 1) / TPB, TPB>>>(d_cluster, d_sums, d_points, d_centroids, n);
        move_centroids<<<1, K>>>(d_centroids, d_sums);
        CUDA_OK(cudaMemcpy(&sums, d_sums, sizeof(Sums), cudaMemcpyDeviceToHost));
        if (sums.changed == 0 || rounds > 100) break;
    }
    CUDA_OK(cudaMemcpy(centroids.data(), d_centroids, K * sizeof(float2), cudaMemcpyDeviceToHost));
    int host_rounds, wrong = 0;
    lloyd_on_host(start, points, host_rounds);
    for (int k = 0; k < K; ++k) {
        printf("cluster %d: (%.1f, %.1f), %d points\n", k, centroids[k].x, centroids[k].y, sums.count[k]);
        wrong += !(fabsf(centroids[k].x - start[k].x) < 20) || !(fabsf(centroids[k].y - start[k].y) < 20);
    }
    printf("%d rounds, on the host %d: %s\n", rounds, host_rounds, wrong ? "FAILED" : "PASSED");
    cudaFree(d_points); cudaFree(d_centroids); cudaFree(d_cluster); cudaFree(d_sums);
    return wrong ? 1 : 0;
}
