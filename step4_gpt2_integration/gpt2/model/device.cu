// device.cu — opens and closes the device's libraries, describes errors, and shows and times the stages of a pass (device.cuh)
#include "common/dependent_launch.cuh"
#include "gpt2/model/device.cuh"
#include "gpt2/model/matmul.cuh"

#include <cstdio>
#include <new>
#include <vector>

int device_open(gpt2_device *device, bool tf32) {
    *device = {};
    device->compute = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    device->workspace_bytes = device_workspace_bytes;
    device->capability = compute_capability();
    device->multiprocessors = multiprocessor_count();
    TRY(cudaStreamCreate(
        &device->stream)); // its work waits for cudaMemset and cudaMemcpy, which return earlier than they end
    TRY(cudaMalloc(&device->workspace, device->workspace_bytes));
    TRY_BLAS(cublasLtCreate(&device->lt));
    device->plans = matmul_plans_open();
    return device->plans != nullptr ? 0 : (int)cudaErrorMemoryAllocation;
}

int device_open_blas(gpt2_device *device) {
    TRY_BLAS(cublasCreate(&device->blas));
    TRY_BLAS(cublasSetStream(device->blas, device->stream));
    TRY_BLAS(cublasSetWorkspace(device->blas, device->workspace, device->workspace_bytes));
    return 0;
}

void device_close(gpt2_device *device) {
    matmul_plans_close(device->plans);
    stage_clock_close(device->clock);
    if (device->lt) { cublasLtDestroy(device->lt); }
    if (device->blas) { cublasDestroy(device->blas); }
    if (device->workspace) { cudaFree(device->workspace); }
    if (device->stream) { cudaStreamDestroy(device->stream); }
    *device = {};
}

void device_message(int code, char *text, size_t size) {
    if (code >= BLAS_ERROR) {
        snprintf(text, size, "%s", cublasGetStatusName((cublasStatus_t)(code - BLAS_ERROR)));
    } else if (code == cudaErrorNotSupported) { // the status of the labs' skeletons
        snprintf(text, size, "a kernel of the set, or a part of the model, is not started");
    } else {
        snprintf(text, size, "%s", cudaGetErrorString((cudaError_t)code));
    }
}

// ---- the stage clock. An event takes the stream about a microsecond, which a short stage shows. ----

struct stage_clock {
    struct mark {
        cudaEvent_t event;
        const char *stage;
        int layer;
        int64_t rows;
    };
    std::vector<mark> marks; // the first is the start
};

int stage_clock_mark(stage_clock *clock, cudaStream_t stream, const char *stage, int layer, int64_t rows) {
    stage_clock::mark mark = {nullptr, stage, layer, rows};
    TRY(cudaEventCreate(&mark.event));
    clock->marks.push_back(mark);
    return cudaEventRecord(mark.event, stream);
}

int stage_clock_open(stage_clock **clock, cudaStream_t stream) {
    *clock = new (std::nothrow) stage_clock;
    if (*clock == nullptr) { return cudaErrorMemoryAllocation; }
    return stage_clock_mark(*clock, stream, "start", -1, 0);
}

void stage_clock_close(stage_clock *clock) {
    if (clock == nullptr) { return; }
    for (stage_clock::mark &mark : clock->marks) { cudaEventDestroy(mark.event); }
    delete clock;
}

int stage_clock_read(stage_clock *clock, gpt2_interval *intervals, int room, int *count) {
    *count = (int)clock->marks.size() - 1;
    TRY(cudaEventSynchronize(clock->marks.back().event));
    for (int i = 0; i < *count && i < room; i++) {
        const stage_clock::mark &from = clock->marks[(size_t)i], &to = clock->marks[(size_t)i + 1];
        float begin = 0.0f, length = 0.0f; // milliseconds
        TRY(cudaEventElapsedTime(&begin, clock->marks[0].event, from.event));
        TRY(cudaEventElapsedTime(&length, from.event, to.event));
        intervals[i] = {to.stage, to.layer, 1e3f * begin, 1e3f * length, to.rows};
    }
    return 0;
}

// ---- the end of a stage ----

int mark(const gpt2_device &device, const char *part, int layer) {
    return device.clock == nullptr ? 0 : stage_clock_mark(device.clock, device.stream, part, layer, 0);
}

template <class T>
int observe(const gpt2_device &device, const char *stage, int layer, const T *x, int64_t rows, int64_t columns,
            int64_t ld) {
    if (device.clock != nullptr) { TRY(stage_clock_mark(device.clock, device.stream, stage, layer, rows)); }
    if (device.listener != nullptr) { device.listener(device.listener_context, stage, layer); }
    if (device.observer == nullptr) { return 0; }
    std::vector<T> raw((size_t)(rows * columns));
    std::vector<float> values((size_t)(rows * columns));
    TRY(cudaStreamSynchronize(device.stream));
    TRY(cudaMemcpy2D(raw.data(), (size_t)columns * sizeof(T), x, (size_t)ld * sizeof(T), (size_t)columns * sizeof(T),
                     (size_t)rows, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < raw.size(); i++) { values[i] = to_float(raw[i]); }
    device.observer(device.observer_context, stage, layer, values.data(), rows, columns);
    return 0;
}

#define INSTANTIATE(T) \
    template int observe(const gpt2_device &, const char *, int, const T *, int64_t, int64_t, int64_t);
FOR_EACH_TYPE(INSTANTIATE)
