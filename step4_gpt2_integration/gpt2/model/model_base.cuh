// model_base.cuh — what the C interface knows of an open model, whatever its type
#ifndef GPT2_MODEL_BASE_CUH
#define GPT2_MODEL_BASE_CUH

#include "gpt2/model/device.cuh"

#include <vector>

// Inputs of its functions have been checked.
struct gpt2_model {
    gpt2_device device = {};
    gpt2_config config = {};
    gpt2_model_options options = {};
    kernel_table kernels = {};
    std::vector<int> positions; // of the sequences, as the device has them; where one is full: one more
    int B = 0;                  // sequences of the last pass with a cache

    virtual ~gpt2_model() = default;
    virtual int run_prefill(const int32_t *tokens, const int32_t *lengths, int B_, int T_) = 0;
    virtual int run_decode(const int32_t *tokens) = 0;
    virtual int run_greedy(int steps, int choices, int stop, const int *left, int32_t *tokens) = 0;
    virtual int set_positions(const int32_t *lengths, int B_) = 0;
    virtual int copy_logits(float *out, int rows) = 0;
    virtual int run_all(const int32_t *tokens, const int32_t *lengths, const int32_t *targets, int B_, int T_,
                        float *logits, float *losses) = 0;
    virtual size_t bytes() const = 0;
};

inline bool fail_with(int code, const char *what, gpt2_error *error) {
    char text[160];
    device_message(code, text, sizeof text);
    return gpt2_fail(error, "%s: %s", what, text);
}

#endif
