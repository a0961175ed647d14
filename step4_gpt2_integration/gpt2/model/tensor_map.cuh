// tensor_map.cuh — describes a tensor of four dimensions to the copy engine (TMA), which copies boxes of it
//
// From sm_90 on. Not on the CPU backend, which has no copy engine.
#ifndef GPT2_TENSOR_MAP_CUH
#define GPT2_TENSOR_MAP_CUH

#include "gpt2/model/device.cuh"

#include <array>
#include <cuda.h>
#include <cudaTypedefs.h>

// sizes, box: elements, of the innermost dimension first. strides: bytes from an element to the next, of the other three; each
// a multiple of 16. What lies outside the tensor arrives as zeros, and is not written.
template <class T>
int describe_tensor(CUtensorMap *map, const T *tensor, const std::array<cuuint64_t, 4> &sizes,
                    const std::array<cuuint64_t, 3> &strides, const std::array<cuuint32_t, 4> &box,
                    CUtensorMapSwizzle swizzle) {
    static PFN_cuTensorMapEncodeTiled_v12000 encode = nullptr; // of the driver, to which programs are not linked
    if (encode == nullptr) {
        void *found = nullptr;
        cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
        TRY(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result));
#else
        TRY(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result));
#endif
        if (result != cudaDriverEntryPointSuccess) { return cudaErrorNotSupported; }
        encode = (PFN_cuTensorMapEncodeTiled_v12000)found;
    }
    int current;
    TRY(cudaGetDevice(&current));
    TRY(cudaSetDevice(current)); // the driver's functions need a context: a thread has none before its first work
    const cuuint32_t steps[4] = {1, 1, 1, 1};
    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8; // codes
    if constexpr (sizeof(T) > 1) {
        type = type_of<T>::file == GPT2_BF16  ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
               : type_of<T>::file == GPT2_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                              : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    }
    const CUresult code = encode(map, type, 4, (void *)tensor, sizes.data(), strides.data(), box.data(), steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return code == CUDA_SUCCESS ? 0 : (int)cudaErrorInvalidValue;
}

#endif
