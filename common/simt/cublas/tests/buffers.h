/* buffers.h — device buffers of seeded numbers with a copy on the host, for the tests of cuBLAS. */
#ifndef SIMT_CUBLAS_TESTS_BUFFERS_H
#define SIMT_CUBLAS_TESTS_BUFFERS_H

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/cublasLt.h"
#include "simt.h"

__extension__ typedef _Float16 half;

static inline void quiet(void) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.quiet = true;
    simt_settings_set(&settings);
}

/* ---- matrices of small multiples of 1/8: exact in all types, and so are their products' sums ---- */

static inline size_t size_of(cudaDataType type) {
    return type == CUDA_R_32F ? 4 : 2;
}

static inline void put(void *to, size_t i, cudaDataType type, float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (type == CUDA_R_32F) { ((float *)to)[i] = value; }
    if (type == CUDA_R_16F) { ((half *)to)[i] = (half)value; }
    if (type == CUDA_R_16BF) { ((uint16_t *)to)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); }
}

static inline float get(const void *from, size_t i, cudaDataType type) {
    if (type == CUDA_R_32F) { return ((const float *)from)[i]; }
    if (type == CUDA_R_16F) { return (float)((const half *)from)[i]; }
    uint32_t bits = (uint32_t)((const uint16_t *)from)[i] << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

struct buffer {
    void *device;
    char *host;
    size_t count;
    cudaDataType type;
};

static inline struct buffer filled(size_t count, cudaDataType type, unsigned seed) {
    struct buffer buffer = {NULL, malloc(count * size_of(type)), count, type};
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        put(buffer.host, i, type, (float)((int)(seed >> 28) - 8) / 8.0f);
    }
    cr_assert_eq(cudaMalloc(&buffer.device, count * size_of(type)), cudaSuccess);
    cudaMemcpy(buffer.device, buffer.host, count * size_of(type), cudaMemcpyHostToDevice);
    return buffer;
}

static inline void fetch(struct buffer *buffer) {
    cr_assert_eq(
        cudaMemcpy(buffer->host, buffer->device, buffer->count * size_of(buffer->type), cudaMemcpyDeviceToHost),
        cudaSuccess);
}

static inline void drop(struct buffer *buffer) {
    cudaFree(buffer->device);
    free(buffer->host);
}

#endif
