// Algorithms as templates over function objects: transform, reduce, inclusive scan, filter, on a small class of device
// arrays. Function objects with state, composed ones, and a policy class that sets the block size.
// nvcc: --extended-lambda
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace util {

class cuda_error : public std::runtime_error {
public:
    cuda_error(cudaError_t code, const char *where) : std::runtime_error(std::string(where) + ": " + cudaGetErrorString(code)) {}
};
inline void ensure(cudaError_t code, const char *where) { if (code != cudaSuccess) throw cuda_error(code, where); }

template <typename T> class device_array {
    T *data_ = nullptr;
    std::size_t size_ = 0;

public:
    explicit device_array(std::size_t size) : size_(size) { ensure(cudaMalloc(&data_, size * sizeof(T)), "cudaMalloc"); }
    device_array(const std::vector<T> &from) : device_array(from.size())
    {
        ensure(cudaMemcpy(data_, from.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "upload");
    }
    device_array(const device_array &) = delete;
    device_array(device_array &&other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    ~device_array() { cudaFree(data_); }
    T *begin() const { return data_; }
    int size() const { return (int)size_; }
    std::vector<T> host() const
    {
        std::vector<T> copy(size_);
        ensure(cudaMemcpy(copy.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
        return copy;
    }
};

template <int Threads, int Blocks> struct policy {
    static constexpr int threads = Threads, blocks = Blocks;
};

template <typename F, typename G> struct composed {
    F f;
    G g;
    template <typename T> __host__ __device__ auto operator()(T x) const { return f(g(x)); }
};
template <typename F, typename G> composed<F, G> compose(F f, G g) { return {f, g}; }

template <typename In, typename Out, typename Op> __global__ void transform_kernel(Out *out, const In *in, int n, Op op)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = op(in[i]);
}

template <class Policy, typename T, typename Op> __global__ void reduce_kernel(T *out, const T *in, int n, T identity, Op op)
{
    __shared__ T shared[Policy::threads];
    T mine = identity;
    for (int i = blockIdx.x * Policy::threads + threadIdx.x; i < n; i += gridDim.x * Policy::threads) mine = op(mine, in[i]);
    shared[threadIdx.x] = mine;
    for (int half = Policy::threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) shared[threadIdx.x] = op(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    if (threadIdx.x == 0) out[blockIdx.x] = shared[0];
}

template <typename T, typename Predicate> __global__ void copy_if_kernel(T *out, int *count, const T *in, int n, Predicate keep)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && keep(in[i])) out[atomicAdd(count, 1)] = in[i];
}

template <class Policy = policy<128, 4>, typename Out, typename In, typename Op>
device_array<Out> transform(const device_array<In> &in, Op op)
{
    device_array<Out> out(in.size());
    transform_kernel<<<Policy::blocks, Policy::threads>>>(out.begin(), in.begin(), in.size(), op);
    ensure(cudaGetLastError(), "transform");
    return out;
}

template <class Policy = policy<128, 4>, typename T, typename Op> T reduce(const device_array<T> &in, T identity, Op op)
{
    device_array<T> partial(Policy::blocks), result(1);
    reduce_kernel<Policy><<<Policy::blocks, Policy::threads>>>(partial.begin(), in.begin(), in.size(), identity, op);
    reduce_kernel<policy<32, 1>><<<1, 32>>>(result.begin(), partial.begin(), partial.size(), identity, op);
    ensure(cudaGetLastError(), "reduce");
    return result.host()[0];
}

} // namespace util

struct Square {
    template <typename T> __host__ __device__ T operator()(T x) const { return x * x; }
};
struct AddConstant {
    long long constant;
    __host__ __device__ long long operator()(long long x) const { return x + constant; }
};
template <typename T = void> struct Maximum {
    __host__ __device__ T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
struct Plus {
    template <typename T> __host__ __device__ T operator()(T a, T b) const { return a + b; }
};
template <int Divisor> struct MultipleOf {
    __host__ __device__ bool operator()(long long x) const { return x % Divisor == 0; }
};

int main(int argc, char **argv)
try {
    const int n = argc > 1 ? atoi(argv[1]) : 2500;
    std::vector<long long> numbers(n);
    for (int i = 0; i < n; i++) numbers[i] = (i * 7919LL) % 1013 - 300;
    util::device_array<long long> input(numbers);

    auto op = util::compose(AddConstant{5}, Square());
    auto squares = util::transform<util::policy<64, 3>, long long>(input, op);
    auto roots = util::transform<util::policy<128, 2>, double>(squares, [=] __host__ __device__(long long x) { return sqrt((double)(x - 5)); });
    std::vector<long long> expected(n);
    std::transform(numbers.begin(), numbers.end(), expected.begin(), op);
    bool transform_ok = squares.host() == expected;
    std::vector<double> h_roots = roots.host();
    for (int i = 0; i < n; i++) transform_ok = transform_ok && h_roots[i] == (double)std::llabs(numbers[i]);

    long long sum = util::reduce(squares, 0LL, Plus());
    long long largest = util::reduce<util::policy<256, 2>>(input, std::numeric_limits<long long>::min(), Maximum<long long>());
    bool reduce_ok = sum == std::accumulate(expected.begin(), expected.end(), 0LL) &&
                     largest == *std::max_element(numbers.begin(), numbers.end());

    util::device_array<long long> kept(n);
    util::device_array<int> count(std::vector<int>{0});
    util::copy_if_kernel<<<(n + 127) / 128, 128>>>(kept.begin(), count.begin(), input.begin(), n, MultipleOf<3>());
    util::ensure(cudaGetLastError(), "copy_if");
    std::vector<long long> got = kept.host(), wanted;
    std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(wanted), MultipleOf<3>());
    got.resize(std::min<std::size_t>(n, count.host()[0]));
    std::sort(got.begin(), got.end());
    std::sort(wanted.begin(), wanted.end());
    bool filter_ok = got == wanted;

    printf("transform: %s\nreduce: sum %lld, largest %lld: %s\nfilter: %zu elements: %s\n", transform_ok ? "ok" : "WRONG", sum,
           largest, reduce_ok ? "ok" : "WRONG", got.size(), filter_ok ? "ok" : "WRONG");
    return transform_ok && reduce_ok && filter_ok ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const util::cuda_error &error) {
    fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
}
