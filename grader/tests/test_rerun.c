/* rerun: --case makes a call again that a report names. The grader and the submission are real. */
#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(rerun, .timeout = 240);

/* Right up to 700 columns. */
static const char source[] =
    "#include \"common/ops/softmax_forward/contract.h\"\n"
    "#include <cuda_runtime.h>\n"
    "__global__ void kernel(float *out, const float *x, int N, int C) {\n"
    "    int n = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (n >= N) { return; }\n"
    "    float m = -INFINITY, s = 0;\n"
    "    for (int c = 0; c < C; c++) { m = fmaxf(m, x[(size_t)n * C + c]); }\n"
    "    for (int c = 0; c < C; c++) { s += expf(x[(size_t)n * C + c] - m); }\n"
    "    for (int c = 0; c < C; c++) { out[(size_t)n * C + c] = C > 700 ? 0 : expf(x[(size_t)n * C + c] - m) / s; }\n"
    "}\n"
    "int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {\n"
    "    if (N == 0) { return 0; }\n"
    "    kernel<<<(N + 63) / 64, 64, 0, stream>>>(out, x, N, C);\n"
    "    return cudaGetLastError();\n"
    "}\n";

/* The exit status of the grader, marking that source. */
static int grade(const char *format, ...) {
    char options[1024], command[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(options, sizeof options, format, arguments);
    va_end(arguments);
    snprintf(command, sizeof command,
             "%s/grader/grader step1 --backend cpu --files %s/rerun --out %s/rerun/build --json %s/rerun/report.json "
             "%s >%s/rerun/report.txt 2>&1",
             TEST_BUILD, TEST_BUILD, TEST_BUILD, TEST_BUILD, options, TEST_BUILD);
    int status = system(command);
    cr_assert_neq(status, -1);
    return WEXITSTATUS(status);
}

static char *read_output(const char *name) {
    char path[512];
    char *text = calloc(1, 1 << 16);
    snprintf(path, sizeof path, "%s/rerun/%s", TEST_BUILD, name);
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s", path);
    fread(text, 1, (1 << 16) - 1, file);
    fclose(file);
    return text;
}

static void assert_says(const char *words) {
    char *text = read_output("report.txt");
    cr_assert(strstr(text, words), "'%s' is not in: %s", words, text);
    free(text);
}

static void setup(void) {
    char path[512], command[600];
    snprintf(command, sizeof command, "mkdir -p %s/rerun", TEST_BUILD);
    cr_assert_eq(system(command), 0);
    snprintf(path, sizeof path, "%s/rerun/softmax.cu", TEST_BUILD);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(source, file) >= 0 && fclose(file) == 0);
}

Test(rerun, fails_or_passes_like_the_case, .init = setup) {
    char word[512] = "";
    cr_assert_eq(grade("--kernel softmax_forward --seed 3"), 1);
    char *text = read_output("report.json");
    cJSON *report = cJSON_Parse(text);
    const cJSON *outcome;
    cJSON_ArrayForEach(outcome, cJSON_GetObjectItem(report, "outcomes")) {
        const cJSON *failure = cJSON_GetObjectItem(outcome, "failure");
        if (failure) { snprintf(word, sizeof word, "%s", cJSON_GetStringValue(cJSON_GetObjectItem(failure, "case"))); }
    }
    cJSON_Delete(report);
    free(text);
    cr_assert(strncmp(word, "softmax_forward_f32:N=", 22) == 0, "%s", word);
    cr_assert_eq(grade("--case %s", word), 1);
    assert_says("rerun: ./grader step1 --case softmax_forward_f32:");
    cr_assert_eq(grade("--kernel softmax_forward --case softmax_forward_f32:N=2,C=700,values=peak,seed=12"), 0);
    assert_says("case                                pass");
    cr_assert_eq(grade("--case softmax_forward_f32:N=2,C=701,again,shuffled,seed=12"), 1);
    cr_assert_eq(grade("--case softmax_forward_f32:N=2,C=701,refused,seed=12"), 0, "the launch's error is returned");
}

Test(rerun, refuses_what_the_step_does_not_mark, .init = setup) {
    cr_assert_eq(grade("--case nonsense"), 2);
    assert_says("there is no case 'nonsense'");
    cr_assert_eq(grade("--case layernorm_backward_f32:N=1,C=4,seed=1"), 2);
    assert_says("which step1 does not mark");
    cr_assert_eq(grade("--kernel residual_forward --case softmax_forward_f32:N=1,C=4,seed=1"), 2);
    assert_says("which --kernel residual_forward does not mark");
}
