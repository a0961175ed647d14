/* options.h — the command line of ./grader. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "render.h"

enum { HINT_NONE = -1, HINT_SUGGESTED = 0, HINT_LEVELS = 3 };

struct options {
    const char *command; /* "batch", "render", or NULL: mark a step */
    const char *subject; /* of a command: the folder of the submissions, the stored report */
    const char *step;    /* NULL: find out */
    const char *backend; /* "auto", "cpu", "cuda" */
    const char *kernel;  /* op, or NULL: all */
    int hint;            /* HINT_NONE, HINT_SUGGESTED, or a level from 1 */
    bool predict, open, list, describe, watch, help, version;
    bool has_seed;
    uint64_t seed;
    const char *test_case;                /* a case's word, or NULL */
    const char *json;                     /* file, or NULL */
    const char *files_of[RENDER_FORMATS]; /* file of each format of render.h, or NULL */
    const char *config;                   /* an instructor's file, or NULL */
    int jobs;                             /* submissions that are marked at a time; 0: a default */
    const char *submission;               /* folder that was handed in, or NULL */
    const char *files;                    /* folder of the step's files, or NULL */
    const char *out;                      /* folder of the built runners, or NULL */
};

/* False: the line makes no sense, and `error` says why in one sentence. */
bool options_parse(int argc, char *argv[], struct options *options, char *error, size_t error_size);

void options_help(FILE *out);

#endif
