/* dispatch: the launchers of lab 3's solution on the CPU backend, which takes the place of several GPUs: every line of every
 * table is reached and right, the bytes are those of the floor, and invalid arguments are refused.
 *
 * make builds NAME.probe from each solution file; each question runs it once.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/simt/translate/tests/shell.h"

TestSuite(dispatch, .timeout = 240);

enum { MAX_TABLES = 4, MAX_LINES = 32 };

/* A solution file, and the number of tables that its launchers choose from. */
static const struct file {
    char name[40];
    int tables;
} files[] = {
    {"softmax", 2},
    {"softmax_backward", 2},
    {"causal_softmax", 2},
    {"causal_softmax_backward", 2},
    {"layernorm", 1},
    {"layernorm_backward", 1},
    {"residual_layernorm", 1},
    {"residual_layernorm_backward", 1},
    {"layernorm_residual", 1},
    {"layernorm_residual_backward", 1},
    {"bias_gelu", 0},
    {"bias_gelu_backward", 0},
    {"three_way_add", 0},
};

struct table {
    char name[64];
    int lines;
    bool reached[MAX_LINES];
};

static void ask(struct said *said, const struct file *file, int capability, const char *question) {
    run(said, "SIMT_QUIET=1 SIMT_THREADS=1 SIMT_CC=%d %s/choices/%s.probe %s 2>&1", capability, build_folder(),
        file->name, question);
    cr_assert_not_null(strstr(said->text, "asked 3 launchers"), "%s %s says\n%s", file->name, question, said->text);
    cr_expect_eq(said->status, 0, "capability %d, %s: %s\n%s", capability, file->name, question, said->text);
}

static void add_reached(struct table *tables, const char *text) {
    for (const char *at = text; (at = strstr(at, "choice: ")); at++) {
        char name[64];
        int line, lines, i = 0;
        if (sscanf(at, "choice: %63[^:]: line %d of %d", name, &line, &lines) != 3) { continue; }
        while (i < MAX_TABLES && tables[i].lines && strcmp(tables[i].name, name) != 0) { i++; }
        cr_assert(i < MAX_TABLES && lines < MAX_LINES && line >= 0 && line <= lines, "%s", at);
        strcpy(tables[i].name, name);
        tables[i].lines = lines;
        tables[i].reached[line] = true;
    }
}

static void expect_all_reached(const struct file *file, const struct table *tables) {
    for (int i = 0; i < file->tables; i++) {
        cr_expect_gt(tables[i].lines, 0, "%s: table %d of %d is never used", file->name, i + 1, file->tables);
        for (int line = 0; line < tables[i].lines; line++) {
            cr_expect(tables[i].reached[line], "%s: no case reaches line %d (from 0) of the table %s", file->name, line,
                      tables[i].name);
        }
    }
    cr_expect_eq(tables[file->tables].lines, 0, "%s: more tables than this test knows", file->name);
}

#define FOR_EACH_FILE(test)                                                                                \
    ParameterizedTestParameters(dispatch, test) {                                                          \
        return cr_make_param_array(const struct file, (struct file *)files, sizeof files / sizeof *files); \
    }                                                                                                      \
    ParameterizedTest(const struct file *file, dispatch, test)

/* 7.5 has no cp.async and too little shared memory for a pipeline, 8.0 too little for the widest rows, 9.0 has clusters. No
 * line requires a higher compute capability. */
FOR_EACH_FILE(every_line_is_reached_and_right) {
    static const int capabilities[] = {75, 80, 90};
    static struct said said;
    struct table tables[MAX_TABLES] = {0};
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        ask(&said, file, capabilities[i], "lines");
        add_reached(tables, said.text);
    }
    expect_all_reached(file, tables);
}

FOR_EACH_FILE(taught_kernels_move_the_floor) {
    static struct said said;
    ask(&said, file, 90, "taught");
}

FOR_EACH_FILE(launchers_move_the_floor_on_turing) {
    static struct said said;
    ask(&said, file, 75, "launcher");
}

FOR_EACH_FILE(digits_are_kept) {
    static struct said said;
    ask(&said, file, 75, "digits");
    ask(&said, file, 90, "digits");
}

FOR_EACH_FILE(arguments_are_checked) {
    static struct said said;
    ask(&said, file, 90, "arguments");
}
