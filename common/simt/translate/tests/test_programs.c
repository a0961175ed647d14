/* programs: programs that simt-cc builds give right results, in the checked build without a finding.
 *
 * common/simt/tests/programs/ holds ordinary CUDA teaching programs, each of which compares with a CPU result;
 * cases/ holds the forms of CUDA one by one. make builds them, for another processor with CROSS.
 */
#include "shell.h"

#include <criterion/criterion.h>
#include <dirent.h>

TestSuite(programs, .timeout = 300);

/* These provoke launch errors on purpose; they must have no other finding. */
static const char *const provoking[] = {"error_macros", "occupancy"};

static int provokes(const char *name) {
    for (size_t i = 0; i < sizeof provoking / sizeof *provoking; i++) {
        if (strcmp(name, provoking[i]) == 0) { return 1; }
    }
    return 0;
}

/* The files of `folder` that end in .cu, without the ending. */
static int list(const char *folder, char names[][64], int most) {
    int count = 0;
    DIR *directory = opendir(folder);
    cr_assert_not_null(directory, "%s is missing; run from the course's root", folder);
    for (struct dirent *entry; (entry = readdir(directory));) {
        char *dot = strrchr(entry->d_name, '.');
        if (dot && strcmp(dot, ".cu") == 0 && dot - entry->d_name < 64 && count < most) {
            snprintf(names[count++], 64, "%.*s", (int)(dot - entry->d_name), entry->d_name);
        }
    }
    closedir(directory);
    return count;
}

Test(programs, teaching_programs) {
    static char names[128][64];
    static struct said said;
    int count = list("common/simt/tests/programs", names, 128);
    cr_assert_geq(count, 25);
    for (int i = 0; i < count; i++) {
        run(&said, "timeout 60 tools/emulate %s/simt/programs/%s 2>&1 >/dev/null", build_folder(), names[i]);
        cr_expect_eq(said.status, 0, "%s: exit status %d\n%s", names[i], said.status, said.text);
        if (provokes(names[i])) {
            cr_expect_not_null(strstr(said.text, "Invalid launch"), "%s", said.text);
            cr_expect_null(strstr(said.text, "race"), "%s", said.text);
        } else {
            cr_expect_str_empty(said.text, "%s says\n%s", names[i], said.text);
        }
    }
}

static void run_cases(const char *suffix) {
    static char names[16][64];
    static struct said all, said;
    int count = list("common/simt/translate/tests/cases", names, 16), cases = 0;
    for (int i = 0; i < count; i++) {
        run(&all, "tools/emulate %s/simt/cases/%s%s --list", build_folder(), names[i], suffix);
        cr_assert_eq(all.status, 0, "%s", names[i]);
        for (char *name = strtok(all.text, "\n"); name; name = strtok(NULL, "\n")) {
            run(&said, "timeout 60 tools/emulate %s/simt/cases/%s%s %s 2>&1", build_folder(), names[i], suffix, name);
            char ok[100];
            snprintf(ok, sizeof ok, "ok     %s\n", name);
            cr_expect(said.status == 0 && strcmp(said.text, ok) == 0, "%s %s: %d\n%s", names[i], name, said.status,
                      said.text);
            cases++;
        }
    }
    cr_expect_geq(cases, 60, "%d cases", cases);
}

Test(programs, cases_checked) {
    run_cases("");
}

Test(programs, cases_fast) {
    run_cases("_fast");
}
