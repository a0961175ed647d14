// step: step1  op: residual_forward
// reason: Chooses the block's size with containers and algorithms of the C++ library, of those that a header defines.
#include "common/cuda_check.h"
#include "common/ops/residual_forward/contract.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdarg>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <deque>
#include <forward_list>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <stack>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

__global__ void add(float *out, const float *x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = x[i] + residual[i]; }
}

static int sum_of(int count, ...) {
    va_list values;
    int sum = 0;
    va_start(values, count);
    for (int i = 0; i < count; i++) { sum += va_arg(values, int); }
    va_end(values);
    return sum;
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    const size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    std::deque<int> sizes;
    for (int threads = 32; threads <= 1024; threads *= 2) { sizes.push_front(threads); }
    std::forward_list<int> small;
    for (int threads : sizes) {
        if (threads <= 256) { small.push_front(threads); }
    }
    auto worse = [count](int a, int b) { return count % a > count % b || (count % a == count % b && a < b); };
    std::priority_queue<int, std::vector<int>, std::function<bool(int, int)>> order(worse);
    std::stack<int> seen;
    for (int threads : small) {
        order.push(threads);
        seen.push(threads);
    }
    std::bitset<64> bits((unsigned long long)order.top());
    constexpr std::string_view name = "threads";
    std::variant<int, float> choice = bits.count() == 1 && name.size() == 7 ? order.top() : 0;
    std::optional<int> threads = std::get_if<int>(&choice) ? *std::get_if<int>(&choice) : seen.top();
    std::array<int, 3> parts = {*threads / 2, *threads / 4, *threads / 4};
    std::sort(parts.begin(), parts.end());
    auto lists = std::make_unique<std::vector<std::vector<int>>>(2, std::vector<int>(parts.begin(), parts.end()));
    lists->push_back({1});
    if (lists->at(1)[2] != parts[2]) { return cudaErrorUnknown; }
    int block = sum_of(3, parts[0], parts[1], parts[2]);
    add<<<(unsigned)((count - 1) / block + 1), block, 0, stream>>>(out, x, residual, count);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
