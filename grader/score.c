#include "score.h"

#include <stdio.h>

#include "diagnose.h"
#include "lab.h"

enum { SECTOR_BYTES = 32 };

static double traffic_bytes(const struct simt_traffic *traffic, enum traffic_unit unit) {
    if (unit == TRAFFIC_BYTES) { return (double)(traffic->load_bytes + traffic->store_bytes + traffic->atomic_bytes); }
    return (double)SECTOR_BYTES * (double)(traffic->load_sectors + traffic->store_sectors + traffic->atomic_sectors);
}

/* Tensors whose bytes make the figure; of a wiring's also no room to work in, and no launch of others beside them. */
static bool is_counted(const struct op *op, int t) {
    bool large = op_shape_is(op, t, "N, C") || op_shape_is(op, t, "N, 3C") || op_shape_is(op, t, "B, H, S, D");
    return op_is_wiring(op) ? large && op->tensor[t].role != ROLE_WORK : op_has_rows(op, t);
}

static double counted_bytes(const struct op *op, enum traffic_unit unit, const struct result *result) {
    double bytes = 0.0;
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (is_counted(op, t)) { bytes += traffic_bytes(&result->traffic[t], unit); }
    }
    return bytes;
}

static double small_bytes(const struct op *op, enum traffic_unit unit, const struct result *result) {
    double bytes = 0.0;
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (!is_counted(op, t)) { bytes += traffic_bytes(&result->traffic[t], unit); }
    }
    return bytes;
}

static double floor_bytes(const struct op *op, const struct op_sizes *sizes) {
    double bytes = 0.0;
    for (int t = 0; t < op_tensor_count(op); t++) {
        double elements = (double)op_needed_elements(op, t, sizes);
        if (is_counted(op, t)) { bytes += elements * (double)op_element_bytes(op, t, sizes->type); }
    }
    return bytes;
}

static void blame(struct outcome *outcome, const char *id) {
    const struct op_mistake *mistake = diagnosis_find(id);
    outcome->failure.kind = FAILURE_SLOW;
    outcome->failure.diagnosis = mistake->id;
    outcome->failure.cause = mistake->cause;
    outcome->failure.hint = mistake->hint;
}

/* More than twice the bytes asked for were moved in sectors. */
static bool is_scattered(const struct result *result) {
    const struct simt_traffic *global = &result->counters.global;
    return traffic_bytes(global, TRAFFIC_SECTORS) > 2.0 * traffic_bytes(global, TRAFFIC_BYTES);
}

double score_traffic_multiple(const struct op *op, const struct traffic_target *target, const struct result *result) {
    if (op_is_wiring(op)) { return counted_bytes(op, target->unit, result) / floor_bytes(op, &target->sizes); }
    double all = traffic_bytes(&result->counters.global, target->unit) + (double)result->counters.bytes_on_device;
    return (all - small_bytes(op, target->unit, result)) / floor_bytes(op, &target->sizes);
}

double score_parameter_multiple(const struct op *op, const struct traffic_target *target, const struct result *result) {
    return op_is_wiring(op) ? 0.0 : small_bytes(op, target->unit, result) / floor_bytes(op, &target->sizes);
}

void score_traffic(struct outcome *outcome, const struct result *result) {
    const struct traffic_target *target = &outcome->exercise->traffic;
    const struct op *op = op_find(outcome->exercise->op);
    const char *unit = target->unit == TRAFFIC_BYTES ? "bytes" : "sectors";
    int percent = 0;
    outcome->figure = score_traffic_multiple(op, target, result);
    for (int i = TRAFFIC_TIERS - 1; i >= 0; i--) {
        if (outcome->figure <= target->limit[i]) { percent = target->percent[i]; }
    }
    outcome->points = outcome->check->points * percent / 100.0;
    outcome->verdict = percent == 100 ? VERDICT_PASS : percent > 0 ? VERDICT_PARTIAL : VERDICT_FAIL;
    double small = score_parameter_multiple(op, target, result);
    int length = snprintf(outcome->measured, sizeof outcome->measured, "%.2fx the floor in %s", outcome->figure, unit);
    if (small >= 0.005) {
        snprintf(outcome->measured + length, sizeof outcome->measured - (size_t)length, " (+%.2fx small tensors)",
                 small);
    }
    snprintf(outcome->target, sizeof outcome->target, "at most %.2fx", target->limit[0]);
    bool scattered = target->unit == TRAFFIC_SECTORS && is_scattered(result);
    struct traffic_target asked = *target;
    asked.unit = TRAFFIC_BYTES;
    bool once = score_traffic_multiple(op, &asked, result) <= target->limit[0];
    const char *cause = scattered ? "uncoalesced" : once ? "split-sectors" : "too-much-traffic";
    if (percent < 100) { blame(outcome, cause); }
}

void score_launches(struct outcome *outcome, const struct result *result) {
    const struct launch_target *target = &outcome->exercise->launches;
    uint64_t launches = result->counters.launches;
    int percent = 0;
    for (int i = TRAFFIC_TIERS - 1; i >= 0; i--) {
        if (launches <= target->limit[i]) { percent = target->percent[i]; }
    }
    outcome->figure = (double)launches;
    outcome->points = outcome->check->points * percent / 100.0;
    outcome->verdict = percent == 100 ? VERDICT_PASS : percent > 0 ? VERDICT_PARTIAL : VERDICT_FAIL;
    snprintf(outcome->measured, sizeof outcome->measured, "%llu launches", (unsigned long long)launches);
    snprintf(outcome->target, sizeof outcome->target, "at most %llu", (unsigned long long)target->limit[0]);
    if (percent < 100) { blame(outcome, "too-many-launches"); }
}

void score_parallel(struct outcome *outcome, const struct result *result) {
    const struct parallel_target *target = &outcome->exercise->parallel;
    uint64_t warps = result->counters.largest_grid_warps, chain = result->counters.longest_chain;
    bool enough = warps >= target->warps && chain <= exercise_longest_chain(outcome->exercise);
    outcome->figure = (double)warps;
    outcome->verdict = enough ? VERDICT_PASS : VERDICT_FAIL;
    outcome->points = enough ? outcome->check->points : 0.0;
    snprintf(outcome->measured, sizeof outcome->measured, "%llu warps, %llu requests in a row",
             (unsigned long long)warps, (unsigned long long)chain);
    snprintf(outcome->target, sizeof outcome->target, "at least %llu, at most %llu", (unsigned long long)target->warps,
             (unsigned long long)exercise_longest_chain(outcome->exercise));
    if (!enough) { blame(outcome, warps < target->warps ? "too-few-warps" : "long-chain"); }
}

void score_hide(struct outcome *outcome) {
    if (outcome->check->kind != CHECK_TRAFFIC && outcome->check->kind != CHECK_LAUNCHES) { return; }
    outcome->figure = 0.0;
    outcome->target[0] = '\0';
    snprintf(outcome->measured, sizeof outcome->measured, "figure shown once you have predicted it");
}

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
