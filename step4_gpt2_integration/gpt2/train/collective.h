/* collective.h — the ranks that train or run one model together: how they find one another, agree, and add up arrays. C17 and
 * C++.
 *
 *     struct gpt2_collective group;
 *     gpt2_collective_open(&group, error);                     one rank, or those that mpirun or srun has started
 *     gpt2_collective_use_device(&group, error);               this rank's device; then arrays on it can be summed
 *     group.arrays->begin_sum(group.state, x, count, stream, error);     in the backward pass, for each bucket of gradients
 *     group.arrays->end_sums(group.state, stream, error);                before the update
 *     gpt2_collective_agree(&group, good, &loss, error);       all ranks go on, or none
 *
 * MPI starts the ranks and carries what the hosts exchange (collective_mpi.c). Arrays on devices have two implementations: NCCL
 * on GPUs (collective_nccl.c) and MPI on the CPU backend. Every rank makes the same calls in the same order; each waits for the
 * others.
 */
#ifndef GPT2_COLLECTIVE_H
#define GPT2_COLLECTIVE_H

#ifdef __cplusplus
extern "C" {
#endif

#include <stddef.h>
#include <stdint.h>

#include "gpt2/error.h"
#include "gpt2/formats/number.h"

/* Operations on arrays on the device, in place. stream: a cudaStream_t. */
struct gpt2_collective_arrays {
    /* Begins the sum of x (count) over all ranks when the work that the stream has so far is complete. Does not wait. Nothing
     * may use x before end_sums. The order of the additions depends on count and ranks alone (with NCCL also on version and
     * topology). */
    bool (*begin_sum)(void *state, float *x, int64_t count, void *stream, struct gpt2_error *error);
    /* Work that the stream gets after this call sees the sums. */
    bool (*end_sums)(void *state, void *stream, struct gpt2_error *error);
    /* In the order of the stream. x (count) becomes its sum over all ranks, with the same bits on all of them. */
    bool (*sum)(void *state, void *x, int64_t count, enum gpt2_type type, void *stream, struct gpt2_error *error);
    bool sum_is_recorded; /* a CUDA graph may record it */
    /* In the order of the stream. x (ranks, part): row `rank` becomes its sum over all ranks, the other rows stay. */
    bool (*scatter_sum)(void *state, float *x, int64_t part, void *stream, struct gpt2_error *error);
    /* In the order of the stream. x (ranks, bytes): each rank gets row r from rank r. */
    bool (*gather)(void *state, void *x, size_t bytes, void *stream, struct gpt2_error *error);
    /* On the host: rank 0's bytes to all others; the bytes of rank `from`, which is not 0, to rank 0. Both of the two call
     * `send`, `rank` is the caller's. */
    bool (*broadcast)(void *bytes, size_t size, struct gpt2_error *error);
    bool (*send)(int rank, int from, void *bytes, size_t size, struct gpt2_error *error);
    /* Waits for all work of the stream. False also when another rank is lost, or does not come within the limit. */
    bool (*wait)(void *state, void *stream, struct gpt2_error *error);
    void (*close)(void *state);
};

struct gpt2_collective {
    int rank, ranks;                             /* this process is number `rank`, from 0, of `ranks` */
    int local, locals;                           /* the same among those on this machine */
    char host[64];                               /* this machine's name */
    const struct gpt2_collective_arrays *arrays; /* NULL with one rank */
    void *state;                                 /* for its functions */
    int64_t bucket; /* the fewest elements whose sum is worth beginning beside the backward pass */
};

/* The number of processes that a launcher (mpirun, srun) says that it has started, from its environment; 1: no launcher. */
int gpt2_collective_launched(void);

/* The number of this machine's GPUs that the program can see; 0: the CPU backend. */
int gpt2_collective_devices(void);

/* One rank without a launcher. Else joins the others. False: this gpt2 is built without MPI, or its MPI does not find the
 * others. The error's text is then empty on all processes but one. */
bool gpt2_collective_open(struct gpt2_collective *group, struct gpt2_error *error);
void gpt2_collective_close(struct gpt2_collective *group); /* may be called on an all-zero struct */

/* Chooses the device of this rank, before its first use: on a machine with several, the one of the rank's number there. On the
 * CPU backend it divides the cores among the ranks that may run on them. Then opens the arrays' functions. */
bool gpt2_collective_use_device(struct gpt2_collective *group, struct gpt2_error *error);

/* Sends rank 0's bytes to the others. size: the same on all ranks. */
bool gpt2_collective_broadcast(const struct gpt2_collective *group, void *bytes, size_t size, struct gpt2_error *error);

/* all (ranks, size) = the bytes of every rank. */
bool gpt2_collective_gather(const struct gpt2_collective *group, const void *bytes, size_t size, void *all,
                            struct gpt2_error *error);

/* From here on, a wait of this rank for others that lasts longer than this is an error that names them. 0: no limit, as at the
 * start. All ranks set their first limit in the same place. Time in which this rank's own device works, or in which this
 * process is stopped, does not count. */
void gpt2_collective_limit(const struct gpt2_collective *group, double seconds);

/* True on all ranks when `good` is true on all of them. Otherwise false on all, with the message of the lowest rank where it is
 * not, which is named unless it is rank 0. sum: NULL, or a number that is replaced by its sum in the order of the ranks. */
bool gpt2_collective_agree(const struct gpt2_collective *group, bool good, double *sum, struct gpt2_error *error);

/* Have all ranks the same hashes (count)? False on all ranks where not: the message has `names` of the first hash that differs,
 * and the ranks that differ from most. */
bool gpt2_collective_same(const struct gpt2_collective *group, const uint64_t *hashes, const char *const *names,
                          int count, struct gpt2_error *error);

/* For a failure of this rank alone while others may wait for it: prints the message, names the rank, and ends all ranks with
 * status 2. */
void gpt2_collective_abort(const struct gpt2_collective *group, const struct gpt2_error *error)
    __attribute__((noreturn));

/* ---- the implementations ---- */

/* collective_mpi.c; collective_alone.c where there is no MPI to build with. */
bool collective_mpi_open(struct gpt2_collective *group, struct gpt2_error *error);
void collective_mpi_close(void);
bool collective_mpi_broadcast(void *bytes, size_t size, struct gpt2_error *error);
bool collective_mpi_gather(const void *bytes, size_t size, void *all, struct gpt2_error *error);
bool collective_mpi_send(int rank, int from, void *bytes, size_t size, struct gpt2_error *error);
void collective_mpi_abort(void) __attribute__((noreturn));

/* A wait for other ranks, in the same order on all of them. Begin it, then call collective_mpi_waits until the wait is over:
 * false is the end of the limit, and the message names the ranks that are not there. */
struct collective_wait {
    double latest; /* when collective_mpi_waits was last called */
    double waited; /* seconds */
    bool told;     /* have the others been told that this rank waits? */
    bool works;    /* also for this rank's own device: it does not end while all ranks wait */
};
void collective_mpi_limit(double seconds);
struct collective_wait collective_mpi_begin_wait(void);
bool collective_mpi_waits(struct collective_wait *wait, struct gpt2_error *error);
bool collective_mpi_arrays(struct gpt2_collective *group, struct gpt2_error *error);

/* collective_nccl.c, where BACKEND=cuda and nccl.h is there. */
bool collective_nccl_arrays(struct gpt2_collective *group, struct gpt2_error *error);

#ifdef __cplusplus
}
#endif

#endif
