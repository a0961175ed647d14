/* score.h — from counted figures and verdicts to points. Pure functions. */
#ifndef SCORE_H
#define SCORE_H

#include "grader.h"

/* Counted traffic of the call in multiples of the floor. All global traffic counts, scratch memory as well; of the
 * op's own tensors those that are not (N, C) are small, re-read from caches, and left out. */
double score_traffic_multiple(const struct op *op, const struct traffic_target *target, const struct result *result);

/* The small tensors' traffic in the same unit, in multiples of the floor: reported, not graded. */
double score_parameter_multiple(const struct op *op, const struct traffic_target *target, const struct result *result);

/* Fills points, verdict, figure and texts of a launches outcome. */
void score_launches(struct outcome *outcome, const struct result *result);

/* Fills verdict, points, figure, measured and target of an outcome whose exercise and check are set. */
void score_traffic(struct outcome *outcome, const struct result *result);
void score_parallel(struct outcome *outcome, const struct result *result);

/* Traffic before the learner's prediction: verdict and points stay, the figure and its target would give the answer. */
void score_hide(struct outcome *outcome);

/* Sums points and points_max of a report. Optional exercises have checks of 0 points. */
void score_total(struct report *report);

/* True when every outcome that carries points has all of them; where none does (track B alone), when all pass. */
bool score_is_full(const struct report *report);

#endif
