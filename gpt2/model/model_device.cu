// model_device.cu — what a model would need, what the device has, waiting, and going back (model.h)
#include "common/dependent_launch.cuh"
#include "gpt2/model/model_base.cuh"
#include "gpt2/model/params.cuh"

#include <algorithm>
#include <cstdio>
#include <cstring>

template <class T> static size_t bytes_of(const gpt2_config &config, const gpt2_model_options &options) {
    gpt2_device device = {};
    device.capability = compute_capability();
    device.multiprocessors = multiprocessor_count();
    tensors<T> all = {};
    all.config = config;
    all.batch = options.batch, all.prompt = options.prompt;
    all.context = options.context == 0 ? config.max_tokens : options.context;
    all.forms = choose_forms<T>(device, options, config);
    return tensors_bytes(all) + device_workspace_bytes;
}

size_t gpt2_model_needs(const gpt2_config *config, const gpt2_model_options *options) {
    switch (options->type) {
        case GPT2_F32: return bytes_of<float>(*config, *options);
        case GPT2_F16: return bytes_of<__half>(*config, *options);
        case GPT2_BF16: return bytes_of<__nv_bfloat16>(*config, *options);
    }
    return 0;
}

bool gpt2_device_ask(gpt2_device_info *info, gpt2_error *error) {
    cudaDeviceProp properties;
    int device = 0, code = (int)cudaGetDevice(&device);
    *info = {};
    if (code == 0) { code = (int)cudaGetDeviceProperties(&properties, device); }
    if (code == 0) { code = (int)cudaMemGetInfo(&info->free_bytes, &info->total_bytes); }
    if (code != 0) { return fail_with(code, "the device cannot be used", error); }
    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->capability = 10 * properties.major + properties.minor;
#if defined(SIMT_CPU_BACKEND)
    info->is_cpu = true; // and its device memory is the machine's, of which others use some
    long long kilobytes;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
        if (sscanf(line, "MemAvailable: %lld kB", &kilobytes) == 1) {
            info->free_bytes = std::min(info->free_bytes, (size_t)kilobytes << 10);
        }
    }
    if (file != nullptr) { fclose(file); }
#endif
    return true;
}

bool gpt2_wait(gpt2_model *model, gpt2_error *error) {
    int code = (int)cudaStreamSynchronize(model->device.stream);
    return code == 0 || fail_with(code, "the pass failed", error);
}

bool gpt2_go_back(gpt2_model *model, const int32_t *lengths, gpt2_error *error) {
    if (model->B == 0) { return gpt2_fail(error, "there is no sequence to go back in"); }
    for (int b = 0; b < model->B; b++) {
        if (lengths[b] < 1 || lengths[b] > model->positions[(size_t)b]) {
            return gpt2_fail(error, "sequence %d: back to %d tokens, and it has %d", b, lengths[b],
                             model->positions[(size_t)b]);
        }
    }
    int code = model->set_positions(lengths, model->B);
    if (code != 0) { return fail_with(code, "the positions cannot be copied", error); }
    std::copy(lengths, lengths + model->B, model->positions.begin());
    return true;
}
