/* operands.c — the checks of a product's operands, and its traffic counters. */
#include <pthread.h>

#include "../include/simt/cublas_traffic.h"
#include "checks/shadow.h"
#include "engine/arena.h"
#include "product.h"

size_t element_size(cudaDataType type) {
    switch (type) {
        case CUDA_R_32F:
        case CUDA_R_32I: return 4;
        case CUDA_R_16F:
        case CUDA_R_16BF: return 2;
        case CUDA_R_8I:
        case CUDA_R_8F_E4M3: return 1;
        default: return 0;
    }
}

bool is_float(cudaDataType type) {
    return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

/* From the first element to the last, in bytes. */
static size_t span(const struct matrix *matrix, int64_t batch) {
    int64_t elements = (batch - 1) * matrix->stride + (matrix->columns - 1) * matrix->ld + matrix->rows;
    return (size_t)elements * element_size(matrix->type);
}

static bool inside(const struct product *product, const struct matrix *matrix, int64_t batch, const char *name) {
    size_t bytes = span(matrix, batch);
    if (memory_place(matrix->start) == PLACE_HOST) {
        simt_report(matrix->start ? SIMT_HOST_POINTER : SIMT_INVALID_POINTER, true, product->pc, NULL,
                    "%s: %s is %p, which is %s", product->function, name, matrix->start,
                    matrix->start ? "host memory" : "a null pointer");
        return false;
    }
    if ((uintptr_t)matrix->start % element_size(matrix->type) != 0) {
        simt_report(SIMT_MISALIGNED, true, product->pc, NULL, "%s: %s is %p, which is misaligned", product->function,
                    name, matrix->start);
        return false;
    }
    if (!memory_range_valid(matrix->start, bytes)) {
        simt_report(SIMT_OUT_OF_BOUNDS, true, product->pc, NULL,
                    "%s: %s at %p does not hold %zu bytes (%lld x %lld, ld %lld, batch %lld)", product->function, name,
                    matrix->start, bytes, (long long)matrix->rows, (long long)matrix->columns, (long long)matrix->ld,
                    (long long)batch);
        return false;
    }
    return true;
}

/* Columns are checked one by one: the bytes between them are not read. */
static bool written(const struct product *product, const struct matrix *matrix, int64_t batch, const char *name) {
    size_t size = element_size(matrix->type);
    if (!SIMT_CHECKED || memory_place(matrix->start) != PLACE_DEVICE) { return true; }
    for (int64_t i = 0; i < batch; i++) {
        for (int64_t column = 0; column < matrix->columns; column++) {
            uintptr_t start = (uintptr_t)matrix->start + (size_t)(i * matrix->stride + column * matrix->ld) * size;
            size_t bytes = (size_t)matrix->rows * size, good = shadow_first_unwritten(start, bytes);
            if (good == bytes) { continue; }
            simt_report(
                SIMT_UNINITIALISED, true, product->pc, NULL,
                "%s: Uninitialized __global__ memory read: row %zu, column %lld of %s (matrix %lld of the batch)",
                product->function, good / size, (long long)column, name, (long long)i);
            return false;
        }
    }
    return true;
}

static struct matrix bias_of(const struct product *product) {
    return (struct matrix){product->bias, product->d.type, product->m, 1, product->m, 0};
}

bool operands_valid(const struct product *product) {
    bool sums = product->k > 0;
    struct matrix bias = bias_of(product);
    const struct matrix a_scale = {product->a_scale, CUDA_R_32F, 1, 1, 1, 0},
                        b_scale = {product->b_scale, CUDA_R_32F, 1, 1, 1, 0};
    const struct {
        const struct matrix *matrix;
        const char *name;
        int64_t batch;
        bool read, used;
    } operands[] = {
        {&product->a, "A", product->batch, true, sums},
        {&product->b, "B", product->batch, true, sums},
        {&product->c, "C", product->batch, true, product->beta != 0.0f},
        {&product->d, product->c.start == product->d.start ? "C" : "D", product->batch, false, true},
        {&bias, "bias", 1, true, product->bias != NULL},
        {&product->aux, "the epilogue's other matrix", 1, reads_aux(product), product->aux.start != NULL},
        {&a_scale, "the scale of A", 1, true, product->a_scale != NULL},
        {&b_scale, "the scale of B", 1, true, product->b_scale != NULL},
    };
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        if (!operands[i].used) { continue; }
        if (!inside(product, operands[i].matrix, operands[i].batch, operands[i].name)) { return false; }
        /* As in a kernel, such a read is reported and then executed. */
        if (operands[i].read) { written(product, operands[i].matrix, operands[i].batch, operands[i].name); }
    }
    return true;
}

/* ---- traffic ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct simt_cublas_traffic traffic;

static uint64_t bytes_of(const struct matrix *matrix, int64_t batch) {
    return (uint64_t)(matrix->rows * matrix->columns * batch) * element_size(matrix->type);
}

static void mark_written(const struct matrix *matrix, int64_t batch) {
    const size_t size = element_size(matrix->type);
    if (!SIMT_CHECKED || memory_place(matrix->start) != PLACE_DEVICE) { return; }
    for (int64_t i = 0; i < batch; i++) {
        for (int64_t column = 0; column < matrix->columns; column++) {
            const int64_t offset = i * matrix->stride + column * matrix->ld;
            shadow_write((uintptr_t)matrix->start + (size_t)offset * size, (size_t)matrix->rows * size);
        }
    }
}

void operands_written(const struct product *product) {
    mark_written(&product->d, product->batch);
    if (writes_aux(product)) { mark_written(&product->aux, 1); }
    struct matrix bias = bias_of(product);
    pthread_mutex_lock(&lock);
    traffic.calls++;
    traffic.products += (uint64_t)product->batch;
    traffic.load_bytes += bytes_of(&product->a, product->a.stride != 0 ? product->batch : 1) +
                          bytes_of(&product->b, product->b.stride != 0 ? product->batch : 1) +
                          (product->beta != 0.0f ? bytes_of(&product->c, product->batch) : 0) +
                          (product->bias != NULL ? bytes_of(&bias, 1) : 0) +
                          (reads_aux(product) ? bytes_of(&product->aux, 1) : 0);
    traffic.store_bytes +=
        bytes_of(&product->d, product->batch) + (writes_aux(product) ? bytes_of(&product->aux, 1) : 0);
    traffic.operations += 2 * (uint64_t)(product->m * product->n * product->k * product->batch);
    pthread_mutex_unlock(&lock);
}

void simt_cublas_traffic_get(struct simt_cublas_traffic *out) {
    pthread_mutex_lock(&lock);
    *out = traffic;
    pthread_mutex_unlock(&lock);
}

void simt_cublas_traffic_reset(void) {
    pthread_mutex_lock(&lock);
    traffic = (struct simt_cublas_traffic){0};
    pthread_mutex_unlock(&lock);
}
