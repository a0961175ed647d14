// model.cu — the C interface (model.h): checks the arguments, copies them to the device, runs the pass for the model's type
#include "common/dependent_launch.cuh"
#include "gpt2/model/activation.cuh"
#include "gpt2/model/block_fused.cuh"
#include "gpt2/model/cross_entropy.cuh"
#include "gpt2/model/decode_persistent.cuh"
#include "gpt2/model/forward.cuh"
#include "gpt2/model/matmul.cuh"
#include "gpt2/model/recorded_step.cuh"

#if defined(SIMT_CPU_BACKEND)
#include "common/simt/simt.h"
extern "C" void openblas_set_num_threads(int threads); // of OpenBLAS
#endif

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

// A model of any type. The arguments of its functions have been checked.
struct gpt2_model {
    gpt2_device device = {};
    gpt2_config config = {};
    gpt2_model_options options = {};
    kernel_table kernels = {};
    std::vector<int> positions; // of the sequences, as on the device; of a full sequence one more
    int B = 0;                  // the number of sequences of the last pass with a cache

    // Before the host waits for the stream, as a copy to the host does: of a divided model, this wait ends when a rank is lost.
    void wait_for_ranks() const {
        if (options.division != nullptr) { options.division->wait(options.division->context, device.stream); }
    }

    virtual ~gpt2_model() = default;
    virtual int run_prefill(const int32_t *tokens, const int32_t *lengths, int B_, int T_) = 0;
    virtual int run_decode(const int32_t *tokens) = 0;
    virtual int run_choosing(int steps, int choices, int stop, const gpt2_draws *draws, const int *left,
                             int32_t *tokens) = 0;
    virtual int set_positions(const int32_t *lengths, int B_) = 0;
    virtual int copy_logits(float *out, int rows) = 0;
    virtual int run_all(const int32_t *tokens, const int32_t *lengths, const int32_t *targets, int B_, int T_,
                        float *logits, float *losses) = 0;
    virtual bool load(const gpt2_source *source, gpt2_error *error) = 0;
    virtual size_t bytes() const = 0;
    virtual gpt2_form decode_form(int B_) const = 0;
};

static bool fail_with(int code, const char *what, gpt2_error *error) {
    char text[160];
    device_message(code, text, sizeof text);
    return gpt2_fail(error, "%s: %s", what, text);
}

template <class T> struct model_of final : gpt2_model {
    tensors<T> all = {};
    recorded_step step = {}, choosing_step = {};
    sums_aside lanes[2] = {};   // of a divided model: on one stream, as all ranks must begin sums in the same order
    cudaEvent_t queued[2] = {}; // of a divided model: after the latest two of a call's steps

    ~model_of() override {
        step.drop();
        choosing_step.drop();
        for (sums_aside &lane : lanes) {
            if (lane.ready) { cudaEventDestroy(lane.ready); }
            if (lane.done) { cudaEventDestroy(lane.done); }
        }
        for (cudaEvent_t event : queued) {
            if (event) { cudaEventDestroy(event); }
        }
        if (lanes[0].stream) { cudaStreamDestroy(lanes[0].stream); }
        tensors_free(all);
        device_close(&device);
    }

    int open_lanes() {
        int least = 0, most = 0;
        if (options.division == nullptr) { return 0; }
        // Blocks of a sum go before those of a product, which fills the device with more blocks than fit.
        TRY(cudaDeviceGetStreamPriorityRange(&least, &most));
        TRY(cudaStreamCreateWithPriority(&lanes[0].stream, cudaStreamNonBlocking, most));
        lanes[1].stream = lanes[0].stream;
        for (sums_aside &lane : lanes) {
            TRY(cudaEventCreateWithFlags(&lane.ready, cudaEventDisableTiming));
            TRY(cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming));
        }
        for (cudaEvent_t &event : queued) { TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); }
        all.lanes = lanes;
        return 0;
    }

    size_t bytes() const override { return all.bytes + device.workspace_bytes; }

    bool load(const gpt2_source *source, gpt2_error *error) override {
        const gpt2_source scaled = gpt2_scaled_source(source);
        all.work.persistent.tag = 0; // what it keeps of the weights is of others
        return tensors_load(all, &scaled, error);
    }

    gpt2_form decode_form(int B_) const override {
        if (device.observer != nullptr || device.clock != nullptr || B_ != 1 || !all.forms.decode_persistent) {
            return all.forms.decode_fused ? GPT2_FUSED : all.forms.decode_rows ? GPT2_ROWS : GPT2_TAUGHT;
        }
        return GPT2_PERSISTENT;
    }

    int upload(int *to, const int32_t *from, int64_t count) {
        return cudaMemcpyAsync(to, from, (size_t)count * sizeof(int), cudaMemcpyHostToDevice, device.stream);
    }

    int run_prefill(const int32_t *tokens, const int32_t *lengths, int B_, int T_) override {
        TRY(upload(all.work.tokens, tokens, (int64_t)B_ * T_));
        TRY(upload(all.work.lengths, lengths, B_));
        matmul_plans_time(device.plans, options.timed && all.ranks() == 1); // ranks must agree on each token
        const int error = prefill(device, kernels, all, B_, T_);
        matmul_plans_time(device.plans, false);
        TRY(error);
        return *std::max_element(lengths, lengths + B_) < all.context ? 0 : set_positions(lengths, B_);
    }

    int run_decode(const int32_t *tokens) override {
        TRY(upload(all.work.tokens, tokens, B));
        return run_step(false);
    }

    int run_step(bool chooses) {
        if (!options.graph || device.observer != nullptr || device.clock != nullptr) { return enqueue_step(chooses); }
        if (options.division != nullptr && !options.division->recorded) { return enqueue_step(chooses); }
        return (chooses ? choosing_step : step).run(device, B, [&] { return enqueue_step(chooses); });
    }

    // Step i of a call, of a divided model. The launch of many steps waits for the device without a limit. So two are queued at
    // most.
    int run_step_of(int i) {
        if (i >= 2) {
            TRY(cudaStreamWaitEvent(lanes[0].stream, queued[i % 2], 0));
            options.division->wait(options.division->context, lanes[0].stream);
        }
        TRY(run_step(true));
        return cudaEventRecord(queued[i % 2], device.stream);
    }

    int enqueue_step(bool chooses) {
        activations<T> &a = all.work;
        if (device.observer == nullptr && decode_step_takes(all, B)) {
            return decode_step_fused(device, all, B, chooses);
        }
        if (chooses) {
            TRY(begin_step<T>(device, nullptr, a.tokens, &a.choice, a.logits, {}, nullptr, a.positions, B, 0,
                              config.vocabulary, config.padded_vocabulary, all.context));
        }
        return decode_step(device, kernels, all, B);
    }

    int run_choosing(int steps, int choices, int stop, const gpt2_draws *draws, const int *left,
                     int32_t *tokens) override {
        TRY(choice_begin(device, all.work.choice, choices, stop, draws, left, B, config.vocabulary));
        const bool persistent = decode_form(B) == GPT2_PERSISTENT;
        if (persistent) {
            TRY(decode_persistent(device, all, steps));
        } else {
            for (int i = 0; i < steps; i++) { TRY(options.division != nullptr ? run_step_of(i) : run_step(true)); }
        }
        const size_t row = (size_t)steps * sizeof(int);
        wait_for_ranks();
        TRY(cudaMemcpy2DAsync(tokens, row, all.work.choice.chosen, (size_t)all.context * sizeof(int), row, (size_t)B,
                              cudaMemcpyDeviceToHost, device.stream));
        TRY(cudaStreamSynchronize(device.stream));
        const int outcome = persistent ? decode_persistent_outcome(device, all) : 0;
        if (outcome != decode_imprecise) { return outcome; }
        all.forms.decode_persistent = false; // these weights need another form, from the call's first step on
        TRY(decode_persistent_undo(device, all));
        TRY(set_positions(positions.data(), B));
        return run_choosing(steps, choices, stop, draws, left, tokens);
    }

    // A full sequence rests from now on, so a step may overwrite its last position.
    int set_positions(const int32_t *lengths, int B_) override {
        std::vector<int> next(lengths, lengths + B_);
        for (int &position : next) { position = std::min(position, all.context - 1); }
        return upload(all.work.positions, next.data(), B_);
    }

    int copy_logits(float *out, int rows) override {
        const size_t V = (size_t)config.vocabulary, Vp = (size_t)config.padded_vocabulary;
        wait_for_ranks();
        TRY(cudaMemcpy2DAsync(out, V * sizeof(float), all.work.logits, Vp * sizeof(float), V * sizeof(float),
                              (size_t)rows, cudaMemcpyDeviceToHost, device.stream));
        return cudaStreamSynchronize(device.stream);
    }

    // The logits or losses of all positions, a few rows at a time: all logits together may be larger than the model.
    int run_all(const int32_t *tokens, const int32_t *lengths, const int32_t *targets, int B_, int T_, float *logits,
                float *losses) override {
        const int N = B_ * T_, V = config.vocabulary;
        TRY(upload(all.work.tokens, tokens, N));
        TRY(upload(all.work.lengths, lengths, B_));
        if (targets != nullptr) { TRY(upload(all.work.targets, targets, N)); }
        for (int sequence = 0; sequence < B_; sequence += all.together) {
            const int count = std::min(all.together, B_ - sequence);
            tensors<T> group = sequences_from(all, sequence, T_);
            TRY(forward_all(device, kernels, group, count, T_));
            for (int first = 0; first < count * T_; first += all.logit_rows) {
                const int rows = std::min(all.logit_rows, count * T_ - first);
                TRY(logits_of_rows(device, group, first, rows));
                if (logits != nullptr) { TRY(copy_logits(logits + ((int64_t)sequence * T_ + first) * V, rows)); }
                if (losses != nullptr) {
                    TRY(cross_entropy(device, group.work.losses + first, all.work.logits, group.work.targets + first,
                                      rows, V, config.padded_vocabulary));
                }
            }
        }
        wait_for_ranks();
        if (losses != nullptr) {
            TRY(cudaMemcpyAsync(losses, all.work.losses, (size_t)N * sizeof(float), cudaMemcpyDeviceToHost,
                                device.stream));
        }
        return cudaStreamSynchronize(device.stream);
    }
};

// ---- opening ----

template <class T>
static gpt2_model *open_as(const gpt2_source *source, const gpt2_model_options &options, gpt2_error *error) {
    const auto &ops = type_of<T>::kernels(*options.kernels);
    if (!ops.layernorm_forward || !ops.residual_layernorm_forward || !ops.bias_gelu_forward ||
        !ops.causal_softmax_forward) {
        gpt2_fail(error, "the kernel set %s lacks an op of the forward pass in this type", options.kernels->name);
        return nullptr;
    }
    auto *model = new (std::nothrow) model_of<T>;
    if (model == nullptr) {
        gpt2_fail(error, "out of memory");
        return nullptr;
    }
    model->config = source->config;
    model->options = options;
    model->kernels = *options.kernels;
    use_activation(model->kernels, source->config.activation);
    model->all.config = source->config;
    model->all.scheme = options.scheme;
    model->all.coded_inputs = options.activations;
    model->all.division = options.division;
    model->all.batch = options.batch, model->all.prompt = options.prompt, model->all.context = options.context;
    model->positions.resize((size_t)options.batch);
    int code = device_open(&model->device, options.tf32);
    if (code == 0) { code = device_open_blas(&model->device); }
    if (code == 0) { code = model->open_lanes(); }
    model->all.forms = choose_forms<T>(model->device, options, source->config);
    bool good = code == 0 || fail_with(code, "the device cannot be used", error);
    if (good && (code = tensors_allocate(model->all)) != 0) {
        char what[128];
        snprintf(what, sizeof what, "the model needs %.1f MB of device memory", (double)model->all.bytes / 1e6);
        cudaGetLastError(); // clears the error, which the next launch would report
        good = fail_with(code, what, error);
    }
    good = good && model->load(source, error);
    if (!good) {
        delete model;
        return nullptr;
    }
    return model;
}

// Products of codes by codes (matmul.cuh).
static bool can_have_activations(const gpt2_source *source, const gpt2_model_options &options, gpt2_error *error) {
    gpt2_device_info device;
    if (source->input_scales == nullptr) {
        return gpt2_fail(error, "the model has no scales for activations in 8 bits");
    }
    if (source->config.channels % 16 != 0) {
        return gpt2_fail(error, "activations in 8 bits need channels that are a multiple of 16");
    }
    if (options.scheme == GPT2_INT8) { return true; }
    if (source->config.scale_by_layer) { // then those of queries differ from those of keys and values
        return gpt2_fail(error, "activations in fp8 need one scale for a matrix, and scale_attn_by_inverse_layer_idx "
                                "changes those of queries: quantize the model to int8");
    }
    if (!gpt2_device_ask(&device, error)) { return false; }
    return device.is_cpu || device.capability >= 89 ||
           gpt2_fail(error,
                     "activations in fp8 need a GPU of compute capability 8.9, and this one has %d.%d: quantize the "
                     "model without --calibrate",
                     device.capability / 10, device.capability % 10);
}

gpt2_model *gpt2_model_open(const gpt2_source *source, const gpt2_model_options *given, gpt2_error *error) {
    gpt2_model_options options = *given;
    const gpt2_config &config = source->config;
    if (!gpt2_config_check(&config, "the model", error)) { return nullptr; }
    if (options.scheme != GPT2_PLAIN && options.scheme != source->scheme) {
        gpt2_fail(error, "the model's weights are not in 8 bits of the scheme that was requested");
        return nullptr;
    }
    const int ranks = options.division != nullptr ? options.division->ranks : 1;
    if (config.heads % ranks != 0) {
        gpt2_fail(error, "%d ranks cannot divide the model's %d heads equally", ranks, config.heads);
        return nullptr;
    }
    options.activations = options.activations && options.scheme != GPT2_PLAIN;
    if (options.activations && ranks > 1) {
        gpt2_fail(error, "a model with activations in 8 bits cannot be divided among ranks");
        return nullptr;
    }
    if (options.activations && !can_have_activations(source, options, error)) { return nullptr; }
    if (options.context == 0) { options.context = config.max_tokens; }
    if (options.batch < 1 || options.prompt < 1 || options.context < options.prompt || options.together < 0 ||
        options.context > config.max_tokens || (int64_t)options.batch * options.prompt > (1 << 26)) {
        gpt2_fail(error,
                  "a batch of %d prompts of %d tokens, with %d tokens in all, does not fit the model's context of %d",
                  options.batch, options.prompt, options.context, config.max_tokens);
        return nullptr;
    }
    switch (options.type) {
        case GPT2_F32: return open_as<float>(source, options, error);
        case GPT2_F16: return open_as<__half>(source, options, error);
        case GPT2_BF16: return open_as<__nv_bfloat16>(source, options, error);
    }
    gpt2_fail(error, "an unknown type");
    return nullptr;
}

bool gpt2_model_load(gpt2_model *model, const gpt2_source *source, gpt2_error *error) {
    if (!gpt2_config_same(&model->config, &source->config)) { return gpt2_fail(error, "a model of other sizes"); }
    model->B = 0;
    return gpt2_wait(model, error) && model->load(source, error);
}

void gpt2_model_close(gpt2_model *model) {
    delete model;
}

const gpt2_config *gpt2_model_config(const gpt2_model *model) {
    return &model->config;
}

gpt2_form gpt2_model_decode_form(const gpt2_model *model, int B) {
    return model->decode_form(B);
}

size_t gpt2_model_bytes(const gpt2_model *model) {
    return model->bytes();
}

void gpt2_observe(gpt2_model *model, gpt2_observer *observer, void *context) {
    model->device.observer = observer;
    model->device.observer_context = context;
}

void gpt2_listen(gpt2_model *model, gpt2_stage_listener *listener, void *context) {
    model->device.listener = listener;
    model->device.listener_context = context;
}

bool gpt2_time_begin(gpt2_model *model, gpt2_error *error) {
    stage_clock_close(model->device.clock);
    model->device.clock = nullptr;
    int code = stage_clock_open(&model->device.clock, model->device.stream);
    return code == 0 || fail_with(code, "the time cannot be taken", error);
}

bool gpt2_time_end(gpt2_model *model, gpt2_interval *intervals, int room, int *count, gpt2_error *error) {
    *count = 0;
    if (model->device.clock == nullptr) { return gpt2_fail(error, "no time has been begun"); }
    int code = stage_clock_read(model->device.clock, intervals, room, count);
    stage_clock_close(model->device.clock);
    model->device.clock = nullptr;
    return code == 0 || fail_with(code, "the time cannot be taken", error);
}

// ---- what a model needs, what the device has ----

template <class T> static size_t bytes_of(const gpt2_config &config, const gpt2_model_options &options) {
    gpt2_device device = {};
    device.capability = compute_capability();
    device.multiprocessors = multiprocessor_count();
    tensors<T> all = {};
    all.config = config;
    all.scheme = options.scheme;
    all.coded_inputs = options.activations && options.scheme != GPT2_PLAIN;
    all.division = options.division;
    all.batch = options.batch, all.prompt = options.prompt;
    all.context = options.context == 0 ? config.max_tokens : options.context;
    all.forms = choose_forms<T>(device, options, config);
    return tensors_bytes(all) + device_workspace_bytes;
}

size_t gpt2_model_needs(const gpt2_config *config, const gpt2_model_options *options) {
    if (options->division != nullptr && config->heads % options->division->ranks != 0) { return 0; }
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
    info->is_cpu = true; // its device memory is the machine's, which other processes use too
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

bool gpt2_device_threads(int threads, gpt2_error *error) {
#if defined(SIMT_CPU_BACKEND)
    simt_settings settings;
    simt_settings_get(&settings);
    settings.os_threads = threads;
    simt_settings_set(&settings);
    openblas_set_num_threads(threads);
    (void)error;
    return true;
#else
    return gpt2_fail(error, "--threads %d: for the CPU backend; on a GPU the kernels use all of it", threads);
#endif
}

// ---- passes ----

static bool check_prompts(const gpt2_model *model, const int32_t *tokens, const int32_t *lengths, int B, int T,
                          gpt2_error *error) {
    if (B < 1 || B > model->options.batch || T < 1 || T > model->options.prompt) {
        return gpt2_fail(error, "%d prompts of %d tokens: the model was opened for %d of %d", B, T,
                         model->options.batch, model->options.prompt);
    }
    for (int b = 0; b < B; b++) {
        if (lengths[b] < 1 || lengths[b] > T) {
            return gpt2_fail(error, "prompt %d: a length of %d, where 1 to %d is possible", b, lengths[b], T);
        }
        for (int t = 0; t < lengths[b]; t++) {
            int token = tokens[(int64_t)b * T + t];
            if (token < 0 || token >= model->config.vocabulary) {
                return gpt2_fail(error, "prompt %d: token %d is outside the vocabulary of %d", b, token,
                                 model->config.vocabulary);
            }
        }
    }
    return true;
}

// Fills each row with token 0 past the prompt's end.
static std::vector<int32_t> padded(const int32_t *tokens, const int32_t *lengths, int B, int T) {
    std::vector<int32_t> rows((size_t)B * (size_t)T, 0);
    for (int b = 0; b < B; b++) {
        memcpy(&rows[(size_t)b * (size_t)T], tokens + (int64_t)b * T, (size_t)lengths[b] * sizeof *tokens);
    }
    return rows;
}

bool gpt2_prefill(gpt2_model *model, const int32_t *tokens, const int32_t *lengths, int B, int T, gpt2_error *error) {
    if (!check_prompts(model, tokens, lengths, B, T, error)) { return false; }
    model->B = 0;
    int code = model->run_prefill(padded(tokens, lengths, B, T).data(), lengths, B, T);
    if (code != 0) { return fail_with(code, "the prompts' pass failed", error); }
    model->B = B;
    std::copy(lengths, lengths + B, model->positions.begin());
    return true;
}

bool gpt2_decode(gpt2_model *model, const int32_t *tokens, gpt2_error *error) {
    if (model->B == 0) { return gpt2_fail(error, "there is no sequence to go on with"); }
    for (int b = 0; b < model->B; b++) {
        if (tokens[b] >= model->config.vocabulary) {
            return gpt2_fail(error, "sequence %d: token %d is outside the vocabulary of %d", b, tokens[b],
                             model->config.vocabulary);
        }
        if (tokens[b] >= 0 && model->positions[(size_t)b] >= model->options.context) {
            return gpt2_fail(error, "sequence %d is full: %d tokens", b, model->options.context);
        }
    }
    int code = model->run_decode(tokens);
    if (code != 0) { return fail_with(code, "a decoding step failed", error); }
    for (int b = 0; b < model->B; b++) { model->positions[(size_t)b] += tokens[b] >= 0; }
    return true;
}

static bool can_sample(const gpt2_draws *draws, gpt2_error *error) {
    if (draws == nullptr) { return true; }
    const gpt2_sampling &by = draws->by;
    if (!(by.repetition_penalty > 0.0) || !(by.temperature >= 0.0) || by.top_k < 0 || !(by.top_p > 0.0) ||
        !(by.min_p >= 0.0 && by.min_p <= 1.0)) {
        return gpt2_fail(error, "sampling: a penalty above 0, a temperature and top-k from 0, top-p above 0 and min-p "
                                "from 0 to 1 are possible");
    }
    return draws->seen != nullptr || by.repetition_penalty == 1.0 ||
           gpt2_fail(error, "sampling: a repetition penalty needs the ids of the sequences");
}

bool gpt2_decode_choosing(gpt2_model *model, int steps, int choices, int stop, gpt2_draws *draws, const bool *rests,
                          int32_t *tokens, gpt2_error *error) {
    const int most = model->options.context, V = model->config.vocabulary;
    if (model->B == 0) { return gpt2_fail(error, "there is no sequence to go on with"); }
    if (steps < 1 || steps > most || choices < 1 || choices > V || stop >= V) {
        return gpt2_fail(error, "%d steps among %d tokens: 1 to %d and 1 to %d are possible", steps, choices, most, V);
    }
    if (!can_sample(draws, error)) { return false; }
    std::vector<int> left((size_t)model->B);
    for (int b = 0; b < model->B; b++) {
        left[(size_t)b] = rests && rests[b] ? 0 : std::min(steps, most - model->positions[(size_t)b]);
    }
    int code = model->run_choosing(steps, choices, stop, draws, left.data(), tokens);
    if (code != 0) { return fail_with(code, "a decoding step failed", error); }
    const bool drawn = draws != nullptr && draws->by.temperature > 0.0;
    for (int i = 0; i < model->B * steps; i++) {
        const int b = i / steps;
        if (tokens[i] < -1) { return gpt2_fail(error, "sequence %d: the logits are NaN", b); }
        model->positions[(size_t)b] += tokens[i] >= 0 && tokens[i] != stop;
        if (drawn && tokens[i] >= 0) { gpt2_random_next(draws->random + b); }
    }
    return true;
}

bool gpt2_wait(gpt2_model *model, gpt2_error *error) {
    model->wait_for_ranks();
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

bool gpt2_logits(gpt2_model *model, float *logits, gpt2_error *error) {
    if (model->B == 0) { return gpt2_fail(error, "there are no logits yet"); }
    int code = model->copy_logits(logits, model->B);
    return code == 0 || fail_with(code, "the logits cannot be copied", error);
}

bool gpt2_all_logits(gpt2_model *model, const int32_t *tokens, const int32_t *lengths, int B, int T, float *logits,
                     gpt2_error *error) {
    if (!check_prompts(model, tokens, lengths, B, T, error)) { return false; }
    model->B = 0;
    int code = model->run_all(padded(tokens, lengths, B, T).data(), lengths, nullptr, B, T, logits, nullptr);
    return code == 0 || fail_with(code, "the pass failed", error);
}

bool gpt2_losses(gpt2_model *model, const int32_t *tokens, const int32_t *targets, int B, int T, float *losses,
                 gpt2_error *error) {
    std::vector<int32_t> lengths((size_t)std::max(B, 1), T);
    if (!check_prompts(model, tokens, lengths.data(), B, T, error)) { return false; }
    for (int64_t i = 0; i < (int64_t)B * T; i++) {
        if (targets[i] >= model->config.vocabulary) {
            return gpt2_fail(error, "target %d is outside the vocabulary of %d", targets[i], model->config.vocabulary);
        }
    }
    model->B = 0;
    int code = model->run_all(tokens, lengths.data(), targets, B, T, nullptr, losses);
    return code == 0 || fail_with(code, "the pass failed", error);
}
