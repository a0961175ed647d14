/* cublas_traffic.h — what the backend's cuBLAS moved: counted apart from the kernels' traffic (core/simt.h), because how
 * often a matmul reads an operand is the library's business. Each operand counts once a call. */
#ifndef SIMT_CUBLAS_TRAFFIC_H
#define SIMT_CUBLAS_TRAFFIC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct simt_cublas_traffic {
    uint64_t calls, products; /* a batch is one call of many products */
    uint64_t load_bytes, store_bytes;
    uint64_t operations; /* 2 m n k each product */
};

/* Since the start or the last reset. */
void simt_cublas_traffic_get(struct simt_cublas_traffic *out);
void simt_cublas_traffic_reset(void);

#ifdef __cplusplus
}
#endif
#endif
