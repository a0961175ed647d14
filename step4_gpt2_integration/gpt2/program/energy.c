/* energy.c — see energy.h. The functions' types are those of nvml.h. */
#include "energy.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

static struct {
    bool tried;
    void *device;
    int (*total)(void *device, unsigned long long *millijoules); /* nvmlDeviceGetTotalEnergyConsumption */
} nvml;

/* POSIX lets a pointer from dlsym be a function's. */
static void find(void *library, const char *name, void *function) {
    *(void **)function = dlsym(library, name);
}

/* GPT2_NVML names another library in its place. */
static void start(void) {
    int (*init)(void) = NULL, (*device)(unsigned, void **) = NULL;
    const char *path = getenv("GPT2_NVML");
    nvml.tried = true;
    void *library = dlopen(path != NULL ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) { return; }
    find(library, "nvmlInit_v2", &init);
    find(library, "nvmlDeviceGetHandleByIndex_v2", &device);
    find(library, "nvmlDeviceGetTotalEnergyConsumption", &nvml.total);
    if (init == NULL || device == NULL || nvml.total == NULL || init() != 0 || device(0, &nvml.device) != 0) {
        nvml.total = NULL;
    }
}

bool energy_read(double *joules) {
    unsigned long long millijoules;
    if (!nvml.tried) { start(); }
    if (nvml.total == NULL || nvml.total(nvml.device, &millijoules) != 0) { return false; }
    *joules = (double)millijoules / 1e3;
    return true;
}
