/* score.h — the last stage before the report: from what was shown and counted to verdicts and points. Pure functions. */
#ifndef SCORE_H
#define SCORE_H

#include "run.h"

/* Counted traffic of the call in multiples of the floor. All global traffic counts, including scratch. The op's
 * small tensors, those that are not (N, C), are re-read from caches and left out. */
double score_traffic_multiple(const struct op *op, const struct traffic_target *target, const struct result *result);

/* The small tensors' traffic in the same unit, in multiples of the floor: reported, not graded. */
double score_parameter_multiple(const struct op *op, const struct traffic_target *target, const struct result *result);

/* ---- an exercise ---- */

struct marks {
    int count;
    struct outcome outcome[EXERCISE_MAX_CHECKS];
};

/* Nothing could be called: the first check fails so, and the others are not run. */
struct marks score_obstacle(const struct task *task);

/* Points for correctness. `confirmed`: the same checks on the CPU backend, after a GPU has marked. A race that the GPU did not
 * show fails the exercise all the same, so that the mark does not depend on the machine. A failure without a diagnosis, or
 * a skeleton that seems not started, gives way to what the CPU backend's checks say. */
struct marks score_checks(const struct task *task, const struct checks *marked, const struct checks *confirmed);

/* All checks so far have passed. */
/* One call that was made again. */
struct marks score_case(const struct task *task, const struct checks *marked, const struct checks *confirmed);

bool score_is_right(const struct marks *marks);

/* Adds the outcomes of the other checks: of an exercise that is right, by its performance; without one (NULL), not run. */
void score_performance(struct marks *marks, const struct task *task, const struct performance *performance);

/* ---- one check: fills points, verdict, figure and texts of an outcome whose exercise and check are set ---- */

void score_traffic(struct outcome *outcome, const struct result *result);
void score_launches(struct outcome *outcome, const struct result *result);
void score_barriers(struct outcome *outcome, const struct result *result);
void score_parallel(struct outcome *outcome, const struct result *result);
void score_timing(struct outcome *outcome, const struct timing *timing);
void score_rates(struct outcome *outcome, const struct rates *rates);

/* Traffic and launches before the learner's prediction: verdict and points stay; figure and target, which would give the
 * answer, are hidden. */
void score_hide(struct outcome *outcome);

/* ---- a step ---- */

/* Sums points and points_max of a report. Optional exercises have checks of 0 points. */
void score_total(struct report *report);

/* True when every outcome that carries points has all of them; where none does (track B alone), when all pass. */
bool score_is_full(const struct report *report);

#endif
