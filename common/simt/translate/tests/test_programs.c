/* programs: programs that simt-cc builds give right results, in the checked build without a finding.
 *
 * common/simt/tests/programs/ holds ordinary CUDA teaching programs, each of which compares with a CPU result;
 * cases/ holds the forms of CUDA one by one; common/simt/tests/faults/ holds programs with one fault each, which must be
 * the only finding. make builds them, for another processor with CROSS.
 */
#include "shell.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <unistd.h>

TestSuite(programs, .timeout = 300);

/* These provoke launch errors on purpose; they must have no other finding. */
static const char *const provoking[] = {"error_macros", "occupancy"};

static int provokes(const char *name) {
    for (size_t i = 0; i < sizeof provoking / sizeof *provoking; i++) {
        if (strcmp(name, provoking[i]) == 0) { return 1; }
    }
    return 0;
}

/* The files of `folder` that end in .cu, without the ending; and its folders with a main.cu: programs of several sources. */
static int list(const char *folder, char names[][64], int most) {
    int count = 0;
    DIR *directory = opendir(folder);
    cr_assert_not_null(directory, "%s is missing; run from the course's root", folder);
    for (struct dirent *entry; (entry = readdir(directory));) {
        char *dot = strrchr(entry->d_name, '.'), main_source[512];
        size_t length = dot ? (size_t)(dot - entry->d_name) : strlen(entry->d_name);
        snprintf(main_source, sizeof main_source, "%s/%s/main.cu", folder, entry->d_name);
        bool program = dot ? strcmp(dot, ".cu") == 0 : access(main_source, R_OK) == 0;
        if (program && length < 64 && count < most) {
            snprintf(names[count++], 64, "%.*s", (int)length, entry->d_name);
        }
    }
    closedir(directory);
    return count;
}

static void run_programs(const char *suffix) {
    static char names[128][64];
    static struct said said;
    int count = list("common/simt/tests/programs", names, 128);
    cr_assert_geq(count, 60);
    for (int i = 0; i < count; i++) {
        run(&said, "timeout 60 tools/emulate %s/simt/programs/%s%s 2>&1 >/dev/null", build_folder(), names[i], suffix);
        cr_expect_eq(said.status, 0, "%s%s: exit status %d\n%s", names[i], suffix, said.status, said.text);
        if (provokes(names[i])) {
            cr_expect_not_null(strstr(said.text, "Invalid launch"), "%s", said.text);
            cr_expect_null(strstr(said.text, "race"), "%s", said.text);
        } else {
            cr_expect_str_empty(said.text, "%s%s says\n%s", names[i], suffix, said.text);
        }
    }
}

Test(programs, teaching_programs_checked) {
    run_programs("");
}

Test(programs, teaching_programs_fast) {
    run_programs("_fast");
}

/* What a program with a planted fault declares in its comments: see common/simt/tests/faults/README.md. */
struct fault {
    int line, other_line; /* other_line: 0 if the fault has one line */
    char finding[128];    /* part of the finding's text; "not found" if the backend cannot find it */
};

static struct fault read_fault(const char *name) {
    char path[256], text[512];
    struct fault fault = {0};
    snprintf(path, sizeof path, "common/simt/tests/faults/%s.cu", name);
    FILE *source = fopen(path, "r");
    cr_assert_not_null(source, "%s", path);
    for (int line = 1; fgets(text, sizeof text, source); line++) {
        char *mark = strstr(text, "// fault: ");
        if (mark) {
            cr_assert_eq(fault.line, 0, "%s:%d: a second fault", path, line);
            fault.line = line;
            snprintf(fault.finding, sizeof fault.finding, "%.*s", (int)strcspn(mark + 10, "\n"), mark + 10);
        }
        if (strstr(text, "// fault, other line\n")) { fault.other_line = line; }
    }
    fclose(source);
    cr_assert(fault.line, "%s declares no fault", path);
    return fault;
}

static bool names_line(const char *text, const char *name, int line) {
    char place[128];
    snprintf(place, sizeof place, "%s.cu:%d", name, line);
    while ((text = strstr(text, place))) {
        text += strlen(place);
        if (!isdigit((unsigned char)*text)) { return true; }
    }
    return false;
}

Test(programs, planted_faults) {
    static char names[128][64];
    static struct said said;
    int count = list("common/simt/tests/faults", names, 128);
    cr_assert_geq(count, 45);
    for (int i = 0; i < count; i++) {
        struct fault fault = read_fault(names[i]);
        run(&said, "SIMT_LEAKS=1 timeout 60 tools/emulate %s/simt/faults/%s 2>&1 >/dev/null", build_folder(), names[i]);
        cr_expect_eq(said.status, 0, "%s: exit status %d\n%s", names[i], said.status, said.text);
        if (strcmp(fault.finding, "not found") == 0) {
            cr_expect_str_empty(said.text, "%s says\n%s", names[i], said.text);
            continue;
        }
        const char *end = strstr(said.text, "=========\n"); /* of the first finding */
        cr_expect(end && strlen(end) == strlen("=========\n"), "%s: not one finding\n%s", names[i], said.text);
        cr_expect(strstr(said.text, fault.finding), "%s: not '%s'\n%s", names[i], fault.finding, said.text);
        cr_expect(names_line(said.text, names[i], fault.line), "%s: not line %d\n%s", names[i], fault.line, said.text);
        cr_expect(fault.other_line == 0 || names_line(said.text, names[i], fault.other_line), "%s: not line %d\n%s",
                  names[i], fault.other_line, said.text);
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
