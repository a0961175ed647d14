// trainer_state.cu — parts of a trainer as sources of tensors, and back; the algorithms of its products (trainer.h)
#include "gpt2/train/trainer.cuh"

#include "gpt2/model/matmul.cuh"
#include "gpt2/model/training.cuh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(SIMT_CPU_BACKEND)
#include <cblas.h>
#endif

bool trainer_fail(int code, const char *what, gpt2_error *error) {
    char text[160];
    device_message(code, text, sizeof text);
    return gpt2_fail(error, "%s: %s", what, text);
}

static float *place(const gpt2_trainer *trainer, gpt2_part part, gpt2_tensor tensor, int layer) {
    return trainer->parts[part] + flat_offset(trainer->config, tensor, layer);
}

// gpt2_source.read of one part.
static bool read_tensor(void *context, gpt2_tensor tensor, int layer, gpt2_type type, gpt2_layout layout, void *out,
                        gpt2_error *error) {
    const auto *reader = (const gpt2_trainer::reader *)context;
    const gpt2_trainer *trainer = reader->trainer;
    gpt2_view view = {};
    view.type = GPT2_F32, view.layout = GPT2_OUT_IN;
    view.rows = gpt2_tensor_rows(&trainer->config, tensor),
    view.columns = gpt2_tensor_columns(&trainer->config, tensor);
    const size_t bytes = (size_t)(view.rows * view.columns) * sizeof(float);
    void *values = malloc(bytes);
    if (values == nullptr) { return gpt2_fail(error, "out of memory for a tensor of the model"); }
    int code = cudaStreamSynchronize(trainer->device.stream);
    if (code == 0) {
        code = cudaMemcpy(values, place(trainer, reader->part, tensor, layer), bytes, cudaMemcpyDeviceToHost);
    }
    view.bytes = values;
    if (code == 0) { gpt2_view_read(&view, type, gpt2_tensor_is_linear(tensor) ? layout : GPT2_OUT_IN, out); }
    free(values);
    return code == 0 || trainer_fail(code, "a tensor cannot be copied from the device", error);
}

gpt2_source gpt2_trainer_source(gpt2_trainer *trainer, gpt2_part part) {
    gpt2_source source = {};
    source.config = trainer->config;
    source.read = read_tensor;
    source.context = &trainer->readers[part];
    return source;
}

bool gpt2_trainer_load(gpt2_trainer *trainer, gpt2_part part, const gpt2_source *source, gpt2_error *error) {
    const gpt2_config &config = trainer->config;
    if (!gpt2_config_same(&config, &source->config)) { return gpt2_fail(error, "a model of other sizes"); }
    int64_t largest = 0;
    for (int i = 0; i < GPT2_TENSORS; i++) {
        largest = std::max(largest, gpt2_tensor_elements(&config, (gpt2_tensor)i));
    }
    void *values = malloc((size_t)largest * sizeof(float));
    if (values == nullptr) { return gpt2_fail(error, "out of memory for a tensor of the model"); }
    bool good = true;
    int code = cudaStreamSynchronize(trainer->device.stream);
    for (int i = 0; good && code == 0 && i < GPT2_TENSORS; i++) {
        gpt2_tensor tensor = (gpt2_tensor)i;
        int layers = gpt2_tensor_is_layered(tensor) ? config.layers : 1;
        for (int layer = 0; good && code == 0 && layer < layers; layer++) {
            good = source->read(source->context, tensor, layer, GPT2_F32, GPT2_OUT_IN, values, error);
            if (!good) { break; }
            code = cudaMemcpy(place(trainer, part, tensor, layer), values,
                              (size_t)gpt2_tensor_elements(&config, tensor) * sizeof(float), cudaMemcpyHostToDevice);
        }
    }
    free(values);
    if (good && code == 0 && part == GPT2_WEIGHTS) { code = trainer->round_master(); }
    if (!good) { return false; }
    return code == 0 || trainer_fail(code, "the tensors cannot be copied to the device", error);
}

void *gpt2_trainer_algorithms(const gpt2_trainer *trainer, size_t *size) {
    const std::vector<matmul_choice> choices = matmul_plans_choices(trainer->device.plans);
    *size = choices.size() * sizeof choices[0];
    void *bytes = malloc(*size + 1);
    if (bytes != nullptr && *size > 0) { memcpy(bytes, choices.data(), *size); }
    return bytes;
}

bool gpt2_trainer_use_algorithms(gpt2_trainer *trainer, const void *bytes, size_t size) {
    std::vector<matmul_choice> choices(size / sizeof(matmul_choice));
    if (size % sizeof(matmul_choice) != 0) { return false; }
    if (size > 0) { memcpy(choices.data(), bytes, size); }
    matmul_plans_prefer(trainer->device.plans, choices.data(), choices.size());
    return true;
}

void gpt2_trainer_device(const gpt2_trainer *trainer, char *text, size_t size) {
    cudaDeviceProp properties = {};
    int device = 0;
    (void)trainer;
    if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
        snprintf(properties.name, sizeof properties.name, "unknown");
    }
#if defined( \
    SIMT_CPU_BACKEND) // its products are OpenBLAS's, which adds in another order with other cores, or more of them
    snprintf(text, size, "%s, OpenBLAS for %s, threads %d", properties.name, openblas_get_corename(),
             openblas_get_num_threads());
#else
    snprintf(text, size, "%s, cuBLASLt %zu", properties.name, cublasLtGetVersion());
#endif
}
