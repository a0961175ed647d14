/* timing.h — times one launcher against a copy of the same footprint on a GPU, so that caching gains nothing:
 *
 *   every launch of a batch has a set of tensors of its own, filled before the batch. No input is in the cache
 *   (together, the sets are four times the L2, if memory allows), and no result can be kept from an earlier call;
 *   a batch is a CUDA graph of many launches, so the time is the kernels', not the CPU's. A launcher that cannot be
 *   captured is called directly, and the result says so;
 *   the device is synchronised before the last event, so work on other streams counts;
 *   the L2's persistence is reset before each batch.
 *
 * Used by the grader's JOB_TIME (time_job.cu) and by bench.cu. Functions return a cudaError_t, or the launcher's
 * status.
 */
#ifndef TIMING_H
#define TIMING_H

#include <cuda_runtime_api.h>

#include "copy.h"
#include "launchers.h"
#include "protocol.h"

/* Launch i works on set i. */
struct batch {
    cudaGraphExec_t graph; /* null: direct launches */
    int launches;
};

struct timing {
    const struct op *op;
    struct op_sizes sizes;
    int rung;
    launcher *function;
    cudaStream_t stream;
    cudaEvent_t start, end, all_done;
    int sets;
    size_t stride[OP_MAX_TENSORS]; /* bytes from one set's tensor to the next set's */
    char *tensor[OP_MAX_TENSORS];  /* of set 0; the others follow */
    char *scratch;                 /* a copy writes here if the op has no output with rows; at least 16 bytes */
    int reads, writes;             /* streams of the copy: see copy.h */
    double l2_bytes, set_bytes, peak_bytes_per_us;
    int copy_variant;
    struct batch op_batch, copy_batch;
};

/* Allocates the sets and chooses the best copy; no code of the lab runs. */
int timing_open(struct timing *t, const struct op *op, const struct op_sizes *sizes, int launches);
/* Decides how to launch the rung. `launches` 0: as many as take about 5 ms, and at least 50 if memory allows that many
 * sets. */
int timing_set_rung(struct timing *t, int rung, int launches);

/* Fills the inputs from the seed, poisons the outputs, zeroes the accumulated ones. */
int timing_prepare(struct timing *t, uint64_t seed);
/* One batch; microseconds per launch. */
int timing_op(struct timing *t, double *us);
int timing_copy(struct timing *t, double *us);
/* Rows of the outputs of one set, in their own types (see job.h, job_sample_bytes). */
int timing_sample(struct timing *t, int set, const int *rows, int row_count, char *data);
void timing_close(struct timing *t);

#endif
