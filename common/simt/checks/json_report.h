/* json_report.h — the JSON report of a run: a file with the findings and the counters of each kernel. docs/simt-cc.md
 * describes it. Without SIMT_REPORT nothing here has an effect.
 */
#ifndef SIMT_JSON_REPORT_H
#define SIMT_JSON_REPORT_H

#include "engine/internal.h"

/* One of the memory accesses that a finding is about. */
struct reported_access {
    const char *kind;  /* "read", "write", "atomic" NULL: the finding is not about an access */
    const char *space; /* "global", "shared" */
    unsigned bytes;    /* 0: unknown, like the address */
    uint64_t address;
    const char *file; /* of the other access; "" when unknown */
    int line;
    bool has_thread;
    struct dim thread, block;
};

/* A finding in parts. The strings are copied. */
struct reported_finding {
    enum simt_finding_kind kind;
    bool is_error;
    const char *message; /* lines, separated by '\n'; the first is the summary */
    const char *kernel, *function, *file;
    int line;
    bool has_thread;
    struct dim thread, block;
    struct reported_access access, other;
};

struct json_finding;

bool json_report_wanted(void);

/* The accesses that this OS thread's next finding is about. `other`: of a race, or NULL. */
void report_access(const struct reported_access *access, const struct reported_access *other);

/* NULL unless a report is wanted. A finding is in the report once it is added. */
struct json_finding *json_finding_new(const struct reported_finding *finding);
void json_finding_free(struct json_finding *finding);
void json_finding_add(struct json_finding *finding);
void json_finding_repeat(struct json_finding *finding); /* found again */

/* After a launch. */
void json_report_launch(const struct simt_launch *launch);

/* Brings the file up to date with the findings. */
void json_report_write(void);

#endif
