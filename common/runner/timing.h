/* timing.h — times one launcher against a copy of the same footprint on a GPU, honestly:
 *
 *   every launch of a batch has a set of tensors of its own, made anew before the batch: nothing is in the cache (the sets
 *   are four times the L2 together, where memory allows), and no result can be kept from an earlier call;
 *   a batch is a CUDA graph of many launches, so the time is the kernels', not the CPU's; where the launcher cannot be
 *   captured it is called directly and the figure says so; the device is synchronised before the last event is taken,
 *   so work on other streams counts; and the L2's persistence is reset before each batch.
 *
 * Used by the grader's JOB_TIME (time_job.cu) and by bench.cu. Functions return a cudaError_t, or the launcher's status.
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
    char *tensor[OP_MAX_TENSORS];  /* set 0's; the others follow */
    char *scratch;                 /* where a copy writes when the op has no output of rows; at least 16 bytes */
    int reads, writes;             /* streams of the copy: see copy.h */
    double l2_bytes, set_bytes, peak_bytes_per_us;
    int copy_variant;
    struct batch op_batch, copy_batch;
};

/* Allocates the sets and finds out how to launch; `launches` 0: as many as take about 5 ms, at least 50
 * where memory allows so many sets. */
int timing_open(struct timing *t, const struct op *op, const struct op_sizes *sizes, int rung, int launches);
/* Allocates and sweeps the copies; they need the sets. */
int timing_open_copy(struct timing *t);
/* The same sets, another rung of the same ladder. */
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
