// needs: sm_80 (mma.sync, ldmatrix, cp.async)
// C = A B in half precision with fp32 sums: tiles come by cp.async into two stages, fragments by ldmatrix, products by mma.
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        cudaError_t error_ = (call);                                                                 \
        if (error_ != cudaSuccess) {                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));          \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

constexpr int TILE = 32, DEPTH = 32, PAD = 8; // a block of four warps computes (32, 32); each warp (16, 16)

__device__ __forceinline__ unsigned smem(const void *pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void cp_async_16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(smem(to)), "l"(from));
}

__global__ void matmul(float *c, const half *a, const half *b, int m, int n, int k) {
    __shared__ __align__(16) half tile_a[2][TILE][DEPTH + PAD], tile_b[2][DEPTH][TILE + PAD];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    int warp_row = warp / 2 * 16, warp_column = warp % 2 * 16;
    float sums[2][4] = {};

    auto load = [&](int stage, int at) { // 128 threads: eight elements each
        int r = threadIdx.x / 4, e = threadIdx.x % 4 * 8;
        cp_async_16(&tile_a[stage][r][e], a + (size_t)(row + r) * k + at + e);
        cp_async_16(&tile_b[stage][r][e], b + (size_t)(at + r) * n + column + e);
        asm volatile("cp.async.commit_group;\n" ::);
    };

    load(0, 0);
    for (int at = 0, stage = 0; at < k; at += DEPTH, stage ^= 1) {
        if (at + DEPTH < k) {
            load(stage ^ 1, at + DEPTH);
            asm volatile("cp.async.wait_group %0;\n" ::"n"(1));
        } else {
            asm volatile("cp.async.wait_group 0;\n" ::);
        }
        __syncthreads();
        for (int inner = 0; inner < DEPTH; inner += 16) {
            uint32_t x[4], y[4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                         : "r"(smem(&tile_a[stage][warp_row + lane % 16][inner + lane / 16 * 8])));
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                         : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                         : "r"(smem(&tile_b[stage][inner + lane % 16][warp_column + lane / 16 * 8])));
            for (int j = 0; j < 2; j++) {
                float *d = sums[j];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n"
                             : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * j]), "r"(y[2 * j + 1]), "f"(d[0]),
                               "f"(d[1]), "f"(d[2]), "f"(d[3]));
            }
        }
        __syncthreads(); // before the next copies overwrite this stage
    }
    for (int j = 0; j < 2; j++) {
        for (int half_tile = 0; half_tile < 2; half_tile++) {
            int r = row + warp_row + lane / 4 + half_tile * 8, e = column + warp_column + j * 8 + lane % 4 * 2;
            *reinterpret_cast<float2 *>(c + (size_t)r * n + e) =
                make_float2(sums[j][2 * half_tile], sums[j][2 * half_tile + 1]);
        }
    }
}

int main() {
    const int m = 64, n = 96, k = 128;
    std::vector<half> a(m * k), b(k * n);
    std::vector<float> c(m * n);
    srand(3);
    for (half &x : a) x = __float2half(rand() % 2001 / 1000.0f - 1);
    for (half &x : b) x = __float2half(rand() % 2001 / 1000.0f - 1);
    half *da, *db;
    float *dc;
    CHECK(cudaMalloc(&da, a.size() * sizeof(half)));
    CHECK(cudaMalloc(&db, b.size() * sizeof(half)));
    CHECK(cudaMalloc(&dc, c.size() * sizeof(float)));
    CHECK(cudaMemcpy(da, a.data(), a.size() * sizeof(half), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), b.size() * sizeof(half), cudaMemcpyHostToDevice));
    matmul<<<dim3(n / TILE, m / TILE), 128>>>(dc, da, db, m, n, k);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++) sum += (double)__half2float(a[i * k + l]) * __half2float(b[l * n + j]);
            worst = std::fmax(worst, std::fabs(sum - c[i * n + j]));
        }
    }
    printf("largest error %.2g\n", worst);
    CHECK(cudaFree(da));
    CHECK(cudaFree(db));
    CHECK(cudaFree(dc));
    return worst < 1e-4 ? 0 : 1;
}
