// trainer.cuh — what trainer.cu (steps) and trainer_state.cu (what is saved) share
#ifndef GPT2_TRAINER_CUH
#define GPT2_TRAINER_CUH

#include "gpt2/model/device.cuh"
#include "gpt2/train/trainer.h"

// What the interface needs, whatever the type.
struct gpt2_trainer {
    gpt2_device device = {};
    gpt2_config config = {};
    gpt2_trainer_options options = {};
    kernel_table kernels = {};
    float *parts[4] = {}; // by gpt2_part: flat arrays
    double *norm = nullptr, *partial = nullptr;
    char *memory = nullptr; // of the optimizer
    size_t optimizer_bytes = 0;

    // A source of each part, whose context says which.
    struct reader {
        gpt2_trainer *trainer;
        gpt2_part part;
    } readers[4] = {};

    virtual ~gpt2_trainer() = default;
    virtual bool choose_forms(gpt2_error *error) = 0;
    virtual int allocate() = 0;
    virtual int round_master() = 0; // after the master weights have changed
    virtual int pass(const int32_t *tokens, const int32_t *targets, int B, int T_, const float *scale) = 0;
    virtual int take_loss(double *sum) = 0;
    virtual int update(const gpt2_adamw &settings, int64_t step, double *length) = 0;
    virtual size_t bytes() const = 0;
};

bool trainer_fail(int code, const char *what, gpt2_error *error);

#endif
