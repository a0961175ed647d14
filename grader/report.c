#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "case_id.h"
#include "common/terminal.h"
#include "lab.h"

enum { TITLE_WIDTH = 30, CHECK_WIDTH = 34, VERDICT_WIDTH = 12, EXCERPT_LINES = 12, TABLE_WIDTH = 92 };

bool report_wants_colour(FILE *out) {
    const char *no_colour = getenv("NO_COLOR");
    return terminal_width(fileno(out)) > 0 && !(no_colour && *no_colour);
}

const char *report_verdict(enum verdict verdict) {
    switch (verdict) {
        case VERDICT_NOT_RUN: return "not run";
        case VERDICT_PASS: return "pass";
        case VERDICT_PARTIAL: return "partly";
        case VERDICT_FAIL: return "FAIL";
        case VERDICT_NOT_STARTED: return "not started";
        case VERDICT_WAITING: return "waiting";
    }
    return "?";
}

static const char *colour_of(enum verdict verdict) {
    switch (verdict) {
        case VERDICT_PASS: return "\033[32m";
        case VERDICT_FAIL: return "\033[31m";
        case VERDICT_PARTIAL: return "\033[33m";
        default: return "\033[2m";
    }
}

struct page {
    FILE *out;
    bool colour;
    int title_width; /* 2: titles are printed above the rows */
    const struct report *report;
};

/* ---- one failure ---- */

/* Prints the text with indented lines; a long text is cut. */
static void print_lines(const struct page *page, const char *text, const char *indent) {
    for (int line = 0; *text && line < EXCERPT_LINES; line++) {
        size_t length = strcspn(text, "\n");
        fprintf(page->out, "%s%.*s\n", indent, (int)length, text);
        text += length + (text[length] == '\n');
    }
    if (*text) { fprintf(page->out, "%s...\n", indent); }
}

void report_where(FILE *out, const struct op *op, const struct failure *failure) {
    const struct op_sizes *sizes = &failure->sizes;
    const char *separator = "    ";
    for (int i = 0; i < op_scalar_count(op); i++) {
        if (!op_scalar_is_size(op_scalar_at(op, i))) { continue; }
        fprintf(out, "%s%s = %d", separator, op_scalar_at(op, i)->name, (int)op_scalar_get(op, sizes, i));
        separator = ", ";
    }
    if (op_has_scalar(op, "scale")) { fprintf(out, ", scale %g", (double)sizes->scale); }
    if (op_has_scalar(op, "upper")) {
        fprintf(out, ", %s, %s", sizes->upper ? "CAUSAL_UPPER_KEEP" : "CAUSAL_UPPER_ZERO",
                sizes->lengths ? "with lengths" : "no lengths");
    }
    if (failure->test.huge) {
        fprintf(out, ", all elements 0, 16 blocks of each launch alone");
    } else {
        fprintf(out, ", values %s", failure->values);
    }
    for (int i = 0; i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        float value = (float)op_scalar_get(op, sizes, i);
        if (!scalar->is_float || strcmp(scalar->name, "scale") == 0) { continue; } /* shown above */
        if (value != (float)scalar->usual) { fprintf(out, ", %s %g", scalar->name, (double)value); }
    }
    const char *plural = failure->offset == 1 ? "" : "s";
    if (failure->offset) {
        const char *moved = failure->test.moved ? op->tensor[failure->test.moved - 1].name : "pointers";
        fprintf(out, ", %s off by %d element%s", moved, failure->offset, plural);
    }
    if (failure->in_place) { fprintf(out, ", in place"); }
    if (failure->test.small) {
        fprintf(out, ", on a device with 2 multiprocessors and 48 KiB of shared memory a block");
    }
    if (failure->in_place && failure->output) { fprintf(out, " (%s)", op->tensor[failure->output].name); }
    fprintf(out, "\n");
}

/* Has an earlier exercise of the same file shown the same compiler output? */
static bool is_shown(const struct report *report, const struct outcome *outcome) {
    for (const struct outcome *o = report->outcomes; o < outcome; o++) {
        if (o->failure.kind == FAILURE_BUILD && strcmp(o->failure.text, outcome->failure.text) == 0) { return true; }
    }
    return false;
}

static void print_failure(const struct page *page, const struct outcome *outcome) {
    const struct failure *failure = &outcome->failure;
    if (failure->kind == FAILURE_NONE) { return; }
    if (failure->kind == FAILURE_BUILD && is_shown(page->report, outcome)) {
        fprintf(page->out, "    the same file: see above\n");
        return;
    }
    const struct op *op = op_find(outcome->exercise->op);
    if (failure->values) { report_where(page->out, op, failure); }
    report_values(page->out, op, failure);
    print_lines(page, failure->text, "    ");
    if (failure->calls[0]) { fprintf(page->out, "    seen: %s\n", failure->calls); }
    if (failure->results[0]) { fprintf(page->out, "    seen: %s\n", failure->results); }
    if (failure->warning[0]) { fprintf(page->out, "    seen: the compiler warns: %s\n", failure->warning); }
    if (failure->fact) { fprintf(page->out, "    seen: %s [%s]\n", failure->fact, failure->diagnosis); }
    if (failure->cause) { fprintf(page->out, "    likely cause: %s [%s]\n", failure->cause, failure->diagnosis); }
    if (failure->other_cause) {
        fprintf(page->out, "    or, equally: %s [%s]\n", failure->other_cause, failure->other_diagnosis);
    }
    if (outcome->next_rung) { fprintf(page->out, "    next step: %s\n", outcome->next_rung); }
    char name[EXERCISE_NAME_BYTES], word[CASE_ID_BYTES];
    if (failure->values) {
        fprintf(page->out, "    rerun: ./grader %s --case %s\n", page->report->step->name,
                case_id(op, &failure->test, word));
    }
    fprintf(page->out, "    hint: ./grader %s --kernel %s --hint=%d\n", page->report->step->name,
            exercise_name(page->report->step, outcome->exercise, name), failure->hint ? failure->hint : 1);
}

/* ---- rows ---- */

/* The result is right, and the goal of the open problem is not reached: no mistake. */
static bool is_still_open(const struct outcome *outcome) {
    return outcome->exercise && outcome->exercise->is_open && outcome->check->kind == CHECK_TRAFFIC &&
           outcome->verdict == VERDICT_FAIL && outcome->failure.kind == FAILURE_NONE;
}

static void print_row(const struct page *page, const char *title, const char *checks, const struct outcome *outcome,
                      double points, int points_max) {
    char mark[24] = "";
    if (outcome->exercise && outcome->exercise->optional) {
        snprintf(mark, sizeof mark, "optional");
    } else if (outcome->check->kind != CHECK_CASE) {
        snprintf(mark, sizeof mark, "%g/%d", points, points_max);
    }
    if (title[0] && page->title_width < TITLE_WIDTH) { fprintf(page->out, "  %s\n", title); }
    if (page->title_width < TITLE_WIDTH) { title = ""; }
    fprintf(page->out, "  %-*.*s  %-*s  %s%-*s%s %8s", page->title_width, TITLE_WIDTH, title, CHECK_WIDTH, checks,
            page->colour ? colour_of(outcome->verdict) : "", VERDICT_WIDTH,
            is_still_open(outcome) ? "open" : report_verdict(outcome->verdict), page->colour ? "\033[0m" : "", mark);
    if (outcome->verdict == VERDICT_NOT_STARTED) { fprintf(page->out, "  %s", outcome->exercise->file); }
    if (outcome->measured[0]) { fprintf(page->out, "  %s", outcome->measured); }
    if (outcome->target[0]) { fprintf(page->out, " (%s)", outcome->target); }
    fprintf(page->out, "\n");
}

static bool same_row(const struct outcome *a, const struct outcome *b) {
    bool paid_alike = check_is_correctness(a->check->kind) == check_is_correctness(b->check->kind) ||
                      a->verdict == VERDICT_NOT_STARTED || a->verdict == VERDICT_NOT_RUN;
    return a->exercise == b->exercise && a->verdict == b->verdict && paid_alike &&
           strcmp(a->measured, b->measured) == 0 && a->target[0] == '\0' && b->target[0] == '\0' &&
           b->failure.kind == FAILURE_NONE;
}

/* Neighbouring checks of one exercise that have the same verdict, and no figures or failure, share a row. */
static int print_group(const struct page *page, int first, const char *title) {
    const struct report *report = page->report;
    const struct outcome *outcome = &report->outcomes[first];
    char checks[128] = "";
    double points = 0.0;
    int last = first, points_max = 0;
    for (; last < report->outcome_count && same_row(outcome, &report->outcomes[last]); last++) {
        size_t length = strlen(checks);
        snprintf(checks + length, sizeof checks - length, "%s%s", last > first ? ", " : "",
                 check_name(report->outcomes[last].check->kind));
        points += report->outcomes[last].points;
        points_max += report->outcomes[last].check->points;
    }
    if (outcome->verdict == VERDICT_NOT_STARTED || (outcome->verdict == VERDICT_NOT_RUN && last > first + 1)) {
        snprintf(checks, sizeof checks, "%s%d checks", outcome->verdict == VERDICT_NOT_RUN ? "the other " : "all ",
                 last - first);
    }
    if (last == first) { /* it has figures: a row of its own */
        snprintf(checks, sizeof checks, "%s", check_name(outcome->check->kind));
        points = outcome->points;
        points_max = outcome->check->points;
        last = first + 1;
    }
    print_row(page, title, checks, outcome, points, points_max);
    print_failure(page, outcome);
    return last;
}

/* Has this report, or one before it, shown a figure? Until then the computed answers are held back, for they may be corrected. */
static bool is_measured(const struct report *report, const struct prediction *prediction) {
    bool measured = prediction->is_measured;
    for (int i = 0; i < report->outcome_count; i++) {
        measured = measured || (report->outcomes[i].exercise && predict_is_figure(&report->outcomes[i]));
    }
    return measured;
}

static void print_counted(const struct page *page, const struct prediction *prediction) {
    const struct step *step = page->report->step;
    for (int i = 0; i < predict_question_count(step); i++) {
        const struct question *question = &step->questions[i];
        double truth = is_measured(page->report, prediction) ? question->truth : 0.0;
        for (int k = 0; question->counted && k < page->report->outcome_count; k++) {
            const struct outcome *outcome = &page->report->outcomes[k];
            if (outcome->exercise && predict_is_figure(outcome) && exercise_is(outcome->exercise, question->counted)) {
                truth = outcome->figure;
            }
        }
        const char *space = strlen(question->unit) > 1 ? " " : ""; /* 16x, but 3 loads */
        fprintf(page->out, "    %-18s predicted %8.3g%s%s", question->key, prediction->answer[i], space,
                question->unit);
        if (truth > 0.0) {
            fprintf(page->out, "   %s %8.3g%s%s", question->counted ? "counted " : "computed", truth, space,
                    question->unit);
        }
        fprintf(page->out, "\n");
    }
}

static void print_outcomes(const struct page *page, const struct prediction *prediction) {
    const struct report *report = page->report;
    const struct exercise *before = NULL;
    fprintf(page->out, "  %-*.*s  %-*s  %-*s %8s\n", page->title_width, page->title_width,
            page->title_width < TITLE_WIDTH ? "" : "exercise", CHECK_WIDTH, "check", VERDICT_WIDTH, "verdict",
            "points");
    for (int i = 0; i < report->outcome_count;) {
        const struct exercise *exercise = report->outcomes[i].exercise;
        const char *title = exercise ? exercise == before ? "" : exercise->title : "predictions";
        bool prediction_row = !exercise;
        before = exercise;
        i = print_group(page, i, title);
        if (prediction_row && prediction->made) { print_counted(page, prediction); }
    }
}

static void print_explored(const struct page *page) {
    bool is_first = true;
    for (int i = 0; i < page->report->explored_count; i++) {
        const struct explored *explored = &page->report->explored[i];
        char text[512];
        not_run_text(&explored->not_run, text, sizeof text);
        if (!text[0]) { continue; }
        fprintf(page->out, "%s  %s: %s ran in no call\n", is_first ? "\n" : "", explored->exercise->title, text);
        is_first = false;
    }
}

/* Is it the report of one call, made with --case? */
static bool is_case(const struct report *report) {
    return report->outcome_count == 1 && report->outcomes[0].check->kind == CHECK_CASE;
}

void report_print(FILE *out, bool colour, int width, const struct report *report, const struct prediction *prediction) {
    struct page page = {out, colour, width && width < TABLE_WIDTH ? 2 : TITLE_WIDTH, report};
    fprintf(out, "%s: %s", report->step->name, report->step->title);
    fprintf(out, "   [%s]\n",
            !report->is_gpu     ? "CPU backend: checks and counts, no times"
            : report->device[0] ? report->device
                                : "GPU");
    if (report->note[0]) { print_lines(&page, report->note, "  "); }
    fprintf(out, "\n");
    print_outcomes(&page, prediction);
    print_explored(&page);
    if (report->printed[0]) {
        fprintf(out, "\n  your code printed:\n");
        print_lines(&page, report->printed, "    | ");
    }
    fprintf(out, "\n  ");
    if (!is_case(report) && report->points_max == 0) {
        fprintf(out, "optional, without points   ");
    } else if (!is_case(report)) {
        fprintf(out, "%s%g of %g points%s   ", colour ? "\033[1m" : "", report->points, report->points_max,
                colour ? "\033[0m" : "");
    }
    fprintf(out, "%.1f s, ", report->seconds);
    if (!is_case(report)) { fprintf(out, "seed %llu, ", (unsigned long long)report->seed); }
    fprintf(out, "sandbox: %s\n", report->sandbox[0] ? report->sandbox : "nothing was run");
    fprintf(out, "\n  next: %s\n", report->next);
}

/* ---- what to do next ---- */

static const struct outcome *first_unsolved(const struct report *report, bool optional) {
    for (int i = 0; i < report->outcome_count; i++) {
        const struct outcome *outcome = &report->outcomes[i];
        if (!outcome->exercise || outcome->exercise->optional != optional) { continue; }
        bool open = optional ? outcome->verdict != VERDICT_PASS : outcome->points < outcome->check->points;
        if (open && outcome->verdict != VERDICT_WAITING && outcome->verdict != VERDICT_NOT_RUN) { return outcome; }
    }
    return NULL;
}

void report_next(struct report *report, const struct prediction *prediction, const char *files) {
    const struct step *step = report->step, *after = step_after(step);
    const struct outcome *open = first_unsolved(report, false), *extra = first_unsolved(report, true);
    size_t size = sizeof report->next;
    char name[EXERCISE_NAME_BYTES] = "";
    bool whole = report->outcome_count > 0 && !report->outcomes[report->outcome_count - 1].exercise;
    if (is_case(report)) {
        snprintf(report->next, size, "./grader %s --kernel %s makes all calls of this op", step->name,
                 exercise_name(step, report->outcomes[0].exercise, name));
        return;
    }
    if (report->points_max == 0.0) { open = extra; } /* --kernel with an op of track B, or --open */
    if (open) { exercise_name(step, open->exercise, name); }
    if (!prediction->made && (!open || open->verdict == VERDICT_NOT_STARTED)) {
        snprintf(report->next, size,
                 "./grader %s --predict   (%d points; counted figures are shown once you have "
                 "predicted them)%s%s%s%s",
                 step->name, step->predictions.points, open ? ", then edit " : "", open ? files : "", open ? "/" : "",
                 open ? open->exercise->file : "");
    } else if (open && open->verdict == VERDICT_NOT_STARTED) {
        snprintf(report->next, size,
                 "edit %s/%s (%s), then make %s && ./grader %s; ./grader %s --kernel %s --hint helps", files,
                 open->exercise->file, open->exercise->title, step->name, step->name, step->name, name);
    } else if (open && is_still_open(open)) {
        snprintf(report->next, size, "the result is right, the goal is open: %s/%s, then ./grader %s --open", files,
                 open->exercise->file, step->name);
    } else if (!open && report->outcomes[0].exercise && report->outcomes[0].exercise->is_open) {
        snprintf(report->next, size, "the open problem is solved. Write down how; a GPU says whether it is faster");
    } else if (open && open->failure.kind == FAILURE_SLOW) {
        snprintf(report->next, size, "%s is right; now its %s: %s/%s; ./grader %s --kernel %s --hint helps",
                 open->exercise->title, check_name(open->check->kind), files, open->exercise->file, step->name, name);
    } else if (open) {
        snprintf(report->next, size,
                 "repair %s in %s/%s, then ./grader %s --kernel %s (or --watch to mark on every save)",
                 open->exercise->title, files, open->exercise->file, step->name, name);
    } else if (report->points < report->points_max) {
        snprintf(report->next, size,
                 "everything that this machine can mark is right; the note above says what the rest needs");
    } else if (!whole) {
        snprintf(report->next, size, "this op is complete; ./grader %s marks all of them", step->name);
    } else if (extra) {
        snprintf(report->next, size, "full marks. Optional: %s in %s/%s%s%s", extra->exercise->title, files,
                 extra->exercise->file, after ? "; or go on with ./grader " : "", after ? after->name : "");
    } else if (after) {
        snprintf(report->next, size, "full marks. Commit your work; then make %s && ./grader %s", after->name,
                 after->name);
    } else {
        snprintf(report->next, size, "full marks. Commit your work; this was the last step");
    }
}

/* By the tensor's shape: "rstd[2]", "dweight[33]", "out[2][33]", "k[0][1][3][5]",
 * "hidden state, block 1, residual after attention [4][5]". */
void report_element(const struct op *op, const struct failure *failure, char *name, size_t name_size) {
    const struct op_sizes *sizes = &failure->sizes;
    const char *shape = sizes->T > 0 ? op->tensor[failure->tensor].shape : ""; /* "": rows, or no sizes are known */
    long row = failure->row, N = sizes->N;
    int length = snprintf(name, name_size, "%s", op->tensor[failure->tensor].name);
    char *text = name + length;
    size_t size = name_size - (size_t)length;
    if (strcmp(shape, "B, H, S, D") == 0 || strcmp(shape, "B, H, T, T") == 0) {
        int rows = shape[6] == 'S' ? sizes->S : sizes->T;
        snprintf(text, size, "[%ld][%ld][%ld][%ld]", row / rows / sizes->H, row / rows % sizes->H, row % rows,
                 failure->column);
    } else if (strcmp(shape, "2L+1, N, C") == 0 && row / N == 2L * sizes->L) {
        snprintf(text, size, " state, last LayerNorm [%ld][%ld]", row % N, failure->column);
    } else if (strcmp(shape, "2L+1, N, C") == 0) {
        snprintf(text, size, " state, block %ld, %s [%ld][%ld]", row / N / 2,
                 row / N % 2 ? "branch of the MLP" : "residual after attention", row % N, failure->column);
    } else if (strcmp(shape, "K+1, B") == 0) {
        snprintf(text, size, ", step %ld, sequence %ld", row, failure->column);
    } else if (strncmp(shape, "K+1, B", strlen("K+1, B")) == 0) {
        snprintf(text, size, ", step %ld, sequence %ld [%ld]", row / sizes->B, row % sizes->B, failure->column);
    } else {
        length = row >= 0 ? snprintf(text, size, "[%ld]", row) : 0;
        if (failure->column >= 0) { snprintf(text + length, size - (size_t)length, "[%ld]", failure->column); }
    }
}

/* Nine digits; the sign of a NaN means nothing and is not shown. */
static const char *number(double value, char text[32]) {
    snprintf(text, 32, "%.9g", value);
    return value == value ? text : "NaN";
}

void report_values(FILE *out, const struct op *op, const struct failure *failure) {
    char name[96], expected_text[32], got_text[32];
    const char *expected = number(failure->expected, expected_text), *got = number(failure->got, got_text);
    report_element(op, failure, name, sizeof name);
    if (failure->kind == FAILURE_WRONG && failure->misrounded) {
        fprintf(out, "    %s: expected %s, got %s, which is not the nearest %s; so are %ld of %ld elements\n", name,
                expected, got, op_type_name(failure->sizes.type), failure->wrong, failure->total);
    } else if (failure->kind == FAILURE_WRONG) {
        fprintf(out, "    %s: expected %s, got %s (off by more than %.2g); %ld of %ld elements are wrong\n", name,
                expected, got, failure->tolerance, failure->wrong, failure->total);
    } else if (failure->kind == FAILURE_REPEAT) {
        fprintf(out, "    %s: first %s, then %s\n", name, expected, got);
    } else if (failure->kind == FAILURE_MODIFIED || failure->kind == FAILURE_OVERRUN) {
        fprintf(out, "    was %s, is %s\n", expected, got);
    }
}

/* ---- fitting a terminal: lines are broken at spaces, and continuation lines are indented ---- */

enum { LEAST_WIDTH = 40, HANGING = 4 };

int report_width(FILE *out) {
    struct winsize size;
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) { return 0; }
    return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
}

/* Length of a colour's escape sequence at `text`, which takes no column; 0 when there is none. */
static size_t escape_bytes(const char *text) {
    return text[0] == '\033' ? strcspn(text, "m") + 1 : 0;
}

/* Bytes of the line that fit into `room` columns: up to the last gap between two columns of the table, if that is in the
 * second half, else up to the last space. */
static size_t part_bytes(const char *line, size_t length, size_t room, size_t indent) {
    size_t at = 0, column = 0, space = 0, gap = 0;
    while (at < length) {
        size_t escape = escape_bytes(line + at);
        if (escape) {
            at += escape;
            continue;
        }
        if (column == room) { break; }
        bool starts_gap = line[at] == ' ' && at + 1 < length && line[at + 1] == ' ' && (at == 0 || line[at - 1] != ' ');
        if (starts_gap && column > room / 2) { gap = at; }
        if (line[at] == ' ' && column > indent) { space = at; }
        column += ((unsigned char)line[at] & 0xc0) != 0x80; /* a UTF-8 character counts once: by its first byte */
        at++;
    }
    if (at >= length) { return at; }
    return gap ? gap : line[at] == ' ' ? at : space ? space : at;
}

void report_fit(FILE *out, const char *text, int width) {
    while (*text) {
        size_t length = strcspn(text, "\n"), indent = strspn(text, " ");
        size_t hanging = indent + HANGING < (size_t)width / 2 ? indent + HANGING : HANGING;
        const char *line = text;
        text += length + (text[length] == '\n');
        size_t part = part_bytes(line, length, (size_t)width, indent);
        fprintf(out, "%.*s\n", (int)part, line);
        while (part < length) {
            line += part;
            length -= part;
            size_t spaces = strspn(line, " ");
            line += spaces;
            length -= spaces;
            part = part_bytes(line, length, (size_t)width - hanging, 0);
            if (part) { fprintf(out, "%*s%.*s\n", (int)hanging, "", (int)part, line); }
        }
    }
}

void report_show(FILE *out, const struct report *report, const struct prediction *prediction) {
    int width = report_width(out);
    char *text = NULL;
    size_t size = 0;
    FILE *page = width ? open_memstream(&text, &size) : NULL;
    if (!page) {
        report_print(out, report_wants_colour(out), 0, report, prediction);
        return;
    }
    report_print(page, report_wants_colour(out), width, report, prediction);
    fclose(page);
    report_fit(out, text, width);
    free(text);
}
