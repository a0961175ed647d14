// C = alpha A B + beta C in six steps, as tutorials take them: naive, coalesced, shared tiles, 1D block tiling, 2D block
// tiling, vectorised loads.
// Usage: sgemm_ladder [M N K]; all multiples of 64
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define CUDA_CHECK(call)                                                                      \
  do {                                                                                        \
    cudaError_t status = (call);                                                              \
    if (status != cudaSuccess) {                                                              \
      std::fprintf(stderr, "%s at %s:%d\n", cudaGetErrorString(status), __FILE__, __LINE__);  \
      std::exit(1);                                                                           \
    }                                                                                         \
  } while (0)
#define ARGUMENTS int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C

__global__ void naive(ARGUMENTS) { // neighbouring threads take neighbouring rows
  const uint row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < M && col < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = alpha * sum + beta * C[row * N + col];
  }
}

template <uint SIZE> __global__ void coalesced(ARGUMENTS) { // neighbouring threads take neighbouring columns
  const uint row = blockIdx.x * SIZE + threadIdx.x / SIZE, col = blockIdx.y * SIZE + threadIdx.x % SIZE;
  if (row < M && col < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = alpha * sum + beta * C[row * N + col];
  }
}

template <int SIZE> __global__ void shared_tiles(ARGUMENTS) {
  __shared__ float As[SIZE * SIZE], Bs[SIZE * SIZE];
  const int r = threadIdx.x / SIZE, c = threadIdx.x % SIZE;
  A += blockIdx.x * SIZE * K;
  B += blockIdx.y * SIZE;
  C += blockIdx.x * SIZE * N + blockIdx.y * SIZE;
  float sum = 0.0f;
  for (int tile = 0; tile < K; tile += SIZE) {
    As[r * SIZE + c] = A[r * K + c];
    Bs[r * SIZE + c] = B[r * N + c];
    __syncthreads();
    A += SIZE;
    B += SIZE * N;
    for (int k = 0; k < SIZE; ++k) sum += As[r * SIZE + k] * Bs[k * SIZE + c];
    __syncthreads();
  }
  C[r * N + c] = alpha * sum + beta * C[r * N + c];
}

template <const int BM, const int BN, const int BK, const int TM> __global__ void tiling_1d(ARGUMENTS) {
  static_assert(BM * BK == BM * BN / TM && BK * BN == BM * BN / TM, "each thread loads one element of each tile");
  __shared__ float As[BM * BK], Bs[BK * BN];
  const int r = threadIdx.x / BN, c = threadIdx.x % BN;
  const int rA = threadIdx.x / BK, cA = threadIdx.x % BK, rB = threadIdx.x / BN, cB = threadIdx.x % BN;
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  float result[TM] = {0.0f};
  for (int tile = 0; tile < K; tile += BK, A += BK, B += BK * N) {
    As[rA * BK + cA] = A[rA * K + cA];
    Bs[rB * BN + cB] = B[rB * N + cB];
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      const float b = Bs[k * BN + c];
      for (int i = 0; i < TM; ++i) result[i] += As[(r * TM + i) * BK + k] * b;
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i) {
    float *out = C + (r * TM + i) * N + c;
    *out = alpha * result[i] + beta * *out;
  }
}

template <const int BM, const int BN, const int BK, const int TM, const int TN, const bool VECTORS>
__global__ void __launch_bounds__((BM * BN) / (TM * TN), 1) tiling_2d(ARGUMENTS) {
  constexpr int threads = (BM * BN) / (TM * TN);
  __shared__ float As[BK * BM], Bs[BK * BN]; // with VECTORS, A is stored transposed
  const int r = threadIdx.x / (BN / TN), c = threadIdx.x % (BN / TN);
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  float result[TM][TN] = {}, regM[TM], regN[TN];
  for (int tile = 0; tile < K; tile += BK, A += BK, B += BK * N) {
    if constexpr (VECTORS) {
      for (int i = threadIdx.x; i < BM * BK / 4; i += threads) {
        const int row = i / (BK / 4), col = i % (BK / 4) * 4;
        const float4 v = reinterpret_cast<const float4 *>(&A[row * K + col])[0];
        As[(col + 0) * BM + row] = v.x;
        As[(col + 1) * BM + row] = v.y;
        As[(col + 2) * BM + row] = v.z;
        As[(col + 3) * BM + row] = v.w;
      }
      for (int i = threadIdx.x; i < BK * BN / 4; i += threads)
        reinterpret_cast<float4 *>(Bs)[i] = reinterpret_cast<const float4 *>(&B[i / (BN / 4) * N])[i % (BN / 4)];
    } else {
      for (int i = threadIdx.x; i < BM * BK; i += threads) As[i % BK * BM + i / BK] = A[i / BK * K + i % BK];
      for (int i = threadIdx.x; i < BK * BN; i += threads) Bs[i] = B[i / BN * N + i % BN];
    }
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      for (int i = 0; i < TM; ++i) regM[i] = As[k * BM + r * TM + i];
      for (int j = 0; j < TN; ++j) regN[j] = Bs[k * BN + c * TN + j];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) result[i][j] += regM[i] * regN[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; j += VECTORS ? 4 : 1) {
      float *out = &C[(r * TM + i) * N + c * TN + j];
      if constexpr (VECTORS) {
        float4 v = *reinterpret_cast<float4 *>(out);
        v.x = alpha * result[i][j] + beta * v.x;
        v.y = alpha * result[i][j + 1] + beta * v.y;
        v.z = alpha * result[i][j + 2] + beta * v.z;
        v.w = alpha * result[i][j + 3] + beta * v.w;
        *reinterpret_cast<float4 *>(out) = v;
      } else {
        *out = alpha * result[i][j] + beta * *out;
      }
    }
}

static const char *run(int step, ARGUMENTS) {
  switch (step) {
  case 0: naive<<<dim3(CEIL_DIV(M, 16), CEIL_DIV(N, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C); return "naive";
  case 1: coalesced<16><<<dim3(CEIL_DIV(M, 16), CEIL_DIV(N, 16)), 256>>>(M, N, K, alpha, A, B, beta, C); return "coalesced";
  case 2: shared_tiles<16><<<dim3(M / 16, N / 16), 256>>>(M, N, K, alpha, A, B, beta, C); return "shared tiles";
  case 3: tiling_1d<64, 64, 8, 8><<<dim3(N / 64, M / 64), 512>>>(M, N, K, alpha, A, B, beta, C); return "1D block tiling";
  case 4: tiling_2d<64, 64, 8, 8, 8, false><<<dim3(N / 64, M / 64), 64>>>(M, N, K, alpha, A, B, beta, C); return "2D block tiling";
  default: tiling_2d<64, 64, 8, 8, 8, true><<<dim3(N / 64, M / 64), 64>>>(M, N, K, alpha, A, B, beta, C); return "vectorised";
  }
}

int main(int argc, char **argv) {
  const int M = argc > 3 ? atoi(argv[1]) : 64, N = argc > 3 ? atoi(argv[2]) : 128, K = argc > 3 ? atoi(argv[3]) : 64;
  const float alpha = 0.5f, beta = 3.0f;
  std::vector<float> A(M * K), B(K * N), C(M * N), expected(M * N), got(M * N);
  for (auto *m : {&A, &B, &C})
    for (size_t i = 0; i < m->size(); ++i) (*m)[i] = (float)(rand() % 5) + 0.01f * (rand() % 5) - 2.0f;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = 0;
      for (int k = 0; k < K; ++k) sum += (double)A[i * K + k] * B[k * N + j];
      expected[i * N + j] = (float)(alpha * sum + beta * C[i * N + j]);
    }
  float *dA, *dB, *dC;
  CUDA_CHECK(cudaMalloc(&dA, A.size() * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&dB, B.size() * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&dC, C.size() * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice));
  int wrong = 0;
  for (int step = 0; step < 6; ++step) {
    CUDA_CHECK(cudaMemcpy(dC, C.data(), C.size() * sizeof(float), cudaMemcpyHostToDevice));
    const char *name = run(step, M, N, K, alpha, dA, dB, beta, dC);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(got.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost));
    int differing = 0;
    for (size_t i = 0; i < got.size(); ++i) differing += !(std::fabs(got[i] - expected[i]) < 1e-3f);
    std::printf("kernel %d %-16s %s\n", step, name, differing ? "WRONG" : "ok");
    wrong += differing;
  }
  CUDA_CHECK(cudaFree(dA));
  CUDA_CHECK(cudaFree(dB));
  CUDA_CHECK(cudaFree(dC));
  return wrong != 0;
}
