/* cublas_traffic.h — traffic of the backend's cuBLAS. It is separate from the kernels' traffic (simt.h), because how often
 * a matmul reads an operand depends on the library. Each operand counts once per call. */
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
