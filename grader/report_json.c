/* report_json.c — the report for programs. The keys are documented in docs/grader-json.md; tests read it with cJSON. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "case_id.h"
#include "json.h"
#include "lab.h"
#include "property.h"
#include "report.h"

enum { FORMAT_VERSION = 1 };

static const char *const kinds[] = {
    [FAILURE_NONE] = "none",           [FAILURE_BUILD] = "build",         [FAILURE_MISSING] = "missing",
    [FAILURE_CRASH] = "crash",         [FAILURE_TIMEOUT] = "timeout",     [FAILURE_STATUS] = "status",
    [FAILURE_FINDING] = "finding",     [FAILURE_WRONG] = "wrong",         [FAILURE_MODIFIED] = "modified",
    [FAILURE_OVERRUN] = "overrun",     [FAILURE_REPEAT] = "repeat",       [FAILURE_INVARIANT] = "invariant",
    [FAILURE_SILENT] = "silent",       [FAILURE_ON_HOST] = "host",        [FAILURE_SLOW] = "slow",
    [FAILURE_UNCOUNTED] = "uncounted", [FAILURE_UNWRITTEN] = "unwritten",
};

/* N, C, the launcher's other sizes, and what a causal softmax takes besides. */
static void write_sizes(struct json *json, const struct op *op, const struct op_sizes *sizes) {
    json_integer(json, "N", sizes->N);
    json_integer(json, "C", sizes->C);
    for (int i = 0; i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        bool written = strcmp(scalar->name, "N") == 0 || strcmp(scalar->name, "C") == 0;
        if (op_scalar_is_size(scalar) && !written) {
            json_integer(json, scalar->name, (int)op_scalar_get(op, sizes, i));
        }
    }
    if (op_has_scalar(op, "scale")) { json_number(json, "scale", sizes->scale); }
    if (op_has_scalar(op, "upper")) {
        json_string(json, "upper", sizes->upper ? "keep" : "zero");
        json_bool(json, "lengths", sizes->lengths);
    }
}

/* What `write` prints on the screen, without its indentation and its line's end. */
static void write_printed(struct json *json, const char *key,
                          void (*write)(FILE *, const struct op *, const struct failure *), const struct op *op,
                          const struct failure *failure) {
    char *text = NULL;
    size_t size = 0;
    FILE *page = open_memstream(&text, &size);
    if (!page) { return; }
    write(page, op, failure);
    fclose(page);
    char *begin = text + strspn(text, " ");
    begin[strcspn(begin, "\n")] = '\0';
    if (begin[0]) { json_string(json, key, begin); }
    free(text);
}

static void write_failure(struct json *json, const struct op *op, const struct failure *failure) {
    char word[CASE_ID_BYTES];
    json_begin_object(json, "failure");
    json_string(json, "kind", kinds[failure->kind]);
    if (failure->values) {
        write_printed(json, "where", report_where, op, failure);
        write_sizes(json, op, &failure->sizes);
        json_string(json, "values", failure->values);
        json_integer(json, "offset", failure->offset);
        json_bool(json, "in_place", failure->in_place);
        json_string(json, "case", case_id(op, &failure->test, word));
    }
    if (failure->kind == FAILURE_WRONG || failure->kind == FAILURE_REPEAT) {
        char element[96];
        report_element(op, failure, element, sizeof element);
        json_string(json, "tensor", op->tensor[failure->tensor].name);
        json_string(json, "element", element);
        json_integer(json, "row", failure->row);
        json_integer(json, "column", failure->column);
        json_number(json, "expected", failure->expected);
        json_number(json, "got", failure->got);
        json_number(json, "tolerance", failure->tolerance);
        json_integer(json, "wrong", failure->wrong);
        json_integer(json, "total", failure->total);
        json_bool(json, "misrounded", failure->misrounded);
    }
    if (op) { write_printed(json, "comparison", report_values, op, failure); }
    if (failure->text[0]) { json_string(json, "message", failure->text); }
    if (failure->line) {
        json_string(json, "file", failure->file);
        json_integer(json, "line", failure->line);
    }
    json_string(json, "diagnosis", failure->diagnosis);
    json_string(json, "cause", failure->cause);
    json_string(json, "fact", failure->fact);
    json_string(json, "calls", failure->calls[0] ? failure->calls : NULL);
    json_string(json, "warning", failure->warning[0] ? failure->warning : NULL);
    json_string(json, "results", failure->results[0] ? failure->results : NULL);
    if (failure->other_cause) {
        json_string(json, "other_diagnosis", failure->other_diagnosis);
        json_string(json, "other_cause", failure->other_cause);
    }
    json_integer(json, "hint", failure->hint);
    json_end_object(json);
}

static void write_outcome(struct json *json, const struct step *step, const struct outcome *outcome) {
    const struct exercise *exercise = outcome->exercise;
    char name[EXERCISE_NAME_BYTES] = "predictions";
    json_begin_object(json, NULL);
    json_string(json, "exercise", exercise ? exercise_name(step, exercise, name) : name);
    json_string(json, "title", exercise ? exercise->title : name);
    json_string(json, "op", exercise ? exercise->op : NULL);
    json_string(json, "type", exercise ? op_type_name(exercise->type) : NULL);
    json_string(json, "file", exercise ? exercise->file : PREDICTIONS_FILE);
    json_bool(json, "optional", exercise && exercise->optional);
    json_string(json, "check", check_name(outcome->check->kind));
    json_string(json, "verdict", report_verdict(outcome->verdict));
    json_number(json, "points", outcome->points);
    json_integer(json, "points_max", outcome->check->points);
    if (outcome->figure > 0.0) { json_number(json, "figure", outcome->figure); }
    if (outcome->limit > 0.0) { json_number(json, "limit", outcome->limit); }
    if (outcome->floor > 0.0) { json_number(json, "floor", outcome->floor); }
    if (outcome->measured[0]) { json_string(json, "measured", outcome->measured); }
    if (outcome->target[0]) { json_string(json, "target", outcome->target); }
    if (outcome->next_rung) { json_string(json, "next_rung", outcome->next_rung); }
    if (outcome->failure.kind != FAILURE_NONE) {
        write_failure(json, exercise ? op_find(exercise->op) : NULL, &outcome->failure);
    }
    json_end_object(json);
}

static void write_not_run(struct json *json, const struct not_run *not_run) {
    json_begin_array(json, "not_run");
    for (int i = 0; i < not_run->count; i++) {
        const struct line_range *range = &not_run->range[i];
        json_begin_object(json, NULL);
        json_string(json, "file", range->file);
        json_integer(json, "first", range->first);
        json_integer(json, "last", range->last);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_explored(struct json *json, const struct explored *explored) {
    const struct op *op = op_find(explored->exercise->op);
    char name[64];
    json_begin_object(json, NULL);
    json_string(json, "op", explored->exercise->op);
    json_string(json, "type", op_type_name(explored->exercise->type));
    json_string(json, "file", explored->exercise->file);
    json_integer(json, "found", explored->branches);
    json_number(json, "fixed_bytes", (double)explored->fixed_bytes);
    json_number(json, "bytes", (double)explored->bytes);
    json_begin_object(json, "untried");
    for (int p = 0; p < PROPERTIES; p++) {
        if (explored->untried[p]) { json_integer(json, property_name(op, p, name, sizeof name), explored->untried[p]); }
    }
    json_end_object(json);
    if (explored->not_run.is_known) { write_not_run(json, &explored->not_run); }
    json_end_object(json);
}

static void begin_report(struct json *json, const struct step *step) {
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    json_begin_object(json, NULL);
    json_integer(json, "version", FORMAT_VERSION);
    json_string(json, "step", step->name);
    json_string(json, "title", step->title);
    json_string(json, "time", text);
}

void report_json(FILE *out, const struct report *report, const struct prediction *prediction) {
    struct json json = {.file = out};
    begin_report(&json, report->step);
    json_string(&json, "backend", report->is_gpu ? "cuda" : "cpu");
    json_string(&json, "device", report->device);
    json_string(&json, "sandbox", report->sandbox);
    /* as text: most JSON readers store numbers as doubles, which do not hold 64 bits */
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)report->seed);
    json_string(&json, "seed", seed);
    json_number(&json, "seconds", report->seconds);
    json_number(&json, "points", report->points);
    json_number(&json, "points_max", report->points_max);
    json_begin_array(&json, "outcomes");
    for (int i = 0; i < report->outcome_count; i++) { write_outcome(&json, report->step, &report->outcomes[i]); }
    json_end_array(&json);
    json_begin_array(&json, "branches");
    for (int i = 0; i < report->explored_count; i++) { write_explored(&json, &report->explored[i]); }
    json_end_array(&json);
    json_begin_object(&json, "predictions");
    json_bool(&json, "made", prediction->made);
    if (prediction->made) {
        json_string(&json, "time", prediction->time);
        for (int i = 0; i < predict_question_count(report->step); i++) {
            json_number(&json, report->step->questions[i].key, prediction->answer[i]);
        }
    }
    json_end_object(&json);
    if (report->note[0]) { json_string(&json, "note", report->note); }
    if (report->printed[0]) { json_string(&json, "printed", report->printed); }
    json_string(&json, "next", report->next);
    json_end_object(&json);
}

static int points_of(const struct step *step) {
    int points = step->predictions.points;
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        for (const struct check *check = exercise->checks; check->kind; check++) {
            points += check_needs_gpu(check->kind) ? 0 : check->points;
        }
    }
    return points;
}

void report_json_error(FILE *out, const struct step *step, const char *error) {
    struct json json = {.file = out};
    begin_report(&json, step);
    json_integer(&json, "points", 0);
    json_integer(&json, "points_max", points_of(step));
    json_begin_array(&json, "outcomes");
    json_end_array(&json);
    json_string(&json, "error", error);
    json_end_object(&json);
}
