#include "not_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "job.h"
#include "source.h"

static bool is_own(const struct source *source, const char *file) {
    for (int i = 0; i < source->file_count; i++) {
        const char *slash = strrchr(source->file[i], '/');
        if (strcmp(slash ? slash + 1 : source->file[i], file) == 0) { return true; }
    }
    return false;
}

static bool is_reported(const struct line_record *line, const struct source *source) {
    return !line->ran && line->called && is_own(source, line->file);
}

bool not_run_in_kernel(const struct line_record *lines, int count, const struct source *source) {
    for (int i = 0; i < count; i++) {
        if (is_reported(&lines[i], source) && lines[i].called & RAN_IN_KERNEL) { return true; }
    }
    return false;
}

void not_run_of(const struct line_record *lines, int count, const struct source *source, struct not_run *found) {
    struct line_range *open = NULL;
    *found = (struct not_run){.is_known = true};
    for (int i = 0; i < count; i++) {
        const struct line_record *line = &lines[i];
        bool reported = is_reported(line, source);
        if (!reported || (open && strcmp(open->file, line->file) != 0)) { open = NULL; }
        if (!reported) { continue; }
        if (!open && found->count == NOT_RUN_MAX_RANGES) { return; }
        if (!open) {
            open = &found->range[found->count++];
            snprintf(open->file, sizeof open->file, "%.63s", line->file);
            open->first = line->line;
        }
        open->last = line->line;
    }
}

void not_run_merge(struct line_record *lines, int count, const struct line_record *other, int other_count) {
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < other_count; k++) {
            bool same = lines[i].line == other[k].line && strcmp(lines[i].file, other[k].file) == 0;
            lines[i].ran |= same && other[k].ran;
        }
    }
}

static void add(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(char *text, size_t size, const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void not_run_text(const struct not_run *found, char *text, size_t size) {
    const char *before = "";
    text[0] = '\0';
    for (const struct line_range *range = found->range; range < found->range + found->count; range++) {
        const struct line_range *next = range + 1 < found->range + found->count ? range + 1 : NULL;
        if (next && strcmp(next->file, range->file) != 0) { next = NULL; }
        if (strcmp(before, range->file) != 0) {
            add(text, size, "%s%s ", before[0] ? "; " : "", next || range->last > range->first ? "lines" : "line");
        } else {
            add(text, size, "%s", next ? ", " : " and ");
        }
        add(text, size, "%d", range->first);
        if (range->last > range->first) { add(text, size, "-%d", range->last); }
        if (!next) { add(text, size, " of %s", range->file); }
        before = range->file;
    }
}
