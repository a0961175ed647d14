/* library_types.h — the element types that the libraries share, with CUDA's numbers. Only those that the backend's cuBLAS
 * knows. */
#ifndef SIMT_LIBRARY_TYPES_H
#define SIMT_LIBRARY_TYPES_H

typedef enum cudaDataType_t {
    CUDA_R_32F = 0,
    CUDA_R_64F = 1, /* declared, so that its use returns a status and is no compile error; no product supports it */
    CUDA_R_16F = 2,
    CUDA_R_8I = 3, /* these three: in cublasLt.h alone */
    CUDA_R_32I = 10,
    CUDA_R_16BF = 14,
    CUDA_R_8F_E4M3 = 28,
} cudaDataType;
typedef cudaDataType cudaDataType_t;

#endif
