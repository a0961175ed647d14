/* collective_nccl.c — sums of arrays on GPUs by NCCL (collective.h).
 *
 * The sums have a stream of their own. It waits for an event of the backward pass, so a bucket is summed while the passes of
 * the layers before it are computed. Within a machine there is one bucket, at the end: buckets beside the pass were slower
 * there (docs/scaling.md). MPI carries NCCL's identifier from rank 0 to the others. */
#define _GNU_SOURCE
#include "gpt2/train/collective.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdlib.h>
#include <time.h>

struct sums {
    ncclComm_t ranks;
    int rank;
    cudaStream_t stream;
    cudaEvent_t ready, done;
    cudaEvent_t marks[2]; /* in turn, each after 32 sums within passes */
    uint64_t count;       /* of these */
    bool pending;         /* has an operation begun since the last wait? */
    bool within;          /* sums are within passes, also in those that a CUDA graph repeats: of a divided model */
};

static bool nccl_fail(ncclResult_t code, ncclComm_t ranks, struct gpt2_error *error) {
    const char *detail = ncclGetLastError(ranks);
    return gpt2_fail(error, "NCCL: %s%s%s", ncclGetErrorString(code), detail != NULL && detail[0] != '\0' ? ": " : "",
                     detail != NULL ? detail : "");
}

static bool cuda_fail(cudaError_t code, struct gpt2_error *error) {
    return gpt2_fail(error, "the device failed: %s", cudaGetErrorString(code));
}

/* `to` waits for all work that `from` has so far. */
static bool order(cudaEvent_t event, cudaStream_t from, cudaStream_t to, struct gpt2_error *error) {
    cudaError_t code = cudaEventRecord(event, from);
    if (code == cudaSuccess) { code = cudaStreamWaitEvent(to, event, 0); }
    return code == cudaSuccess || cuda_fail(code, error);
}

/* NCCL's kernels wait without end for a rank that is gone. NCCL reports what its network notices. The wait for other ranks
 * begins when this rank's work before the latest sum is complete. Where sums are within passes, it begins at once.
 * event: in the stream; NULL: all its work. */
static bool wait_until(struct sums *sums, cudaStream_t stream, cudaEvent_t event, struct gpt2_error *error) {
    const struct timespec pause = {.tv_nsec = 20000};
    struct collective_wait wait = {.told = false};
    bool own = !sums->within; /* this rank's own work */
    cudaError_t code;
    if (!own) {
        wait = collective_mpi_begin_wait();
        wait.works = true;
    }
    while ((code = event != NULL ? cudaEventQuery(event) : cudaStreamQuery(stream)) == cudaErrorNotReady) {
        ncclResult_t found = ncclSuccess, asked = ncclCommGetAsyncError(sums->ranks, &found);
        if (asked == ncclSuccess) { asked = found; }
        if (asked != ncclSuccess) { return nccl_fail(asked, sums->ranks, error); }
        if (own && sums->pending && cudaEventQuery(sums->ready) != cudaErrorNotReady) {
            own = false;
            wait = collective_mpi_begin_wait();
        }
        if (own) {
            nanosleep(&pause, NULL);
        } else if (!collective_mpi_waits(&wait, error)) {
            return false;
        }
    }
    sums->pending = false;
    if (own) { collective_mpi_begin_wait(); } /* the same number of waits on all ranks */
    return code == cudaSuccess || cuda_fail(code, error);
}

static bool wait_for(void *state, void *stream, struct gpt2_error *error) {
    return wait_until(state, stream, NULL, error);
}

/* When about a thousand launches are queued, the next one waits for the device, and that wait has no limit. So this rank first
 * waits for one of its earlier sums: at most 96 are queued. The sums of CUDA graphs are not counted here. */
static bool keep_up(struct sums *sums, cudaStream_t stream, struct gpt2_error *error) {
    enum { EVERY = 32 };
    enum cudaStreamCaptureStatus capture;
    cudaError_t code = cudaStreamIsCapturing(stream, &capture);
    if (code != cudaSuccess) { return cuda_fail(code, error); }
    if (capture != cudaStreamCaptureStatusNone || sums->count++ % EVERY != 0) { return true; }
    cudaEvent_t mark = sums->marks[sums->count / EVERY % 2]; /* an event that was not recorded yet is done */
    if (!wait_until(sums, stream, mark, error)) { return false; }
    code = cudaEventRecord(mark, stream);
    return code == cudaSuccess || cuda_fail(code, error);
}

static bool begin_sum(void *state, float *x, int64_t count, void *stream, struct gpt2_error *error) {
    struct sums *sums = state;
    sums->pending = true;
    if (!order(sums->ready, stream, sums->stream, error)) { return false; }
    ncclResult_t code = ncclAllReduce(x, x, (size_t)count, ncclFloat32, ncclSum, sums->ranks, sums->stream);
    return code == ncclSuccess || nccl_fail(code, sums->ranks, error);
}

static bool end_sums(void *state, void *stream, struct gpt2_error *error) {
    struct sums *sums = state;
    return order(sums->done, sums->stream, stream, error);
}

static bool sum(void *state, void *x, int64_t count, enum gpt2_type type, void *stream, struct gpt2_error *error) {
    static const ncclDataType_t types[] = {
        [GPT2_F32] = ncclFloat32, [GPT2_F16] = ncclFloat16, [GPT2_BF16] = ncclBfloat16};
    struct sums *sums = state;
    sums->within = true;
    if (!keep_up(sums, stream, error)) { return false; }
    ncclResult_t code = ncclAllReduce(x, x, (size_t)count, types[type], ncclSum, sums->ranks, stream);
    return code == ncclSuccess || nccl_fail(code, sums->ranks, error);
}

static bool scatter_sum(void *state, float *x, int64_t part, void *stream, struct gpt2_error *error) {
    struct sums *sums = state;
    sums->pending = true;
    cudaError_t ready = cudaEventRecord(sums->ready, stream);
    if (ready != cudaSuccess) { return cuda_fail(ready, error); }
    ncclResult_t code =
        ncclReduceScatter(x, x + sums->rank * part, (size_t)part, ncclFloat32, ncclSum, sums->ranks, stream);
    return code == ncclSuccess || nccl_fail(code, sums->ranks, error);
}

static bool gather(void *state, void *x, size_t bytes, void *stream, struct gpt2_error *error) {
    struct sums *sums = state;
    ncclResult_t code = ncclAllGather((char *)x + (size_t)sums->rank * bytes, x, bytes, ncclInt8, sums->ranks, stream);
    return code == ncclSuccess || nccl_fail(code, sums->ranks, error);
}

static void close_sums(void *state) {
    struct sums *sums = state;
    if (sums->ranks != NULL) { ncclCommDestroy(sums->ranks); }
    if (sums->ready != NULL) { cudaEventDestroy(sums->ready); }
    if (sums->done != NULL) { cudaEventDestroy(sums->done); }
    for (int i = 0; i < 2; i++) {
        if (sums->marks[i] != NULL) { cudaEventDestroy(sums->marks[i]); }
    }
    if (sums->stream != NULL) { cudaStreamDestroy(sums->stream); }
    free(sums);
}

bool collective_nccl_arrays(struct gpt2_collective *group, struct gpt2_error *error) {
    static const struct gpt2_collective_arrays arrays = {
        begin_sum,           end_sums, sum,       true, scatter_sum, gather, collective_mpi_broadcast,
        collective_mpi_send, wait_for, close_sums};
    struct sums *sums = calloc(1, sizeof *sums);
    ncclUniqueId id = {{0}};
    ncclResult_t made = ncclSuccess;
    bool good = sums != NULL || gpt2_fail(error, "out of memory");
    group->arrays = &arrays, group->state = sums;
    if (good && group->rank == 0 && (made = ncclGetUniqueId(&id)) != ncclSuccess) {
        good = nccl_fail(made, NULL, error);
    }
    if (!gpt2_collective_agree(group, good, NULL, error) || !gpt2_collective_broadcast(group, &id, sizeof id, error)) {
        if (sums == NULL) { group->arrays = NULL; }
        return false;
    }
    cudaError_t code = cudaStreamCreateWithFlags(&sums->stream, cudaStreamNonBlocking);
    if (code == cudaSuccess) { code = cudaEventCreateWithFlags(&sums->ready, cudaEventDisableTiming); }
    if (code == cudaSuccess) { code = cudaEventCreateWithFlags(&sums->done, cudaEventDisableTiming); }
    for (int i = 0; i < 2 && code == cudaSuccess; i++) {
        code = cudaEventCreateWithFlags(&sums->marks[i], cudaEventDisableTiming);
    }
    good = code == cudaSuccess || cuda_fail(code, error);
    sums->rank = group->rank;
    const bool together = group->locals == group->ranks && getenv("NCCL_HOSTID") == NULL; /* it stands for a machine */
    group->bucket = together ? INT64_MAX : (int64_t)1 << 22;
    if (!gpt2_collective_agree(group, good, NULL, error)) { return false; }
    made = ncclCommInitRank(&sums->ranks, group->ranks, id, group->rank);
    return made == ncclSuccess || nccl_fail(made, NULL, error);
}
