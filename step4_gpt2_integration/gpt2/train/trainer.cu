// trainer.cu — the C interface of training (trainer.h): checks the arguments, copies them to the device, runs passes and
// updates, and reads and writes the state
#include "gpt2/train/trainer.h"

#include "gpt2/formats/number.h"
#include "gpt2/model/activation.cuh"
#include "gpt2/model/matmul.cuh"
#include "gpt2/model/training.cuh"
#include "gpt2/train/collective.h"
#include "gpt2/train/hash.cuh"
#include "gpt2/train/optimizer.cuh"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#if defined(SIMT_CPU_BACKEND)
#include <cblas.h>
#endif

// A trainer of any type.
struct gpt2_trainer {
    gpt2_device device = {};
    gpt2_config config = {};
    gpt2_trainer_options options = {};
    kernel_table kernels = {};
    float *parts[4] = {}; // flat arrays, by gpt2_part
    double *norm = nullptr, *partial = nullptr;
    double *norms = nullptr; // (ranks)
    char *memory = nullptr;  // of the optimizer
    size_t optimizer_bytes = 0;
    int64_t pass_number = 0; // for the masks of dropout

    // The sums over the ranks. The gradients at `unsummed` and after it, as far as they are matrices, are being summed.
    const gpt2_collective *group = nullptr; // null: one rank
    bool sum_next = false;                  // the next pass is the last of an update
    int64_t unsummed = 0;
    gpt2_error sum_error = {};

    // With options.zero: the elements of a rank's part, a multiple of 128. 0: every rank has the whole state.
    int64_t part = 0;
    bool collecting = false; // rank 0 may read the other ranks' parts

    // The contexts of the sources, one for each part.
    struct reader {
        gpt2_trainer *trainer;
        gpt2_part part;
    } readers[4] = {};

    virtual ~gpt2_trainer() = default;
    virtual bool choose_forms(gpt2_error *error) = 0;
    virtual int allocate() = 0;
    virtual int round_master() = 0;    // call it after a change of the master weights
    virtual char *rounded() const = 0; // the flat weights that the passes read, in options.type
    virtual int pass(const int32_t *tokens, const int32_t *targets, int B, int T_, const float *scale) = 0;
    virtual int take_loss(double *sum) = 0;
    virtual int update(const gpt2_adamw &settings, int64_t step, double *length) = 0;
    virtual size_t bytes() const = 0;

    int begin_sum(int64_t from, int64_t to) {
        const bool good = from == to || group->arrays->begin_sum(group->state, parts[GPT2_GRADIENTS] + from, to - from,
                                                                 device.stream, &sum_error);
        return good ? 0 : (int)cudaErrorUnknown;
    }

    // gradient_listener.ready. A bucket is the matrices of as many layers as make it large enough; the embeddings, and all
    // vectors, are the last two, or one with all others.
    static int ready(void *context, int layer) {
        auto *trainer = (gpt2_trainer *)context;
        const int64_t matrices = flat_matrices(trainer->config), all = flat_offset(trainer->config, GPT2_TENSORS, 0);
        const int64_t from = layer < 0 ? 0 : flat_offset(trainer->config, GPT2_QKVW, layer), to = trainer->unsummed;
        if (layer >= 0 && to - from < trainer->group->bucket) { return 0; }
        trainer->unsummed = from;
        if (layer < 0 && to == matrices) { return trainer->begin_sum(0, all); }
        TRY(trainer->begin_sum(from, to));
        return layer < 0 ? trainer->begin_sum(matrices, all) : 0;
    }

    // Is this part of the state divided among the ranks?
    bool divides(gpt2_part of) const {
        return part > 0 &&
               (of == GPT2_MOMENT1 || of == GPT2_MOMENT2 || (of == GPT2_WEIGHTS && options.type != GPT2_F32));
    }

    // Waits for the stream. A rank that is lost ends the wait. A copy to the host comes after it: to pageable memory also
    // cudaMemcpyAsync returns when the stream has got there, and waits without an end for a rank that is lost.
    int wait() {
        if (group == nullptr) { return cudaStreamSynchronize(device.stream); }
        return group->arrays->wait(group->state, device.stream, &sum_error) ? 0 : (int)cudaErrorUnknown;
    }
};

static bool trainer_fail(int code, const char *what, gpt2_error *error) {
    char text[160];
    device_message(code, text, sizeof text);
    return gpt2_fail(error, "%s: %s", what, text);
}

template <class T> struct trainer_of final : gpt2_trainer {
    training<T> t = {};
    static constexpr bool has_master = sizeof(T) != sizeof(float);

    ~trainer_of() override {
        training_free(t);
        if (memory) { cudaFree(memory); }
        device_close(&device);
    }

    size_t bytes() const override { return t.all.bytes + optimizer_bytes + device.workspace_bytes; }

    void lay_out(arena &from, int64_t count, int ranks) {
        if (has_master) { from.take(parts[GPT2_WEIGHTS], count); }
        from.take(parts[GPT2_MOMENT1], count);
        from.take(parts[GPT2_MOMENT2], count);
        from.take(norm, 1);
        from.take(norms, ranks);
        from.take(partial, norm_most_parts);
    }

    bool choose_forms(gpt2_error *error) override {
        return choose_training_forms<T>(t.all.forms, device, options.attention, kernels, config) ||
               gpt2_fail(error,
                         "attention cannot be fused in training here: it needs bf16, heads of at most 128 channels and "
                         "compute capability 8.0");
    }

    int allocate() override {
        t.all.config = config, t.all.batch = options.batch, t.all.prompt = options.length;
        t.recompute = options.recompute, t.dropout = options.dropout > 0.0, t.replaces = true;
        const int64_t all = flat_offset(config, GPT2_TENSORS, 0), own = part > 0 ? part : all;
        const int ranks = part > 0 ? group->ranks : 1;
        t.padding = ranks * own - all;
        arena counted = {nullptr, 0};
        lay_out(counted, own, ranks);
        optimizer_bytes = counted.used;
        TRY(training_allocate(t));
        TRY(cudaMalloc((void **)&memory, optimizer_bytes));
        TRY(cudaMemset(memory, 0, optimizer_bytes));
        arena place = {memory, 0};
        lay_out(place, own, ranks);
        if (!has_master) { parts[GPT2_WEIGHTS] = (float *)t.flat_weights; }
        parts[GPT2_GRADIENTS] = t.flat_gradients;
        std::vector<int> lengths((size_t)options.batch, options.length);
        TRY(cudaMemcpy(t.all.work.lengths, lengths.data(), lengths.size() * sizeof(int), cudaMemcpyHostToDevice));
        return cudaMemset(t.loss, 0, sizeof *t.loss);
    }

    int round_master() override {
        if (!has_master) { return 0; }
        return round_weights(device, t.flat_weights, parts[GPT2_WEIGHTS], flat_offset(config, GPT2_TENSORS, 0));
    }

    char *rounded() const override { return (char *)t.flat_weights; }

    int upload(int *to, const int32_t *from, size_t count) {
        return cudaMemcpyAsync(to, from, count * sizeof(int), cudaMemcpyHostToDevice, device.stream);
    }

    int pass(const int32_t *tokens, const int32_t *targets, int B, int T_, const float *scale) override {
        const int N = B * T_;
        TRY(upload(t.all.work.tokens, tokens, (size_t)N));
        TRY(upload(t.all.work.targets, targets, (size_t)N));
        matmul_plans_time(device.plans, scale != nullptr); // an update, whose products are in the next checkpoint
        if (scale == nullptr) { return training_losses(device, kernels, t, B, T_); }
        const gradient_listener listener = {ready, this};
        const bool last = sum_next && group != nullptr && part == 0;
        sum_next = false;
        unsummed = flat_matrices(config);
        return training_gradients(device, kernels, t, *scale, tokens, B, T_,
                                  dropout_of_pass(options.dropout, options.seed, pass_number),
                                  last ? &listener : nullptr);
    }

    int take_loss(double *sum) override {
        TRY(wait());
        TRY(cudaMemcpyAsync(sum, t.loss, sizeof *sum, cudaMemcpyDeviceToHost, device.stream));
        TRY(cudaMemsetAsync(t.loss, 0, sizeof *sum, device.stream));
        return cudaStreamSynchronize(device.stream);
    }

    int tried(bool good) { return good ? 0 : (int)cudaErrorUnknown; } // the message is in sum_error

    // The update of this rank's part: 4 bytes of each gradient are sent, and sizeof(T) of each weight.
    int update_part(const gpt2_adamw &settings, int64_t step) {
        const gpt2_collective_arrays &arrays = *group->arrays;
        const int64_t from = group->rank * part;
        float *gradients = parts[GPT2_GRADIENTS];
        TRY(tried(arrays.scatter_sum(group->state, gradients, part, device.stream, &sum_error)));
        TRY(gradient_norm(device, norms + group->rank, partial, gradients + from, part));
        TRY(tried(arrays.gather(group->state, norms, sizeof *norms, device.stream, &sum_error)));
        TRY(join_norms(device, norm, norms, group->ranks));
        const int64_t matrices = std::clamp<int64_t>(flat_matrices(config) - from, 0, part);
        TRY(adamw<T>(device, has_master ? t.flat_weights + from : nullptr,
                     parts[GPT2_WEIGHTS] + (has_master ? 0 : from), gradients + from, parts[GPT2_MOMENT1],
                     parts[GPT2_MOMENT2], part, matrices, settings, step, norm));
        return tried(arrays.gather(group->state, t.flat_weights, (size_t)part * sizeof(T), device.stream, &sum_error));
    }

    int update_all(const gpt2_adamw &settings, int64_t step) {
        const int64_t count = flat_offset(config, GPT2_TENSORS, 0);
        if (group != nullptr) { TRY(tried(group->arrays->end_sums(group->state, device.stream, &sum_error))); }
        TRY(gradient_norm(device, norm, partial, parts[GPT2_GRADIENTS], count));
        return adamw<T>(device, has_master ? t.flat_weights : nullptr, parts[GPT2_WEIGHTS], parts[GPT2_GRADIENTS],
                        parts[GPT2_MOMENT1], parts[GPT2_MOMENT2], count, flat_matrices(config), settings, step, norm);
    }

    int update(const gpt2_adamw &settings, int64_t step, double *length) override {
        TRY(part > 0 ? update_part(settings, step) : update_all(settings, step));
        t.replaces = true;
        TRY(wait());
        return cudaMemcpy(length, norm, sizeof *length, cudaMemcpyDeviceToHost);
    }
};

// ---- opening ----

#define HAS(op) &&ops.op != nullptr
template <class T> static gpt2_trainer *make(const gpt2_trainer_options &options, gpt2_error *error) {
    const auto &ops = type_of<T>::kernels(*options.kernels);
    if (!(true KERNEL_OPS(HAS))) {
        gpt2_fail(error, "the kernel set %s lacks an op of training in this type", options.kernels->name);
        return nullptr;
    }
    gpt2_trainer *trainer = new (std::nothrow) trainer_of<T>;
    if (trainer == nullptr) { gpt2_fail(error, "out of memory"); }
    return trainer;
}

static bool fill(gpt2_trainer *trainer, const gpt2_source *source, gpt2_error *error) {
    int code = device_open(&trainer->device, trainer->options.tf32);
    if (code != 0) { return trainer_fail(code, "the device cannot be used", error); }
    if (!trainer->choose_forms(error)) { return false; }
    code = trainer->allocate();
    if (code != 0) {
        char what[128];
        snprintf(what, sizeof what, "training needs %.1f MB of device memory", (double)trainer->bytes() / 1e6);
        cudaGetLastError(); // clears the error, which the next launch would report
        return trainer_fail(code, what, error);
    }
    for (int part = 0; part < 4; part++) { trainer->readers[part] = {trainer, (gpt2_part)part}; }
    return gpt2_trainer_load(trainer, GPT2_WEIGHTS, source, error);
}

gpt2_trainer *gpt2_trainer_open(const gpt2_source *source, const gpt2_trainer_options *options, gpt2_error *error) {
    const gpt2_config &config = source->config;
    if (!gpt2_config_check(&config, "the model", error)) { return nullptr; }
    if (options->batch < 1 || options->length < 1 || options->length > config.max_tokens ||
        (int64_t)options->batch * options->length > (1 << 26)) {
        gpt2_fail(error, "a batch of %d sequences of %d tokens does not fit the model's context of %d", options->batch,
                  options->length, config.max_tokens);
        return nullptr;
    }
    if (config.scale_by_layer) { // its factor is in the weights of the queries, which AdamW would scale in another way
        gpt2_fail(error,
                  "a model with scale_attn_by_inverse_layer_idx cannot be trained here; generate and eval take it");
        return nullptr;
    }
    if (!(options->dropout >= 0.0 && options->dropout <= 0.99)) {
        gpt2_fail(error, "a dropout of %g: a probability from 0 to 0.99 is needed", options->dropout);
        return nullptr;
    }
    gpt2_trainer *trainer = nullptr;
    switch (options->type) {
        case GPT2_F32: trainer = make<float>(*options, error); break;
        case GPT2_BF16: trainer = make<__nv_bfloat16>(*options, error); break;
        case GPT2_F16:
            gpt2_fail(error,
                      "training in f16 would need loss scaling against underflow of small gradients: train in bf16");
            break;
    }
    if (trainer == nullptr) { return nullptr; }
    trainer->config = config, trainer->options = *options, trainer->kernels = *options->kernels;
    trainer->group = options->group != nullptr && options->group->ranks > 1 ? options->group : nullptr;
    if (options->zero && trainer->group != nullptr) {
        const int64_t all = flat_offset(config, GPT2_TENSORS, 0), ranks = trainer->group->ranks;
        trainer->part = (all + 128 * ranks - 1) / (128 * ranks) * 128;
    }
    use_activation(trainer->kernels, config.activation);
    if (!fill(trainer, source, error)) {
        delete trainer;
        return nullptr;
    }
    return trainer;
}

void gpt2_trainer_close(gpt2_trainer *trainer) {
    delete trainer;
}

size_t gpt2_trainer_bytes(const gpt2_trainer *trainer) {
    return trainer->bytes();
}

// ---- a step ----

// As trainer_fail; where a sum over the ranks failed, with its own message.
static bool step_fail(const gpt2_trainer *trainer, int code, const char *what, gpt2_error *error) {
    if (trainer->sum_error.text[0] == '\0') { return trainer_fail(code, what, error); }
    *error = trainer->sum_error;
    return false;
}

static bool pass(gpt2_trainer *trainer, const int32_t *tokens, const int32_t *targets, int B, int T, const float *scale,
                 gpt2_error *error) {
    const gpt2_trainer_options &options = trainer->options;
    const int V = trainer->config.vocabulary;
    if (B < 1 || B > options.batch || T < 1 || T > options.length) {
        return gpt2_fail(error, "%d sequences of %d tokens: the trainer was opened for %d of %d", B, T, options.batch,
                         options.length);
    }
    for (int i = 0; i < B * T; i++) {
        if (tokens[i] < 0 || tokens[i] >= V || targets[i] >= V) {
            return gpt2_fail(error, "token %d, target %d: outside the vocabulary of %d", tokens[i], targets[i], V);
        }
    }
    int code = trainer->pass(tokens, targets, B, T, scale);
    return code == 0 || step_fail(trainer, code, "the pass failed", error);
}

void gpt2_trainer_pass(gpt2_trainer *trainer, int64_t number) {
    trainer->pass_number = number;
}

void gpt2_trainer_sum_next(gpt2_trainer *trainer) {
    trainer->sum_next = true;
}

bool gpt2_trainer_gradients(gpt2_trainer *trainer, const int32_t *tokens, const int32_t *targets, int B, int T,
                            float scale, gpt2_error *error) {
    return pass(trainer, tokens, targets, B, T, &scale, error);
}

bool gpt2_trainer_losses(gpt2_trainer *trainer, const int32_t *tokens, const int32_t *targets, int B, int T,
                         gpt2_error *error) {
    return pass(trainer, tokens, targets, B, T, nullptr, error);
}

bool gpt2_trainer_take_loss(gpt2_trainer *trainer, double *sum, gpt2_error *error) {
    int code = trainer->take_loss(sum);
    return code == 0 || step_fail(trainer, code, "the loss cannot be copied", error);
}

bool gpt2_trainer_update(gpt2_trainer *trainer, const gpt2_adamw *settings, int64_t step, double *norm,
                         gpt2_error *error) {
    int code = trainer->update(*settings, step, norm);
    if (code != 0) {
        *norm = 0.0;
        return step_fail(trainer, code, "the update failed", error);
    }
    return std::isfinite(*norm) ||
           gpt2_fail(error, "step %lld: the gradients are not finite (a smaller --lr, or --clip)", (long long)step);
}

// ---- the state ----

// Elements of a part's flat array that rank 0 reads from another rank. count 0: it needs no more.
struct request {
    gpt2_part of;
    int64_t from, count;
};

static int download(const gpt2_trainer *trainer, const request &wanted, float *to) {
    const int64_t from = wanted.from - (trainer->divides(wanted.of) ? trainer->group->rank * trainer->part : 0);
    TRY(cudaStreamSynchronize(trainer->device.stream));
    return cudaMemcpy(to, trainer->parts[wanted.of] + from, (size_t)wanted.count * sizeof *to, cudaMemcpyDeviceToHost);
}

// The same elements of a divided part, each from the rank that has it.
static bool collect(const gpt2_trainer *trainer, request wanted, float *to, gpt2_error *error) {
    const gpt2_collective_arrays *arrays = trainer->group->arrays;
    if (!trainer->collecting) { return gpt2_fail(error, "the state is divided: gpt2_trainer_collect comes first"); }
    for (const int64_t end = wanted.from + wanted.count; wanted.from < end; wanted.from += wanted.count) {
        const int owner = (int)(wanted.from / trainer->part);
        wanted.count = std::min(end, (owner + 1) * trainer->part) - wanted.from;
        if (owner == 0) {
            int code = download(trainer, wanted, to);
            if (code != 0) { return trainer_fail(code, "a tensor cannot be copied from the device", error); }
        } else if (!arrays->broadcast(&wanted, sizeof wanted, error) ||
                   !arrays->send(0, owner, to, (size_t)wanted.count * sizeof *to, error)) {
            return false;
        }
        to += wanted.count;
    }
    return true;
}

bool gpt2_trainer_collect(gpt2_trainer *trainer, gpt2_error *error) {
    const gpt2_collective *group = trainer->group;
    trainer->collecting = trainer->part > 0 && group->rank == 0;
    if (trainer->part == 0 || group->rank == 0) { return true; }
    std::vector<float> values;
    for (;;) {
        request wanted = {};
        if (!group->arrays->broadcast(&wanted, sizeof wanted, error)) { return false; }
        if (wanted.count == 0) { return true; }
        if (wanted.from / trainer->part != group->rank) { continue; }
        values.resize((size_t)wanted.count);
        int code = download(trainer, wanted, values.data());
        if (code != 0) { return trainer_fail(code, "a tensor cannot be copied from the device", error); }
        if (!group->arrays->send(group->rank, group->rank, values.data(), values.size() * sizeof(float), error)) {
            return false;
        }
    }
}

bool gpt2_trainer_release(gpt2_trainer *trainer, gpt2_error *error) {
    request none = {};
    if (!trainer->collecting) { return true; }
    trainer->collecting = false;
    return trainer->group->arrays->broadcast(&none, sizeof none, error);
}

// gpt2_source.read for one part.
static bool read_tensor(void *context, gpt2_tensor tensor, int layer, gpt2_type type, gpt2_layout layout, void *out,
                        gpt2_error *error) {
    const auto *reader = (const gpt2_trainer::reader *)context;
    const gpt2_trainer *trainer = reader->trainer;
    gpt2_view view = {};
    const bool divided = trainer->divides(reader->part);
    const bool rounded = divided && !trainer->collecting && reader->part == GPT2_WEIGHTS;
    view.type = rounded ? trainer->options.type : GPT2_F32, view.layout = GPT2_OUT_IN;
    view.rows = gpt2_tensor_rows(&trainer->config, tensor),
    view.columns = gpt2_tensor_columns(&trainer->config, tensor);
    const request wanted = {reader->part, flat_offset(trainer->config, tensor, layer), view.rows * view.columns};
    float *values = (float *)malloc((size_t)wanted.count * sizeof *values);
    if (values == nullptr) { return gpt2_fail(error, "out of memory for a tensor of the model"); }
    int code = 0;
    bool good = true;
    if (rounded) {
        code = cudaStreamSynchronize(trainer->device.stream);
        const size_t size = gpt2_type_bytes(view.type);
        const char *from = trainer->rounded() + (size_t)wanted.from * size;
        if (code == 0) { code = cudaMemcpy(values, from, (size_t)wanted.count * size, cudaMemcpyDeviceToHost); }
    } else if (divided) {
        good = collect(trainer, wanted, values, error);
    } else {
        code = download(trainer, wanted, values);
    }
    view.bytes = values;
    if (good && code == 0) { gpt2_view_read(&view, type, gpt2_tensor_is_linear(tensor) ? layout : GPT2_OUT_IN, out); }
    free(values);
    return good && (code == 0 || trainer_fail(code, "a tensor cannot be copied from the device", error));
}

gpt2_source gpt2_trainer_source(gpt2_trainer *trainer, gpt2_part part) {
    gpt2_source source = {};
    source.config = trainer->config;
    source.read = read_tensor;
    source.context = &trainer->readers[part];
    return source;
}

// `count` elements of a part at `from`, as far as they are this rank's.
static int upload(const gpt2_trainer *trainer, gpt2_part part, int64_t from, int64_t count, const float *values) {
    const bool divided = trainer->divides(part);
    const int64_t first = divided ? trainer->group->rank * trainer->part : 0;
    const int64_t begin = divided ? std::max(from, first) : from;
    const int64_t end = divided ? std::min(from + count, first + trainer->part) : from + count;
    if (begin >= end) { return 0; }
    return cudaMemcpy(trainer->parts[part] + (begin - first), values + (begin - from),
                      (size_t)(end - begin) * sizeof(float), cudaMemcpyHostToDevice);
}

static int upload_rounded(const gpt2_trainer *trainer, gpt2_tensor tensor, int layer, const void *values) {
    const size_t size = gpt2_type_bytes(trainer->options.type);
    return cudaMemcpy(trainer->rounded() + (size_t)flat_offset(trainer->config, tensor, layer) * size, values,
                      (size_t)gpt2_tensor_elements(&trainer->config, tensor) * size, cudaMemcpyHostToDevice);
}

bool gpt2_trainer_load(gpt2_trainer *trainer, gpt2_part part, const gpt2_source *source, gpt2_error *error) {
    const gpt2_config &config = trainer->config;
    if (!gpt2_config_same(&config, &source->config)) { return gpt2_fail(error, "a model of other sizes"); }
    int64_t largest = 0;
    for (int i = 0; i < GPT2_TENSORS; i++) {
        largest = std::max(largest, gpt2_tensor_elements(&config, (gpt2_tensor)i));
    }
    float *values = (float *)malloc((size_t)largest * sizeof *values);
    if (values == nullptr) { return gpt2_fail(error, "out of memory for a tensor of the model"); }
    bool good = true;
    int code = cudaStreamSynchronize(trainer->device.stream);
    for (int i = 0; good && code == 0 && i < GPT2_TENSORS; i++) {
        gpt2_tensor tensor = (gpt2_tensor)i;
        int layers = gpt2_tensor_layers(&config, tensor);
        for (int layer = 0; good && code == 0 && layer < layers; layer++) {
            good = source->read(source->context, tensor, layer, GPT2_F32, GPT2_OUT_IN, values, error);
            if (!good) { break; }
            code = upload(trainer, part, flat_offset(config, tensor, layer), gpt2_tensor_elements(&config, tensor),
                          values);
            if (code != 0 || part != GPT2_WEIGHTS || !trainer->divides(part)) { continue; }
            good = source->read(source->context, tensor, layer, trainer->options.type, GPT2_OUT_IN, values, error);
            if (good) { code = upload_rounded(trainer, tensor, layer, values); }
        }
    }
    free(values);
    if (good && code == 0 && part == GPT2_WEIGHTS && !trainer->divides(part)) { code = trainer->round_master(); }
    if (!good) { return false; }
    return code == 0 || trainer_fail(code, "the tensors cannot be copied to the device", error);
}

bool gpt2_trainer_hash(gpt2_trainer *trainer, uint64_t hashes[GPT2_TRAINER_HASHES], gpt2_error *error) {
    const gpt2_part of[] = {GPT2_WEIGHTS, GPT2_MOMENT1, GPT2_MOMENT2};
    const int64_t count = flat_offset(trainer->config, GPT2_TENSORS, 0);
    static_assert((int)hash_most_parts <= (int)norm_most_parts && sizeof(double) == sizeof(uint64_t), "shared scratch");
    for (int i = 0; i < GPT2_TRAINER_HASHES; i++) {
        const bool divided = trainer->divides(of[i]);
        hashes[i] = 0;
        if (divided && of[i] != GPT2_WEIGHTS) { continue; }
        const float *x = divided ? (const float *)trainer->rounded() : trainer->parts[of[i]];
        const int64_t words =
            divided ? count * (int64_t)gpt2_type_bytes(trainer->options.type) / (int64_t)sizeof *x : count;
        int code = array_hash(trainer->device, &hashes[i], (uint64_t *)trainer->partial, x, words);
        if (code != 0) { return trainer_fail(code, "the state cannot be hashed", error); }
    }
    return true;
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
#if defined(SIMT_CPU_BACKEND) // OpenBLAS adds in another order with other cores, or another number of them
    snprintf(text, size, "%s, OpenBLAS for %s, threads %d", properties.name, openblas_get_corename(),
             openblas_get_num_threads());
#else
    snprintf(text, size, "%s, cuBLASLt %zu", properties.name, cublasLtGetVersion());
#endif
}
