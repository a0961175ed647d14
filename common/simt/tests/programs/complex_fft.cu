// Complex numbers: a discrete Fourier transform with cuComplex.h, a fast one with a class of its own, and a Julia set.
#include <cuComplex.h>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define HANDLE_ERROR(err) (handle((err), __FILE__, __LINE__))
static void handle(cudaError_t err, const char *file, int line)
{
    if (err == cudaSuccess) return;
    printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
    exit(EXIT_FAILURE);
}

struct alignas(8) Complex {
    float r, i;
    __host__ __device__ Complex(float r = 0, float i = 0) : r(r), i(i) {}
    __host__ __device__ float magnitude2() const { return r * r + i * i; }
    __host__ __device__ Complex operator*(const Complex &a) const { return Complex(r * a.r - i * a.i, i * a.r + r * a.i); }
    __host__ __device__ Complex operator+(const Complex &a) const { return Complex(r + a.r, i + a.i); }
    __host__ __device__ Complex operator-(const Complex &a) const { return Complex(r - a.r, i - a.i); }
};

__global__ void dft(cuDoubleComplex *out, const cuDoubleComplex *in, int n)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    cuDoubleComplex sum = make_cuDoubleComplex(0, 0);
    for (int j = 0; j < n; j++) {
        double s, c;
        sincospi(-2.0 * (k * j % n) / n, &s, &c);
        sum = cuCfma(in[j], make_cuDoubleComplex(c, s), sum);
    }
    out[k] = cuCsub(cuCadd(sum, in[0]), in[0]);
}

// One block; n is a power of two, n / 2 threads. In place in shared memory, after a permutation by reversed bits
__global__ void fft(Complex *data, int n, int log2n)
{
    extern __shared__ unsigned char raw[];
    Complex *x = reinterpret_cast<Complex *>(raw);
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[__brev(i) >> (32 - log2n)] = data[i];
    __syncthreads();
    for (int half = 1; half < n; half *= 2) {
        int position = threadIdx.x % half, low = threadIdx.x / half * 2 * half + position;
        float s, c;
        sincospif(-(float)position / half, &s, &c);
        Complex a = x[low], b = x[low + half] * Complex(c, s);
        x[low] = a + b;
        x[low + half] = a - b;
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = x[i];
}

__host__ __device__ int julia(int x, int y, int size)
{
    Complex c(-0.8f, 0.156f), a(1.5f * (size / 2 - x) / (size / 2), 1.5f * (size / 2 - y) / (size / 2));
    for (int i = 0; i < 60; i++) {
        a = a * a + c;
        if (a.magnitude2() > 1000) return 0;
    }
    return 1;
}

__global__ void julia_kernel(unsigned char *image)
{
    int x = blockIdx.x, y = blockIdx.y;
    image[x + y * gridDim.x] = 255 * julia(x, y, gridDim.x);
}

int main(int argc, char **argv)
{
    const int log2n = argc > 1 ? atoi(argv[1]) : 8, n = 1 << log2n, size = 64;
    typedef std::complex<double> complex;
    std::vector<complex> in(n), slow(n), exact(n);
    std::vector<Complex> fast(n);
    for (int j = 0; j < n; j++) {
        in[j] = complex((j * 37 % 64) / 32.0 - 1, (j * 11 % 16) / 8.0 - 1);
        fast[j] = Complex((float)in[j].real(), (float)in[j].imag());
    }
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) exact[k] += in[j] * std::polar(1.0, -2 * 3.14159265358979323846 * (k * j % n) / n);

    cuDoubleComplex *d_in, *d_out;
    Complex *d_fast;
    HANDLE_ERROR(cudaMalloc(&d_in, n * sizeof(*d_in)));
    HANDLE_ERROR(cudaMalloc(&d_out, n * sizeof(*d_out)));
    HANDLE_ERROR(cudaMalloc(&d_fast, n * sizeof(*d_fast)));
    HANDLE_ERROR(cudaMemcpy(d_in, in.data(), n * sizeof(*d_in), cudaMemcpyHostToDevice));
    HANDLE_ERROR(cudaMemcpy(d_fast, fast.data(), n * sizeof(*d_fast), cudaMemcpyHostToDevice));
    dft<<<(n + 63) / 64, 64>>>(d_out, d_in, n);
    HANDLE_ERROR(cudaGetLastError());
    fft<<<1, n / 2, n * sizeof(Complex)>>>(d_fast, n, log2n);
    HANDLE_ERROR(cudaGetLastError());
    HANDLE_ERROR(cudaMemcpy(slow.data(), d_out, n * sizeof(*d_out), cudaMemcpyDeviceToHost));
    HANDLE_ERROR(cudaMemcpy(fast.data(), d_fast, n * sizeof(*d_fast), cudaMemcpyDeviceToHost));
    int wrong_slow = 0, wrong_fast = 0;
    for (int k = 0; k < n; k++) {
        wrong_slow += !(std::abs(slow[k] - exact[k]) <= 1e-9 * n);
        wrong_fast += !(std::abs(complex(fast[k].r, fast[k].i) - exact[k]) <= 1e-5 * n);
    }
    printf("%d points: DFT %d wrong, FFT %d wrong\n", n, wrong_slow, wrong_fast);

    unsigned char *d_image, *image = new unsigned char[size * size];
    HANDLE_ERROR(cudaMalloc(&d_image, size * size));
    julia_kernel<<<dim3(size, size), 1>>>(d_image);
    HANDLE_ERROR(cudaGetLastError());
    HANDLE_ERROR(cudaMemcpy(image, d_image, size * size, cudaMemcpyDeviceToHost));
    int differing = 0, inside = 0;
    for (int i = 0; i < size * size; i++) {
        differing += image[i] != 255 * julia(i % size, i / size, size);
        inside += image[i] != 0;
    }
    bool julia_ok = inside > 0 && inside < size * size && differing <= size * size / 100; // fma on a GPU moves the border
    printf("Julia set: %s\n", julia_ok ? "ok" : "WRONG");
    HANDLE_ERROR(cudaFree(d_in)); HANDLE_ERROR(cudaFree(d_out)); HANDLE_ERROR(cudaFree(d_fast)); HANDLE_ERROR(cudaFree(d_image));
    delete[] image;
    return wrong_slow || wrong_fast || !julia_ok;
}
