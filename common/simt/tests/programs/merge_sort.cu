// Merge sort: each block sorts a tile by odd-even transposition, then runs are merged pairwise. Each thread merges a part
// of equal length, which it finds by binary search along the merge path.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define TILE 64
#define PART 8
#define cudaCheckError() {                                                                    \
    cudaError_t e = cudaGetLastError();                                                       \
    if (e != cudaSuccess) {                                                                   \
        printf("Cuda failure %s:%d: '%s'\n", __FILE__, __LINE__, cudaGetErrorString(e));      \
        exit(EXIT_FAILURE);                                                                   \
    }                                                                                         \
}

template <typename T, typename Less>
__global__ void sort_tiles(T *data, int n, Less less)
{
    __shared__ T tile[TILE];
    const int base = blockIdx.x * TILE, length = min(TILE, n - base), t = threadIdx.x; // TILE / 2 threads
    for (int i = t; i < length; i += blockDim.x) tile[i] = data[base + i];
    for (int phase = 0; phase < length; phase++) {
        __syncthreads();
        int i = 2 * t + (phase & 1);
        if (i + 1 < length && less(tile[i + 1], tile[i])) {
            T swap = tile[i];
            tile[i] = tile[i + 1];
            tile[i + 1] = swap;
        }
    }
    __syncthreads();
    for (int i = t; i < length; i += blockDim.x) data[base + i] = tile[i];
}

// How many of the first `diagonal` elements of the merged run come from a
template <typename T, typename Less>
__device__ int merge_path(const T *a, int na, const T *b, int nb, int diagonal, Less less)
{
    int low = max(0, diagonal - nb), high = min(diagonal, na);
    while (low < high) {
        int middle = (low + high) / 2;
        if (less(b[diagonal - 1 - middle], a[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

template <typename T, typename Less>
__global__ void merge_runs(T *out, const T *in, int n, int run, Less less)
{
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * PART; // of this thread's part of the output
    if (first >= n) return;
    const int start = first / (2 * run) * 2 * run, middle = min(start + run, n), end = min(start + 2 * run, n);
    const T *a = in + start, *b = in + middle;
    const int na = middle - start, nb = end - middle;
    int i = merge_path(a, na, b, nb, first - start, less), j = first - start - i;
    for (int k = first; k < min(first + PART, end); k++)
        out[k] = j >= nb || (i < na && !less(b[j], a[i])) ? a[i++] : b[j++];
}

template <typename T, typename Less>
T *merge_sort(T *data, T *other, int n, Less less)
{
    sort_tiles<<<(n + TILE - 1) / TILE, TILE / 2>>>(data, n, less);
    cudaCheckError();
    for (int run = TILE; run < n; run *= 2) {
        merge_runs<<<(n + PART * 64 - 1) / (PART * 64), 64>>>(other, data, n, run, less);
        cudaCheckError();
        T *swap = data;
        data = other;
        other = swap;
    }
    return data;
}

struct Person {
    int age, number;
};
struct ByAge {
    __host__ __device__ bool operator()(const Person &x, const Person &y) const { return x.age < y.age; }
};
struct Descending {
    __host__ __device__ bool operator()(double x, double y) const { return x > y; }
};

template <typename T, typename Less, typename Same>
int test(const char *name, std::vector<T> input, Less less, Same same)
{
    int n = (int)input.size(), wrong = 0;
    std::vector<T> expected(input), got(n);
    std::stable_sort(expected.begin(), expected.end(), less);
    T *a, *b;
    cudaMalloc(&a, n * sizeof(T));
    cudaMalloc(&b, n * sizeof(T));
    cudaMemcpy(a, input.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    T *sorted = merge_sort(a, b, n, less);
    cudaMemcpy(got.data(), sorted, n * sizeof(T), cudaMemcpyDeviceToHost);
    cudaCheckError();
    cudaFree(a);
    cudaFree(b);
    for (int i = 0; i < n; i++) wrong += !same(got[i], expected[i]);
    printf("%s: %d elements, %d wrong\n", name, n, wrong);
    return wrong;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1111;
    std::vector<double> numbers(n);
    std::vector<Person> people(2 * n + 1);
    for (int i = 0; i < n; i++) numbers[i] = (double)((long long)i * 7907 % 1009) / 8;
    for (int i = 0; i < 2 * n + 1; i++) people[i] = {(i * 31 + i / 9) % 100, i};
    int wrong = test("descending", numbers, Descending(), std::equal_to<double>());
    // equal ages stay in order: the sort is stable
    wrong += test("by age", people, ByAge(), [](Person x, Person y) { return x.age == y.age && x.number == y.number; });
    wrong += test("one tile", std::vector<double>(numbers.begin(), numbers.begin() + 5), Descending(), std::equal_to<double>());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
