#include <math.h>
#include <string.h>

#include "fill.h"
#include "timing.h"

enum {
    MIN_LAUNCHES = 50,
    TARGET_US = 5000,    /* duration of a batch: long compared with the cost of starting it */
    LONGEST_US = 500000, /* a slow kernel gets fewer launches than the minimum rather than a longer batch */
    TRIAL_LAUNCHES = 4,
    COPY_TRIAL_LAUNCHES = 40,
    COPY_TRIALS = 3,
    ALIGNMENT = 256, /* bytes: tensors start as cudaMalloc's do */
};

#define TRY(call)                           \
    do {                                    \
        int error_ = (int)(call);           \
        if (error_ != 0) { return error_; } \
    } while (0)

static char *tensor_of_set(const struct timing *t, int tensor, int set) {
    return t->tensor[tensor] + (size_t)set * t->stride[tensor];
}

static size_t tensor_bytes(const struct timing *t, int tensor) {
    return op_elements(t->op, tensor, &t->sizes) * op_element_bytes(t->op, tensor, t->sizes.type);
}

int timing_prepare(struct timing *t, uint64_t seed) {
    for (int i = 0; i < op_tensor_count(t->op); i++) {
        fill_tensor(t->op, i, &t->sizes, t->tensor[i], t->stride[i], t->sets, seed, t->stream);
    }
    TRY(cudaGetLastError());
    return cudaDeviceSynchronize();
}

/* ---- launches: launch i of a batch uses set i ---- */

static int launch_op(const struct timing *t, int i) {
    void *tensors[OP_MAX_TENSORS];
    for (int k = 0; k < op_tensor_count(t->op); k++) {
        tensors[k] = op_is_given(t->op, k, &t->sizes) ? tensor_of_set(t, k, i) : nullptr;
    }
    int status = t->function(t->rung, tensors, &t->sizes, t->stream);
    return status ? status : (int)cudaGetLastError();
}

/* The streams of a copy of the same footprint, in set i. */
static struct copy_streams streams_of_set(const struct timing *t, int i) {
    struct copy_streams s = {};
    bool halves = op_is_on_matrices(t->op);
    s.bytes = (size_t)t->sizes.N * (size_t)t->sizes.C * op_element_bytes(t->op, 0, t->sizes.type) / (halves ? 2 : 1);
    s.bytes -= s.bytes % 16;
    s.write[0] = t->scratch;
    for (int k = 0; k < op_tensor_count(t->op); k++) {
        if (!op_has_rows(t->op, k)) { continue; }
        char *tensor = tensor_of_set(t, k, i);
        bool whole = t->op->tensor[k].role == ROLE_OUT && !t->sizes.upper;
        if (t->op->tensor[k].role == ROLE_IN) {
            s.read[s.reads++] = tensor;
        } else {
            s.write[s.writes++] = tensor;
        }
        if (halves && whole) { s.write[s.writes++] = tensor + s.bytes; }
    }
    return s;
}

static int launch_copy(const struct timing *t, int i) {
    struct copy_streams s = streams_of_set(t, i);
    copy_launch(t->copy_variant, &s, false, t->stream);
    return cudaGetLastError();
}

typedef int launch_function(const struct timing *t, int i);

/* ---- batches ---- */

static void drop_batch(struct batch *batch) {
    if (batch->graph) { cudaGraphExecDestroy(batch->graph); }
    batch->graph = nullptr;
}

/* Captures the launches into a graph. A launcher that allocates, synchronises or uses another stream cannot be
 * captured. This is no error: it is then launched directly. */
static void capture(const struct timing *t, launch_function *launch, struct batch *batch) {
    cudaGraph_t graph = nullptr;
    if (cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeRelaxed) != cudaSuccess) { return; }
    int status = 0;
    for (int i = 0; i < batch->launches && status == 0; i++) { status = launch(t, i); }
    cudaError_t ended = cudaStreamEndCapture(t->stream, &graph);
    size_t captured = 0;
    if (ended == cudaSuccess && graph) { cudaGraphGetNodes(graph, nullptr, &captured); }
    /* With fewer nodes than launches, some launches were not captured, and a replay would skip them. */
    if (status != 0 || captured < (size_t)batch->launches ||
        cudaGraphInstantiate(&batch->graph, graph, 0) != cudaSuccess) {
        batch->graph = nullptr;
    }
    if (graph) { cudaGraphDestroy(graph); }
    cudaGetLastError();
}

/* Launches the batch between events. The end is taken when the whole device is idle, to include other streams. */
static int run_batch(struct timing *t, launch_function *launch, const struct batch *batch, double *us) {
    cudaCtxResetPersistingL2Cache();
    cudaGetLastError(); /* devices without persistence have nothing to reset */
    TRY(cudaDeviceSynchronize());
    TRY(cudaEventRecord(t->start, t->stream));
    if (batch->graph) { TRY(cudaGraphLaunch(batch->graph, t->stream)); }
    for (int i = 0; i < batch->launches && !batch->graph; i++) { TRY(launch(t, i)); }
    TRY(cudaEventRecord(t->end, t->stream));
    TRY(cudaDeviceSynchronize());
    TRY(cudaEventRecord(t->all_done, t->stream));
    TRY(cudaEventSynchronize(t->all_done));
    float ms = 0, all_ms = 0;
    TRY(cudaEventElapsedTime(&ms, t->start, t->end));
    TRY(cudaEventElapsedTime(&all_ms, t->start, t->all_done));
    /* Returning to the CPU takes about 20 us. A longer time means that work continued after the stream's end. */
    if (all_ms > ms * 1.02f + 0.1f) { ms = all_ms; }
    *us = (double)ms * 1e3 / batch->launches;
    return 0;
}

/* Chooses the number of launches, captures them, and warms up. */
static int plan_batch(struct timing *t, launch_function *launch, struct batch *batch, int launches) {
    drop_batch(batch);
    struct batch trial = {nullptr, TRIAL_LAUNCHES};
    double us = 0;
    TRY(run_batch(t, launch, &trial, &us));
    double wanted = launches;
    if (launches <= 0) {
        wanted = fmax(MIN_LAUNCHES, fmax(TARGET_US / fmax(us, 0.1), 4 * t->l2_bytes / fmax(t->set_bytes, 1)));
        wanted = fmin(wanted, fmax(TRIAL_LAUNCHES, LONGEST_US / us));
    }
    batch->launches = (int)fmin(wanted, t->sets);
    capture(t, launch, batch);
    return run_batch(t, launch, batch, &us);
}

int timing_op(struct timing *t, double *us) {
    return run_batch(t, launch_op, &t->op_batch, us);
}
int timing_copy(struct timing *t, double *us) {
    return run_batch(t, launch_copy, &t->copy_batch, us);
}

/* ---- opening ---- */

static double device_attribute(cudaDeviceAttr attribute) {
    int value = 0, device = 0;
    cudaGetDevice(&device);
    return cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess ? value : 0;
}

static int allocate_sets(struct timing *t, int launches) {
    t->l2_bytes = device_attribute(cudaDevAttrL2CacheSize);
    /* kHz x 2 (double data rate) x bits / 8 = bytes per ms */
    t->peak_bytes_per_us =
        device_attribute(cudaDevAttrMemoryClockRate) * 2 * device_attribute(cudaDevAttrGlobalMemoryBusWidth) / 8 / 1000;
    t->set_bytes = (double)op_floor_bytes(t->op, &t->sizes);
    size_t free_bytes = 0, total_bytes = 0;
    TRY(cudaMemGetInfo(&free_bytes, &total_bytes));
    double allocated = 0; /* a set's tensors are larger than its byte floor if half of them is masked */
    for (int i = 0; i < op_tensor_count(t->op); i++) {
        t->stride[i] = (tensor_bytes(t, i) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        allocated += (double)t->stride[i];
    }
    /* As many as a batch of the fastest possible kernel needs, in at most half of the free memory. */
    double shortest_us = 1 + t->set_bytes / fmax(t->peak_bytes_per_us, 1e6);
    double sets = fmax(MIN_LAUNCHES, fmax(TARGET_US / shortest_us, 4 * t->l2_bytes / fmax(t->set_bytes, 1)));
    sets = fmin(fmax(sets, launches), fmin(TIME_MAX_SETS, 0.5 * (double)free_bytes / fmax(allocated, 1)));
    t->sets = sets < TRIAL_LAUNCHES ? TRIAL_LAUNCHES : (int)sets;
    for (int i = 0; i < op_tensor_count(t->op); i++) {
        TRY(cudaMalloc((void **)&t->tensor[i], t->stride[i] * t->sets));
    }
    TRY(cudaMalloc((void **)&t->scratch, ALIGNMENT));
    struct copy_streams s = streams_of_set(t, 0);
    t->reads = s.reads;
    t->writes = s.writes;
    return 0;
}

int timing_set_rung(struct timing *t, int rung, int launches) {
    t->rung = rung;
    t->function = launcher_find(t->op->name, t->sizes.type, rung);
    if (!t->function) { return cudaErrorInvalidValue; }
    TRY(timing_prepare(t, 1));
    return plan_batch(t, launch_op, &t->op_batch, launches);
}

/* The shortest time of a few short batches of one variant, after a warm-up batch. */
static int try_copy(struct timing *t, int variant, double *best_us) {
    struct batch trial = {nullptr, t->sets < COPY_TRIAL_LAUNCHES ? t->sets : COPY_TRIAL_LAUNCHES};
    t->copy_variant = variant;
    capture(t, launch_copy, &trial);
    int error = 0;
    for (int i = 0; i < 1 + COPY_TRIALS && error == 0; i++) {
        double us = 0;
        error = run_batch(t, launch_copy, &trial, &us);
        if (i == 1 || (i > 1 && us < *best_us)) { *best_us = us; }
    }
    drop_batch(&trial);
    return error;
}

static int open_copy(struct timing *t) {
    int count = copy_count(t->reads, t->writes), best = 0;
    if (count == 0) { return cudaErrorNotSupported; }
    TRY(timing_prepare(t, 1));
    double best_us = 0;
    for (int variant = 0; variant < count; variant++) {
        double us = 0;
        TRY(try_copy(t, variant, &us));
        if (variant == 0 || us < best_us) {
            best_us = us;
            best = variant;
        }
    }
    t->copy_variant = best;
    return plan_batch(t, launch_copy, &t->copy_batch, 0);
}

int timing_open(struct timing *t, const struct op *op, const struct op_sizes *sizes, int launches) {
    memset(t, 0, sizeof *t);
    t->op = op;
    t->sizes = *sizes;
    TRY(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking));
    TRY(cudaEventCreate(&t->start));
    TRY(cudaEventCreate(&t->end));
    TRY(cudaEventCreate(&t->all_done));
    TRY(allocate_sets(t, launches));
    return open_copy(t);
}

/* ---- results ---- */

int timing_sample(struct timing *t, int set, const int *rows, int row_count, char *data) {
    size_t C = (size_t)t->sizes.C;
    if (set < 0 || set >= t->sets) { return cudaErrorInvalidValue; }
    for (int r = 0; r < row_count; r++) {
        if (rows[r] < 0 || rows[r] >= t->sizes.N) { return cudaErrorInvalidValue; }
        for (int i = 0; i < op_tensor_count(t->op); i++) {
            if (t->op->tensor[i].role == ROLE_IN || op_shape_is(t->op, i, "C")) { continue; }
            size_t width = (op_has_rows(t->op, i) ? C : 1) * op_element_bytes(t->op, i, t->sizes.type);
            const char *row = tensor_of_set(t, i, set) + (size_t)rows[r] * width;
            TRY(cudaMemcpy(data, row, width, cudaMemcpyDeviceToHost));
            data += width;
        }
    }
    for (int i = 0; i < op_tensor_count(t->op); i++) {
        if (t->op->tensor[i].role == ROLE_IN || !op_shape_is(t->op, i, "C")) { continue; }
        TRY(cudaMemcpy(data, tensor_of_set(t, i, set), tensor_bytes(t, i), cudaMemcpyDeviceToHost));
        data += tensor_bytes(t, i);
    }
    return 0;
}

void timing_close(struct timing *t) {
    drop_batch(&t->op_batch);
    drop_batch(&t->copy_batch);
    for (int i = 0; i < OP_MAX_TENSORS; i++) { cudaFree(t->tensor[i]); }
    cudaFree(t->scratch);
    if (t->start) { cudaEventDestroy(t->start); }
    if (t->end) { cudaEventDestroy(t->end); }
    if (t->all_done) { cudaEventDestroy(t->all_done); }
    if (t->stream) { cudaStreamDestroy(t->stream); }
    cudaGetLastError();
}
