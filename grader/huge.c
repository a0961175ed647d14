#include "huge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/status.h"
#include "judge.h"

static const long ELEMENTS = (1l << 32) - (1l << 26); /* at most; an index of 32 bits is unambiguous */

int huge_cases(const struct op *op, enum op_type type, struct test_case cases[HUGE_CASES]) {
    static const int columns[HUGE_CASES] = {768, 5000};
    if (op_is_on_sequences(op)) { return 0; }
    for (int i = 0; i < HUGE_CASES; i++) {
        long C = columns[i], rows = ELEMENTS / C;
        struct op_sizes sizes = {.N = (int)rows, .C = (int)C, .eps = 1e-5f};
        if (op_is_on_matrices(op)) { sizes = op_causal_sizes(type, 1, (int)(rows / C), (int)C, 0.125f); }
        cases[i] = (struct test_case){.sizes = sizes, .values = VALUES_NORMAL, .huge = true};
        cases[i].sizes.type = type;
        op_sizes_complete(op, &cases[i].sizes);
    }
    return HUGE_CASES;
}

struct evidence_case *huge_call(const struct device *device, const struct op *op, const struct test_case *test,
                                struct result *result) {
    struct evidence_case *shown = calloc(1, sizeof *shown);
    struct job job = job_make(JOB_CALL, op, &test->sizes);
    void *const none[OP_MAX_TENSORS] = {NULL};
    if (!shown) {
        fprintf(stderr, "grader: out of memory\n");
        exit(EXIT_FAULT);
    }
    shown->test = *test;
    job.huge = true;
    if (device->call(device->context, &job, none, result, &shown->findings) != CHILD_OK) { return shown; }
    shown->finding_count = shown->findings ? result->finding_count : 0;
    judge_huge(op, result, shown);
    return shown;
}
