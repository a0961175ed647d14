/* lab_show.c — a lab's description for people: the list of all labs, and one lab's figures as Markdown. */
#include "lab.h"

/* Of the correctness checks, or of the others. */
static int points_of(const struct exercise *exercise, bool correctness) {
    int points = 0;
    for (const struct check *check = exercise->checks; check->kind; check++) {
        if (check_is_correctness(check->kind) == correctness) { points += check->points; }
    }
    return points;
}

void labs_list(FILE *out, const struct step *steps) {
    for (const struct step *step = steps; step->name; step++) {
        fprintf(out, "%s  %s/  %s\n", step->name, step->folder, step->title);
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            char name[EXERCISE_NAME_BYTES];
            fprintf(out, "  %-32s %-30s %-30s", exercise_name(step, exercise, name), exercise->file, exercise->title);
            if (exercise->optional) {
                fprintf(out, " optional\n");
            } else {
                fprintf(out, " %2d correctness + %d counted\n", points_of(exercise, true), points_of(exercise, false));
            }
        }
        const struct exercise *open = step_open(step);
        if (open) { fprintf(out, "  %-32s %-30s %-30s open problem\n", "--open", open->file, open->open.title); }
        for (const struct script *script = step->scripts; script->name; script++) {
            fprintf(out, "  %-32s %-30s %-30s optional, with PyTorch\n", script->name, script->file, script->title);
        }
        fprintf(out, "  %-32s %-30s %-30s %2d\n\n", "", PREDICTIONS_FILE, "predictions", step->predictions.points);
    }
}

/* ---- Markdown ---- */

/* "N 1024, C 768": the sizes that the op's launcher takes. */
static void print_sizes(FILE *out, const struct op *op, const struct op_sizes *sizes) {
    const char *separator = "";
    for (int i = 0; i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        if (!op_scalar_is_size(scalar)) { continue; }
        fprintf(out, "%s%s %d", separator, scalar->name, (int)op_scalar_get(op, sizes, i));
        separator = ", ";
    }
}

static void describe_points(FILE *out, const struct step *step) {
    int total = step->predictions.points;
    fprintf(out, "| exercise | file | correctness | counted | together |\n|---|---|--:|--:|--:|\n");
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        int correctness = points_of(exercise, true), counted = points_of(exercise, false);
        fprintf(out, "| %s | `%s` | ", exercise->title, exercise->file);
        if (exercise->optional) {
            fprintf(out, "optional | | |\n");
        } else {
            fprintf(out, "%d | %d | %d |\n", correctness, counted, correctness + counted);
        }
        total += correctness + counted;
    }
    fprintf(out, "| predictions | `" PREDICTIONS_FILE "` | | | %d |\n| **all** | | | | **%d** |\n",
            step->predictions.points, total);
}

/* "1.55 x: 100 %, 2.05 x: 80 %" */
static void print_tiers(FILE *out, const char *format, const struct tiers *tiers) {
    for (int i = 0; i < MOST_TIERS && tiers->percent[i]; i++) {
        fprintf(out, "%s", i ? ", " : "");
        fprintf(out, format, tiers->limit[i]);
        fprintf(out, ": %d %%", tiers->percent[i]);
    }
}

static void describe_target(FILE *out, const struct exercise *exercise, const struct check *check) {
    const struct op *op = op_find(exercise->op);
    fprintf(out, "| %s | %s | %d | ", exercise->title, check_name(check->kind), check->points);
    print_sizes(out, op, &exercise->traffic.sizes);
    fprintf(out, " | ");
    if (check->kind == CHECK_TRAFFIC) {
        fprintf(out, "in %s, at most ", exercise->traffic.unit == TRAFFIC_BYTES ? "bytes" : "sectors");
        print_tiers(out, "%.2f x", &exercise->traffic.tiers);
    } else if (check->kind == CHECK_LAUNCHES) {
        fprintf(out, "at most ");
        print_tiers(out, "%g", &exercise->launches);
    } else if (check->kind == CHECK_BARRIERS) {
        fprintf(out, "for a row, at most ");
        print_tiers(out, "%g", &exercise->barriers);
    } else {
        fprintf(out, "at least %llu warps, longest chain at most %llu requests",
                (unsigned long long)exercise->parallel.warps, (unsigned long long)exercise_longest_chain(exercise));
    }
    fprintf(out, " |\n");
}

static void describe_targets(FILE *out, const struct step *step) {
    fprintf(out, "\n| exercise | counted | points | sizes | target |\n|---|---|--:|---|---|\n");
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        for (const struct check *check = exercise->checks; check->kind; check++) {
            if (!check_is_correctness(check->kind) && !check_needs_gpu(check->kind)) {
                describe_target(out, exercise, check);
            }
        }
    }
}

static void describe_bands(FILE *out, const struct step *step) {
    bool any = false;
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        const struct band_target *bands = &exercise->bands;
        if (!exercise_check(exercise, CHECK_BAND)) { continue; }
        if (!any) { fprintf(out, "\n| exercise | sizes | pass | good | speed of light |\n|---|---|--:|--:|--:|\n"); }
        any = true;
        fprintf(out, "| %s | ", exercise->title);
        print_sizes(out, op_find(exercise->op), &bands->sizes);
        fprintf(out, " | %.2f | %.2f | %.2f |\n", bands->pass, bands->good, bands->speed_of_light);
    }
}

static void describe_open(FILE *out, const struct step *step) {
    const struct exercise *exercise = step_open(step);
    if (!exercise) { return; }
    const struct traffic_target *goal = &exercise->open.goal;
    fprintf(out, "\n| open problem | file | sizes | goal |\n|---|---|---|---|\n| %s | `%s` | ", exercise->open.title,
            exercise->file);
    print_sizes(out, op_find(exercise->op), &goal->sizes);
    fprintf(out, " | in %s, all of them, at most %.2f x |\n", goal->unit == TRAFFIC_BYTES ? "bytes" : "sectors",
            goal->tiers.limit[0]);
}

void lab_describe(FILE *out, const struct step *step) {
    describe_points(out, step);
    describe_targets(out, step);
    describe_bands(out, step);
    describe_open(out, step);
}
