// forms.cu — the table of forms (forms.cuh)
#include "gpt2/model/forms.cuh"

#include "gpt2/model/attention_fused.cuh"
#include "gpt2/model/decode_persistent.cuh"
#include "gpt2/model/decode_split.cuh"
#include "gpt2/model/gemv.cuh"

#include <algorithm>
#include <cstring>

#if defined(SIMT_CPU_BACKEND)
enum { on_cpu = 1 }; // OpenBLAS does the products there; tensor cores are modelled, slowly
#else
enum { on_cpu = 0 };
#endif

// The least compute capability and prompt for which `auto` chooses the fused form, and the largest batch of a fused step.
static const struct {
    gpt2_type type;
    int attention_capability, attention_prompt, decode_capability, decode_rows;
} table[] = {
    // For more rows cuBLAS's tensor cores are faster. Measured: 124M on an H200, ms a step. bf16, 2, 4 and 8 rows: 0.35, 0.45 and
    // 0.96 fused, 0.41 to 0.45 by cuBLAS for 3 to 8 rows. f32, 4 rows: 0.60 fused, 0.69 by cuBLAS.
    {GPT2_BF16, 80, 1, 75, 2}, // both products on tensor cores
    {GPT2_F16, 80, 1, 75, 2},
    // the fused kernel's fp32 multiply-adds are slower than cuBLAS: it only pays for the memory of long prompts
    {GPT2_F32, 75, 2048, 75, 4},
};

// How many of `batch` prompts pass through the blocks together. Fewer need less memory, and their activations stay in L2
// longer. But a product computes its result in tiles of 128 rows by 256 columns, as many at a time as there are
// multiprocessors, and the last of these waves is rarely full. The smallest groups whose four products take hardly more time in
// waves than those of all prompts.
static int prompts_together(int batch, int prompt, int C, int W, int multiprocessors) {
    constexpr int least_rows = 8192; // of smaller groups the launches would show
    int best = batch;
    double least = 0.0;
    for (int groups = 1; groups <= batch; groups++) {
        const int size = (batch + groups - 1) / groups;
        double time = 0.0; // in waves of C channels; C of W: a part of the products is on other ranks
        for (int first = 0; first < batch; first += size) {
            const int64_t rows = ((int64_t)std::min(size, batch - first) * prompt + 127) / 128;
            auto waves = [&](int columns) { return (rows * ((columns + 255) / 256) - 1) / multiprocessors + 1; };
            time += (double)(waves(3 * W) + waves(4 * W)) + (double)(waves(C) + 4 * waves(C)) * W / C;
        }
        if (groups == 1) { least = time; }
        if ((int64_t)size * prompt >= least_rows && time <= least * (1 + 1.0 / 64)) { best = size; }
    }
    return best;
}

static bool is_reference(const kernel_table &kernels) {
    return strcmp(kernels.name, "reference") == 0;
}

template <class T>
model_forms choose_forms(const gpt2_device &device, const gpt2_model_options &options, const gpt2_config &config) {
    const int D = config.channels / config.heads, ranks = options.division != nullptr ? options.division->ranks : 1;
    const int heads = config.heads / ranks;
    const bool reference = is_reference(*options.kernels);
    const bool coded = options.scheme != GPT2_PLAIN;
    const auto has_rows = [&](gpt2_form form) {
        return form == GPT2_ROWS || (form == GPT2_AUTO && on_cpu && reference);
    };
    bool attention = options.attention == GPT2_FUSED;
    bool decode = options.decode == GPT2_FUSED || options.decode == GPT2_PERSISTENT;
    int rows = most_gemv_rows;
    for (const auto &row : table) {
        if (row.type != type_of<T>::file || on_cpu || !reference) { continue; }
        if (options.attention == GPT2_AUTO) {
            attention = device.capability >= row.attention_capability && options.prompt >= row.attention_prompt;
        }
        if (options.decode == GPT2_AUTO) {
            decode = device.capability >= row.decode_capability;
            rows = row.decode_rows;
        }
    }
    if (options.activations && options.attention == GPT2_AUTO) { attention = true; } // the taught block multiplies in T
    if (coded &&
        options.decode == GPT2_AUTO) { // a step that expands all matrices reads and writes more than in 16 bits
        decode = reference;
        rows = most_gemv_rows;
    }
    model_forms forms = {};
    forms.attention_rows = has_rows(options.attention);
    forms.attention_fused = forms.attention_rows || (attention && D <= most_fused_channels);
    // Other sets keep their own residual add. Ranks add after their sum, and products of codes round first.
    forms.adds_in_products = forms.attention_fused && !forms.attention_rows && reference && sizeof(T) == 2 &&
                             ranks == 1 && !options.activations;
    forms.tensor_cores = sizeof(T) == 2 && device.capability >= 80;
    forms.together = options.together;
    if (options.together == 0 && forms.attention_fused && !forms.attention_rows) {
        forms.together =
            prompts_together(options.batch, options.prompt, config.channels, heads * D, device.multiprocessors);
    }
    forms.decode_fused = decode && decode_split_takes<T>(D);
    forms.decode_rows = !forms.decode_fused && has_rows(options.decode);
    forms.most_rows = rows;
    // Measured on an H200, 124M in bf16 at position 64: 8,178 tokens/s, and 4,157 fused (in different runs).
    const bool persistent = options.decode == GPT2_PERSISTENT || (options.decode == GPT2_AUTO && reference && !on_cpu &&
                                                                  sizeof(T) == 2 && device.capability == 90);
    forms.decode_persistent =
        persistent && !options.activations && ranks == 1 && decode_persistent_takes<T>(device, config, options.scheme);
    forms.persistent_bytes = forms.decode_persistent ? decode_persistent_bytes(config) : 0;
    forms.parts = most_decode_parts(options.batch, heads, device.multiprocessors);
    return forms;
}

template <class T>
bool choose_training_forms(model_forms &forms, const gpt2_device &device, gpt2_form attention,
                           const kernel_table &kernels, const gpt2_config &config) {
    const int D = config.channels / config.heads;
    const bool possible = has_fused_backward<T> && device.capability >= 80 && D <= most_fused_channels;
    const bool wanted = attention == GPT2_AUTO ? !on_cpu && is_reference(kernels) : attention == GPT2_FUSED;
    forms = {};
    forms.attention_fused = forms.tensor_cores = wanted && possible;
    // cuBLASLt has the tanh form alone, and with rows of a multiple of 8 elements.
    forms.epilogues = forms.attention_fused && config.activation == GPT2_GELU_TANH && 4 * config.channels % 8 == 0;
    return possible || attention != GPT2_FUSED;
}

#define INSTANTIATE(T)                                                                                          \
    template model_forms choose_forms<T>(const gpt2_device &, const gpt2_model_options &, const gpt2_config &); \
    template bool choose_training_forms<T>(model_forms &, const gpt2_device &, gpt2_form, const kernel_table &, \
                                           const gpt2_config &);
FOR_EACH_TYPE(INSTANTIATE)
