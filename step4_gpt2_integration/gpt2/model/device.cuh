// device.cuh — the device as all parts of the model see it: stream, library handles, status codes, element types, observation
//
// Functions that enqueue work return a status: 0, a cudaError_t, or BLAS_ERROR + a cublasStatus_t. TRY and TRY_BLAS return it
// from the enclosing function. device_message turns a status into text.
#ifndef GPT2_DEVICE_CUH
#define GPT2_DEVICE_CUH

#include "common/status.h"
#include "common/to_float.cuh"
#include "gpt2/kernels/table.h"
#include "gpt2/model/model.h"

#include <cublasLt.h>
#include <cublas_v2.h>

#define TRY(call)                           \
    do {                                    \
        int error_ = (int)(call);           \
        if (error_ != 0) { return error_; } \
    } while (0)

#define TRY_BLAS(call)                                     \
    do {                                                   \
        int status_ = (int)(call);                         \
        if (status_ != 0) { return BLAS_ERROR + status_; } \
    } while (0)

struct matmul_plans; // matmul.cu
struct stage_clock;  // device.cu

constexpr size_t device_workspace_bytes = (size_t)32 << 20;

struct gpt2_device {
    cudaStream_t stream;
    cublasHandle_t blas; // on that stream, for lab 4's attention; null in training
    cublasLtHandle_t lt;
    matmul_plans *plans;
    cublasComputeType_t compute;
    void *workspace; // (workspace_bytes)
    size_t workspace_bytes;
    gpt2_observer *observer; // null: not observed
    void *observer_context;
    gpt2_stage_listener *listener; // null: no listener
    void *listener_context;
    stage_clock *clock; // null: not timed
    int capability;     // 90 for Hopper, 75 for Turing
    int multiprocessors;
};

int device_open(gpt2_device *device, bool tf32);
int device_open_blas(gpt2_device *device);
void device_close(gpt2_device *device); // also after a failed open, and on an all-zero struct
void device_message(int code, char *text, size_t size);

// ---- the three types ----

template <class T> struct type_of;
template <> struct type_of<float> {
    static constexpr cudaDataType cuda = CUDA_R_32F;
    static constexpr gpt2_type file = GPT2_F32;
    static const kernels_f32 &kernels(const kernel_table &table) { return table.f32; }
};
template <> struct type_of<__half> {
    static constexpr cudaDataType cuda = CUDA_R_16F;
    static constexpr gpt2_type file = GPT2_F16;
    static const kernels_f16 &kernels(const kernel_table &table) { return table.f16; }
};
template <> struct type_of<__nv_bfloat16> {
    static constexpr cudaDataType cuda = CUDA_R_16BF;
    static constexpr gpt2_type file = GPT2_BF16;
    static const kernels_bf16 &kernels(const kernel_table &table) { return table.bf16; }
};

// Marks the end of a stage, whose result is the tensor x (rows, ld >= columns). The observer gets the tensor, the clock the time,
// the listener the name; without them nothing happens.
template <class T>
int observe(const gpt2_device &device, const char *stage, int layer, const T *x, int64_t rows, int64_t columns,
            int64_t ld);

// Marks the end of a part of a stage, for the clock alone.
int mark(const gpt2_device &device, const char *part, int layer);

// ---- the stage clock: a CUDA event at the end of every stage (gpt2_time_begin, gpt2_time_end) ----

int stage_clock_open(stage_clock **clock, cudaStream_t stream);
void stage_clock_close(stage_clock *clock); // null is fine
int stage_clock_mark(stage_clock *clock, cudaStream_t stream, const char *stage, int layer, int64_t rows);

// Waits for the last stage, then writes at most `room` intervals; *count is the number of stages.
int stage_clock_read(stage_clock *clock, gpt2_interval *intervals, int room, int *count);

// The number of blocks for that many threads, `block` in each.
inline unsigned blocks_of(int64_t threads, int block) {
    return (unsigned)((threads + block - 1) / block);
}

// The types that each template of the model's .cu files is instantiated for.
#define FOR_EACH_TYPE(X) X(float) X(__half) X(__nv_bfloat16)

#endif
