/* report_list.c — what --list prints: every step, its ops, their files and points. */
#include "registry.h"
#include "report.h"

void report_list(FILE *out) {
    for (const struct step *step = steps; step->name; step++) {
        fprintf(out, "%s  %s/  %s\n", step->name, step->folder, step->title);
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            int correctness = 0, performance = 0;
            for (const struct check *check = exercise->checks; check->kind; check++) {
                *(check_is_correctness(check->kind) ? &correctness : &performance) += check->points;
            }
            char name[EXERCISE_NAME_BYTES];
            fprintf(out, "  %-32s %-30s %-30s", exercise_name(step, exercise, name), exercise->file, exercise->title);
            if (exercise->optional) {
                fprintf(out, " optional\n");
            } else {
                fprintf(out, " %2d correctness + %d counted\n", correctness, performance);
            }
        }
        fprintf(out, "  %-32s %-30s %-30s %2d\n\n", "", PREDICTIONS_FILE, "predictions", step->predictions.points);
    }
}
