/* measure.h — GPU times that cannot be faked: the op beside the best copy of the same footprint, in the same run.
 *
 * A sample is one batch: the op's time per launch and the copy's, by events, and the parent's own wall clock over the op's
 * batch. The figure is copy time / op time: 1.0 means as fast as a copy that moves the same bytes. The judging functions
 * are pure, so that they are tested without a GPU; measure_run() holds the dialogue with a runner.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include "job.h"

enum { MEASURE_MIN_SAMPLES = 10, MEASURE_MAX_SAMPLES = 64 };

struct measure_sample {
    double op_us, copy_us;       /* per launch, by the child's events */
    double wall_us;              /* the op's whole batch, by the parent's clock */
    double copy_wall_us;         /* the copy's */
    double prepare_wall_us;      /* making the inputs */
    int launches, copy_launches; /* in a batch */
};

struct measurement {
    int count;
    struct measure_sample sample[MEASURE_MAX_SAMPLES];
    double bytes;             /* the op's byte floor */
    double peak_bytes_per_us; /* the memory's theoretical bandwidth; 0: unknown */
    double l2_bytes;          /* of the device */
    double set_bytes;         /* of all sets of a batch together */
    double quiet_prepare_us;  /* prepare_wall_us and copy_wall_us before any code of the lab ran; 0: unknown */
    double quiet_copy_us;
    double quiet_start_us; /* what a batch then took longer by the parent's clock than by the events */
};

struct quartiles {
    double low, median, high, minimum;
};

enum measure_verdict {
    MEASURE_OK,
    MEASURE_MORE,         /* fewer than ten samples, or not stable: take more */
    MEASURE_INCONCLUSIVE, /* the quartiles straddle the band's edge even after measuring again */
    MEASURE_CLOCKS,       /* the parent's clock and the child's events disagree: no performance marks */
    MEASURE_DISTURBED,    /* what is not the op takes longer than before the lab's code ran: no performance marks */
    MEASURE_IMPOSSIBLE,   /* above the memory's theoretical bandwidth after credit for L2: no performance marks */
    MEASURE_WRONG_OUTPUT, /* a sampled output of a timed call was wrong: no performance marks */
    MEASURE_FAILED,       /* the runner failed: runner->child.message or the result's error */
};

struct quartiles measure_quartiles(const double *values, int count);
/* Of copy_us / op_us over the samples. */
struct quartiles measure_fraction(const struct measurement *measurement);
struct quartiles measure_op_us(const struct measurement *measurement);
struct quartiles measure_copy_us(const struct measurement *measurement);
/* Standard deviation / mean of the op's times. */
double measure_relative_deviation(const struct measurement *measurement);
/* Relative deviation < 0.5 %, or the median stable over the last half, with ten samples or more. */
bool measure_stable(const struct measurement *measurement);
/* The parent's clock agrees with the child's to 2 %, besides what a batch of copies takes to start. */
bool measure_clocks_agree(const struct measurement *measurement);
/* Making inputs or copying takes longer, by the parent's clock, than before the lab's code ran: work is done outside the timed
 * calls, or the copy is slowed. */
bool measure_disturbed(const struct measurement *measurement);
/* True when the bytes that must come from memory could not have come in that time. */
bool measure_impossible(const struct measurement *measurement);
/* The fraction against the edge of a band: +1 both quartiles at or above, -1 both below, 0 straddling. */
int measure_side(const struct measurement *measurement, double edge);
/* The verdict on these samples, from all of the above. `edges`: band edges, ascending; `again`: measured again already. */
enum measure_verdict measure_judge(const struct measurement *measurement, const double *edges, int edge_count,
                                   bool again);

/* One sentence for the report. */
const char *measure_explain(enum measure_verdict verdict);

/* Checks rows of a timed call: regenerate inputs with common/runner/generate.h. `data` as runner_time_sample gives it;
 * `calls` = how often this set was called since its outputs were prepared (1; for accumulated outputs). False: wrong. */
typedef bool measure_check(void *context, const struct op *op, const struct op_sizes *sizes, uint64_t seed, int set,
                           int calls, const int *rows, int row_count, const void *data);

struct measure_options {
    const struct op *op;
    struct op_sizes sizes;
    int rung;
    int launches;        /* per batch, ≥ 50; 0: chosen so that a batch takes about 5 ms, at least 50 */
    const double *edges; /* band edges of the figure, ascending */
    int edge_count;
    double wall_seconds;  /* give up after; 0: 20 s */
    measure_check *check; /* NULL: outputs are not checked */
    void *context;
};

enum measure_verdict measure_run(struct runner *runner, const struct measure_options *options,
                                 struct measurement *measurement, struct result *result, char *message, size_t size);

#endif
