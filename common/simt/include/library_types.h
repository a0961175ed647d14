/* library_types.h — the element types that the libraries share, with CUDA's numbers. Those that the backend's cuBLAS takes. */
#ifndef SIMT_LIBRARY_TYPES_H
#define SIMT_LIBRARY_TYPES_H

typedef enum cudaDataType_t {
    CUDA_R_32F = 0,
    CUDA_R_64F = 1, /* known, so that asking for it is a status and not a compile error; no product takes it */
    CUDA_R_16F = 2,
    CUDA_R_16BF = 14,
} cudaDataType;
typedef cudaDataType cudaDataType_t;

#endif
