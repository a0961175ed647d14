/* paths: only a lab's own files leave a submission, whatever else is in it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include "../hint.h"
#include "../paths.h"
#include "labs.h"

TestSuite(paths, .timeout = 20);

static char root[64], clean[PATHS_BYTES], error[256];

static void make_root(void) {
    strcpy(root, "/tmp/paths.XXXXXX");
    cr_assert(mkdtemp(root));
    all_labs(); /* before a test leaves the course's folder */
}

static void remove_root(void) {
    paths_remove(root);
}

static char *at(const char *name) {
    static char path[PATHS_BYTES];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void put(const char *name, const char *text) {
    FILE *file = fopen(at(name), "w");
    cr_assert(file, "%s", at(name));
    fputs(text, file);
    fclose(file);
}

static bool taken(const char *name) {
    char path[PATHS_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", clean, name);
    return access(path, F_OK) == 0;
}

static bool take(const char *from) {
    error[0] = '\0';
    return paths_take_submission(lab("step2"), from, clean, sizeof clean, error, sizeof error);
}

Test(paths, a_submission_gives_the_labs_files_and_nothing_else, .init = make_root, .fini = remove_root) {
    put("softmax.cu", "// mine");
    put("reduce.cuh", "// mine");
    put("Makefile", "all: ; rm -rf /");
    put("cuda_check.h", "#error");
    put("other.cu", "// not of this lab");
    cr_assert(take(root), "%s", error);
    cr_assert(taken("softmax.cu") && taken("reduce.cuh"));
    cr_assert(!taken("Makefile") && !taken("cuda_check.h") && !taken("other.cu"));
    paths_remove(clean);
    cr_assert(access(clean, F_OK) != 0);
}

Test(paths, a_folder_of_steps_will_do, .init = make_root, .fini = remove_root) {
    mkdir(at("step2_warp_reduce"), 0777);
    put("step2_warp_reduce/softmax.cu", "// mine");
    cr_assert(take(root), "%s", error);
    cr_assert(taken("softmax.cu"));
    paths_remove(clean);
}

Test(paths, own_headers_are_taken, .init = make_root, .fini = remove_root) {
    put("softmax.cu", "// mine");
    mkdir(at("mine"), 0777);
    put("tile.cuh", "// mine");
    put("mine/tile.h", "// mine");
    put("mine/notes.txt", "// mine");
    put(".hidden.h", "// mine");
    put("odd name.h", "// mine");
    mkdir(at("common"), 0777);
    put("common/cuda_check.h", "#error");
    cr_assert(take(root), "%s", error);
    cr_assert(taken("tile.cuh") && taken("mine/tile.h"));
    cr_assert(!taken("mine/notes.txt") && !taken(".hidden.h") && !taken("odd name.h") && !taken("common/cuda_check.h"));
    paths_remove(clean);
    cr_assert_eq(symlink("/etc/hostname", at("link.h")), 0);
    cr_assert(!take(root));
    cr_assert(strstr(error, "link.h is no regular file"), "%s", error);
    unlink(at("link.h"));
    cr_assert_eq(symlink("/usr/include", at("linked")), 0);
    cr_assert(take(root), "%s", error);
    cr_assert(!taken("linked/stdio.h"), "links are not followed");
    paths_remove(clean);
    for (int i = 0; i < 100; i++) {
        char name[20];
        snprintf(name, sizeof name, "h%d.cuh", i);
        put(name, "");
    }
    cr_assert(!take(root));
    cr_assert(strstr(error, "more than 64 headers"), "%s", error);
}

/* Does the header exist for a file that was taken: in the course, or in a folder of the submission? */
static bool is_found(const struct step *step, const char *header) {
    const char *const folders[] = {"common", step->folder, "."}, *slash = strrchr(header, '/');
    char path[2 * PATHS_BYTES];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", folders[i], header);
        if (access(path, R_OK) == 0) { return true; }
    }
    snprintf(path, sizeof path, "find %s -name '%s' | grep -q .", clean, slash ? slash + 1 : header);
    return system(path) == 0;
}

Test(paths, a_submission_of_each_lab_is_complete) {
    static const char *const kinds[] = {"solution", "skeleton"};
    int included = 0;
    for (const struct step *step = all_labs(); step->name; step++) {
        for (int kind = 0; kind < 2; kind++) {
            char folder[PATHS_BYTES], command[2 * PATHS_BYTES], line[300], header[300];
            snprintf(folder, sizeof folder, "%s/%s", step->folder, kinds[kind]);
            cr_assert(paths_take_submission(step, folder, clean, sizeof clean, error, sizeof error), "%s", error);
            snprintf(command, sizeof command, "cat $(find %s -name '*.cu' -o -name '*.cuh')", clean);
            FILE *text = popen(command, "r");
            while (fgets(line, sizeof line, text)) {
                if (sscanf(line, "#include \"%299[^\"]", header) != 1) { continue; }
                cr_assert(is_found(step, header), "%s: %s is not taken", folder, header);
                included++;
            }
            pclose(text);
            paths_remove(clean);
        }
    }
    cr_assert(included > 40, "%d", included);
}

Test(paths, links_and_devices_are_refused, .init = make_root, .fini = remove_root) {
    cr_assert_eq(symlink("/etc/hostname", at("softmax.cu")), 0);
    cr_assert(!take(root));
    cr_assert(strstr(error, "softmax.cu is no regular file"), "%s", error);
    unlink(at("softmax.cu"));
    cr_assert_eq(mkfifo(at("softmax.cu"), 0600), 0);
    cr_assert(!take(root), "a pipe would block for ever");
}

Test(paths, an_empty_submission_says_so, .init = make_root, .fini = remove_root) {
    cr_assert(!take(root));
    cr_assert(strstr(error, "holds none of step2's files"), "%s", error);
    cr_assert(!take(at("nowhere")));
    cr_assert(strstr(error, "cannot open"), "%s", error);
}

Test(paths, the_last_edited_step_is_found, .init = make_root, .fini = remove_root) {
    struct utimbuf early = {1000000, 1000000}, late = {1000100, 1000100};
    char before[PATHS_BYTES];
    mkdir(at("step1_naive"), 0777);
    mkdir(at("step2_warp_reduce"), 0777);
    put("step1_naive/softmax.cu", "");
    put("step2_warp_reduce/softmax.cu", "");
    cr_assert(getcwd(before, sizeof before));
    utime(at("step1_naive/softmax.cu"), &early);
    utime(at("step2_warp_reduce/softmax.cu"), &early);
    cr_assert_eq(chdir(root), 0);
    cr_assert_null(paths_last_edited(all_labs()), "copied together: none was edited");
    utime(at("step1_naive/softmax.cu"), &late);
    cr_assert_eq(paths_last_edited(all_labs()), lab("step1"));
    cr_assert_eq(chdir(before), 0);
}

Test(paths, folders_are_made_with_their_parents, .init = make_root, .fini = remove_root) {
    cr_assert(paths_make_folder(at("a/b/c")));
    cr_assert(paths_make_folder(at("a/b/c")), "again");
    cr_assert_eq(access(at("a/b/c"), W_OK), 0);
}

/* ---- hints ---- */

/* True when the hint that is shown has these words. */
static bool shows(const char *kernel, int level, const char *words) {
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    struct hint_request request = {lab("step1"), root, root, root, kernel, level};
    error[0] = '\0';
    hint_show(&request, to, error, sizeof error);
    fclose(to);
    bool found = strstr(text, words) != NULL;
    free(text);
    return found;
}

Test(paths, hints_are_of_what_is_not_solved, .init = make_root, .fini = remove_root) {
    static struct report report;
    cr_assert_eq(chdir(root), 0); /* away from the course's own hints */
    mkdir(at("hints"), 0777);
    put("hints/residual_forward.1.md", "residual one");
    put("hints/softmax_forward.1.md", "softmax one");
    put("hints/softmax_forward.3.md", "softmax three");
    cr_assert(shows(NULL, 0, "residual one"), "before any run: the first exercise");
    report.step = lab("step1");
    static const struct check shapes = {CHECK_SHAPES, 10};
    report.outcomes[0] =
        (struct outcome){.exercise = &report.step->exercises[0], .check = &shapes, .verdict = VERDICT_PASS};
    report.outcomes[1] =
        (struct outcome){.exercise = &report.step->exercises[1], .check = &shapes, .verdict = VERDICT_FAIL};
    report.outcomes[1].failure.hint = 3;
    report.outcome_count = 2;
    hint_remember(&report, root);
    cr_assert(shows(NULL, 0, "softmax three"));
    cr_assert(shows(NULL, 1, "softmax one"));
    cr_assert(shows(NULL, 1, "more: ./grader step1 --kernel softmax_forward --hint=2"));
    cr_assert(shows("residual_forward", 0, "residual one"));
    cr_assert(!shows("residual_forward", 2, "residual"));
    cr_assert(strstr(error, "there is no hint 2 for residual_forward"), "%s", error);
}

Test(paths, hints_go_further_while_the_same_is_wrong, .init = make_root, .fini = remove_root) {
    static struct report report;
    static const struct check shapes = {CHECK_SHAPES, 10};
    cr_assert_eq(chdir(root), 0);
    mkdir(at("hints"), 0777);
    put("hints/softmax_forward.1.md", "softmax one");
    put("hints/softmax_forward.2.md", "softmax two");
    put("hints/softmax_forward.3.md", "softmax three");
    put("hints/residual_forward.1.md", "residual one");
    report.step = lab("step1");
    report.outcomes[0] =
        (struct outcome){.exercise = &report.step->exercises[1], .check = &shapes, .verdict = VERDICT_FAIL};
    report.outcomes[0].failure.diagnosis = "shifted-by-one";
    report.outcome_count = 1;
    hint_remember(&report, root);
    cr_assert(shows(NULL, 0, "softmax one"));
    cr_assert(shows(NULL, 0, "softmax two"), "a call further");
    hint_remember(&report, root);
    cr_assert(shows("softmax_forward", 0, "softmax three"), "the same failure in the next run");
    cr_assert(shows(NULL, 0, "softmax three"), "the last one stays");
    report.outcomes[0].failure.diagnosis = "race";
    hint_remember(&report, root);
    cr_assert(shows(NULL, 0, "softmax one"), "another failure");
    report.outcomes[0] =
        (struct outcome){.exercise = &report.step->exercises[0], .check = &shapes, .verdict = VERDICT_FAIL};
    hint_remember(&report, root);
    cr_assert(shows(NULL, 0, "residual one"), "what was marked last");
    cr_assert(shows("softmax_forward", 0, "softmax two"), "and what it did not mark is kept");
}
