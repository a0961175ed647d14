/* not_run.h — the lines of a learner's files that no call has executed, in functions that were called.
 *
 * They are known from traced programs, which report the lines that have code and those that ran (common/runner/lines.cpp). The
 * lines are a note for the learner: no mark depends on them.
 */
#ifndef NOT_RUN_H
#define NOT_RUN_H

#include <stdbool.h>
#include <stddef.h>

struct line_record;
struct source;

enum { NOT_RUN_MAX_RANGES = 64 };

/* Lines `first` to `last` of a file: those between them that have code did not run either. */
struct line_range {
    char file[64];
    int first, last;
};

struct not_run {
    bool is_known;
    int count;
    struct line_range range[NOT_RUN_MAX_RANGES];
};

/* From the records of one program, sorted by file and line. Lines of other files than the source's are left out. */
void not_run_of(const struct line_record *lines, int count, const struct source *source, struct not_run *found);

/* Is one of these lines in a function that runs in kernels? */
bool not_run_in_kernel(const struct line_record *lines, int count, const struct source *source);

/* Of two arrays of the same lines: a line that ran in `other` ran. */
void not_run_merge(struct line_record *lines, int count, const struct line_record *other, int other_count);

/* "lines 41-47 and 60 of softmax.cu": all ranges, or "" if there is none. */
void not_run_text(const struct not_run *found, char *text, size_t size);

#endif
