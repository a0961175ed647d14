/* render: each format says what the report says; independent readers of the formats are in test_outputs.sh. */
#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../markup.h"
#include "../render.h"

static char *text;

static void forget(void) {
    free(text);
    text = NULL;
}

TestSuite(render, .timeout = 20, .fini = forget);

static const char stored[] =
    "{\"version\": 1, \"step\": \"step1\", \"title\": \"naive kernels\", \"time\": "
    "\"2026-01-31T18:05:00Z\", \"seconds\": 2.5,"
    " \"student\": \"Anna <b>\", \"points\": 12.5, \"points_max\": 30, \"next\": \"repair "
    "it\", \"printed\": \"x < y\", \"outcomes\": ["
    "{\"exercise\": \"softmax\", \"title\": \"softmax, forward\", \"file\": \"softmax.cu\", "
    "\"optional\": false, \"check\": \"shapes\","
    " \"verdict\": \"FAIL\", \"points\": 0, \"points_max\": 10, \"next_rung\": \"kernel 2\", \"failure\": {\"kind\": "
    "\"wrong\", \"where\": \"N = 4\", \"element\":"
    " \"out[0][1]\", \"expected\": 0.5, \"got\": \"NaN\", \"tolerance\": 1e-7, \"wrong\": 3, "
    "\"total\": 8, \"hint\": 2, \"comparison\":"
    " \"out[0][1]: expected 0.5, got NaN\", \"cause\": \"a barrier is missing\", \"calls\": "
    "\"only calls of 64 columns\", \"file\": "
    "\"softmax.cu\", \"line\": 17}},"
    "{\"exercise\": \"softmax\", \"title\": \"softmax, forward\", \"check\": \"traffic\", "
    "\"verdict\": \"not run\", \"points\": 0,"
    " \"points_max\": 5},"
    "{\"exercise\": \"add\", \"title\": \"residual add\", \"check\": \"traffic\", "
    "\"verdict\": \"partly\", \"points\": 2.5,"
    " \"points_max\": 5, \"figure\": 2, \"limit\": 1.05, \"floor\": 3000000, \"measured\": "
    "\"2.00x the floor\", \"target\":"
    " \"at most 1.05x\"},"
    "{\"exercise\": \"rms\", \"title\": \"RMSNorm\", \"optional\": true, \"check\": "
    "\"shapes\", \"verdict\": \"not started\","
    " \"points\": 0, \"points_max\": 0},"
    "{\"exercise\": \"predictions\", \"title\": \"predictions\", \"check\": \"predictions\", "
    "\"verdict\": \"pass\", \"points\": 10,"
    " \"points_max\": 10}]}";

static const char *rendered(void (*write)(FILE *, const struct json_value *), const char *report) {
    char error[128];
    size_t size;
    forget();
    struct json_value *value = json_read(report, strlen(report), error, sizeof error);
    cr_assert(value, "%s", error);
    FILE *file = open_memstream(&text, &size);
    write(file, value);
    fclose(file);
    json_free(value);
    return text;
}

static bool says(const char *words) {
    return strstr(text, words) != NULL;
}

static const char *field(const cJSON *object, const char *key) {
    return cJSON_GetStringValue(cJSON_GetObjectItem(object, key));
}

static double number(const cJSON *object, const char *key) {
    return cJSON_GetNumberValue(cJSON_GetObjectItem(object, key));
}

Test(render, gradescope_has_a_test_for_each_check) {
    cJSON *results = cJSON_Parse(rendered(render_gradescope, stored));
    cr_assert(results, "%s", text);
    const cJSON *tests = cJSON_GetObjectItem(results, "tests"), *test;
    cr_assert_eq(number(results, "score"), 12.5);
    cr_assert_eq(cJSON_GetArraySize(tests), 4);
    double sum = 0.0;
    cJSON_ArrayForEach(test, tests) sum += number(test, "score");
    cr_assert_eq(sum, 12.5);
    test = cJSON_GetArrayItem(tests, 0);
    cr_assert_str_eq(field(test, "name"), "softmax, forward: shapes");
    cr_assert_str_eq(field(test, "number"), "1.1");
    cr_assert_str_eq(field(test, "status"), "failed");
    cr_assert_str_eq(field(test, "output"), "N = 4\nout[0][1]: expected 0.5, got NaN\nseen: only calls of 64 "
                                            "columns\nlikely cause: a barrier is missing\nnext step: kernel 2\n");
    cr_assert_str_eq(field(cJSON_GetArrayItem(tests, 1), "output"), "not run\n");
    cr_assert_str_eq(field(cJSON_GetArrayItem(tests, 2), "number"), "2.1");
    cr_assert_str_eq(field(cJSON_GetArrayItem(tests, 3), "status"), "passed");
    cJSON_Delete(results);
}

Test(render, github_gives_points_and_the_line) {
    cJSON *result = cJSON_Parse(rendered(render_github, stored));
    cr_assert(result, "%s", text);
    cr_assert_eq(number(result, "version"), 1);
    cr_assert_str_eq(field(result, "status"), "fail");
    cr_assert_eq(number(result, "max_score"), 30);
    const cJSON *test = cJSON_GetArrayItem(cJSON_GetObjectItem(result, "tests"), 0);
    cr_assert_str_eq(field(test, "status"), "fail");
    cr_assert_str_eq(field(test, "filename"), "softmax.cu");
    cr_assert_eq(number(test, "line_no"), 17);
    cJSON_Delete(result);
}

Test(render, junit_tells_failed_from_skipped) {
    rendered(render_junit, stored);
    cr_assert(says("tests=\"5\" failures=\"2\" errors=\"0\" skipped=\"2\" time=\"2.500\""), "%s", text);
    cr_assert(says("timestamp=\"2026-01-31T18:05:00\""), "%s", text);
    cr_assert(says("classname=\"step1.softmax\""), "%s", text);
    cr_assert(says("<failure type=\"wrong\" message=\"out[0][1]: expected 0.5, got NaN\">"), "%s", text);
    cr_assert(says("<system-out>x &lt; y</system-out>"), "%s", text);
}

Test(render, html_shows_the_failure_and_the_bytes) {
    rendered(render_html, stored);
    cr_assert(says("Anna &lt;b&gt;") && !says("<b>"), "%s", text);
    cr_assert(says("- expected 0.5") && says("+ got      NaN") && says("3 of 8 elements are wrong"), "%s", text);
    cr_assert(says("<strong>Likely cause:</strong> a barrier is missing"), "%s", text);
    cr_assert(says("<strong>Seen:</strong> only calls of 64 columns"), "%s", text);
    cr_assert(says("<strong>Next step:</strong> kernel 2"), "%s", text);
    cr_assert(says("./grader step1 --kernel softmax --hint=2"), "%s", text);
    cr_assert(says("floor: 3 MB") && says("counted: 6 MB"), "%s", text);
    cr_assert(says("prefers-color-scheme:dark") && !says("<script") && !says("http"), "%s", text);
}

Test(render, a_submission_that_cannot_be_marked_gives_its_reason) {
    static const char broken[] =
        "{\"version\": 1, \"step\": \"step1\", \"points\": 0, \"points_max\": 100, \"outcomes\": [], \"error\":"
        " \"it holds no file\"}";
    for (int i = 0; i < RENDER_FORMATS; i++) {
        rendered(renderers[i].write, broken);
        cr_assert(says("it holds no file"), "%s: %s", renderers[i].format, text);
    }
}

Test(render, files_that_are_no_report_are_refused) {
    static const char *const wrong[] = {"", "[]", "{}", "{\"version\": 2, \"outcomes\": []}",
                                        "{\"version\": 1, \"outcomes\": 3}"};
    const char *const files[RENDER_FORMATS] = {NULL};
    char error[256];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert(!render_files(wrong[i], strlen(wrong[i]), "old.json", files, error, sizeof error), "%s", wrong[i]);
        cr_assert(strstr(error, "old.json is no report of this grader") && strstr(error, "--json"), "%s", error);
    }
    cr_assert(!render_stored("/nowhere/report.json", files, error, sizeof error));
    cr_assert(strstr(error, "cannot read /nowhere/report.json"), "%s", error);
}

Test(render, markup_keeps_text_and_drops_control) {
    size_t size;
    FILE *file = open_memstream(&text, &size);
    markup_text(file, "a]]><b>&\"'\x1b\xff\xc2\x85\xe2\x80\xae\xc3\xa9\r\n\te");
    markup_attribute(file, "\n\t");
    fclose(file);
    cr_assert_str_eq(
        text, "a]]&gt;&lt;b&gt;&amp;&quot;&#39;\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9\n\te&#10;&#9;");
}
