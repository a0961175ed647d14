// Kernels as templates: types, numbers, functors, packs, default arguments, explicit instantiation, specialisation.
#include <cstdio>
#include <functional>

namespace ops {
template <typename T> struct Plus { __host__ __device__ T operator()(T a, T b) const { return a + b; } };
template <typename T> struct Maximum { __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; } };
template <int N> struct Scale { float factor = N; __device__ float operator()(float x) const { return x * factor; } };
}

template <typename T, typename Op, int BLOCK = 128>
__global__ void fold(const T *in, T *out, int n, T start = T(), Op op = Op())
{
    __shared__ T partial[BLOCK];
    T value = start;
    for (int i = threadIdx.x; i < n; i += BLOCK) value = op(value, in[i]);
    partial[threadIdx.x] = value;
    __syncthreads();
#pragma unroll
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) partial[threadIdx.x] = op(partial[threadIdx.x], partial[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = partial[0];
}

template <class F, class... Pointers>
__global__ void map(F f, int n, float *out, Pointers... in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = f((in[i] + ...));
}

template <typename T> __global__ void size_of(int *out);
template <typename T> __global__ void size_of(int *out) { *out = sizeof(T); }
template <> __global__ void size_of<char>(int *out) { *out = 1000; }
template __global__ void size_of<double>(int *);

template <typename T> class Vector {
    T *data_;
    int n_;
public:
    Vector(int n) : n_(n) { cudaMallocManaged(&data_, n * sizeof(T)); }
    ~Vector() { cudaFree(data_); }
    template <typename Op> T reduce(T start) const
    {
        T *result, value;
        cudaMallocManaged(&result, sizeof(T));
        fold<T, Op><<<1, 128>>>(data_, result, n_, start);
        cudaDeviceSynchronize();
        value = *result;
        cudaFree(result);
        return value;
    }
    T *data() { return data_; }
    T &operator[](int i) { return data_[i]; }
};

int main()
{
    const int n = 1000;
    int bad = 0;
    Vector<int> v(n);
    for (int i = 0; i < n; i++) v[i] = (i * 37) % 1009;
    int sum = 0, most = 0;
    for (int i = 0; i < n; i++) { sum += v[i]; most = v[i] > most ? v[i] : most; }
    bad += v.reduce<ops::Plus<int>>(0) != sum;
    bad += v.reduce<ops::Maximum<int>>(-1) != most;

    Vector<float> a(n), b(n), out(n);
    for (int i = 0; i < n; i++) a[i] = i, b[i] = 2 * i;
    map<<<(n + 255) / 256, 256>>>(ops::Scale<3>(), n, out.data(), a.data(), b.data());
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) bad += out[i] != 9.f * i;

    Vector<int> size(1);
    size_of<double><<<1, 1>>>(size.data());
    cudaDeviceSynchronize();
    bad += size[0] != 8;
    size_of<char><<<1, 1>>>(size.data());
    cudaDeviceSynchronize();
    bad += size[0] != 1000;
    size_of<ops::Plus<ops::Plus<int>>><<<1, 1>>>(size.data());
    cudaDeviceSynchronize();
    bad += size[0] != 1;
    printf("%d wrong\n", bad);
    return bad;
}
