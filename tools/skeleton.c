/* skeleton.c — makes the learner's file from the reference solution: marked regions become TODOs.
 *
 *   skeleton SOLUTION SKELETON            write SKELETON
 *   skeleton --check SOLUTION SKELETON    compare SKELETON with the text that would be written
 *
 * A marker is alone on its line. All other lines are copied. In Python #: stands for //:.
 *
 *   //:todo 2a The title              a task. The lines up to //:solution are its text; each begins with "//: ".
 *   //:solution                       the reference's lines. They are counted and left out.
 *   //:stub                           optional: lines in place of the solution; each begins with "//: "
 *   //:end
 *
 *   //:omit ... //:end                left out, and not mentioned: kernels of the reference alone. A file that is
 *                                     omitted as a whole has no skeleton.
 *   //:swap ... //:stub ... //:end    replaced, and not mentioned: planted bugs, other comments. The stub is optional.
 *
 * A malformed marker ends the program with file, line and reason. The rules:
 *   - regions do not nest, are closed and hold whole {blocks}
 *   - a region does not begin inside a comment or a continued line
 *   - a task has an id of its own (a number and a letter), a title and a solution
 * Exit status: 0 written or current, 1 not current, 2 usage, file or marker error.
 */
#include "skeleton.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) { return NULL; }
    char *text = NULL;
    size_t capacity = 0;
    *length = 0;
    do {
        capacity = capacity ? capacity * 2 : 4096;
        char *larger = realloc(text, capacity);
        if (!larger) {
            free(text);
            fclose(file);
            return NULL;
        }
        text = larger;
        *length += fread(text + *length, 1, capacity - *length - 1, file);
    } while (*length == capacity - 1);
    text[*length] = '\0';
    fclose(file);
    return text;
}

/* The line of the first difference, or 0. */
static int first_difference(const char *a, const char *b) {
    int line = 1;
    for (; *a && *a == *b; a++, b++) { line += *a == '\n'; }
    return *a == *b ? 0 : line;
}

static int check(const char *solution_path, const char *skeleton_path, const char *skeleton) {
    size_t length;
    if (!*skeleton) {
        if (access(skeleton_path, F_OK) != 0) { return 0; }
        fprintf(stderr, "%s: all of %s is omitted, so this must go: run make skeletons\n", skeleton_path,
                solution_path);
        return 1;
    }
    char *committed = read_file(skeleton_path, &length);
    int line = committed ? first_difference(committed, skeleton) : 1;
    free(committed);
    if (line == 0) { return 0; }
    fprintf(stderr, "%s:%d: not what %s gives: run make skeletons\n", skeleton_path, line, solution_path);
    return 1;
}

static int write_out(const char *path, const char *skeleton) {
    if (!*skeleton) {
        if (remove(path) == 0 || errno == ENOENT) { return 0; }
        fprintf(stderr, "skeleton: cannot remove %s: %s\n", path, strerror(errno));
        return 2;
    }
    FILE *file = fopen(path, "wb");
    bool written = file && fputs(skeleton, file) >= 0;
    if (file && fclose(file) != 0) { written = false; }
    if (written) { return 0; }
    fprintf(stderr, "skeleton: cannot write %s: %s\n", path, strerror(errno));
    return 2;
}

static const char usage[] = "usage: skeleton [--check] SOLUTION SKELETON\n"
                            "  Writes SKELETON, the learner's file, from the marked regions of SOLUTION.\n"
                            "  --check  only says whether SKELETON is current (exit 0) or not (exit 1)\n";

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    bool only_check = count > 1 && strcmp(arguments[1], "--check") == 0;
    if (count != 3 + only_check || (!only_check && arguments[1][0] == '-')) {
        fputs(usage, stderr);
        return 2;
    }
    const char *solution_path = arguments[count - 2], *skeleton_path = arguments[count - 1];

    size_t length;
    char *solution = read_file(solution_path, &length);
    if (!solution) {
        fprintf(stderr, "skeleton: cannot read %s: %s\n", solution_path, strerror(errno));
        return 2;
    }
    if (strlen(solution) != length) {
        fprintf(stderr, "%s: holds a zero byte: not a source file\n", solution_path);
        free(solution);
        return 2;
    }
    struct skeleton_error error;
    char *skeleton = skeleton_make(solution, &error);
    free(solution);
    if (!skeleton) {
        fprintf(stderr, "%s:%d: %s\n", solution_path, error.line, error.text);
        return 2;
    }
    int status = only_check ? check(solution_path, skeleton_path, skeleton) : write_out(skeleton_path, skeleton);
    free(skeleton);
    return status;
}
