/* not_run: the lines that no call has executed, from a traced program's records, and from a real program. */
#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../job.h"
#include "../not_run.h"
#include "../source.h"

TestSuite(not_run, .timeout = 240);

static const struct source source = {.file = {"softmax.cu", "own/reduce.cuh"}, .file_count = 2};

static struct line_record line(const char *file, int number, int ran, int called) {
    struct line_record record = {.line = number, .ran = ran, .called = called};
    snprintf(record.file, sizeof record.file, "%s", file);
    return record;
}

Test(not_run, names_ranges_in_called_functions) {
    struct line_record lines[] = {
        line("cuda_check.h", 5, 0, 1), line("reduce.cuh", 7, 0, 1),  line("reduce.cuh", 8, 1, 1),
        line("softmax.cu", 20, 0, 0),  line("softmax.cu", 22, 0, 0), line("softmax.cu", 41, 0, 1),
        line("softmax.cu", 44, 0, 1),  line("softmax.cu", 45, 1, 1), line("softmax.cu", 60, 0, 1)};
    struct not_run found;
    char text[256];
    not_run_of(lines, sizeof lines / sizeof *lines, &source, &found);
    cr_assert(found.is_known);
    cr_assert_eq(found.count, 3, "%d", found.count);
    not_run_text(&found, text, sizeof text);
    cr_assert_str_eq(text, "line 7 of reduce.cuh; lines 41-44 and 60 of softmax.cu");
}

Test(not_run, says_nothing_when_all_ran) {
    struct line_record lines[] = {line("softmax.cu", 41, 1, 1)};
    struct not_run found;
    char text[256] = "x";
    not_run_of(lines, 1, &source, &found);
    not_run_text(&found, text, sizeof text);
    cr_assert_eq(found.count, 0);
    cr_assert_str_eq(text, "");
}

Test(not_run, counts_a_line_that_ran_in_another_program) {
    struct line_record lines[] = {line("softmax.cu", 41, 0, 0), line("softmax.cu", 42, 0, 1)},
                       other[] = {line("softmax.cu", 40, 1, 1), line("softmax.cu", 41, 1, 1)};
    not_run_merge(lines, 2, other, 2);
    cr_assert(lines[0].ran && !lines[1].ran);
}

/* Line 8 runs for an infinite input only, line 10 never, line 12 for the 33rd block only, and line 22 for a failing launch. */
static const char program[] =
    "#include \"common/ops/softmax_forward/contract.h\"\n"
    "#include <cuda_runtime.h>\n"
    "__global__ void kernel(float *out, const float *x, int N, int C) {\n"
    "    int n = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (n >= N) { return; }\n"
    "    float m = -INFINITY, s = 0;\n"
    "    for (int c = 0; c < C; c++) { m = fmaxf(m, x[(size_t)n * C + c]); }\n"
    "    if (m == INFINITY) { s = 0; s = 1; s = 0;\n"
    "        if (C < -7)\n"
    "            s = 3; }\n"
    "    if (blockIdx.x == 33)\n"
    "        s = 0;\n"
    "    for (int c = 0; c < C; c++) { s += expf(x[(size_t)n * C + c] - m); }\n"
    "    for (int c = 0; c < C; c++) { out[(size_t)n * C + c] = expf(x[(size_t)n * C + c] - m) / s; }\n"
    "}\n"
    "__global__ void unused(float *out) {\n"
    "    out[0] = 1;\n"
    "}\n"
    "int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {\n"
    "    if (N > 0) { kernel<<<(N + 15) / 16, 16, 0, stream>>>(out, x, N, C); }\n"
    "    cudaError_t error = cudaGetLastError();\n"
    "    if (error) { return error; }\n"
    "    if (C < -5) {\n"
    "        unused<<<1, 1, 0, stream>>>(out);\n"
    "    }\n"
    "    return 0;\n"
    "}\n";

static cJSON *grade_program(void) {
    char command[2048], path[512];
    char *text = calloc(1, 1 << 16);
    snprintf(command, sizeof command, "mkdir -p %s/not_run", TEST_BUILD);
    cr_assert_eq(system(command), 0);
    snprintf(path, sizeof path, "%s/not_run/softmax.cu", TEST_BUILD);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(program, file) >= 0 && fclose(file) == 0);
    snprintf(command, sizeof command,
             "%s/grader/grader step1 --kernel softmax_forward --backend cpu --files %s/not_run --out %s/not_run/build "
             "--json - >%s/not_run/report.json",
             TEST_BUILD, TEST_BUILD, TEST_BUILD, TEST_BUILD);
    int status = system(command);
    cr_assert(status != -1 && WEXITSTATUS(status) <= 1, "%d", status);
    snprintf(path, sizeof path, "%s/not_run/report.json", TEST_BUILD);
    file = fopen(path, "r");
    cr_assert(file && fread(text, 1, (1 << 16) - 1, file) > 0 && fclose(file) == 0);
    cJSON *report = cJSON_Parse(text);
    free(text);
    return report;
}

static bool is_named(const cJSON *branches, int line) {
    const cJSON *range;
    cJSON_ArrayForEach(range, cJSON_GetObjectItem(branches, "not_run")) {
        bool inside = cJSON_GetNumberValue(cJSON_GetObjectItem(range, "first")) <= line &&
                      cJSON_GetNumberValue(cJSON_GetObjectItem(range, "last")) >= line;
        if (inside) { return true; }
    }
    return false;
}

Test(not_run, reads_the_lines_of_a_real_program) {
    cJSON *report = grade_program();
    const cJSON *branches = cJSON_GetArrayItem(cJSON_GetObjectItem(report, "branches"), 0);
    cr_assert(branches && cJSON_GetObjectItem(branches, "not_run"));
    cr_expect(!is_named(branches, 8), "it runs for an infinite input");
    cr_expect(is_named(branches, 10));
    cr_expect(!is_named(branches, 12), "it runs in a block that the exploration skips");
    cr_expect(!is_named(branches, 17), "no line of its function runs");
    cr_expect(!is_named(branches, 22), "it runs when the launch fails");
    cr_expect(is_named(branches, 24));
    for (int line = 3; line <= 27; line++) {
        cr_expect(!is_named(branches, line) || line == 10 || line == 24 || line == 25, "line %d", line);
    }
    cJSON_Delete(report);
}
