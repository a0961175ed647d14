#include "score.h"

#include <stdio.h>
#include <stdlib.h>

#include "diagnose.h"
#include "lab.h"

enum { SECTOR_BYTES = 32 };

/* Every right kernel reads and writes the floor, unless products of cuBLAS do; the figure is rounded. */
static const double LEAST_MULTIPLE = 0.995;

static double traffic_bytes(const struct simt_traffic *traffic, enum traffic_unit unit) {
    if (unit == TRAFFIC_BYTES) { return (double)(traffic->load_bytes + traffic->store_bytes + traffic->atomic_bytes); }
    return (double)SECTOR_BYTES * (double)(traffic->load_sectors + traffic->store_sectors + traffic->atomic_sectors);
}

/* Rows, or a cache; small tensors have an entry per column, row or sequence. */
static bool is_large(const struct op *op, int t) {
    return op_has_rows(op, t) || op_shape_is(op, t, "N, 3C") || op_shape_is(op, t, "B, H, S, D");
}

/* Of large inputs and outputs. */
static double counted_bytes(const struct op *op, enum traffic_unit unit, const struct result *result) {
    double bytes = 0.0;
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (is_large(op, t) && op->tensor[t].role != ROLE_WORK) { bytes += traffic_bytes(&result->traffic[t], unit); }
    }
    return bytes;
}

static double small_bytes(const struct op *op, enum traffic_unit unit, const struct result *result) {
    double bytes = 0.0;
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (!is_large(op, t)) { bytes += traffic_bytes(&result->traffic[t], unit); }
    }
    return bytes;
}

static double floor_bytes(const struct op *op, const struct op_sizes *sizes) {
    double bytes = 0.0;
    for (int t = 0; t < op_tensor_count(op); t++) {
        double elements = (double)op_needed_elements(op, t, sizes);
        if (is_large(op, t)) { bytes += elements * (double)op_element_bytes(op, t, sizes->type); }
    }
    return bytes;
}

/* Of memory that is no tensor of the op: scratch, copies on the device, local arrays. */
static double other_bytes(const struct op *op, enum traffic_unit unit, const struct result *result) {
    double all = traffic_bytes(&result->counters.global, unit) + (double)result->counters.bytes_on_device;
    return all - counted_bytes(op, unit, result) - small_bytes(op, unit, result);
}

static void blame(struct outcome *outcome, const char *id) {
    const struct op_mistake *mistake = diagnosis_find(id);
    outcome->failure.kind = FAILURE_SLOW;
    outcome->failure.diagnosis = mistake->id;
    outcome->failure.cause = mistake->cause;
    outcome->failure.hint = mistake->hint;
}

/* How often each large tensor moved, and what else did: "in sectors: x read 2.00 times, out written 1.00 times, other memory
 * 0.50x the floor". Elements that the contract leaves out are not counted. */
static void describe_moves(char *text, size_t size, const struct op *op, const struct traffic_target *target,
                           const struct result *result) {
    const char *unit = target->unit == TRAFFIC_BYTES ? "bytes" : "sectors";
    size_t head = (size_t)snprintf(text, size, "in %s: ", unit), length = head;
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (!is_large(op, t) || op->tensor[t].role == ROLE_WORK) { continue; }
        const struct simt_traffic *moved = &result->traffic[t];
        struct simt_traffic read = {.load_bytes = moved->load_bytes, .load_sectors = moved->load_sectors};
        double all = traffic_bytes(moved, target->unit), reads = traffic_bytes(&read, target->unit);
        double once =
            (double)op_needed_elements(op, t, &target->sizes) * (double)op_element_bytes(op, t, target->sizes.type);
        const char *const verbs[] = {"read", "written"};
        const double times[] = {reads / once, (all - reads) / once};
        for (int way = 0; way < 2; way++) {
            if (times[way] < 0.005 || length >= size) { continue; }
            length += (size_t)snprintf(text + length, size - length, "%s%s %s %.2f times", length > head ? ", " : "",
                                       op->tensor[t].name, verbs[way], times[way]);
        }
    }
    double other = other_bytes(op, target->unit, result) / floor_bytes(op, &target->sizes);
    if (other >= 0.005 && length < size) {
        snprintf(text + length, size - length, "%sother memory %.2fx the floor", length > head ? ", " : "", other);
    }
}

/* Did sectors move more than twice the requested bytes? */
static bool is_scattered(const struct result *result) {
    const struct simt_traffic *global = &result->counters.global;
    return traffic_bytes(global, TRAFFIC_SECTORS) > 2.0 * traffic_bytes(global, TRAFFIC_BYTES);
}

double score_traffic_multiple(const struct op *op, const struct traffic_target *target, const struct result *result) {
    double all = traffic_bytes(&result->counters.global, target->unit) + (double)result->counters.bytes_on_device;
    if (target->everything) { return all / floor_bytes(op, &target->sizes); }
    if (op_is_on_sequences(op)) { return counted_bytes(op, target->unit, result) / floor_bytes(op, &target->sizes); }
    return (all - small_bytes(op, target->unit, result)) / floor_bytes(op, &target->sizes);
}

double score_parameter_multiple(const struct op *op, const struct traffic_target *target, const struct result *result) {
    return op_is_on_sequences(op) ? 0.0 : small_bytes(op, target->unit, result) / floor_bytes(op, &target->sizes);
}

/* Points and verdict of a counted figure. True: all of them. */
static bool score_tiers(struct outcome *outcome, const struct tiers *tiers, double figure) {
    int tier = 0;
    while (tier < MOST_TIERS && tiers->percent[tier] && figure > tiers->limit[tier]) { tier++; }
    int percent = tier < MOST_TIERS ? tiers->percent[tier] : 0;
    outcome->figure = figure;
    outcome->limit = tiers->limit[0];
    outcome->points = outcome->check->points * percent / 100.0;
    outcome->verdict = percent == 100 ? VERDICT_PASS : percent > 0 ? VERDICT_PARTIAL : VERDICT_FAIL;
    outcome->next_rung = tier > 0 ? tiers->rung[tier - 1] : NULL;
    return percent == 100;
}

/* The cause that the counts leave, and the counts. */
static void explain_traffic(struct outcome *outcome, const struct op *op, const struct traffic_target *target,
                            const struct result *result) {
    struct traffic_target asked = *target;
    asked.unit = TRAFFIC_BYTES;
    double limit = target->tiers.limit[0], bytes = score_traffic_multiple(op, &asked, result);
    double tensors = counted_bytes(op, TRAFFIC_BYTES, result) / floor_bytes(op, &target->sizes);
    bool scattered = target->unit == TRAFFIC_SECTORS && is_scattered(result);
    bool often = bytes > limit && (tensors > limit || op_is_on_sequences(op));
    blame(outcome, scattered        ? "uncoalesced"
                   : often          ? "too-much-traffic"
                   : bytes <= limit ? "split-sectors"
                                    : "scratch-traffic");
    if (!scattered && !often) { outcome->next_rung = NULL; } /* it is about reading rows less often */
    if (!op_is_on_sequences(op)) {
        describe_moves(outcome->failure.text, sizeof outcome->failure.text, op, target, result);
    }
}

/* Digits behind the point with which a figure above its limit also reads as one: 1.0208 is above 1.02. */
static int digits_above(double figure, double limit) {
    int digits = 2;
    char text[64];
    for (; figure > limit && digits < 9; digits++) {
        snprintf(text, sizeof text, "%.*f", digits, figure);
        if (strtod(text, NULL) > limit) { break; }
    }
    return digits;
}

void score_traffic(struct outcome *outcome, const struct result *result) {
    const struct traffic_target *target = &outcome->exercise->traffic;
    const struct op *op = op_find(outcome->exercise->op);
    const char *unit = target->unit == TRAFFIC_BYTES ? "bytes" : "sectors";
    bool reached = score_tiers(outcome, &target->tiers, score_traffic_multiple(op, target, result));
    double small = target->everything ? 0.0 : score_parameter_multiple(op, target, result);
    int length = snprintf(outcome->measured, sizeof outcome->measured, "%.*fx the floor in %s",
                          digits_above(outcome->figure, target->tiers.limit[0]), outcome->figure, unit);
    if (small >= 0.005) {
        snprintf(outcome->measured + length, sizeof outcome->measured - (size_t)length,
                 "; small tensors add %.2fx, not graded", small);
    }
    snprintf(outcome->target, sizeof outcome->target, "at most %.2fx", target->tiers.limit[0]);
    outcome->floor = floor_bytes(op, &target->sizes);
    if (outcome->figure < LEAST_MULTIPLE && result->products == 0) {
        outcome->points = 0;
        outcome->verdict = VERDICT_FAIL;
        outcome->failure.kind = FAILURE_UNCOUNTED;
        snprintf(
            outcome->failure.text, sizeof outcome->failure.text,
            "%.2fx the floor was counted, but the results need all of it: the kernel moves data that is not counted",
            outcome->figure);
        return;
    }
    if (target->everything && result->products > 0) {
        outcome->verdict = VERDICT_FAIL;
        snprintf(outcome->measured, sizeof outcome->measured,
                 "%.2fx, without the bytes of %llu library products: only kernels count", outcome->figure,
                 (unsigned long long)result->products);
        return;
    }
    if (outcome->exercise->is_open) { return; } /* no known cause keeps a kernel from the goal */
    if (!reached) { explain_traffic(outcome, op, target, result); }
}

void score_launches(struct outcome *outcome, const struct result *result) {
    const struct tiers *tiers = &outcome->exercise->launches;
    uint64_t launches = result->counters.launches;
    bool reached = score_tiers(outcome, tiers, (double)launches);
    snprintf(outcome->measured, sizeof outcome->measured, "%llu launch%s", (unsigned long long)launches,
             launches == 1 ? "" : "es");
    snprintf(outcome->target, sizeof outcome->target, "at most %g", tiers->limit[0]);
    if (!reached) { blame(outcome, "too-many-launches"); }
}

void score_barriers(struct outcome *outcome, const struct result *result) {
    const struct tiers *tiers = &outcome->exercise->barriers;
    double barriers = (double)result->counters.barriers / outcome->exercise->traffic.sizes.N;
    bool reached = score_tiers(outcome, tiers, barriers);
    snprintf(outcome->measured, sizeof outcome->measured, "%.4g for a row", barriers);
    snprintf(outcome->target, sizeof outcome->target, "at most %g", tiers->limit[0]);
    if (!reached) { blame(outcome, "too-many-barriers"); }
}

void score_parallel(struct outcome *outcome, const struct result *result) {
    const struct parallel_target *target = &outcome->exercise->parallel;
    uint64_t warps = result->counters.largest_grid_warps, chain = result->counters.longest_chain;
    bool enough = warps >= target->warps && chain <= exercise_longest_chain(outcome->exercise);
    outcome->figure = (double)warps;
    outcome->verdict = enough ? VERDICT_PASS : VERDICT_FAIL;
    outcome->points = enough ? outcome->check->points : 0.0;
    snprintf(outcome->measured, sizeof outcome->measured, "%llu warps, longest chain: %llu requests",
             (unsigned long long)warps, (unsigned long long)chain);
    snprintf(outcome->target, sizeof outcome->target, "at least %llu warps, chain at most %llu",
             (unsigned long long)target->warps, (unsigned long long)exercise_longest_chain(outcome->exercise));
    outcome->limit = (double)target->warps;
    if (!enough) { blame(outcome, warps < target->warps ? "too-few-warps" : "long-chain"); }
}

/* A class may pay more for a faster band. */
static double band_points(const struct outcome *outcome, double fraction) {
    const struct band_target *bands = &outcome->exercise->bands;
    int band = fraction >= bands->speed_of_light ? 2 : fraction >= bands->good ? 1 : 0;
    if (fraction < bands->pass) { return 0.0; }
    return bands->points[GPU_BANDS - 1] ? bands->points[band] : outcome->check->points;
}

static const char *band_name(const struct band_target *bands, double fraction) {
    return fraction >= bands->speed_of_light ? "speed of light"
           : fraction >= bands->good         ? "good"
           : fraction >= bands->pass         ? "pass"
                                             : "below the bands";
}

void score_timing(struct outcome *outcome, const struct timing *timing) {
    const struct band_target *bands = &outcome->exercise->bands;
    const struct measurement *measurement = &timing->measurement;
    bool inconclusive = timing->verdict == MEASURE_INCONCLUSIVE;
    snprintf(outcome->target, sizeof outcome->target, "bands %.2f pass, %.2f good, %.2f speed of light", bands->pass,
             bands->good, bands->speed_of_light);
    if (timing->verdict != MEASURE_OK && !inconclusive) {
        outcome->verdict = VERDICT_FAIL;
        outcome->failure.kind = FAILURE_SLOW;
        snprintf(outcome->measured, sizeof outcome->measured, "%.95s", timing->message);
        return;
    }
    double fraction = measure_fraction(measurement).median;
    bool reached = fraction >= bands->pass;
    outcome->figure = fraction;
    outcome->points = band_points(outcome, fraction);
    outcome->verdict = !reached                                   ? VERDICT_FAIL
                       : outcome->points < outcome->check->points ? VERDICT_PARTIAL
                                                                  : VERDICT_PASS;
    snprintf(outcome->measured, sizeof outcome->measured, "%.2f of a copy, %.1f us: %s%s", fraction,
             measure_op_us(measurement).median, band_name(bands, fraction), inconclusive ? " (inconclusive)" : "");
    if (!reached) { outcome->failure.kind = FAILURE_SLOW; }
}

void score_rates(struct outcome *outcome, const struct rates *rates) {
    snprintf(outcome->target, sizeof outcome->target, "shown only");
    if (!rates->is_measured) {
        outcome->verdict = VERDICT_NOT_RUN;
        snprintf(outcome->measured, sizeof outcome->measured, "%.95s", rates->reason);
        return;
    }
    outcome->verdict = VERDICT_PASS;
    outcome->figure = rates->own / rates->naive;
    snprintf(outcome->measured, sizeof outcome->measured, "%.0f tokens/s, %.2fx the naive kernels' %.0f", rates->own,
             outcome->figure, rates->naive);
}

void score_hide(struct outcome *outcome) {
    if (outcome->check->kind != CHECK_TRAFFIC && outcome->check->kind != CHECK_LAUNCHES) { return; }
    outcome->figure = outcome->limit = outcome->floor = 0.0;
    outcome->target[0] = '\0';
    snprintf(outcome->measured, sizeof outcome->measured, "figure shown once you have predicted it");
    if (outcome->failure.kind == FAILURE_SLOW) { outcome->failure.text[0] = '\0'; } /* it has figures */
}

/* ---- an exercise ---- */

static struct outcome *add(struct marks *marks, const struct exercise *exercise, const struct check *check) {
    struct outcome *outcome = &marks->outcome[marks->count++];
    *outcome = (struct outcome){.exercise = exercise, .check = check};
    return outcome;
}

/* The checks of one kind, correctness or not, that this machine has. */
static void add_all(struct marks *marks, const struct task *task, bool correctness, enum verdict verdict) {
    for (const struct check *check = task->exercise->checks; check->kind; check++) {
        bool here = task->gpu || !check_needs_gpu(check->kind);
        if (here && correctness == check_is_correctness(check->kind)) {
            add(marks, task->exercise, check)->verdict = verdict;
        }
    }
}

struct marks score_obstacle(const struct task *task) {
    struct marks marks = {0};
    add_all(&marks, task, true, VERDICT_NOT_RUN);
    add_all(&marks, task, false, VERDICT_NOT_RUN);
    marks.outcome[0].verdict = VERDICT_FAIL;
    marks.outcome[0].failure = task->obstacle;
    return marks;
}

/* One check that was run. `confirmed` may have none of that number. */
static void score_check(struct outcome *outcome, const struct checks *marked, const struct checks *confirmed, int i) {
    outcome->verdict = marked->verdict[i];
    if (outcome->verdict == VERDICT_PASS) { outcome->points = outcome->check->points; }
    if (outcome->verdict == VERDICT_FAIL) { outcome->failure = marked->failure[i]; }
    if (i >= confirmed->count || confirmed->verdict[i] != VERDICT_FAIL) { return; }
    if (outcome->failure.diagnosis && confirmed->failure[i].kind != FAILURE_FINDING) { return; }
    outcome->verdict = VERDICT_FAIL;
    outcome->points = 0.0;
    outcome->failure = confirmed->failure[i];
}

struct marks score_checks(const struct task *task, const struct checks *marked, const struct checks *confirmed) {
    struct marks marks = {0};
    enum verdict last = VERDICT_PASS;
    for (int i = 0; i < CORRECTNESS_CHECKS; i++) {
        struct outcome *outcome = add(&marks, task->exercise, &task->exercise->checks[i]);
        if (last == VERDICT_PASS) {
            score_check(outcome, marked, confirmed, i);
            last = outcome->verdict;
        } else {
            outcome->verdict = last == VERDICT_NOT_STARTED ? VERDICT_NOT_STARTED : VERDICT_NOT_RUN;
        }
    }
    return marks;
}

struct marks score_case(const struct task *task, const struct checks *marked, const struct checks *confirmed) {
    static const struct check check = {CHECK_CASE, 0};
    struct marks marks = {0};
    struct outcome *outcome = add(&marks, task->exercise, &check);
    score_check(outcome, marked, confirmed, 0);
    if (outcome->verdict == VERDICT_NOT_RUN && confirmed->count > 0) { outcome->verdict = confirmed->verdict[0]; }
    return marks;
}

bool score_is_right(const struct marks *marks) {
    for (int i = 0; i < marks->count; i++) {
        if (marks->outcome[i].verdict != VERDICT_PASS) { return false; }
    }
    return marks->count > 0;
}

/* Traffic, launches, barriers and parallelism are of one call: where it failed, the first of them says so. */
static void score_counted(struct outcome *outcome, const struct performance *performance, bool is_first) {
    if (!performance->is_counted) {
        snprintf(outcome->measured, sizeof outcome->measured, "not counted: see the note above");
    } else if (performance->failure.kind != FAILURE_NONE) {
        outcome->verdict = is_first ? VERDICT_FAIL : VERDICT_NOT_RUN;
        if (is_first) { outcome->failure = performance->failure; }
    } else if (outcome->check->kind == CHECK_TRAFFIC) {
        score_traffic(outcome, &performance->counted);
    } else if (outcome->check->kind == CHECK_LAUNCHES) {
        score_launches(outcome, &performance->counted);
    } else if (outcome->check->kind == CHECK_BARRIERS) {
        score_barriers(outcome, &performance->counted);
    } else {
        score_parallel(outcome, &performance->counted);
    }
}

static void score_shown(struct outcome *outcome, const struct task *task, const struct performance *performance,
                        bool is_first) {
    if (!check_needs_gpu(outcome->check->kind)) {
        score_counted(outcome, performance, is_first);
        bool has_figure = performance->is_counted && performance->failure.kind == FAILURE_NONE;
        if (has_figure && !task->shows_figures) { score_hide(outcome); }
    } else if (!task->shows_figures) {
        outcome->verdict = VERDICT_WAITING;
        snprintf(outcome->measured, sizeof outcome->measured, "measured once you have predicted");
    } else if (outcome->check->kind == CHECK_BAND) {
        score_timing(outcome, &performance->timing);
    } else {
        score_rates(outcome, &performance->rates);
    }
}

void score_performance(struct marks *marks, const struct task *task, const struct performance *performance) {
    bool not_started = marks->outcome[marks->count - 1].verdict == VERDICT_NOT_STARTED;
    int first = marks->count;
    add_all(marks, task, false, not_started ? VERDICT_NOT_STARTED : VERDICT_NOT_RUN);
    for (int i = first; performance && i < marks->count; i++) {
        score_shown(&marks->outcome[i], task, performance, i == first);
    }
}

/* ---- a step ---- */

void score_total(struct report *report) {
    report->points = report->points_max = 0.0;
    for (int i = 0; i < report->outcome_count; i++) {
        report->points += report->outcomes[i].points;
        report->points_max += report->outcomes[i].check->points;
    }
}

bool score_is_full(const struct report *report) {
    for (int i = 0; i < report->outcome_count; i++) {
        const struct outcome *outcome = &report->outcomes[i];
        if (outcome->points < outcome->check->points) { return false; }
        if (report->points_max == 0.0 && outcome->verdict != VERDICT_PASS) { return false; }
    }
    return report->outcome_count > 0;
}
