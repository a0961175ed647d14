// Attention in one pass over the keys: tiles of K and V in shared memory, softmax with a running maximum and a running sum.
// One block per head and tile of queries, causal or not; beside it, three separate kernels.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_ASSERT(x)                                                                          \
  if (cudaError_t status_ = (x); status_ != cudaSuccess) {                                      \
    fprintf(stderr, "CUDA error at %s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
    abort();                                                                                    \
  }

constexpr int D = 32, BR = 16, BC = 16; // head size, queries and keys of a tile

__global__ void scores_kernel(float *S, const float *Q, const float *K, int T, bool causal) {
  int head = blockIdx.z, q = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= T || k >= T) return;
  float sum = 0;
  for (int d = 0; d < D; d++) sum += Q[(head * T + q) * D + d] * K[(head * T + k) * D + d];
  S[(head * T + q) * T + k] = causal && k > q ? -INFINITY : sum * rsqrtf((float)D);
}

__global__ void softmax_kernel(float *S, int T) { // one warp per row
  float *row = S + (size_t)blockIdx.x * T, maximum = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < T; i += 32) maximum = fmaxf(maximum, row[i]);
  for (int o = 16; o; o >>= 1) maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffff, maximum, o));
  for (int i = threadIdx.x; i < T; i += 32) sum += row[i] = expf(row[i] - maximum);
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
  for (int i = threadIdx.x; i < T; i += 32) row[i] /= sum;
}

__global__ void output_kernel(float *O, const float *S, const float *V, int T) { // D threads
  int head = blockIdx.y, q = blockIdx.x, d = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < T; k++) sum += S[(head * T + q) * T + k] * V[(head * T + k) * D + d];
  O[(head * T + q) * D + d] = sum;
}

// 32 x BR threads: a warp per query, a lane per dimension of the output and per key of the tile
__global__ void flash_kernel(float *O, const float *Q, const float *K, const float *V, int T, bool causal) {
  __shared__ float q_tile[BR][D], k_tile[BC][D + 1], v_tile[BC][D], p_tile[BR][BC];
  const int head = blockIdx.y, lane = threadIdx.x, r = threadIdx.y, q = blockIdx.x * BR + r;
  Q += (size_t)head * T * D;
  K += (size_t)head * T * D;
  V += (size_t)head * T * D;
  O += (size_t)head * T * D;
  q_tile[r][lane] = q < T ? Q[q * D + lane] : 0;
  float m = -INFINITY, l = 0, acc = 0;
  const int last = causal ? min(T, (int)(blockIdx.x + 1) * BR) : T;
  for (int start = 0; start < last; start += BC) {
    __syncthreads(); // the tiles of the previous step have been read
    k_tile[r][lane] = start + r < T ? K[(start + r) * D + lane] : 0;
    v_tile[r][lane] = start + r < T ? V[(start + r) * D + lane] : 0;
    __syncthreads();
    float s = -INFINITY;
    if (lane < BC && start + lane < T && !(causal && start + lane > q)) {
      s = 0;
      for (int d = 0; d < D; d++) s += q_tile[r][d] * k_tile[lane][d];
      s *= rsqrtf((float)D);
    }
    float m_new = s;
    for (int o = 16; o; o >>= 1) m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffff, m_new, o));
    m_new = fmaxf(m_new, m);
    const float p = s == -INFINITY ? 0.0f : expf(s - m_new), correction = m == -INFINITY ? 0.0f : expf(m - m_new);
    float sum = p;
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
    l = l * correction + sum;
    if (lane < BC) p_tile[r][lane] = p;
    __syncwarp();
    acc *= correction;
    for (int k = 0; k < BC; k++) acc += p_tile[r][k] * v_tile[k][lane];
    __syncwarp();
    m = m_new;
  }
  if (q < T) O[q * D + lane] = acc / l;
}

static void attention_cpu(std::vector<float> &O, const std::vector<float> &Q, const std::vector<float> &K,
                          const std::vector<float> &V, int H, int T, bool causal) {
  std::vector<double> p(T);
  for (int h = 0; h < H; h++)
    for (int q = 0; q < T; q++) {
      int keys = causal ? q + 1 : T;
      double largest = -INFINITY, sum = 0;
      for (int k = 0; k < keys; k++) {
        p[k] = 0;
        for (int d = 0; d < D; d++) p[k] += (double)Q[(h * T + q) * D + d] * K[(h * T + k) * D + d];
        p[k] /= std::sqrt((double)D);
        largest = std::max(largest, p[k]);
      }
      for (int k = 0; k < keys; k++) sum += p[k] = std::exp(p[k] - largest);
      for (int d = 0; d < D; d++) {
        double value = 0;
        for (int k = 0; k < keys; k++) value += p[k] / sum * V[(h * T + k) * D + d];
        O[(h * T + q) * D + d] = (float)value;
      }
    }
}

int main(int argc, char **argv) {
  const int H = 2, T = argc > 1 ? atoi(argv[1]) : 45;
  const size_t size = (size_t)H * T * D, bytes = size * sizeof(float);
  std::vector<float> Q(size), K(size), V(size), expected(size), got(size);
  srand(1337);
  for (auto *m : {&Q, &K, &V}) for (float &x : *m) x = 4.0f * rand() / RAND_MAX - 2.0f;
  float *dQ, *dK, *dV, *dO, *dS;
  for (float **p : {&dQ, &dK, &dV, &dO}) CUDA_ASSERT(cudaMalloc(p, bytes));
  CUDA_ASSERT(cudaMalloc(&dS, (size_t)H * T * T * sizeof(float)));
  CUDA_ASSERT(cudaMemcpy(dQ, Q.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_ASSERT(cudaMemcpy(dK, K.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_ASSERT(cudaMemcpy(dV, V.data(), bytes, cudaMemcpyHostToDevice));
  int mismatches = 0;
  for (int version = 0; version < 4; version++) {
    const bool causal = version & 1, flash = version & 2;
    if (flash) {
      flash_kernel<<<dim3((T + BR - 1) / BR, H), dim3(32, BR)>>>(dO, dQ, dK, dV, T, causal);
    } else {
      scores_kernel<<<dim3((T + 15) / 16, (T + 15) / 16, H), dim3(16, 16)>>>(dS, dQ, dK, T, causal);
      softmax_kernel<<<H * T, 32>>>(dS, T);
      output_kernel<<<dim3(T, H), D>>>(dO, dS, dV, T);
    }
    CUDA_ASSERT(cudaGetLastError());
    CUDA_ASSERT(cudaMemcpy(got.data(), dO, bytes, cudaMemcpyDeviceToHost));
    attention_cpu(expected, Q, K, V, H, T, causal);
    int differing = 0;
    for (size_t i = 0; i < size; i++) differing += !(std::fabs(got[i] - expected[i]) <= 1e-4f);
    printf("%s%s: %d of %zu differ\n", flash ? "one pass" : "three kernels", causal ? ", causal" : "", differing, size);
    mismatches += differing;
  }
  for (float *p : {dQ, dK, dV, dO, dS}) CUDA_ASSERT(cudaFree(p));
  return mismatches != 0;
}
