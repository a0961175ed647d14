/* findings.c — findings, in the wording of compute-sanitizer, with the learner's own file and line.
 *
 * Each line and kind is reported once. Blocks run on several OS threads, so the findings of a launch are kept apart while
 * it runs. At its end, those of the block with the lowest rank are kept, in order of rank, so that every run reports the
 * same.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/preempt.h"
#include "engine/scheduler.h"
#include "json_report.h"
#include "source.h"

struct entry {
    struct simt_finding finding;
    uint64_t rank, sequence;
    struct json_finding *json; /* NULL unless a report is wanted */
    bool is_known, overruled;
};

struct list {
    struct entry **entry;
    size_t count, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list known, pending; /* pending: of the running launch */
static uint64_t sequence;

/* The accesses that the next finding is about. */
static __thread struct about { struct reported_access access, other; } about;

void report_access(const struct reported_access *access, const struct reported_access *other) {
    if (!json_report_wanted()) return;
    about.access = *access;
    if (other) about.other = *other;
}

static bool push(struct list *list, struct entry *entry) {
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 32;
        struct entry **moved = realloc(list->entry, room * sizeof *moved);
        if (moved == NULL) return false;
        list->entry = moved;
        list->room = room;
    }
    list->entry[list->count++] = entry;
    return true;
}

static void entry_free(struct entry *entry) {
    if (entry) {
        free((char *)entry->finding.text);
        free((char *)entry->finding.kernel);
        if (!entry->is_known) json_finding_free(entry->json); /* the report keeps what it contains */
        free(entry);
    }
}

static struct entry *find_same(const struct list *list, const struct simt_finding *finding) {
    for (size_t i = 0; i < list->count; i++) {
        const struct simt_finding *other = &list->entry[i]->finding;
        if (other->kind != finding->kind || other->line != finding->line || strcmp(other->file, finding->file) != 0)
            continue;
        if (finding->line != 0 || strcmp(other->text, finding->text) == 0) return list->entry[i];
    }
    return NULL;
}

/* Two stores of one value race on a line with a race that changes the result: their note would say the opposite. */
static bool is_overruled(const struct simt_finding *finding) {
    struct simt_finding race = *finding;
    race.kind = SIMT_RACE;
    return finding->kind == SIMT_RACE_SAME_VALUE && finding->line != 0 &&
           (find_same(&known, &race) || find_same(&pending, &race));
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Is it a device function that the kernel calls, rather than the kernel's own body (a lambda)? */
static bool is_device_function(const char *function) {
    return *function && strstr(function, "operator()") == NULL && strstr(function, "lambda") == NULL;
}

static void print_place(FILE *out, const struct source_place *place, const struct simt_thread *thread,
                        const char *kernel) {
    if (place->line || *kernel) {
        fprintf(out, "    at %s", *kernel ? kernel : place->function);
        if (place->line) fprintf(out, " in %s:%d", base_name(place->file), place->line);
        fputc('\n', out);
        if (place->caller_line) fprintf(out, "    called in %s:%d\n", base_name(place->caller), place->caller_line);
    }
    if (thread) {
        struct dim block = thread->block->index;
        fprintf(out, "    by thread (%u,%u,%u) in block (%u,%u,%u)\n", thread->index.x, thread->index.y,
                thread->index.z, block.x, block.y, block.z);
    }
}

/* The first line of the message, the place, the rest of the message. */
static char *compose(const char *message, const struct source_place *place, const struct simt_thread *thread,
                     const char *kernel) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    size_t first = strcspn(message, "\n");
    fprintf(out, "%.*s\n", (int)first, message);
    print_place(out, place, thread, kernel);
    while (message[first] == '\n') {
        message += first + 1;
        first = strcspn(message, "\n");
        if (first) fprintf(out, "    %.*s\n", (int)first, message);
    }
    fclose(out);
    return text;
}

static void print(const struct simt_finding *finding) {
    if (simt_settings.quiet) return;
    for (const char *line = finding->text; *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(stderr, "========= %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    fputs("=========\n", stderr);
}

/* Prints the finding and keeps it, unless it is known. Is it new? */
static bool publish(struct entry *entry) {
    struct entry *same = find_same(&known, &entry->finding);
    if (same) json_finding_repeat(same->json);
    if (same || !push(&known, entry)) {
        entry_free(entry);
        return false;
    }
    entry->is_known = true;
    json_finding_add(entry->json);
    print(&entry->finding);
    return true;
}

/* Of equal findings of a launch, keeps the one with the lowest rank. */
static void file_entry(struct entry *entry, bool in_launch) {
    if (!in_launch) {
        if (publish(entry)) json_report_write();
        return;
    }
    struct entry *same = find_same(&pending, &entry->finding);
    if (same == NULL) {
        push(&pending, entry);
    } else if (entry->rank < same->rank) {
        struct entry swap = *same;
        *same = *entry;
        *entry = swap;
        entry_free(entry);
    } else {
        entry_free(entry);
    }
}

/* The sequence of a finding that was taken back, for the one in its place. */
static __thread struct vacancy {
    bool is_open;
    uint64_t sequence;
} vacancy;

void report_replace(enum simt_finding_kind kind, uintptr_t pc, uint64_t rank) {
    struct source_place place = simt_source_place(pc);
    struct simt_finding finding = {.kind = kind, .file = place.file, .line = place.line, .text = ""};
    pthread_mutex_lock(&lock);
    struct entry *same = find_same(&pending, &finding);
    if (same && same->rank == rank) {
        size_t i = 0;
        while (pending.entry[i] != same) i++;
        pending.entry[i] = pending.entry[--pending.count]; /* sorted at the end */
        vacancy = (struct vacancy){true, same->sequence};
        entry_free(same);
    }
    pthread_mutex_unlock(&lock);
}

void simt_report(enum simt_finding_kind kind, bool is_error, uintptr_t pc, const struct simt_thread *thread,
                 const char *format, ...) {
    char *message = NULL, kernel[512] = "";
    preempt_off++;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&message, format, arguments);
    va_end(arguments);
    struct entry *entry = calloc(1, sizeof *entry);
    if (length < 0 || entry == NULL) abort();
    struct source_place place = simt_source_place(pc);
    if (thread) source_pretty(thread->block->launch->kernel, kernel, sizeof kernel);
    entry->finding = (struct simt_finding){
        .kind = kind,
        .is_error = is_error,
        .kernel = strdup(kernel),
        .file = place.file,
        .line = place.line,
        .text = compose(message, &place, thread, is_device_function(place.function) ? place.function : kernel),
    };
    entry->json = json_finding_new(&(struct reported_finding){
        .kind = kind,
        .is_error = is_error,
        .message = message,
        .kernel = kernel,
        .function = is_device_function(place.function) ? place.function : "",
        .file = place.file,
        .line = place.line,
        .has_thread = thread != NULL,
        .thread = thread ? thread->index : (struct dim){0, 0, 0},
        .block = thread ? thread->block->index : (struct dim){0, 0, 0},
        .access = about.access,
        .other = about.other,
    });
    about = (struct about){0};
    free(message);
    entry->rank = thread ? thread->block->rank : UINT64_MAX;
    pthread_mutex_lock(&lock);
    entry->sequence = vacancy.is_open ? vacancy.sequence : sequence++;
    vacancy.is_open = false;
    file_entry(entry, thread != NULL);
    pthread_mutex_unlock(&lock);
    preempt_off--;
}

static int by_rank(const void *a, const void *b) {
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->sequence < y->sequence ? -1 : 1;
}

void report_launch_end(struct simt_launch *launch) {
    uint64_t fail_rank = atomic_load(&launch->order->fail_rank);
    bool is_new = false;
    pthread_mutex_lock(&lock);
    if (pending.count) qsort(pending.entry, pending.count, sizeof *pending.entry, by_rank);
    size_t valid = 0;
    for (size_t i = 0; i < pending.count; i++) {
        struct entry *entry = pending.entry[i];
        if (entry->rank > fail_rank && entry->rank != UINT64_MAX)
            entry_free(entry);
        else
            pending.entry[valid++] = entry;
    }
    pending.count = valid;
    for (size_t i = 0; i < valid; i++) pending.entry[i]->overruled = is_overruled(&pending.entry[i]->finding);
    for (size_t i = 0; i < valid; i++) {
        if (pending.entry[i]->overruled)
            entry_free(pending.entry[i]);
        else
            is_new |= publish(pending.entry[i]);
    }
    pending.count = 0;
    if (is_new) json_report_write();
    pthread_mutex_unlock(&lock);
}

size_t simt_finding_count(void) {
    return known.count;
}

const struct simt_finding *simt_finding_at(size_t i) {
    return i < known.count ? &known.entry[i]->finding : NULL;
}

void simt_findings_clear(void) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < known.count; i++) entry_free(known.entry[i]);
    known.count = 0;
    pthread_mutex_unlock(&lock);
}
