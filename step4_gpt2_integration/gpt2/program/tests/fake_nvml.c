/* fake_nvml.c — a fake of NVIDIA's management library: each call returns 1,500 mJ more. */
int nvmlInit_v2(void);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);

static unsigned long long counter;

int nvmlInit_v2(void) {
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = &counter;
    return (int)index;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
    *millijoules = *(unsigned long long *)device += 1500;
    return 0;
}
