/* absent.h — functions of CUDA that this backend lacks: a call is a compile error that names what is missing. */
#ifndef SIMT_ABSENT_H
#define SIMT_ABSENT_H

#define SIMT_ABSENT(name, what) \
    template <class... Arguments> __attribute__((error("the CPU backend has no " what))) cudaError_t name(Arguments...);

SIMT_ABSENT(cudaMallocArray, "arrays and textures: use cudaMalloc")
SIMT_ABSENT(cudaMalloc3DArray, "arrays and textures: use cudaMalloc")
SIMT_ABSENT(cudaMemcpyToArray, "arrays and textures: use cudaMalloc and cudaMemcpy")
SIMT_ABSENT(cudaMemcpy2DToArray, "arrays and textures: use cudaMalloc and cudaMemcpy2D")
SIMT_ABSENT(cudaBindTexture, "textures: read global memory")
SIMT_ABSENT(cudaCreateTextureObject, "textures: read global memory")
SIMT_ABSENT(cudaCreateSurfaceObject, "surfaces: write global memory")
SIMT_ABSENT(cudaIpcGetMemHandle, "memory shared between processes: use one process")
SIMT_ABSENT(cudaMemcpyPeerAsync, "second device: use cudaMemcpyAsync")
SIMT_ABSENT(cudaLaunchCooperativeKernelMultiDevice, "second device: use cudaLaunchCooperativeKernel")
SIMT_ABSENT(cudaMemPoolCreate, "memory pools of one's own: use cudaMallocAsync")
SIMT_ABSENT(cudaOccupancyMaxActiveClusters, "thread block clusters: exchange data between blocks in global memory")

/* Textures and surfaces in kernels. */
template <class... Arguments>
__attribute__((error("the CPU backend has no textures: read global memory"))) float tex1Dfetch(Arguments...);
template <class... Arguments>
__attribute__((error("the CPU backend has no textures: read global memory"))) float tex2D(Arguments...);
#undef SIMT_ABSENT

#endif
