/* device.c — the one device: limits by compute capability, properties, synchronisation, reset. */
#include <stdio.h>
#include <string.h>

#include "api.h"

enum { KIB = 1024 };

/* Where compute capabilities differ (CUDA programming guide, table of technical specifications). The number of
 * multiprocessors is that of a small GPU of the family: grids that are sized by it stay small enough for a CPU. */
static const struct device_limits known_limits[] = {
    {7, 0, 32, 2048, 32, 96 * KIB, 96 * KIB, 0},     {7, 5, 32, 1024, 16, 64 * KIB, 64 * KIB, 0},
    {8, 0, 32, 2048, 32, 164 * KIB, 163 * KIB, KIB}, {8, 6, 32, 1536, 16, 100 * KIB, 99 * KIB, KIB},
    {8, 7, 32, 1536, 16, 164 * KIB, 163 * KIB, KIB}, {8, 9, 32, 1536, 24, 100 * KIB, 99 * KIB, KIB},
    {9, 0, 32, 2048, 32, 228 * KIB, 227 * KIB, KIB}, {10, 0, 32, 2048, 32, 228 * KIB, 227 * KIB, KIB},
    {12, 0, 32, 1536, 24, 100 * KIB, 99 * KIB, KIB},
};

struct device_limits device_limits(void) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    struct device_limits limits = known_limits[0];
    for (size_t i = 0; i < sizeof known_limits / sizeof *known_limits; i++) {
        if (known_limits[i].major * 10 + known_limits[i].minor <= settings.compute_capability) {
            limits = known_limits[i];
        }
    }
    limits.major = settings.compute_capability / 10;
    limits.minor = settings.compute_capability % 10;
    limits.shared_optin = (int)simt_shared_optin();
    return limits;
}

cudaError_t cudaGetDeviceCount(int *count) {
    API_ENTER();
    if (count == NULL) { return api_fail(cudaErrorInvalidValue); }
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
    API_ENTER();
    if (device == NULL) { return api_fail(cudaErrorInvalidValue); }
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    API_ENTER();
    return device == 0 ? cudaSuccess : api_fail(cudaErrorInvalidDevice);
}

cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags) {
    (void)device_flags, (void)flags;
    return cudaSetDevice(device);
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted) {
    (void)wanted;
    return cudaGetDevice(device);
}

/* Everything is done when it is issued. */
cudaError_t cudaDeviceSynchronize(void) {
    API_ENTER();
    if (graph_capturing()) { return api_fail(cudaErrorStreamCaptureUnsupported); }
    fflush(stdout); /* device printf reaches the terminal here, as on a GPU */
    watch_host_waits();
    return cudaSuccess;
}

cudaError_t cudaDeviceReset(void) {
    api_clear_errors();
    fflush(stdout);
    arena_report_leaks(0);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *name, int size, int device) {
    API_ENTER();
    if (name == NULL || size < 13) { return api_fail(cudaErrorInvalidValue); }
    if (device != 0) { return api_fail(cudaErrorInvalidDevice); }
    strcpy(name, "0000:00:00.0");
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    API_ENTER();
    if (device != 0 || peer != 0) { return api_fail(cudaErrorInvalidDevice); }
    *can = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
    API_ENTER();
    (void)peer, (void)flags;
    return api_fail(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    API_ENTER();
    return api_fail(peer == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice);
}

/* What stays in a cache is not modelled. */
cudaError_t cudaCtxResetPersistingL2Cache(void) {
    API_ENTER();
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
    if (version == NULL) { return api_fail(cudaErrorInvalidValue); }
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    return cudaDriverGetVersion(version);
}

cudaError_t cudaProfilerStart(void) {
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void) {
    return cudaSuccess;
}
