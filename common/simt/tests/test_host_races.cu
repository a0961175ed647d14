// Managed and pinned memory: the host waits before it uses what a kernel accesses (RIGHT), or does not (FINDS).
#include "expect.cuh"

enum { N = 256 };

template <class T = int> static T *managed(int n = N) {
    T *pointer = nullptr;
    cudaMallocManaged(&pointer, n * sizeof *pointer);
    for (int i = 0; i < n; i++) pointer[i] = T();
    return pointer;
}

template <class T> __global__ void fill(T *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (T)(i + 1);
}
__global__ void total(int *sum, const int *x) {
    atomicAdd(sum, x[threadIdx.x]);
}
__global__ void halves(int *x) { // two blocks write one line of the race detector
    x[blockIdx.x + 2 * threadIdx.x] = threadIdx.x;
}
__device__ int on_device;
__global__ void set_device() {
    on_device = 7;
}

extern "C" {

#define WAITED(name, ...)                   \
    int run_##name(void) {                  \
        int *x = managed();                 \
        fill<<<2, 128>>>(x, N);             \
        __VA_ARGS__;                        \
        EXPECT(x[0] == 1 && x[N - 1] == N); \
        x[5] = 0;                           \
        OK(cudaFree(x));                    \
        return 0;                           \
    }

WAITED(device_synchronize, OK(cudaDeviceSynchronize()))
WAITED(stream_synchronize, OK(cudaStreamSynchronize(0)))
WAITED(stream_query, while (cudaStreamQuery(0) == cudaErrorNotReady){})
WAITED(copy, int last; OK(cudaMemcpy(&last, x + N - 1, sizeof last, cudaMemcpyDeviceToHost)); EXPECT(last == N))
WAITED(copy_on_stream, int last;
       OK(cudaMemcpyAsync(&last, x + N - 1, sizeof last, cudaMemcpyDeviceToHost, 0)); // to pageable memory: it waits
       EXPECT(last == N))
WAITED(copy_from_symbol, set_device<<<1, 1>>>(); int got; OK(cudaMemcpyFromSymbol(&got, on_device, sizeof got));
       EXPECT(got == 7))
WAITED(set, OK(cudaMemset(x + 4, 0, 4)); EXPECT(x[4] == 0))
WAITED(free_other, int *other; OK(cudaMalloc(&other, 4)); OK(cudaFree(other)))
WAITED(event_synchronize, cudaEvent_t event; OK(cudaEventCreate(&event)); OK(cudaEventRecord(event));
       OK(cudaEventSynchronize(event)); OK(cudaEventDestroy(event)))
WAITED(
    event_query, cudaEvent_t event; OK(cudaEventCreate(&event)); OK(cudaEventRecord(event));
    while (cudaEventQuery(event) == cudaErrorNotReady) {} OK(cudaEventDestroy(event)))

struct sum {
    const int *x;
    int value;
};
static void add_up(void *data) {
    struct sum *sum = (struct sum *)data;
    for (int i = 0; i < N; i++) sum->value += sum->x[i];
}

int run_host_function(void) {
    int *x = managed();
    struct sum sum = {x, 0};
    fill<<<2, 128>>>(x, N);
    OK(cudaLaunchHostFunc(0, add_up, &sum));
    OK(cudaDeviceSynchronize());
    EXPECT(sum.value == N * (N + 1) / 2);
    OK(cudaFree(x));
    return 0;
}

static cudaError_t capture(cudaGraphExec_t *executable, cudaStream_t stream, int *x, struct sum *sum) {
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    fill<<<2, 128, 0, stream>>>(x, N);
    if (sum != nullptr) { cudaLaunchHostFunc(stream, add_up, sum); }
    cudaStreamEndCapture(stream, &graph);
    cudaError_t error = cudaGraphInstantiate(executable, graph, 0);
    cudaGraphDestroy(graph);
    return error;
}

int run_host_node(void) {
    int *x = managed();
    struct sum sum = {x, 0};
    cudaStream_t stream;
    cudaGraphExec_t executable;
    OK(cudaStreamCreate(&stream));
    OK(capture(&executable, stream, x, &sum));
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(sum.value == N * (N + 1) / 2);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(x));
    return 0;
}

int run_other_bytes(void) { // the kernel uses the first half, the host the second
    int *x = managed();
    char *bytes = managed<char>(64);
    fill<<<1, 128>>>(x, N / 2);
    fill<<<1, 32>>>(bytes, 31);
    x[N / 2] = 3;
    EXPECT(x[N / 2] == 3 && x[N - 1] == 0 && bytes[31] == 0);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(x));
    OK(cudaFree(bytes));
    return 0;
}

int run_read_of_input(void) {
    int *x = managed(), *sum = managed();
    total<<<1, 32>>>(sum, x);
    EXPECT(x[0] == 0 && sum[1] == 0);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(x));
    OK(cudaFree(sum));
    return 0;
}

__global__ void announce(int *x, int *flag) {
    *x = 5;
    __threadfence_system();
    *(volatile int *)flag = 1;
}
int run_volatile_flag(void) {
    int *x = managed(), *flag = managed();
    announce<<<1, 1>>>(x, flag);
    while (*(volatile int *)flag == 0) {}
    EXPECT(*x == 5);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(x));
    OK(cudaFree(flag));
    return 0;
}

// ---- not waited

int run_reads_too_early(void) {
    int *x = managed();
    fill<<<2, 128>>>(x, N);
    OK(cudaGetLastError());
    int seen = x[N - 1]; // here: reads_too_early
    OK(cudaDeviceSynchronize());
    EXPECT(seen == N && x[0] == 1);
    return 0;
}
int run_reads_pinned(void) {
    int *x;
    OK(cudaMallocHost(&x, N * sizeof *x));
    fill<<<2, 128>>>(x, N);
    EXPECT(x[N - 1] == N); // here: reads_pinned
    return 0;
}
int run_reads_byte(void) {
    char *x = managed<char>();
    fill<<<2, 128>>>(x, 99);
    EXPECT(x[98] == 99); // here: reads_byte
    return 0;
}
int run_reads_sum(void) {
    int *x = managed(), *sum = managed();
    total<<<1, 32>>>(sum, x);
    EXPECT(*sum == 0); // here: reads_sum
    return 0;
}
int run_reads_written_by_two(void) {
    int *x = managed();
    halves<<<2, 32>>>(x);
    EXPECT(x[9] == 4); // here: reads_written_by_two
    return 0;
}
int run_overwrites_input(void) {
    int *x = managed(), *sum = managed();
    total<<<1, 32>>>(sum, x);
    x[3] = 1; // here: overwrites_input
    return 0;
}
struct four {
    int v[4];
};
int run_copies_struct(void) {
    int *x = managed();
    fill<<<2, 128>>>(x, N);
    struct four copy = *(struct four *)(x + 4); // here: copies_struct
    EXPECT(copy.v[1] == 6);
    return 0;
}
int run_reads_after_graph(void) {
    int *x = managed();
    cudaStream_t stream;
    cudaGraphExec_t executable;
    OK(cudaStreamCreate(&stream));
    OK(capture(&executable, stream, x, nullptr));
    OK(cudaGraphLaunch(executable, stream));
    EXPECT(x[0] == 1); // here: reads_after_graph
    return 0;
}
}
