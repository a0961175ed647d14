/* stale.c — is the program, or a kernel set beside it, older than the files from which it was built? The build lists these in
 * PROGRAM.sources, a path a line; a program without that file was not built from a learner's files. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

static bool is_newer(const struct stat *a, const struct stat *b) {
    return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
                                                  : a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

static void note_newer(const char *built) {
    char list[PATH_MAX + 16], source[PATH_MAX];
    struct stat own, its;
    snprintf(list, sizeof list, "%s.sources", built);
    FILE *file = fopen(list, "r");
    while (file != NULL && fgets(source, sizeof source, file) != NULL) {
        source[strcspn(source, "\n")] = '\0';
        if (stat(built, &own) == 0 && stat(source, &its) == 0 && is_newer(&its, &own)) {
            fprintf(stderr, "gpt2: note: %s is newer than %s, which does not have its changes: make step4 builds it\n",
                    strrchr(source, '/') ? strrchr(source, '/') + 1 : source, strrchr(built, '/') + 1);
        }
    }
    if (file != NULL) { fclose(file); }
}

void note_stale_program(void) {
    char program[PATH_MAX], set[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) { return; }
    program[length] = '\0';
    note_newer(program);
    *strrchr(program, '/') = '\0';
    snprintf(set, sizeof set, "%s/kernels/kernels_lab.so", program);
    note_newer(set);
}
