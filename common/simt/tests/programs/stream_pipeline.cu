// A pipeline of three streams (upload, compute, download) that are ordered by events alone; host functions run between
// the stages.
#include <stdio.h>
#include <stdlib.h>

#define CHUNKS 6
#define BUFFERS 2
#define RUNTIME_API_CALL(apiFuncCall)                                                       \
    do {                                                                                    \
        cudaError_t _status = apiFuncCall;                                                  \
        if (_status != cudaSuccess) {                                                       \
            fprintf(stderr, "%s:%d: error: function %s failed with error %s.\n", __FILE__,  \
                    __LINE__, #apiFuncCall, cudaGetErrorString(_status));                   \
            exit(EXIT_FAILURE);                                                             \
        }                                                                                   \
    } while (0)

__global__ void collatz_steps(int *steps, const int *start, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long value = start[i];
    int count = 0;
    for (; value != 1; count++) value = value % 2 ? 3 * value + 1 : value / 2;
    steps[i] = count;
}

struct Work {
    int chunk, n, longest;
    const int *result;
};

static int finished[CHUNKS], finished_count;

static void CUDART_CB reduce_on_host(void *data)
{
    Work *work = (Work *)data;
    for (int i = 0; i < work->n; i++)
        if (work->result[i] > work->longest) work->longest = work->result[i];
    finished[finished_count++] = work->chunk;
}

static int steps_on_host(long long value)
{
    int count = 0;
    while (value != 1) { value = value & 1 ? 3 * value + 1 : value / 2; count++; }
    return count;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 700;
    const size_t bytes = n * sizeof(int);
    int *h_in, *h_out, *d_in[BUFFERS], *d_out[BUFFERS];
    cudaStream_t upload, compute, download;
    cudaEvent_t uploaded[BUFFERS], computed[BUFFERS], downloaded[BUFFERS], start, stop;
    RUNTIME_API_CALL(cudaHostAlloc((void **)&h_in, CHUNKS * bytes, cudaHostAllocDefault));
    RUNTIME_API_CALL(cudaHostAlloc((void **)&h_out, CHUNKS * bytes, cudaHostAllocDefault));
    for (cudaStream_t *s : {&upload, &compute, &download})
        RUNTIME_API_CALL(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (int b = 0; b < BUFFERS; b++) {
        RUNTIME_API_CALL(cudaMalloc((void **)&d_in[b], bytes));
        RUNTIME_API_CALL(cudaMalloc((void **)&d_out[b], bytes));
        RUNTIME_API_CALL(cudaEventCreateWithFlags(&uploaded[b], cudaEventDisableTiming));
        RUNTIME_API_CALL(cudaEventCreateWithFlags(&computed[b], cudaEventDisableTiming));
        RUNTIME_API_CALL(cudaEventCreateWithFlags(&downloaded[b], cudaEventDisableTiming));
    }
    RUNTIME_API_CALL(cudaEventCreate(&start));
    RUNTIME_API_CALL(cudaEventCreate(&stop));
    for (int i = 0; i < CHUNKS * n; i++) h_in[i] = i + 1;

    Work work[CHUNKS];
    RUNTIME_API_CALL(cudaEventRecord(start, upload));
    for (int c = 0; c < CHUNKS; c++) {
        const int b = c % BUFFERS;
        // the upload waits until the kernel has read the buffer's previous chunk
        if (c >= BUFFERS) RUNTIME_API_CALL(cudaStreamWaitEvent(upload, computed[b], 0));
        RUNTIME_API_CALL(cudaMemcpyAsync(d_in[b], h_in + c * n, bytes, cudaMemcpyHostToDevice, upload));
        RUNTIME_API_CALL(cudaEventRecord(uploaded[b], upload));

        RUNTIME_API_CALL(cudaStreamWaitEvent(compute, uploaded[b], 0));
        if (c >= BUFFERS) RUNTIME_API_CALL(cudaStreamWaitEvent(compute, downloaded[b], 0));
        collatz_steps<<<(n + 127) / 128, 128, 0, compute>>>(d_out[b], d_in[b], n);
        RUNTIME_API_CALL(cudaGetLastError());
        RUNTIME_API_CALL(cudaEventRecord(computed[b], compute));

        RUNTIME_API_CALL(cudaStreamWaitEvent(download, computed[b], 0));
        RUNTIME_API_CALL(cudaMemcpyAsync(h_out + c * n, d_out[b], bytes, cudaMemcpyDeviceToHost, download));
        RUNTIME_API_CALL(cudaEventRecord(downloaded[b], download));
        work[c] = Work{c, n, 0, h_out + c * n};
        RUNTIME_API_CALL(cudaLaunchHostFunc(download, reduce_on_host, &work[c]));
    }
    RUNTIME_API_CALL(cudaEventRecord(stop, download));
    int polls = 1;
    while (cudaEventQuery(stop) == cudaErrorNotReady) polls++;
    RUNTIME_API_CALL(cudaEventSynchronize(stop));
    float ms = -1;
    RUNTIME_API_CALL(cudaEventElapsedTime(&ms, start, stop));

    int wrong = finished_count != CHUNKS || ms < 0 || polls < 1;
    for (int c = 0; c < CHUNKS; c++) {
        int longest = 0;
        for (int i = 0; i < n; i++) {
            int expected = steps_on_host(c * n + i + 1);
            longest = expected > longest ? expected : longest;
            wrong += h_out[c * n + i] != expected;
        }
        wrong += work[c].longest != longest || finished[c] != c;
        printf("chunk %d: longest sequence has %d steps\n", c, work[c].longest);
    }
    for (int b = 0; b < BUFFERS; b++) {
        cudaFree(d_in[b]); cudaFree(d_out[b]);
        cudaEventDestroy(uploaded[b]); cudaEventDestroy(computed[b]); cudaEventDestroy(downloaded[b]);
    }
    for (cudaStream_t s : {upload, compute, download}) RUNTIME_API_CALL(cudaStreamDestroy(s));
    RUNTIME_API_CALL(cudaEventDestroy(start));
    RUNTIME_API_CALL(cudaEventDestroy(stop));
    RUNTIME_API_CALL(cudaFreeHost(h_in));
    RUNTIME_API_CALL(cudaFreeHost(h_out));
    printf("%s\n", wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
