/* source.h — what the grader reads in a learner's own files: their integers, which are sizes worth trying, and a hash, from
 * which further cases are drawn.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include "grader.h"

enum { SOURCE_MAX_INTEGERS = 256, SOURCE_MAX_FILES = 32, SOURCE_NAME_BYTES = 256 };

struct source {
    char file[SOURCE_MAX_FILES][SOURCE_NAME_BYTES]; /* in the lab's folder; some may be missing */
    int file_count;
    uint64_t hash;    /* of the bytes of all files */
    bool asks_device; /* for its number of processors, its shared memory ... */
    int integers[SOURCE_MAX_INTEGERS], integer_count;
};

/* Reads the exercise's file, those of the lab that go with it, and the headers in `files` that they include. */
void source_read(const char *files, const struct exercise *exercise, struct source *source);

/* Adds a file's text: its hash, and its integers from 2 to 2^20, decimal and hexadecimal, each once. */
void source_add(struct source *source, const char *text);

#endif
