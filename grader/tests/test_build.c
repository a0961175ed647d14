/* build: files of a lab that are right, do not compile, are repaired, or are touched. CPU backend. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grader/build.h"
#include "grader/symbols.h"

static char folder[64], files[80], out[80];
static struct build_options options;
static struct build_report report;

static void write_text(const char *name, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", files, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static void enter(void) {
    setenv("BUILD", TEST_BUILD, 1); /* the labs' build is the ordinary one, also when this test is under sanitizers */
    unsetenv("SANITIZE");
    strcpy(folder, "/tmp/build-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(files, sizeof files, "%s/lab", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    mkdir(files, 0755);
    options = (struct build_options){.course = ".", .files = files, .out = out, .backend = "cpu"};
}

static void leave(void) {
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

static const char good[] = "#include \"ops/row_sum/contract.h\"\n"
                           "#include \"scale.cuh\"\n"
                           "__global__ void row_sum_kernel(float *out, const float *x, int N, int C) {\n"
                           "    int n = blockIdx.x * blockDim.x + threadIdx.x;\n"
                           "    if (n >= N) { return; }\n"
                           "    float sum = 0;\n"
                           "    for (int c = 0; c < C; c++) { sum += SCALE * x[(size_t)n * C + c]; }\n"
                           "    out[n] = sum;\n"
                           "}\n"
                           "int row_sum_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {\n"
                           "    if (N > 0) { row_sum_kernel<<<(N + 255) / 256, 256, 0, stream>>>(out, x, N, C); }\n"
                           "    return (int)cudaGetLastError();\n"
                           "}\n";
static const char broken[] = "#include <cuda_runtime.h>\n"
                             "__global__ void kernel(float *out) {\n"
                             "    out[threadIdx.x] = missing;\n"
                             "}\n";

static const struct build_file *build(const char *name) {
    build_step(&options, &report);
    const struct build_file *file = build_find(&report, name);
    cr_assert_not_null(file, "%s", report.message);
    return file;
}

TestSuite(build, .init = enter, .fini = leave);

Test(build, one_broken_file_does_not_stop_the_others) {
    write_text("scale.cuh", "#define SCALE 1.0f\n");
    write_text("good.cu", good);
    write_text("broken.cu", broken);
    const struct build_file *bad = build("broken");
    cr_assert_eq(report.status, BUILD_PARTIAL, "%s", report.message);
    cr_assert(!bad->built);
    cr_assert(strstr(bad->errors, "broken.cu:3"), "the learner's own line:\n%s", bad->errors);
    cr_assert(strstr(bad->errors, "missing"), "%s", bad->errors);
    const struct build_file *fine = build_find(&report, "good");
    cr_assert(fine->built && fine->rebuilt && !fine->was_stale);
    cr_assert_str_eq(fine->errors, "");
    cr_assert_eq(access(fine->runner, X_OK), 0);

    /* Once a file no longer compiles, its old program must not be marked. */
    write_text("good.cu", broken);
    fine = build("good");
    cr_assert(!fine->built);
    cr_assert(access(fine->runner, F_OK) != 0);
}

Test(build, what_changed_is_rebuilt_and_said) {
    write_text("scale.cuh", "#define SCALE 1.0f\n");
    write_text("good.cu", good);
    cr_assert(build("good")->rebuilt);
    cr_assert_eq(report.status, BUILD_OK, "%s", report.message);
    cr_assert_str_eq(report.message, "");
    cr_assert(!build("good")->rebuilt, "a second build does nothing");
    cr_assert(report.seconds < 2, "%g s for nothing", report.seconds);

    write_text("scale.cuh", "#define SCALE 2.0f\n");
    cr_assert(build("good")->was_stale, "a header that changed rebuilds");
    cr_assert_str_eq(report.message, "good.cu changed since the last build: rebuilt");

    char object[200], library[64], symbol[200];
    build_object_path(&options, "good.cu", object, sizeof object);
    cr_assert_eq(access(object, R_OK), 0);
    cr_assert(!symbols_forbidden(object, NULL, library, sizeof library, symbol, sizeof symbol), "%s", symbol);
}

/* Gives a file of that name this text and this time, as mv and cp -p do. */
static void replace(const char *name, const char *text, struct timespec when) {
    char path[200], from[200];
    snprintf(path, sizeof path, "%s/%s", files, name);
    snprintf(from, sizeof from, "%s/other", files);
    write_text("other", text);
    cr_assert_eq(utimensat(AT_FDCWD, from, (struct timespec[]){when, when}, 0), 0);
    cr_assert_eq(rename(from, path), 0);
}

static struct timespec time_of(const char *name) {
    char path[200];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", files, name);
    cr_assert_eq(stat(path, &status), 0);
    return status.st_mtim;
}

Test(build, what_differs_is_rebuilt_whatever_its_time) {
    const struct timespec long_ago = {.tv_sec = 946684800};
    write_text("scale.cuh", "#define SCALE 1.0f\n");
    write_text("good.cu", good);
    cr_assert(build("good")->built, "%s", report.message);

    replace("scale.cuh", "#define SCALE 3.0f\n", long_ago);
    cr_assert(build("good")->was_stale, "an older header");
    replace("scale.cuh", "#define SCALE 4.0f\n", time_of("scale.cuh"));
    cr_assert(build("good")->was_stale, "another header with the same time");
    cr_assert(!build("good")->rebuilt, "nothing differs");

    replace("good.cu", broken, time_of("good.cu"));
    cr_assert(!build("good")->built, "another file with the same time");
    replace("good.cu", good, long_ago);
    cr_assert(build("good")->built, "%s", report.message);
    replace("good.cu", broken, long_ago);
    cr_assert(!build("good")->built, "an older file");
}

/* Two folders whose files are built into one: ./grader --files. */
Test(build, the_same_name_in_an_older_folder_is_rebuilt) {
    const struct timespec long_ago = {.tv_sec = 946684800};
    char other[80];
    write_text("scale.cuh", "#define SCALE 1.0f\n");
    write_text("good.cu", good);
    cr_assert(build("good")->built, "%s", report.message);
    snprintf(other, sizeof other, "%s/other", folder);
    mkdir(other, 0755);
    options.files = strcpy(files, other);
    replace("scale.cuh", "#define SCALE 1.0f\n", long_ago);
    replace("good.cu", good, long_ago);
    cr_assert(build("good")->built, "%s", report.message);
    replace("good.cu", broken, long_ago);
    cr_assert(!build("good")->built);
    replace("good.cu", good, long_ago);
    cr_assert(build("good")->built, "%s", report.message);

    /* A submission's folder is removed when it has been marked. */
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", other);
    cr_assert_eq(system(command), 0);
    snprintf(files, sizeof files, "%s/lab", folder);
    replace("good.cu", good, long_ago);
    cr_assert(build("good")->built, "%s", report.message);
    cr_assert_eq(report.status, BUILD_OK, "the same text: %s", report.message);
    replace("good.cu", broken, long_ago);
    cr_assert(!build("good")->built);
}

Test(build, a_missing_function_is_the_linkers_error) {
    write_text("calls.cu",
               "extern \"C\" int nowhere(void);\n"
               "extern \"C\" int row_sum_f32(float *, const float *, int, int, void *) { return nowhere(); }\n");
    const struct build_file *file = build("calls");
    cr_assert_eq(report.status, BUILD_PARTIAL, "%s", report.message);
    cr_assert(strstr(file->errors, "undefined reference to `nowhere'"), "%s", file->errors);
}

/* attention.cu is a part of what block.cu's program is linked with: the lab's lab.mk says so. */
Test(build, a_part_that_does_not_compile_is_named) {
    write_text("attention.cu", "#include \"gpt2/model/attention.cuh\"\nint broken() { return nothing; }\n");
    write_text("block.cu", "#include \"gpt2/model/block.cuh\"\n");
    options.lab = "step4_gpt2_integration";
    options.names = "block";
    options.parts[0] = "attention.cu";
    const struct build_file *file = build("block");
    cr_assert_eq(report.status, BUILD_PARTIAL, "%s", report.message);
    cr_assert(strstr(file->errors, "linked with attention.cu") && strstr(file->errors, "nothing"), "%s", file->errors);
}

Test(build, what_the_rules_refuse_goes_to_no_other_compiler) {
    char names[100];
    write_text("scale.cuh", "#define SCALE 1.0f\n");
    write_text("row_sum.cu", good);
    write_text("reads.cu", "#include \"/etc/passwd\"\n");
    write_text("broken.cu", broken);
    cr_assert_eq(build_step(&options, &report), BUILD_PARTIAL);
    build_refused(&options, &report, names, sizeof names);
    cr_assert_str_eq(names, "reads ");

    options.refused = "row_sum ";
    cr_assert_eq(build_step(&options, &report), BUILD_PARTIAL, "%s", report.message);
    cr_assert(!build_find(&report, "row_sum")->built, "a program that was built before is gone, too");
    options.refused = NULL;
    build_step(&options, &report);
    cr_assert(build_find(&report, "row_sum")->built);
}

Test(build, a_make_around_it_does_not_matter) {
    setenv("MAKEFLAGS", "n -j3 --jobserver-auth=3,4", 1);
    setenv("MAKELEVEL", "2", 1);
    write_text("scale.cuh", "#define SCALE 1.0f\n");
    write_text("good.cu", good);
    cr_assert(build("good")->built, "%s", report.message);
}

Test(build, no_folder_and_no_files) {
    cr_assert_eq(build_step(&options, &report), BUILD_NO_TOOL);
    cr_assert(strstr(report.message, "no .cu file"), "%s", report.message);
    options.files = "/no/such/folder";
    cr_assert_eq(build_step(&options, &report), BUILD_NO_TOOL);
    cr_assert(strstr(report.message, "No such file"), "%s", report.message);
}

Test(build, a_path_with_a_space_is_named) {
    options.out = "build/my labs";
    cr_assert_eq(build_step(&options, &report), BUILD_NO_TOOL);
    cr_assert(strstr(report.message, "build/my labs has a space"), "%s", report.message);
}

Test(build, a_missing_tool_is_named_with_the_line_to_type) {
    write_text("good.cu", good);
    setenv("PATH", "/nonexistent", 1);
    unsetenv("CXX");
    cr_assert_eq(build_step(&options, &report), BUILD_NO_TOOL);
    cr_assert(strstr(report.message, "apt-get install"), "%s", report.message);
    options.backend = "cuda";
    setenv("PATH", "/usr/bin:/bin", 1);
    if (access("/usr/local/cuda/bin/nvcc", X_OK) != 0 && access("/usr/bin/nvcc", X_OK) != 0) {
        cr_assert_eq(build_step(&options, &report), BUILD_NO_TOOL);
        cr_assert(strstr(report.message, "nvcc"), "%s", report.message);
    }
}

Test(build, the_first_three_errors_are_kept) {
    char errors[BUILD_ERROR_BYTES];
    build_first_errors(
        "a.cu:1:1: warning: w\n   1 | w\na.cu:2:1: error: one\n   2 | code\n     | ^\n"
        "a.cu(3): error: two\na.cu:4:1: warning: w\n  4 | w\na.cu:5: error: three\na.cu:6: error: four\n",
        errors, sizeof errors);
    cr_assert_str_eq(errors,
                     "a.cu:2:1: error: one\n   2 | code\n     | ^\na.cu(3): error: two\na.cu:5: error: three\n");
    build_first_errors("a.cu:1:1: warning: only\n", errors, sizeof errors);
    cr_assert_str_eq(errors, "");
    build_first_errors("a.cu:1: error: x\n", errors, 8);
    cr_assert(strlen(errors) < 8);
}

Test(build, warns_of_a_variable_without_a_value) {
    char text[100];
    build_uninitialised("In lambda function,\n"
                        "/lab/softmax.cu:60:3: warning: unused variable 'i' [-Wunused-variable]\n"
                        "/lab/softmax.cu:67:39: warning: 'sum' may be used uninitialized [-Wmaybe-uninitialized]\n"
                        "   67 | sum += 1;\n",
                        text, sizeof text);
    cr_assert_str_eq(text, "softmax.cu:67: 'sum' may be used uninitialized");
    build_uninitialised("/lab/softmax.cu:60:3: warning: unused variable 'i' [-Wunused-variable]\n", text, sizeof text);
    cr_assert_str_empty(text);
}

/* An object with the given C++ source, by the compiler that is there. */
/* The program for sanitizers and debuggers, which has no parent: the types that it is asked for, and how it ends. */
Test(build, an_exercise_calls_the_types_it_is_asked_for) {
    char command[700];
    write_text("scale.cuh", "#define SCALE 1.0f\n");
    write_text("good.cu", good);
    snprintf(command, sizeof command, "make -s -f common/step.mk COURSE=. SRC=%s OUT=%s BACKEND=cpu exercise", files,
             out);
    cr_assert_eq(system(command), 0);
    static const struct {
        const char *types;
        int status;
    } calls[] = {{"", 0}, {"f32", 0}, {"f16 f32", 0}, {"f16", 2}, {"f32 fp16", 2}, {"fp32", 2}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        snprintf(command, sizeof command, "%s/good.exercise %s >/dev/null 2>&1", out, calls[i].types);
        cr_expect_eq(WEXITSTATUS(system(command)), calls[i].status, "good.exercise %s", calls[i].types);
    }
}
