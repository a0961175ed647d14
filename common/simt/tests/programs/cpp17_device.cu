// C++17 in device code: structured bindings, if constexpr, fold expressions, constexpr tables, inline variables, deduction
// guides, if with initialiser, generic lambdas inside kernels.
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

inline constexpr int threads = 64;

#define CHECK(call)                                                                              \
    if (const cudaError_t err = (call); err != cudaSuccess) {                                    \
        std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err));        \
        return 1;                                                                                \
    }

struct Split {
    int quotient, remainder;
};
__host__ __device__ constexpr Split divide(int a, int b) { return {a / b, a % b}; }

template <int N> struct Table {
    int value[N] = {};
    constexpr Table()
    {
        for (int i = 0; i < N; ++i) value[i] = i < 2 ? i : value[i - 1] + value[i - 2];
    }
};
__constant__ Table<20> fibonacci{};

// The sum of any number of arguments, and the largest
template <typename... T> __host__ __device__ constexpr auto sum(T... values) { return (values + ...); }
template <typename First, typename... T> __host__ __device__ constexpr First largest(First first, T... rest)
{
    ((first = first < rest ? rest : first), ...);
    return first;
}

template <typename T> __host__ __device__ auto average(T a, T b)
{
    if constexpr (std::is_floating_point_v<T>)
        return (a + b) * T(0.5);
    else if constexpr (std::is_unsigned_v<T>)
        return (a & b) + ((a ^ b) >> 1); // without overflow
    else
        return double(a) * 0.5 + double(b) * 0.5;
}

template <typename T> struct View {
    T *data;
    int rows, columns;
    View(T *data, int rows, int columns) : data(data), rows(rows), columns(columns) {}
    __device__ T &operator()(int r, int c) const { return data[r * columns + c]; }
};

__global__ void digits(int *out, const int *in, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    auto [tens, ones] = divide(in[i], 10);
    auto &[a, b] = *reinterpret_cast<Split *>(out + 2 * i);
    a = sum(tens, ones, 1, fibonacci.value[i % 20]);
    b = largest(tens, ones, in[i] / 20);
}

template <typename T> __global__ void averages(double *out, const T *in, int n)
{
    if (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n) {
        if (auto next = i + 1; next < n)
            out[i] = average(in[i], in[next]);
        else
            out[i] = in[i];
    }
}

template <typename T> __global__ void fill(View<T> view)
{
    auto each = [&](auto &&action) {
        for (int i = threadIdx.x; i < view.rows * view.columns; i += blockDim.x) {
            auto [r, c] = divide(i, view.columns);
            action(view(r, c), r, c);
        }
    };
    struct { int of[3]; } weights{{2, 3, 5}};
    each([](T &place, int r, int c) { place = T(r * 100 + c); });
    __syncthreads();
    each([weights](T &place, int r, int c) { place += T(weights.of[(r + c) % 3]); });
}

template <typename T> int check_averages(const char *name, T first, T step, int n)
{
    std::vector<T> in(n);
    for (int i = 0; i < n; ++i) in[i] = T(first + T(i) * step);
    T *d_in;
    double *d_out;
    std::vector<double> out(n);
    CHECK(cudaMalloc(&d_in, n * sizeof(T)));
    CHECK(cudaMalloc(&d_out, n * sizeof(double)));
    CHECK(cudaMemcpy(d_in, in.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    averages<<<(n + threads - 1) / threads, threads>>>(d_out, d_in, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(double), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        double exact = i + 1 < n ? (double(in[i]) + double(in[i + 1])) / 2 : double(in[i]);
        if constexpr (std::is_unsigned_v<T>) exact = double((unsigned long long)exact);
        wrong += out[i] != exact;
    }
    std::printf("averages of %s: %d wrong\n", name, wrong);
    return wrong;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 300;
    std::vector<int> in(n), out(2 * n);
    for (int i = 0; i < n; ++i) in[i] = i * 7 % 100;
    int *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, n * sizeof(int)));
    CHECK(cudaMalloc(&d_out, 2 * n * sizeof(int)));
    CHECK(cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    digits<<<(n + threads - 1) / threads, threads>>>(d_out, d_in, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), d_out, 2 * n * sizeof(int), cudaMemcpyDeviceToHost));
    constexpr Table<20> same;
    static_assert(same.value[10] == 55 && sum(1, 2, 3) == 6 && largest(3, 9, 4) == 9);
    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        const int t = in[i] / 10, o = in[i] % 10;
        wrong += out[2 * i] != t + o + 1 + same.value[i % 20] || out[2 * i + 1] != (t > o ? t : o);
    }
    std::printf("digits: %d wrong\n", wrong);

    const int rows = 9, columns = 17;
    fill<<<1, threads>>>(View(d_out, rows, columns));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), d_out, rows * columns * sizeof(int), cudaMemcpyDeviceToHost));
    const int weight[] = {2, 3, 5};
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) wrong += out[r * columns + c] != r * 100 + c + weight[(r + c) % 3];
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    wrong += check_averages("float", 0.25f, 1.5f, n) + check_averages("int", -7, 3, n) + check_averages("unsigned", 4000000000u, 2u, n);
    std::printf("%s\n", wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
