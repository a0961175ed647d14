/* file.h — files as bytes: mapped for reading; written under a temporary name and renamed when complete. */
#ifndef GPT2_FILE_H
#define GPT2_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "gpt2/error.h"

/* A whole file, mapped read-only: opening 6 GB is instant, and pages are read on first access. Truncating a mapped file stops the
 * process with SIGBUS; replacing it by a rename, as gpt2_output does, is safe. */
struct gpt2_file {
    const uint8_t *bytes; /* (size), page-aligned */
    size_t size;
    char *path; /* as given, for messages */
};

/* False when it cannot be read or is no regular file. An empty file has size 0. */
bool gpt2_file_open(struct gpt2_file *file, const char *path, struct gpt2_error *error);

/* May be called on an all-zero struct. */
void gpt2_file_close(struct gpt2_file *file);

/* folder/name in a new string, which the caller frees; NULL: out of memory. */
char *gpt2_path(const char *folder, const char *name);

/* A file being written. Until gpt2_output_commit() returns true, `path` holds its old content, complete. The new bytes are in a
 * file beside it, which is removed after any failure. */
struct gpt2_output {
    char *path, *temporary;
    FILE *stream;
};

/* False also when a link, or anything but a regular file, has that name. */
bool gpt2_output_begin(struct gpt2_output *output, const char *path, struct gpt2_error *error);

/* Appends. After false the output has been abandoned. */
bool gpt2_output_write(struct gpt2_output *output, const void *bytes, size_t size, struct gpt2_error *error);

/* Flushes to the disk, renames, and flushes the folder. After true the file survives a loss of power. */
bool gpt2_output_commit(struct gpt2_output *output, struct gpt2_error *error);

/* Removes the temporary file. May be called at any time, also after a failure or a commit. */
void gpt2_output_abandon(struct gpt2_output *output);

/* begin, write and commit in one call. */
bool gpt2_file_write(const char *path, const void *bytes, size_t size, struct gpt2_error *error);

#endif
