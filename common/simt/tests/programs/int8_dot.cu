// needs: sm_80 (__reduce_add_sync)
// A quantised matrix-vector product: rows of fp32 become int8 with one scale for each group, and __dp4a multiplies four
// bytes at once.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define GROUP 32
#define CUDA_CHECK(x)                                                                                \
    do {                                                                                             \
        cudaError_t err_ = (x);                                                                      \
        if (err_ != cudaSuccess) {                                                                   \
            fprintf(stderr, "CUDA error: %s (%d) at %s:%d\n", cudaGetErrorString(err_), err_, __FILE__, __LINE__); \
            abort();                                                                                 \
        }                                                                                            \
    } while (0)

struct block_q8 {
    float scale;
    int8_t q[GROUP];
};
static_assert(sizeof(block_q8) == sizeof(float) + GROUP, "no padding");

// A warp quantises a group
__global__ void quantize(block_q8 *out, const float *x, int groups)
{
    int group = (blockIdx.x * blockDim.x + threadIdx.x) / GROUP, lane = threadIdx.x % GROUP;
    if (group >= groups) return;
    float value = x[group * GROUP + lane], largest = fabsf(value);
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, mask, 32));
    float scale = largest / 127.0f;
    out[group].q[lane] = largest == 0.0f ? 0 : (int8_t)__float2int_rn(value / scale);
    if (lane == 0) out[group].scale = scale;
}

__device__ int dot_group(const block_q8 *a, const block_q8 *b)
{
    const int *pa = reinterpret_cast<const int *>(a->q), *pb = reinterpret_cast<const int *>(b->q);
    int sum = 0;
#pragma unroll
    for (int i = 0; i < GROUP / 4; i++) sum = __dp4a(pa[i], pb[i], sum);
    return sum;
}

// A warp per row; `dots` keeps the integer sums
__global__ void matvec_q8(float *y, int *dots, const block_q8 *A, const block_q8 *x, int rows, int groups)
{
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0.0f;
    int integers = 0;
    for (int g = threadIdx.x; g < groups; g += warpSize) {
        int dot = dot_group(&A[row * groups + g], &x[g]);
        sum += dot * A[row * groups + g].scale * x[g].scale;
        integers += dot;
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    integers = __reduce_add_sync(0xffffffff, integers);
    if (threadIdx.x == 0) {
        y[row] = sum;
        dots[row] = integers;
    }
}

__global__ void unsigned_dots(unsigned *out, const unsigned *a, const unsigned *b)
{
    out[threadIdx.x] = __dp4a(a[threadIdx.x], b[threadIdx.x], 1u);
}

int main(int argc, char **argv)
{
    const int rows = argc > 1 ? atoi(argv[1]) : 70, columns = 40 * GROUP, groups = columns / GROUP;
    std::vector<float> A(rows * columns), x(columns), y(rows);
    for (size_t i = 0; i < A.size(); i++) A[i] = std::sin(0.37f * i) * (1 + i % 3);
    for (int i = 0; i < columns; i++) x[i] = i < GROUP ? 0.0f : std::cos(0.11f * i);
    float *d_A, *d_x, *d_y;
    block_q8 *q_A, *q_x;
    int *d_dots;
    CUDA_CHECK(cudaMalloc(&d_A, A.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&d_x, x.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&d_y, rows * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&d_dots, rows * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&q_A, (size_t)rows * groups * sizeof(block_q8)));
    CUDA_CHECK(cudaMalloc(&q_x, groups * sizeof(block_q8)));
    CUDA_CHECK(cudaMemcpy(d_A, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
    quantize<<<(rows * groups + 3) / 4, 128>>>(q_A, d_A, rows * groups);
    quantize<<<(groups + 3) / 4, 128>>>(q_x, d_x, groups);
    matvec_q8<<<(rows + 3) / 4, dim3(32, 4)>>>(d_y, d_dots, q_A, q_x, rows, groups);
    CUDA_CHECK(cudaGetLastError());

    std::vector<block_q8> h_A(rows * groups), h_x(groups);
    std::vector<int> dots(rows);
    CUDA_CHECK(cudaMemcpy(y.data(), d_y, rows * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(dots.data(), d_dots, rows * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(h_A.data(), q_A, h_A.size() * sizeof(block_q8), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(h_x.data(), q_x, h_x.size() * sizeof(block_q8), cudaMemcpyDeviceToHost));
    int wrong_integers = 0, wrong_rows = 0, wrong_groups = 0;
    for (int row = 0; row < rows; row++) {
        int integers = 0;
        double exact = 0, size = 0;
        for (int i = 0; i < columns; i++) {
            const block_q8 &group = h_A[row * groups + i / GROUP];
            integers += group.q[i % GROUP] * h_x[i / GROUP].q[i % GROUP];
            exact += (double)A[row * columns + i] * x[i];
            size += std::fabs((double)A[row * columns + i] * x[i]);
            wrong_groups += !(std::fabs(group.scale * group.q[i % GROUP] - A[row * columns + i]) <= 0.51f * group.scale);
        }
        wrong_integers += dots[row] != integers;
        wrong_rows += !(std::fabs(y[row] - exact) <= 0.01 * size);
    }
    printf("%d rows of %d: %d integer sums, %d rows and %d quantised values are wrong\n", rows, columns, wrong_integers, wrong_rows, wrong_groups);

    unsigned a[32], b[32], out[32], *d_bytes;
    for (unsigned i = 0; i < 32; i++) { a[i] = i * 0x9e3779b9u; b[i] = ~i * 0x85ebca6bu; }
    CUDA_CHECK(cudaMalloc(&d_bytes, 3 * sizeof(a)));
    CUDA_CHECK(cudaMemcpy(d_bytes, a, sizeof(a), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_bytes + 32, b, sizeof(b), cudaMemcpyHostToDevice));
    unsigned_dots<<<1, 32>>>(d_bytes + 64, d_bytes, d_bytes + 32);
    CUDA_CHECK(cudaMemcpy(out, d_bytes + 64, sizeof(out), cudaMemcpyDeviceToHost));
    int wrong_unsigned = 0;
    for (int i = 0; i < 32; i++) {
        unsigned char pa[4], pb[4];
        memcpy(pa, &a[i], 4);
        memcpy(pb, &b[i], 4);
        wrong_unsigned += out[i] != 1u + pa[0] * pb[0] + pa[1] * pb[1] + pa[2] * pb[2] + pa[3] * pb[3];
    }
    printf("unsigned bytes: %d wrong\n", wrong_unsigned);
    for (void *p : {(void *)d_A, (void *)d_x, (void *)d_y, (void *)d_dots, (void *)q_A, (void *)q_x, (void *)d_bytes}) CUDA_CHECK(cudaFree(p));
    return wrong_integers || wrong_rows || wrong_groups || wrong_unsigned;
}
