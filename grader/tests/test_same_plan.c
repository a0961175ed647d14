/* same_plan: the cases for a submission's branches are the same wherever it is built. The programs are real ones. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../run.h"
#include "labs.h"

TestSuite(same_plan, .timeout = 240);

/* A copy of lab 2's softmax in that folder, its traced program, and the cases for it. */
static struct exploration *explored(const char *folder, const char *flags) {
    static struct grade_request request;
    char command[2048], program[512], files[512];
    snprintf(files, sizeof files, "%s/same_plan/%s/files", TEST_BUILD, folder);
    snprintf(program, sizeof program, "%s/same_plan/%s/traced/softmax", TEST_BUILD, folder);
    snprintf(
        command, sizeof command,
        "mkdir -p %s && cp step2_warp_reduce/solution/softmax.cu step2_warp_reduce/solution/*.cuh %s && env -u "
        "MAKEFLAGS -u MAKELEVEL make -s "
        "--no-print-directory -f common/step.mk BUILD=%s SANITIZE= BACKEND=cpu TRACED=1 LAB=step2_warp_reduce SRC=%s "
        "OUT=%s/same_plan/%s/traced CPUFLAGS='%s'",
        files, files, TEST_BUILD, files, TEST_BUILD, folder, flags);
    cr_assert_eq(system(command), 0, "%s", command);
    request = (struct grade_request){.step = lab("step2"), .files = files, .seed = 5};
    struct task task = {
        .request = &request, .exercise = exercise_find(lab("step2"), "softmax_forward"), .traced = program};
    struct exploration *found = malloc(sizeof *found);
    run_exploration(&task, found);
    cr_assert_gt(found->case_count, 3, "%d", found->case_count);
    return found;
}

Test(same_plan, does_not_depend_on_paths_and_addresses) {
    struct exploration *here = explored("a", "-O0"), *there = explored("a/longer/path", "-falign-functions=4096");
    cr_expect_eq(here->atoms, there->atoms, "%d and %d", here->atoms, there->atoms);
    cr_expect_eq(here->probes, there->probes, "%d and %d", here->probes, there->probes);
    cr_assert_eq(here->case_count, there->case_count, "%d and %d", here->case_count, there->case_count);
    cr_expect_eq(memcmp(here->cases, there->cases, sizeof here->cases), 0);
    free(here);
    free(there);
}
