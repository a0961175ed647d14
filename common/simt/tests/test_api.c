/* The runtime API from C17: memory, copies, device facts, streams, events, errors; CUDA's codes for wrong calls. */
#include <cuda_runtime_api.h>

#include "findings.h"
#include "ops/softmax_forward/contract.h" /* a contract must be readable in C */

TestSuite(api, .init = quiet, .timeout = 60);

#define OK(call) cr_assert_eq((call), cudaSuccess)
#define FAILS(error, call)                                              \
    do {                                                                \
        cr_assert_eq((call), (error));                                  \
        cr_assert_eq(cudaGetLastError(), (error), "is the last error"); \
        cr_assert_eq(cudaGetLastError(), cudaSuccess, "once");          \
    } while (0)

Test(api, errors_have_names_and_texts) {
    cr_assert_str_eq(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
    cr_assert_str_eq(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
    cr_assert_str_eq(cudaGetErrorString(cudaSuccess), "no error");
    cr_assert_str_eq(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered");
    cr_assert_str_eq(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument");
    cr_assert_str_eq(cudaGetErrorName((cudaError_t)12345), "unrecognized error code");
    cr_assert_eq(cudaErrorInvalidConfiguration, 9);
    cr_assert_eq(cudaErrorIllegalAddress, 700);
    cr_assert_eq(cudaErrorLaunchFailure, 719);
    cr_assert_eq(cudaErrorCooperativeLaunchTooLarge, 720);
}

Test(api, device_memory) {
    void *p = (void *)1, *q;
    OK(cudaMalloc(&p, 0));
    cr_assert_null(p);
    OK(cudaFree(NULL));
    FAILS(cudaErrorInvalidValue, cudaMalloc(NULL, 4));
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&p, SIZE_MAX / 2));
    size_t free_before, free_after, total;
    OK(cudaMemGetInfo(&free_before, &total));
    OK(cudaMalloc(&p, 1 << 20));
    cr_assert_eq((uintptr_t)p % 256, 0);
    OK(cudaMemGetInfo(&free_after, &total));
    cr_assert_eq(free_before - free_after, 1 << 20);
    FAILS(cudaErrorInvalidValue, cudaFree((char *)p + 4));
    OK(cudaFree(p));
    expect_none();
    FAILS(cudaErrorInvalidValue, cudaFree(p));
    cr_assert_eq(simt_finding_count(), 1);
    cr_assert(strstr(simt_finding_at(0)->text, "in an allocation of 1,048,576 bytes that has been freed"));
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(p, NULL));
    cr_assert_eq(simt_finding_count(), 2);
    cr_assert(strstr(simt_finding_at(1)->text, "Invalid cudaFreeAsync"));
    int local;
    FAILS(cudaErrorInvalidValue, cudaFree(&local));
    size_t pitch;
    OK(cudaMallocPitch(&p, &pitch, 1000, 3));
    cr_assert(pitch >= 1000 && pitch % 256 == 0);
    OK(cudaMallocAsync(&q, 64, NULL));
    OK(cudaFreeAsync(q, NULL));
    OK(cudaFree(p));
}

Test(api, copies_go_where_the_kind_says) {
    int host[4] = {1, 2, 3, 4}, back[4] = {0};
    void *p, *q;
    OK(cudaMalloc(&p, sizeof host));
    OK(cudaMalloc(&q, sizeof host));
    OK(cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMemcpyAsync(q, p, sizeof host, cudaMemcpyDeviceToDevice, NULL));
    OK(cudaMemcpy(back, q, sizeof back, cudaMemcpyDefault));
    cr_assert_arr_eq(back, host, sizeof host);
    OK(cudaMemcpy(back, host + 1, 8, cudaMemcpyHostToHost));
    cr_assert_eq(back[0], 2);
    OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(p, host, sizeof host, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(host, p, sizeof host, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(p, host, sizeof host, cudaMemcpyDeviceToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(p, NULL, 4, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(p, host, sizeof host + 4, cudaMemcpyHostToDevice));
    FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(p, host, 4, (enum cudaMemcpyKind)7));
    OK(cudaFree(p));
    FAILS(cudaErrorInvalidValue, cudaMemcpy(p, host, 4, cudaMemcpyHostToDevice));
    OK(cudaFree(q));
}

Test(api, rows_are_a_pitch_apart) {
    char host[3][5] = {"abcd", "efgh", "ijkl"}, back[3][5] = {{0}};
    void *p;
    size_t pitch;
    OK(cudaMallocPitch(&p, &pitch, 4, 3));
    OK(cudaMemset2D(p, pitch, 'x', 4, 3));
    OK(cudaMemcpy2D(p, pitch, host, 5, 3, 3, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back, 5, p, pitch, 4, 3, cudaMemcpyDeviceToHost));
    cr_assert_str_eq(back[0], "abcx");
    cr_assert_str_eq(back[2], "ijkx");
    FAILS(cudaErrorInvalidPitchValue, cudaMemcpy2D(back, 2, p, pitch, 4, 3, cudaMemcpyDeviceToHost));
    OK(cudaMemset(p, 0, 4));
    FAILS(cudaErrorInvalidValue, cudaMemset(p, 0, pitch * 3 + 1));
    FAILS(cudaErrorInvalidValue, cudaMemset(back, 0, 4));
    OK(cudaMemsetAsync(p, 1, 4, NULL));
    OK(cudaMemset2DAsync(p, pitch, 2, 4, 3, NULL));
    OK(cudaFree(p));
}

Test(api, memory_of_three_dimensions) {
    char host[2][3][4] = {{"abc", "def", "ghi"}, {"jkl", "mno", "pqr"}}, back[2][3][4] = {{{0}}};
    struct cudaPitchedPtr memory;
    struct cudaExtent all = make_cudaExtent(4, 3, 2), inner = make_cudaExtent(2, 1, 2);
    OK(cudaMalloc3D(&memory, all));
    cr_assert(memory.pitch >= 4 && memory.pitch % 256 == 0 && memory.xsize == 4 && memory.ysize == 3);
    OK(cudaMemset3D(memory, 'x', all));
    struct cudaMemcpy3DParms copy = {.srcPtr = make_cudaPitchedPtr(host, 4, 4, 3),
                                     .srcPos = make_cudaPos(1, 2, 0),
                                     .dstPtr = memory,
                                     .dstPos = make_cudaPos(2, 1, 0),
                                     .extent = inner,
                                     .kind = cudaMemcpyHostToDevice};
    OK(cudaMemcpy3D(&copy));
    copy = (struct cudaMemcpy3DParms){
        .srcPtr = memory, .dstPtr = make_cudaPitchedPtr(back, 4, 4, 3), .extent = all, .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3DAsync(&copy, NULL));
    cr_assert_arr_eq(back[0], "xxxxxxhixxxx", 12);
    cr_assert_arr_eq(back[1], "xxxxxxqrxxxx", 12);
    copy.extent.depth = 3;
    FAILS(cudaErrorInvalidValue, cudaMemcpy3D(&copy));
    copy.srcArray = (cudaArray_t)&copy;
    FAILS(cudaErrorNotSupported, cudaMemcpy3D(&copy));
    FAILS(cudaErrorInvalidValue, cudaMemset3D(memory, 0, make_cudaExtent(4, 3, 3)));
    OK(cudaFree(memory.ptr));
}

Test(api, memory_of_the_host) {
    void *pinned, *managed, *device;
    int plain[4];
    struct cudaPointerAttributes attributes;
    OK(cudaMallocHost(&pinned, 64));
    OK(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal));
    memset(pinned, 1, 64);
    memset(managed, 2, 64);
    OK(cudaMemcpy(managed, pinned, 64, cudaMemcpyHostToDevice));
    cr_assert_eq(*(char *)managed, 1);
    OK(cudaPointerGetAttributes(&attributes, pinned));
    cr_assert_eq(attributes.type, cudaMemoryTypeHost);
    OK(cudaPointerGetAttributes(&attributes, managed));
    cr_assert_eq(attributes.type, cudaMemoryTypeManaged);
    OK(cudaPointerGetAttributes(&attributes, plain));
    cr_assert_eq(attributes.type, cudaMemoryTypeUnregistered);
    OK(cudaHostRegister(plain, sizeof plain, cudaHostRegisterDefault));
    FAILS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(plain, sizeof plain, cudaHostRegisterDefault));
    OK(cudaHostGetDevicePointer(&device, plain, 0));
    cr_assert_eq(device, plain);
    OK(cudaHostUnregister(plain));
    FAILS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(plain));
    struct cudaMemLocation here = {cudaMemLocationTypeDevice, 0}, nowhere = {cudaMemLocationTypeDevice, 5};
    OK(cudaMemPrefetchAsync(managed, 64, here, 0, NULL));
    OK(cudaMemAdvise(managed, 64, cudaMemAdviseSetReadMostly, here));
    FAILS(cudaErrorInvalidDevice, cudaMemPrefetchAsync(managed, 64, nowhere, 0, NULL));
    FAILS(cudaErrorInvalidValue, cudaFree(pinned));
    FAILS(cudaErrorInvalidValue, cudaFreeHost(managed));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(managed));
    expect_none();
}

Test(api, one_device_with_the_limits_of_its_compute_capability) {
    int count, device, value;
    struct cudaDeviceProp properties;
    OK(cudaGetDeviceCount(&count));
    cr_assert_eq(count, 1);
    OK(cudaSetDevice(0));
    OK(cudaGetDevice(&device));
    cr_assert_eq(device, 0);
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(1));
    FAILS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 1));
    struct simt_settings settings;
    simt_settings_get(&settings);
    static const struct { int capability, optin, threads; } known[] = {{75, 64 << 10, 1024}, {90, 227 << 10, 2048}};
    for (int i = 0; i < 2; i++) {
        settings.compute_capability = known[i].capability;
        simt_settings_set(&settings);
        OK(cudaGetDeviceProperties(&properties, 0));
        cr_assert_eq(properties.major * 10 + properties.minor, known[i].capability);
        cr_assert_eq(properties.sharedMemPerBlockOptin, (size_t)known[i].optin);
        cr_assert_eq(properties.maxThreadsPerMultiProcessor, known[i].threads);
        cr_assert_eq(properties.warpSize, 32);
        cr_assert_eq(properties.maxThreadsPerBlock, 1024);
        cr_assert_eq(properties.sharedMemPerBlock, 48 << 10);
        OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
        cr_assert_eq(value, known[i].optin);
        OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
        cr_assert_eq(value, known[i].capability / 10);
    }
    FAILS(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0));
    OK(cudaRuntimeGetVersion(&value));
    cr_assert_eq(value, CUDART_VERSION);
    size_t stack;
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    OK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    cr_assert_eq(stack, 4096);
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceReset());
}

static void count_calls(void *data) {
    ++*(int *)data;
}

Test(api, streams) {
    cudaStream_t stream, urgent, never = (cudaStream_t)0x1234560;
    int least, greatest, priority, calls = 0;
    unsigned flags;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreateWithFlags(&urgent, cudaStreamNonBlocking));
    OK(cudaStreamGetFlags(urgent, &flags));
    cr_assert_eq(flags, cudaStreamNonBlocking);
    OK(cudaStreamDestroy(urgent));
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithPriority(&urgent, cudaStreamDefault, greatest));
    OK(cudaStreamGetPriority(urgent, &priority));
    cr_assert_eq(priority, greatest);
    OK(cudaLaunchHostFunc(stream, count_calls, &calls));
    OK(cudaStreamQuery(stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamSynchronize(cudaStreamLegacy));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    cr_assert_eq(calls, 1);
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(never));
    FAILS(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 77));
    OK(cudaStreamDestroy(urgent));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(urgent));
    OK(cudaStreamDestroy(stream));
}

Test(api, events) {
    cudaEvent_t start, end, untimed;
    cudaStream_t stream;
    float milliseconds = -1;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, start, end));
    OK(cudaEventRecord(start, stream));
    OK(cudaEventRecord(untimed, stream));
    OK(cudaStreamWaitEvent(stream, start, 0));
    OK(cudaEventRecord(end, NULL));
    OK(cudaEventQuery(end));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    cr_assert(milliseconds >= 0 && milliseconds < 10000);
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, untimed, end));
    OK(cudaEventDestroy(untimed));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventRecord(untimed, stream));
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaStreamDestroy(stream));
}
