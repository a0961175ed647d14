/* json_report: the JSON report of a program, read by cJSON: findings, counters, and however the program ends. */
#include "shell.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <limits.h>
#include <unistd.h>

static char folder[] = "/tmp/test_json_report_XXXXXX";
static struct said said;

/* argv[1] chooses what the program does. */
static const char source[] =
    "#include <cassert>\n#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n#include <csignal>\n"
    "#include <thread>\n#include <sys/wait.h>\n#include <unistd.h>\n"
    "__global__ void copy(float *to, const float *from, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) to[i] = from[i];\n"                                                        /* line 11 */
    "}\n__device__ void put(int *p) { *p = threadIdx.x; }\n"                                   /* line 13 */
    "__global__ void race(int *p) { put(p); }\n"                                               /* line 14 */
    "__global__ void fail(int *p) { assert(*p == 1 && \"back\\\\slash, \xc3\xbc, \xff\"); }\n" /* line 15 */
    "template <int N> __global__ void named(int *p) { p[threadIdx.x] = N; }\n"
    "static int deep(volatile int n) { volatile char room[4096]; room[0] = 1; return deep(n + 1) + room[0]; }\n"
    "static void several(float *to, float *from) { for (int i = 0; i < 20; i++) copy<<<4, 32>>>(to, from, 100); }\n"
    "int main(int argc, char **argv) {\n"
    "    const char *what = argc > 1 ? argv[1] : \"\";\n"
    "    auto is = [=](const char *word) { return strcmp(what, word) == 0; };\n"
    "    float *a, *b;\n    int *n;\n"
    "    cudaMalloc(&a, 400); cudaMalloc(&b, 400); cudaMalloc(&n, 256);\n"
    "    cudaMemset(a, 0, 400); cudaMemset(n, 0, 256);\n"
    "    copy<<<4, 32>>>(b, a, 100);\n"
    "    if (is(\"findings\")) {\n"
    "        race<<<1, 2>>>(n); race<<<1, 2>>>(n); named<7><<<1, 32>>>(n);\n"
    "        fail<<<1, 1>>>(n);\n    }\n"
    "    if (is(\"threads\")) {\n"
    "        std::thread one(several, b, a), two(several, b, a);\n        one.join(); two.join();\n    }\n"
    "    if (is(\"out of bounds\")) copy<<<4, 32>>>(b, a, 101);\n"
    "    if (is(\"segv\")) *(volatile int *)8 = 1;\n    if (is(\"abort\")) abort();\n"
    "    if (is(\"deep\")) return deep(0);\n    if (is(\"kill\")) raise(SIGKILL);\n"
    "    if (is(\"term\")) raise(SIGTERM);\n    if (is(\"throw\")) throw 1;\n"
    "    if (is(\"fork\")) { if (fork() == 0) { race<<<1, 2>>>(n); exit(5); } wait(NULL); }\n"
    "    printf(\"%d\\n\", cudaDeviceSynchronize());\n    exit(3);\n}\n";

static void compile(const char *flags) {
    char root[PATH_MAX], build[PATH_MAX], path[PATH_MAX];
    cr_assert_not_null(getcwd(root, sizeof root));
    cr_assert_not_null(realpath(build_folder(), build));
    snprintf(path, sizeof path, "%s/a.cu", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(source, file);
    fclose(file);
    run(&said, "cd '%s' && BUILD='%s' '%s/common/simt/simt-cc' %s a.cu -o 'a \"program\"' 2>&1", folder, build, root,
        flags);
}

static void set_up(void) {
    cr_assert_not_null(mkdtemp(folder));
}

static void tear_down(void) {
    run(&said, "rm -rf '%s'", folder);
}

TestSuite(json_report, .init = set_up, .fini = tear_down, .timeout = 120);

/* Runs the program; returns the report, or NULL if it is not JSON. */
static cJSON *report_of(const char *environment, const char *argument, const char *file) {
    static char text[1 << 20];
    char path[PATH_MAX];
    run(&said, "cd '%s' && ulimit -c 0 && %s './a \"program\"' '%s' 2>&1", folder, environment, argument);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *stream = fopen(path, "r");
    cr_assert_not_null(stream, "no report: %s", said.text);
    size_t length = fread(text, 1, sizeof text - 1, stream);
    text[length] = '\0';
    fclose(stream);
    const char *behind;
    cJSON *report = cJSON_ParseWithOpts(text, &behind, true);
    cr_assert_not_null(report, "%s: not JSON from here on: %s\nin: %s", argument, behind, text);
    return report;
}

static const cJSON *at(const cJSON *object, const char *key) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    cr_assert_not_null(value, "no \"%s\"", key);
    return value;
}

static void expect_text(const cJSON *object, const char *key, const char *text) {
    const cJSON *value = at(object, key);
    cr_assert(cJSON_IsString(value), "%s", key);
    cr_expect_str_eq(value->valuestring, text, "%s", key);
}

static void expect_number(const cJSON *object, const char *key, double number) {
    cr_expect_eq(at(object, key)->valuedouble, number, "%s is %g", key, at(object, key)->valuedouble);
}

static void expect_index(const cJSON *object, const char *key, int x, int y, int z) {
    const cJSON *value = at(object, key);
    int expected[] = {x, y, z};
    for (int i = 0; i < 3; i++) cr_expect_eq(cJSON_GetArrayItem(value, i)->valueint, expected[i], "%s[%d]", key, i);
}

static const char by_default[] = "a \"program\".report.json";

Test(json_report, findings_and_counters) {
    compile("--report json");
    cr_assert_eq(said.status, 0, "%s", said.text);
    cJSON *report = report_of("SIMT_CC=80", "findings", by_default);
    cr_expect_eq(said.status, 3);
    expect_number(report, "version", 1);
    expect_text(report, "backend", "checked");
    expect_number(report, "compute_capability", 80);
    cr_expect_not_null(strstr(at(report, "program")->valuestring, "/a \"program\""));
    expect_text(at(report, "end"), "how", "exit");
    expect_number(at(report, "end"), "status", 3);

    const cJSON *findings = at(report, "findings");
    cr_assert_eq(cJSON_GetArraySize(findings), 2, "%s", said.text);
    const cJSON *race = cJSON_GetArrayItem(findings, 0);
    expect_text(race, "kind", "race");
    expect_text(race, "severity", "error");
    expect_text(race, "kernel", "race(int *)");
    expect_text(race, "function", "put(int *)");
    expect_number(race, "line", 13);
    expect_number(race, "count", 2);
    expect_index(race, "block", 0, 0, 0);
    cr_expect_eq(cJSON_GetArraySize(at(race, "details")), 2);
    expect_text(at(race, "access"), "kind", "write");
    expect_text(at(race, "access"), "space", "global");
    expect_number(at(race, "access"), "bytes", 4);
    cr_expect_eq(strlen(at(at(race, "access"), "address")->valuestring), 18);
    expect_text(at(race, "other"), "kind", "write");
    expect_number(at(race, "other"), "line", 13);
    const cJSON *failed = cJSON_GetArrayItem(findings, 1);
    expect_text(failed, "kind", "assertion");
    expect_number(failed, "line", 15);
    cr_expect(cJSON_IsNull(at(failed, "function")));
    cr_expect_not_null(strstr(at(failed, "message")->valuestring, "\"back\\\\slash, \xc3\xbc, \xef\xbf\xbd\""), "%s",
                       at(failed, "message")->valuestring);

    const cJSON *kernels = at(report, "kernels");
    cr_assert_eq(cJSON_GetArraySize(kernels), 4);
    const cJSON *copy = cJSON_GetArrayItem(kernels, 0);
    expect_text(copy, "name", "copy(float *, const float *, int)");
    expect_number(copy, "launches", 1);
    expect_number(copy, "failed", 0);
    expect_index(copy, "grid", 4, 1, 1);
    expect_index(copy, "block", 32, 1, 1);
    expect_number(copy, "warps", 4);
    expect_number(at(copy, "global"), "load_requests", 4);
    expect_number(at(copy, "global"), "load_sectors", 13);
    expect_number(at(copy, "global"), "store_bytes", 400);
    expect_number(at(copy, "shared"), "bank_conflicts", 0);
    expect_number(cJSON_GetArrayItem(kernels, 1), "launches", 2);
    expect_number(cJSON_GetArrayItem(kernels, 3), "failed", 1);
    expect_number(at(report, "copies"), "bytes_on_device", 656);
    cJSON_Delete(report);
}

Test(json_report, asked_for_when_the_program_runs) {
    compile("");
    cr_assert_eq(said.status, 0, "%s", said.text);
    cJSON *report = report_of("SIMT_REPORT=json:here.json", "", "here.json");
    cr_expect_str_eq(said.text, "0\n");
    cr_expect_eq(cJSON_GetArraySize(at(report, "findings")), 0);
    cr_expect_eq(cJSON_GetArraySize(at(report, "kernels")), 1);
    cJSON_Delete(report);
    cJSON_Delete(report_of("SIMT_REPORT=json", "", by_default));
    run(&said, "cd '%s' && rm *.json && SIMT_REPORT= './a \"program\"'; ls *.json 2>&1", folder);
    cr_expect_not_null(strstr(said.text, "No such file"), "%s", said.text);
    run(&said, "cd '%s' && SIMT_REPORT=xml './a \"program\"' 2>&1", folder);
    cr_expect_str_eq(said.text, "simt: SIMT_REPORT is 'xml'; it can be json or json:FILE\n0\n");
    run(&said, "cd '%s' && SIMT_REPORT=json:none/a.json './a \"program\"' 2>&1", folder);
    cr_expect_str_eq(said.text, "simt: cannot write the report to none/a.json: No such file or directory\n0\n");
    run(&said, "cd '%s' && SIMT_REPORT=json:/dev/stdout './a \"program\"' | grep -c '\"how\": \"exit\"'", folder);
    cr_expect_str_eq(said.text, "1\n", "a pipe gets one document: %s", said.text);
    compile("--report xml");
    cr_expect(said.status == 2 && strstr(said.text, "--report xml: json is known"), "%s", said.text);
}

/* How the program ends, its exit status, and what the report says. */
Test(json_report, complete_however_the_program_ends) {
    static const struct {
        const char *argument, *how, *signal;
        int status;
    } ends[] = {
        {"", "exit", NULL, 3},
        {"segv", "signal", "SIGSEGV", 128 + 11},
        {"deep", "signal", "SIGSEGV", 128 + 11},
        {"abort", "signal", "SIGABRT", 128 + 6},
        {"throw", "signal", "SIGABRT", 128 + 6},
        {"term", "signal", "SIGTERM", 128 + 15},
        {"kill", "running", NULL, 128 + 9},
        {"fork", "exit", NULL, 3},
    };
    for (int fast = 0; fast < 2; fast++) {
        compile(fast ? "--fast --report=json" : "--report=json");
        cr_assert_eq(said.status, 0, "%s", said.text);
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            cJSON *report = report_of("", ends[i].argument, by_default);
            cr_expect_eq(said.status, ends[i].status, "%s: %d", ends[i].argument, said.status);
            expect_text(report, "backend", fast ? "fast" : "checked");
            expect_text(at(report, "end"), "how", ends[i].how);
            if (ends[i].signal) expect_text(at(report, "end"), "signal", ends[i].signal);
            cr_expect_eq(cJSON_GetArraySize(at(report, "findings")), 0, "%s", ends[i].argument);
            if (strcmp(ends[i].how, "running") != 0) {
                const cJSON *kernel = cJSON_GetArrayItem(at(report, "kernels"), 0);
                expect_number(kernel, "launches", 1);
                cr_expect_eq(cJSON_HasObjectItem(kernel, "global"), !fast);
            }
            cJSON_Delete(report);
        }
    }
}

Test(json_report, with_several_os_threads) {
    compile("--report json");
    cr_assert_eq(said.status, 0, "%s", said.text);
    for (int i = 0; i < 5; i++) {
        cJSON *report = report_of("SIMT_THREADS=2", "threads", by_default);
        const cJSON *copy = cJSON_GetArrayItem(at(report, "kernels"), 0);
        cr_expect_eq(cJSON_GetArraySize(at(report, "kernels")), 1);
        expect_number(copy, "launches", 41);
        expect_number(at(copy, "global"), "load_requests", 41 * 4);
        cJSON_Delete(report);
        report = report_of("SIMT_THREADS=2", "out of bounds", by_default);
        const cJSON *finding = cJSON_GetArrayItem(at(report, "findings"), 0);
        expect_text(finding, "kind", "out of bounds");
        expect_number(finding, "line", 11);
        expect_number(finding, "count", 1);
        expect_index(finding, "block", 3, 0, 0);
        expect_index(finding, "thread", 4, 0, 0);
        cJSON_Delete(report);
    }
}
