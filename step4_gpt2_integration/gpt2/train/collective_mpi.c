/* collective_mpi.c — collective.h over MPI: starting, waiting, what hosts exchange, and sums of arrays in the processor's
 * memory.
 *
 * A sum begins as a non-blocking MPI_Iallreduce. Open MPI has no thread of its own for it: it advances whenever this process
 * calls MPI, so each new bucket also moves the ones before it, and the rest is done in end_sums. */
#define _GNU_SOURCE
#include "gpt2/train/collective.h"

#include <cuda_runtime_api.h>
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool mpi_fail(int code, const char *what, struct gpt2_error *error) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return gpt2_fail(error, "%s failed: %s", what, text);
}

#define TRY_MPI(call, what)                                                    \
    do {                                                                       \
        int code_ = (call);                                                    \
        if (code_ != MPI_SUCCESS) { return mpi_fail(code_, (what), (error)); } \
    } while (0)

/* ---- the ranks ---- */

bool collective_mpi_open(struct gpt2_collective *group, struct gpt2_error *error) {
    int provided = 0;
    MPI_Comm here = MPI_COMM_NULL;
    TRY_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &group->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &group->ranks);
    TRY_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, group->rank, MPI_INFO_NULL, &here),
            "MPI_Comm_split_type");
    MPI_Comm_rank(here, &group->local);
    MPI_Comm_size(here, &group->locals);
    MPI_Comm_free(&here);
    return true;
}

/* ---- waits with a limit ----
 *
 * A rank that has waited for half of the limit tells all others the number of its wait. So does one that then begins the same
 * wait, also if it has no limit itself. At the end of the limit, those that have told nothing are not there.
 *
 * A process that is stopped makes no calls. So a long time between two calls does not count: after Ctrl-Z and fg, no rank has
 * waited. */

enum { TELL = 1 };    /* a tag */
enum { STOPPED = 1 }; /* seconds between two calls */

static struct {
    double limit;   /* seconds; 0: none */
    double usual;   /* the latest other limit */
    int64_t number; /* of this rank's waits since the first limit */
    int rank, ranks;
    int64_t *told; /* (ranks) the number of the latest wait that each has told */
} waits;

void collective_mpi_limit(double limit) {
    waits.limit = limit;
    if (limit <= 0.0) { return; }
    waits.usual = limit;
    if (waits.told != NULL) { return; }
    MPI_Comm_rank(MPI_COMM_WORLD, &waits.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &waits.ranks);
    waits.told = calloc((size_t)waits.ranks, sizeof *waits.told);
    if (waits.told == NULL) { waits.limit = 0.0; }
}

struct collective_wait collective_mpi_begin_wait(void) {
    if (waits.told != NULL) { waits.number++; }
    return (struct collective_wait){.latest = MPI_Wtime()};
}

static double count_time(struct collective_wait *wait) {
    const double now = MPI_Wtime(), since = now - wait->latest;
    wait->latest = now;
    if (since < STOPPED) { wait->waited += since; }
    return wait->waited;
}

static void hear(void) {
    int there = 1;
    while (there) {
        MPI_Status status;
        int64_t number = 0;
        if (MPI_Iprobe(MPI_ANY_SOURCE, TELL, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there) { return; }
        MPI_Recv(&number, 1, MPI_INT64_T, status.MPI_SOURCE, TELL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        waits.told[status.MPI_SOURCE] = number;
    }
}

static bool was_told(void) {
    bool told = false;
    for (int r = 0; r < waits.ranks; r++) { told |= waits.told[r] >= waits.number; }
    return told;
}

bool collective_mpi_waits(struct collective_wait *wait, struct gpt2_error *error) {
    const struct timespec pause = {.tv_nsec = 20000};
    const double waited = count_time(wait);
    if (waited < (wait->works ? 0.05 : 1e-3)) { /* a pause would delay the next step */
        sched_yield();
        return true;
    }
    nanosleep(&pause, NULL);
    if (waits.told == NULL) { return true; }
    hear();
    if (!wait->told && (waited > waits.usual / 2.0 || was_told())) {
        wait->told = true;
        for (int r = 0; r < waits.ranks; r++) {
            if (r != waits.rank) { MPI_Send(&waits.number, 1, MPI_INT64_T, r, TELL, MPI_COMM_WORLD); }
        }
    }
    if (waits.limit <= 0.0 || waited <= waits.limit) { return true; }
    char missing[200] = "";
    for (int r = 0; r < waits.ranks; r++) {
        size_t used = strlen(missing);
        if (r == waits.rank || waits.told[r] >= waits.number) { continue; }
        snprintf(missing + used, sizeof missing - used, "%s%d", used > 0 ? ", " : "", r);
    }
    if (missing[0] == '\0' && wait->works) { return true; }
    return gpt2_fail(error, "waited %.0f s for rank %s of %d (--rank-timeout)", waits.limit,
                     missing[0] != '\0' ? missing : "unknown", waits.ranks);
}

static bool wait_all(int count, MPI_Request *requests, const char *what, struct gpt2_error *error) {
    struct collective_wait wait = collective_mpi_begin_wait();
    int done = 0;
    for (;;) {
        TRY_MPI(MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE), what);
        if (done) { return true; }
        if (!collective_mpi_waits(&wait, error)) { return false; }
    }
}

void collective_mpi_close(void) {
    free(waits.told);
    MPI_Finalize();
}

/* ---- what hosts exchange ---- */

bool collective_mpi_broadcast(void *bytes, size_t size, struct gpt2_error *error) {
    MPI_Request request;
    TRY_MPI(MPI_Ibcast(bytes, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD, &request), "MPI_Ibcast");
    return wait_all(1, &request, "MPI_Ibcast", error);
}

bool collective_mpi_gather(const void *bytes, size_t size, void *all, struct gpt2_error *error) {
    MPI_Request request;
    TRY_MPI(MPI_Iallgather(bytes, (int)size, MPI_BYTE, all, (int)size, MPI_BYTE, MPI_COMM_WORLD, &request),
            "MPI_Iallgather");
    return wait_all(1, &request, "MPI_Iallgather", error);
}

bool collective_mpi_send(int rank, int from, void *bytes, size_t size, struct gpt2_error *error) {
    if (rank == from) {
        TRY_MPI(MPI_Send(bytes, (int)size, MPI_BYTE, 0, 0, MPI_COMM_WORLD), "MPI_Send");
        return true;
    }
    MPI_Request request;
    TRY_MPI(MPI_Irecv(bytes, (int)size, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request), "MPI_Irecv");
    struct collective_wait wait = {.latest = MPI_Wtime()};
    for (int done = 0; !done;) {
        TRY_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Irecv");
        if (!done && waits.limit > 0.0 && count_time(&wait) > waits.limit) {
            return gpt2_fail(error, "waited %.0f s for rank %d of %d (--rank-timeout)", waits.limit, from, waits.ranks);
        }
    }
    return true;
}

void collective_mpi_abort(void) {
    MPI_Abort(MPI_COMM_WORLD, 2);
    abort();
}

/* ---- sums of arrays ---- */

struct sums {
    MPI_Request *requests;
    int count, most;
    int rank;
    float *
        room; /* (room_count) of a scatter_sum, as MPI writes no sum into the row from which it reads; or of a sum in 16 bits */
    int64_t room_count;
};

static float *room_for(struct sums *sums, int64_t count, struct gpt2_error *error) {
    if (count > sums->room_count) {
        free(sums->room);
        sums->room = malloc((size_t)count * sizeof *sums->room);
        sums->room_count = sums->room != NULL ? count : 0;
    }
    if (sums->room == NULL) { gpt2_fail(error, "out of memory for a sum"); }
    return sums->room;
}

static bool begin_part(struct sums *sums, float *x, int count, struct gpt2_error *error) {
    if (sums->count == sums->most) {
        int most = sums->most > 0 ? 2 * sums->most : 32;
        MPI_Request *larger = realloc(sums->requests, (size_t)most * sizeof *larger);
        if (larger == NULL) { return gpt2_fail(error, "out of memory"); }
        sums->requests = larger, sums->most = most;
    }
    TRY_MPI(MPI_Iallreduce(MPI_IN_PLACE, x, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &sums->requests[sums->count]),
            "MPI_Iallreduce");
    sums->count++;
    return true;
}

static bool begin_sum(void *state, float *x, int64_t count, void *stream, struct gpt2_error *error) {
    const int64_t most = (int64_t)1 << 28; /* MPI counts in int */
    struct sums *sums = state;
    int done = 0;
    cudaError_t code = cudaStreamSynchronize(stream);
    if (code != cudaSuccess) { return gpt2_fail(error, "the pass failed: %s", cudaGetErrorString(code)); }
    for (int64_t at = 0; at < count; at += most) {
        if (!begin_part(sums, x + at, (int)(count - at < most ? count - at : most), error)) { return false; }
    }
    TRY_MPI(MPI_Testall(sums->count, sums->requests, &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (done) { sums->count = 0; }
    return true;
}

static bool end_sums(void *state, void *stream, struct gpt2_error *error) {
    struct sums *sums = state;
    int count = sums->count;
    (void)stream;
    sums->count = 0;
    return wait_all(count, sums->requests, "MPI_Iallreduce", error);
}

static bool wait_for(void *state, void *stream, struct gpt2_error *error) {
    (void)state;
    cudaError_t code = cudaStreamSynchronize(stream);
    return code == cudaSuccess || gpt2_fail(error, "the device failed: %s", cudaGetErrorString(code));
}

/* MPI has no type of 16 bits: such arrays are summed in fp32, and rounded alike on all ranks. */
static bool sum(void *state, void *x, int64_t count, enum gpt2_type type, void *stream, struct gpt2_error *error) {
    struct sums *sums = state;
    MPI_Request request;
    if (!wait_for(state, stream, error)) { return false; }
    float *values = type == GPT2_F32 ? x : room_for(sums, count, error);
    if (values == NULL) { return false; }
    if (count > INT_MAX) { return gpt2_fail(error, "a sum of %lld elements is too large for MPI", (long long)count); }
    if (type != GPT2_F32) { gpt2_convert(values, GPT2_F32, x, type, (size_t)count); }
    TRY_MPI(MPI_Iallreduce(MPI_IN_PLACE, values, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request),
            "MPI_Iallreduce");
    if (!wait_all(1, &request, "MPI_Iallreduce", error)) { return false; }
    if (type != GPT2_F32) { gpt2_convert(x, type, values, GPT2_F32, (size_t)count); }
    return true;
}

static bool scatter_sum(void *state, float *x, int64_t part, void *stream, struct gpt2_error *error) {
    struct sums *sums = state;
    MPI_Request request;
    if (!wait_for(state, stream, error)) { return false; }
    if (part > INT_MAX) { return gpt2_fail(error, "a part of %lld elements is too large for MPI", (long long)part); }
    float *own = room_for(sums, part, error);
    if (own == NULL) { return false; }
    TRY_MPI(MPI_Ireduce_scatter_block(x, own, (int)part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request),
            "MPI_Ireduce_scatter_block");
    if (!wait_all(1, &request, "MPI_Ireduce_scatter_block", error)) { return false; }
    memcpy(x + sums->rank * part, own, (size_t)part * sizeof *x);
    return true;
}

static bool gather(void *state, void *x, size_t bytes, void *stream, struct gpt2_error *error) {
    if (!wait_for(state, stream, error)) { return false; }
    if (bytes > INT_MAX) { return gpt2_fail(error, "a part of %zu bytes is too large for MPI", bytes); }
    MPI_Request request;
    TRY_MPI(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, x, (int)bytes, MPI_BYTE, MPI_COMM_WORLD, &request),
            "MPI_Iallgather");
    return wait_all(1, &request, "MPI_Iallgather", error);
}

static void close_sums(void *state) {
    struct sums *sums = state;
    free(sums->requests);
    free(sums->room);
    free(sums);
}

bool collective_mpi_arrays(struct gpt2_collective *group, struct gpt2_error *error) {
    static const struct gpt2_collective_arrays arrays = {
        begin_sum,           end_sums, sum,       false, scatter_sum, gather, collective_mpi_broadcast,
        collective_mpi_send, wait_for, close_sums};
    struct sums *sums = calloc(1, sizeof *sums);
    if (sums == NULL) { return gpt2_fail(error, "out of memory"); }
    sums->rank = group->rank;
    group->state = sums;
    group->arrays = &arrays;
    group->bucket = (int64_t)1 << 22;
    return true;
}
