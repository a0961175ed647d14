/* test_skeleton.c — markers give the skeleton, malformed ones die with their line, and no solution line leaks. */
#define _POSIX_C_SOURCE 200809L
#include "tools/skeleton.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *solution, const char *skeleton) {
    struct skeleton_error error = {0};
    char *made = skeleton_make(solution, &error);
    cr_assert(made, "line %d: %s", error.line, error.text);
    cr_assert_str_eq(made, skeleton);
    free(made);
}

Test(skeleton, file_without_markers_is_copied) {
    expect("int a;\n\n  // b\n", "int a;\n\n  // b\n");
}

Test(skeleton, task_shows_its_text_and_the_length_of_the_solution) {
    expect("f() {\n"
           "    //:todo 2a Which row?\n"
           "    //: One thread, one row.\n"
           "    //:solution\n"
           "    int n = 1;\n"
           "\n"
           "    if (n) { return; }\n"
           "    //:end\n"
           "}\n",
           "f() {\n"
           "    // TODO 2a (2 lines): Which row?\n"
           "    //   One thread, one row.\n"
           "}\n");
}

Test(skeleton, stub_stands_where_the_solution_was) {
    expect("  //:todo 1b Launch.\n  //:solution\n  go();\n  //:stub\n  //: if (0) {\n  //:\n  //:     stop();\n  //: "
           "}\n  //:end\n",
           "  // TODO 1b (1 line): Launch.\n  if (0) {\n\n      stop();\n  }\n");
}

Test(skeleton, swap_leaves_no_trace) {
    expect("a\n//:swap\nright();\n//:stub\n//: wrong();\n//:end\nb\n", "a\nwrong();\nb\n");
    expect("a\n//:swap\nright();\n//:end\nb\n", "a\nb\n");
    expect("a\n//:swap\n//:stub\n//: inserted();\n//:end\nb\n", "a\ninserted();\nb\n");
}

Test(skeleton, python_has_markers_of_its_own) {
    expect("def f():\n#:swap\n    right()\n#:stub\n#:     wrong()\n#:end\n", "def f():\n    wrong()\n");
}

Test(skeleton, omit_leaves_no_trace) {
    expect("a\n//:omit\nf() {\n}\n//:end\nb\n", "a\nb\n");
}

Test(skeleton, braces_in_strings_and_comments_do_not_count) {
    expect("//:omit\nputs(\"{ // /* \\\"{\"); c = '{'; // {\n/* { \n { */ n = 1'000;\n//:end\n", "");
}

struct malformed {
    char solution[160];
    int line;
    char text[64];
};

ParameterizedTestParameters(skeleton, malformed_markers_die_with_their_line) {
    static struct malformed cases[] = {
        {"a\n//:todo 1a T\n//:solution\nx\n", 2, "never closed"},
        {"//:omit\nx\n", 1, "never closed"},
        {"//:todo 1a T\n", 1, "never closed"},
        {"//:omit\nx\n//:omit\ny\n//:end\n//:end\n", 3, "do not nest"},
        {"//:todo 1a T\n//:solution\nx\n//:swap\ny\n//:end\n//:end\n", 4, "do not nest"},
        {"//:todo 1a T\n//:todo 1b T\n", 2, "do not nest"},
        {"x\n//:begin\n", 2, "no such marker: //:begin"},
        {"x\n#:begin\n", 2, "no such marker: //:begin"},
        {"//:END\n", 1, "no such marker: //:END"},
        {"//:todo: 1a T\n", 1, "no such marker: //:todo:"},
        {"//:end\n", 1, "no region is open"},
        {"//:stub\n", 1, "no place here"},
        {"//:solution\n", 1, "no place here"},
        {"//: text\n", 1, "belongs to"},
        {"//:omit\nx\n//:stub\n//: y\n//:end\n", 3, "no place here"},
        {"//:swap\nx\n//:stub\n//: y\n//:stub\n//:end\n", 5, "no place here"},
        {"//:todo 1a T\n//:solution\n//:solution\nx\n//:end\n", 3, "no place here"},
        {"//:todo 1a T\n//: text\n//:end\n", 3, "no //:solution yet"},
        {"//:todo 1a T\nx\n//:solution\n", 2, "between //:todo and //:solution"},
        {"//:todo 1a T\n\n//:solution\n", 2, "between //:todo and //:solution"},
        {"//:swap\nx\n//:stub\ny\n//:end\n", 4, "is //:end missing?"},
        {"//:todo 1a T\n//:solution\nx\n//: y\n//:end\n", 4, "belongs to"},
        {"//:todo 1a T\n//:solution\n//:end\n", 3, "no solution"},
        {"//:todo 1a T\n//:solution\n\n//:stub\n//: y\n//:end\n", 4, "no solution"},
        {"//:omit\n//:end\n", 2, "no solution"},
        {"//:swap\n//:end\n", 2, "no solution"},
        {"//:todo\n", 1, "needs an id and a title"},
        {"//:todo 1a\n", 1, "needs an id and a title"},
        {"//:todo Which row?\n", 1, "needs an id and a title"},
        {"//:todo 1a T\n//:solution\nx\n//:end\n//:todo 1a U\n", 5, "used twice"},
        {"//:omit x\n", 1, "takes nothing after it"},
        {"//:omit\nx\n//:end omit\n", 3, "takes nothing after it"},
        {"x\nint a; //:omit\n", 2, "a marker after code"},
        {"// :todo 1a T\n", 1, "looks like a marker"},
        {"//:omit\nif (a) {\n//:end\n}\n", 3, "splits a { block }"},
        {"if (a) {\n//:omit\n}\n//:end\n", 3, "closes a block that began before"},
        {"//:swap\nx\n//:stub\n//: if (a) {\n//:end\n", 5, "splits a { block }"},
        {"/* a\n//:omit\n*/\n", 2, "inside a /* comment */"},
        {"//:omit\n/* a\n//:end\n*/\n", 3, "inside a /* comment */"},
        {"#define A \\\n//:omit\nx\n//:end\n", 2, "continued by a backslash"},
        {"a\r\n", 1, "carriage return"},
    };
    return cr_make_param_array(struct malformed, cases, sizeof cases / sizeof *cases);
}

ParameterizedTest(struct malformed *it, skeleton, malformed_markers_die_with_their_line) {
    struct skeleton_error error = {0};
    char *made = skeleton_make(it->solution, &error);
    cr_assert_null(made, "taken: %s", it->solution);
    cr_assert_eq(error.line, it->line, "line %d, not %d, for: %s", error.line, it->line, it->solution);
    cr_assert(strstr(error.text, it->text), "\"%s\" does not say \"%s\", for: %s", error.text, it->text, it->solution);
}

/* ---- the course's own files ---- */

static char *read_whole(const char *path) {
    FILE *file = fopen(path, "rb");
    cr_assert(file, "cannot read %s", path);
    static char text[1 << 20];
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return strdup(text);
}

/* Is `line` (without indentation) a line of `text`? Lines in the regions of a solution count when `inside`. */
static bool holds_line(const char *text, const char *line, size_t length, bool inside) {
    bool region = false;
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        const char *start = p + strspn(p, " ");
        if (strncmp(start, "//:", 3) == 0) {
            if (strncmp(start, "//:solution", 11) == 0 || strncmp(start, "//:omit", 7) == 0 ||
                strncmp(start, "//:swap", 7) == 0) {
                region = true;
            }
            if (strncmp(start, "//:stub", 7) == 0 || strncmp(start, "//:end", 6) == 0) { region = false; }
            if (strncmp(start, "//: ", 4) != 0 || inside) { continue; }
            start += 4;
            start += strspn(start, " ");
        } else if (region != inside) {
            continue;
        }
        if (strcspn(start, "\n") == length && strncmp(start, line, length) == 0) { return true; }
    }
    return false;
}

Test(skeleton, no_line_of_a_solution_is_in_a_skeleton) {
    glob_t found;
    cr_assert_eq(glob("step*/solution/*.cu*", 0, NULL, &found), 0, "no solution here: run from the course's folder");
    int compared = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char path[512];
        const char *slash = strchr(found.gl_pathv[i], '/');
        snprintf(path, sizeof path, "%.*s/skeleton/%s", (int)(slash - found.gl_pathv[i]), found.gl_pathv[i],
                 strrchr(found.gl_pathv[i], '/') + 1);
        char *solution = read_whole(found.gl_pathv[i]);
        struct skeleton_error error;
        char *made = skeleton_make(solution, &error);
        cr_assert(made, "%s:%d: %s", found.gl_pathv[i], error.line, error.text);
        char *skeleton = *made ? read_whole(path) : strdup(""); /* a file for the reference alone */
        free(made);
        for (const char *p = solution; *p; p += strcspn(p, "\n"), p += *p == '\n') {
            const char *line = p + strspn(p, " ");
            size_t length = strcspn(line, "\n");
            bool secret =
                length > 8 && holds_line(solution, line, length, true) && !holds_line(solution, line, length, false);
            if (!secret) { continue; }
            compared++;
            cr_assert(!holds_line(skeleton, line, length, false), "%s holds a line of the solution: %.*s", path,
                      (int)length, line);
        }
        free(solution);
        free(skeleton);
    }
    cr_assert(compared > 150, "only %d solution lines were looked for", compared);
    globfree(&found);
}
