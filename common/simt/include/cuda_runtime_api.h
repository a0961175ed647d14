/* cuda_runtime_api.h — the runtime API of the CPU backend: C17 and C++. Same names, numbers and rules as CUDA's.
 *
 * There is one device. Work on any stream is executed when it is issued, in the calling thread: this is one of the orders
 * that CUDA allows, and nothing overlaps. Elapsed times are wall time of this machine, never a GPU's.
 */
#ifndef CUDA_RUNTIME_API_H
#define CUDA_RUNTIME_API_H
#define __CUDA_RUNTIME_API_H__ /* by this, programs see that the header is included */

#include <stddef.h>

#include "simt/driver_types.h"
#include "simt/graph_nodes.h"

#define CUDART_VERSION 13000

#ifdef __cplusplus
#define SIMT_DEFAULT(value) = value
extern "C" {
#else
#define SIMT_DEFAULT(value)
#endif

/* Errors: api/error.c */
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* Memory: api/memory.c, api/host_memory.c */
cudaError_t cudaMalloc(void **pointer, size_t size);
cudaError_t cudaFree(void *pointer);
cudaError_t cudaMallocHost(void **pointer, size_t size);
cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned int flags);
cudaError_t cudaFreeHost(void *pointer);
cudaError_t cudaMallocManaged(void **pointer, size_t size, unsigned int flags SIMT_DEFAULT(cudaMemAttachGlobal));
cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent);
cudaError_t cudaMallocAsync(void **pointer, size_t size, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t least_kept);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int flags);
cudaError_t cudaHostUnregister(void *pointer);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int *flags, void *host);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer);
cudaError_t cudaMemAdvise(const void *pointer, size_t size, enum cudaMemoryAdvise advice, struct cudaMemLocation where);
cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t size, struct cudaMemLocation where, unsigned int flags,
                                 cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t size SIMT_DEFAULT(0),
                                     unsigned int flags SIMT_DEFAULT(cudaMemAttachSingle));

/* Copies: api/copy.c */
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size);
cudaError_t cudaMemset(void *pointer, int value, size_t size);
cudaError_t cudaMemsetAsync(void *pointer, int value, size_t size, cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *params); /* without arrays */
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *params, cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaMemset3D(struct cudaPitchedPtr memory, int value, struct cudaExtent extent);
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr memory, int value, struct cudaExtent extent,
                              cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset SIMT_DEFAULT(0),
                               enum cudaMemcpyKind kind SIMT_DEFAULT(cudaMemcpyHostToDevice));
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset SIMT_DEFAULT(0),
                                 enum cudaMemcpyKind kind SIMT_DEFAULT(cudaMemcpyDeviceToHost));
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaGetSymbolAddress(void **pointer, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol);

/* Streams and events: api/stream.c, api/event.c */
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags);
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID id,
                                   const cudaLaunchAttributeValue *value);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags SIMT_DEFAULT(0));
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream SIMT_DEFAULT(0),
                                     unsigned int flags SIMT_DEFAULT(0));
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);

/* Graphs by stream capture: api/graph.c. By hand: simt/graph_nodes.h */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long flags SIMT_DEFAULT(0));
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

/* The device: api/device.c */
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char *name, int size, int device);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaCtxResetPersistingL2Cache(void);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config);
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int *flags);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

/* Kernels: api/function.c, api/launch.c */
cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel);
cudaError_t cudaFuncSetCacheConfig(const void *kernel, enum cudaFuncCache config);
cudaError_t cudaFuncSetSharedMemConfig(const void *kernel, enum cudaSharedMemConfig config);
cudaError_t cudaFuncGetName(const char **name, const void *kernel);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int block_size,
                                                          size_t dynamic_shared);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int block_size,
                                                                   size_t dynamic_shared, unsigned int flags);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *kernel, int blocks, int block_size);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments);
/* The kernel's types are needed to read `arguments`: api.h holds the forms that C++ sources call. */
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream);
cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#undef SIMT_DEFAULT
#endif
