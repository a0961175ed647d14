// Unified memory: data structures with pointers, shared by host and device without copies; advice, prefetches, a managed
// variable, and work in two streams.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define CUDA_RT_CALL(call)                                                                              \
    {                                                                                                   \
        cudaError_t cudaStatus = call;                                                                  \
        if (cudaSuccess != cudaStatus) {                                                                \
            fprintf(stderr, "ERROR: CUDA RT call \"%s\" in line %d of file %s failed with %s (%d).\n",  \
                    #call, __LINE__, __FILE__, cudaGetErrorString(cudaStatus), cudaStatus);             \
            exit(cudaStatus);                                                                           \
        }                                                                                               \
    }

// Objects of classes that derive from it are visible to both sides
class Managed {
public:
    void *operator new(size_t bytes)
    {
        void *memory;
        CUDA_RT_CALL(cudaMallocManaged(&memory, bytes));
        return memory;
    }
    void operator delete(void *memory)
    {
        cudaDeviceSynchronize();
        cudaFree(memory);
    }
};

class Text : public Managed {
    int length;
    char *letters;

public:
    Text *next = nullptr;
    explicit Text(const char *from) : length((int)strlen(from))
    {
        CUDA_RT_CALL(cudaMallocManaged(&letters, length + 1));
        strcpy(letters, from);
    }
    ~Text() { cudaFree(letters); }
    __host__ __device__ int size() const { return length; }
    __host__ __device__ char &operator[](int i) { return letters[i]; }
    const char *c_str() const { return letters; }
};

__managed__ int letters_changed = 0;

__global__ void capitals(Text *first)
{
    for (Text *text = first; text; text = text->next)
        for (int i = threadIdx.x; i < text->size(); i += blockDim.x)
            if ((*text)[i] >= 'a' && (*text)[i] <= 'z') {
                (*text)[i] -= 'a' - 'A';
                atomicAdd(&letters_changed, 1);
            }
}

__global__ void smooth(float *out, const float *in, const float *weights, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        out[i] = weights[0] * in[i ? i - 1 : i] + weights[1] * in[i] + weights[2] * in[i + 1 < n ? i + 1 : i];
}

int main(int argc, char **argv)
{
    int wrong = 0, n = argc > 1 ? atoi(argv[1]) : 4096, device;
    CUDA_RT_CALL(cudaGetDevice(&device));

    Text *list = nullptr;
    for (const char *word : {"unified", "Memory", "is shared", "42"}) {
        Text *text = new Text(word);
        text->next = list;
        list = text;
    }
    capitals<<<1, 32>>>(list);
    CUDA_RT_CALL(cudaGetLastError());
    CUDA_RT_CALL(cudaDeviceSynchronize());
    const char *expected[] = {"42", "IS SHARED", "MEMORY", "UNIFIED"};
    for (int i = 0; list; i++) {
        printf("%s\n", list->c_str());
        wrong += strcmp(list->c_str(), expected[i]) != 0;
        Text *next = list->next;
        delete list;
        list = next;
    }
    wrong += letters_changed != 7 + 5 + 8;
    printf("%d letters changed\n", letters_changed);

    float *a, *b, *weights;
    CUDA_RT_CALL(cudaMallocManaged(&a, n * sizeof(float)));
    CUDA_RT_CALL(cudaMallocManaged(&b, n * sizeof(float)));
    CUDA_RT_CALL(cudaMallocManaged(&weights, 3 * sizeof(float)));
    for (int i = 0; i < n; i++) a[i] = (float)(i % 8);
    weights[0] = weights[2] = 0.25f;
    weights[1] = 0.5f;
    cudaMemLocation gpu = {}, host = {};
    gpu.type = cudaMemLocationTypeDevice;
    gpu.id = device;
    host.type = cudaMemLocationTypeHost;
    cudaStream_t stream;
    CUDA_RT_CALL(cudaStreamCreate(&stream));
    CUDA_RT_CALL(cudaMemAdvise(weights, 3 * sizeof(float), cudaMemAdviseSetReadMostly, gpu));
    CUDA_RT_CALL(cudaMemAdvise(b, n * sizeof(float), cudaMemAdviseSetPreferredLocation, gpu));
    CUDA_RT_CALL(cudaMemPrefetchAsync(a, n * sizeof(float), gpu, 0, stream));
    for (int step = 0; step < 2; step++) {
        smooth<<<8, 128, 0, stream>>>(step ? a : b, step ? b : a, weights, n);
        CUDA_RT_CALL(cudaGetLastError());
    }
    CUDA_RT_CALL(cudaMemPrefetchAsync(a, n * sizeof(float), host, 0, stream));
    CUDA_RT_CALL(cudaStreamSynchronize(stream));
    for (int i = 2; i < n - 2; i++) {
        auto in = [](int k) { return (float)(k % 8); };
        float exact = (in(i - 2) + 4 * in(i - 1) + 6 * in(i) + 4 * in(i + 1) + in(i + 2)) / 16;
        wrong += a[i] != exact;
    }
    cudaPointerAttributes attributes;
    CUDA_RT_CALL(cudaPointerGetAttributes(&attributes, a + 1));
    wrong += attributes.type != cudaMemoryTypeManaged;
    CUDA_RT_CALL(cudaStreamDestroy(stream));
    CUDA_RT_CALL(cudaFree(a));
    CUDA_RT_CALL(cudaFree(b));
    CUDA_RT_CALL(cudaFree(weights));
    printf("%s\n", wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
