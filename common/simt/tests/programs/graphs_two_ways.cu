// The same work as a graph twice: captured from streams that fork and join, and built node by node. Then the executable
// gets other parameters.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define checkCudaErrors(call)                                                                          \
    do {                                                                                               \
        cudaError_t err = call;                                                                        \
        if (err != cudaSuccess) {                                                                      \
            printf("CUDA error at %s %d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err));          \
            exit(EXIT_FAILURE);                                                                        \
        }                                                                                              \
    } while (0)

const int THREADS = 128, BLOCKS = 8;

__global__ void partial_sums(double *partial, const float *in, int n, float shift)
{
    __shared__ double sum[THREADS];
    double mine = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += THREADS * gridDim.x) {
        double x = (double)in[i] - shift;
        mine += x * x;
    }
    sum[threadIdx.x] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) sum[threadIdx.x] += sum[threadIdx.x + half];
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = sum[0];
}

__global__ void finish(double *result, const double *a, const double *b, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += a[i] + b[i];
    *result += sqrt(sum); // result was set to 0 by a memset node
}

struct Report {
    const double *value;
    double last;
    int calls;
};

void CUDART_CB keep_result(void *data)
{
    Report *report = (Report *)data;
    report->last = *report->value;
    report->calls++;
}

static double norm(const std::vector<float> &x, const std::vector<float> &y, float shift)
{
    double sum = 0;
    for (float v : x) sum += ((double)v - shift) * ((double)v - shift);
    for (float v : y) sum += ((double)v - shift) * ((double)v - shift);
    return sqrt(sum);
}

static int check(const char *what, const Report &report, int calls, double expected)
{
    bool ok = report.calls == calls && std::fabs(report.last - expected) <= 1e-9 * expected;
    printf("%-24s %.6f, expected %.6f, %d calls: %s\n", what, report.last, expected, report.calls, ok ? "ok" : "WRONG");
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 5000, wrong = 0;
    std::vector<float> x(n), y(n);
    for (int i = 0; i < n; i++) { x[i] = i % 13; y[i] = i % 5 - 1.5f; }
    float *d_x, *d_y, shift = 0.5f;
    double *d_a, *d_b, *d_result, *h_result;
    checkCudaErrors(cudaMalloc(&d_x, n * sizeof(float)));
    checkCudaErrors(cudaMalloc(&d_y, n * sizeof(float)));
    checkCudaErrors(cudaMalloc(&d_a, BLOCKS * sizeof(double)));
    checkCudaErrors(cudaMalloc(&d_b, BLOCKS * sizeof(double)));
    checkCudaErrors(cudaMalloc(&d_result, sizeof(double)));
    checkCudaErrors(cudaMallocHost(&h_result, sizeof(double)));
    Report report = {h_result, 0, 0};

    // ---- captured: the second stream forks from the first at an event, and joins it at another
    cudaStream_t stream, side;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    checkCudaErrors(cudaStreamCreate(&stream));
    checkCudaErrors(cudaStreamCreate(&side));
    checkCudaErrors(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    checkCudaErrors(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    checkCudaErrors(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    checkCudaErrors(cudaEventRecord(fork, stream));
    checkCudaErrors(cudaStreamWaitEvent(side, fork, 0));
    checkCudaErrors(cudaMemcpyAsync(d_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream));
    partial_sums<<<BLOCKS, THREADS, 0, stream>>>(d_a, d_x, n, shift);
    checkCudaErrors(cudaMemcpyAsync(d_y, y.data(), n * sizeof(float), cudaMemcpyHostToDevice, side));
    partial_sums<<<BLOCKS, THREADS, 0, side>>>(d_b, d_y, n, shift);
    checkCudaErrors(cudaMemsetAsync(d_result, 0, sizeof(double), side));
    checkCudaErrors(cudaEventRecord(join, side));
    checkCudaErrors(cudaStreamWaitEvent(stream, join, 0));
    finish<<<1, 1, 0, stream>>>(d_result, d_a, d_b, BLOCKS);
    checkCudaErrors(cudaMemcpyAsync(h_result, d_result, sizeof(double), cudaMemcpyDeviceToHost, stream));
    checkCudaErrors(cudaLaunchHostFunc(stream, keep_result, &report));
    checkCudaErrors(cudaStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    checkCudaErrors(cudaGraphGetNodes(graph, NULL, &nodes));
    checkCudaErrors(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) checkCudaErrors(cudaGraphLaunch(exec, stream));
    checkCudaErrors(cudaStreamSynchronize(stream));
    wrong += check("captured", report, 3, norm(x, y, shift)) + (nodes != 8);
    checkCudaErrors(cudaGraphExecDestroy(exec));
    checkCudaErrors(cudaGraphDestroy(graph));

    // ---- by hand
    checkCudaErrors(cudaMemset(d_x, 0xff, n * sizeof(float)));
    checkCudaErrors(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t copy_x, copy_y, zero, sum_x, sum_y, last, copy_back, host;
    checkCudaErrors(cudaGraphAddMemcpyNode1D(&copy_x, graph, NULL, 0, d_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    checkCudaErrors(cudaGraphAddMemcpyNode1D(&copy_y, graph, NULL, 0, d_y, y.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    cudaMemsetParams set = {};
    set.dst = d_result; set.elementSize = 4; set.width = 2; set.height = 1;
    checkCudaErrors(cudaGraphAddMemsetNode(&zero, graph, NULL, 0, &set));
    void *args_x[] = {&d_a, &d_x, &n, &shift}, *args_y[] = {&d_b, &d_y, &n, &shift};
    int count = BLOCKS;
    void *args_last[] = {&d_result, &d_a, &d_b, &count};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)partial_sums; kernel.gridDim = dim3(BLOCKS); kernel.blockDim = dim3(THREADS); kernel.kernelParams = args_x;
    checkCudaErrors(cudaGraphAddKernelNode(&sum_x, graph, &copy_x, 1, &kernel));
    kernel.kernelParams = args_y;
    checkCudaErrors(cudaGraphAddKernelNode(&sum_y, graph, &copy_y, 1, &kernel));
    cudaKernelNodeParams ending = {};
    ending.func = (void *)finish; ending.gridDim = dim3(1); ending.blockDim = dim3(1); ending.kernelParams = args_last;
    cudaGraphNode_t before[] = {sum_x, sum_y, zero};
    checkCudaErrors(cudaGraphAddKernelNode(&last, graph, before, 3, &ending));
    checkCudaErrors(cudaGraphAddMemcpyNode1D(&copy_back, graph, &last, 1, h_result, d_result, sizeof(double), cudaMemcpyDeviceToHost));
    cudaHostNodeParams call = {keep_result, &report};
    checkCudaErrors(cudaGraphAddHostNode(&host, graph, &copy_back, 1, &call));
    checkCudaErrors(cudaGraphInstantiate(&exec, graph, 0));
    checkCudaErrors(cudaGraphLaunch(exec, stream));
    checkCudaErrors(cudaStreamSynchronize(stream));
    wrong += check("by hand", report, 4, norm(x, y, shift));

    shift = -2.0f; // both kernels get the new value
    kernel.kernelParams = args_x;
    checkCudaErrors(cudaGraphExecKernelNodeSetParams(exec, sum_x, &kernel));
    kernel.kernelParams = args_y;
    checkCudaErrors(cudaGraphExecKernelNodeSetParams(exec, sum_y, &kernel));
    checkCudaErrors(cudaGraphLaunch(exec, stream));
    checkCudaErrors(cudaStreamSynchronize(stream));
    wrong += check("with other parameters", report, 5, norm(x, y, shift));

    checkCudaErrors(cudaGraphExecDestroy(exec)); checkCudaErrors(cudaGraphDestroy(graph));
    checkCudaErrors(cudaEventDestroy(fork)); checkCudaErrors(cudaEventDestroy(join));
    checkCudaErrors(cudaStreamDestroy(stream)); checkCudaErrors(cudaStreamDestroy(side));
    checkCudaErrors(cudaFree(d_x)); checkCudaErrors(cudaFree(d_y)); checkCudaErrors(cudaFree(d_a)); checkCudaErrors(cudaFree(d_b));
    checkCudaErrors(cudaFree(d_result)); checkCudaErrors(cudaFreeHost(h_result));
    return wrong;
}
