// device.cuh — what every part of the model needs of the device: a stream, the libraries' handles, the way errors go
//
// Functions that enqueue work return an int: 0, or a cudaError_t, or blas_error + a cublasStatus_t. The two macros below
// return it from the enclosing function; model.cu turns it into a message, once.
#ifndef GPT2_DEVICE_CUH
#define GPT2_DEVICE_CUH

#include "common/to_float.cuh"
#include "gpt2/kernels/table.h"
#include "gpt2/model/model.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

enum { blas_error = 100000 };

#define TRY(call)                           \
    do {                                    \
        int error_ = (int)(call);           \
        if (error_ != 0) { return error_; } \
    } while (0)

#define TRY_BLAS(call)                                     \
    do {                                                   \
        int status_ = (int)(call);                         \
        if (status_ != 0) { return blas_error + status_; } \
    } while (0)

struct matmul_plans; // matmul.cu
struct stage_clock;  // stage_clock.cu

constexpr size_t device_workspace_bytes = (size_t)32 << 20;

struct gpt2_device {
    cudaStream_t stream;
    cublasHandle_t blas; // on that stream, for lab 4's wiring; null in training
    cublasLtHandle_t lt;
    matmul_plans *plans;
    cublasComputeType_t compute;
    void *workspace; // (workspace_bytes)
    size_t workspace_bytes;
    gpt2_observer *observer; // null: nobody looks
    void *observer_context;
    stage_clock *clock; // null: nobody times
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

// The end of a stage, whose result is a tensor (rows, ld >= columns): shown to whoever looks, and timed; else nothing.
template <class T>
int observe(const gpt2_device &device, const char *stage, int layer, const T *x, int64_t rows, int64_t columns,
            int64_t ld);

// The end of a part of a stage that is worth timing by itself.
int mark(const gpt2_device &device, const char *part, int layer);

// Blocks for that many threads, `block` in each.
inline unsigned blocks_of(int64_t threads, int block) {
    return (unsigned)((threads + block - 1) / block);
}

// Each template of the model's .cu files is compiled for these.
#define FOR_EACH_TYPE(X) X(float) X(__half) X(__nv_bfloat16)

#endif
