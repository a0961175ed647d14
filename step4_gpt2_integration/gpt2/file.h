/* file.h — files as bytes: mapped for reading; written beside their name and moved there when whole. */
#ifndef GPT2_FILE_H
#define GPT2_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "gpt2/error.h"

/* A whole file, mapped read-only: opening 6 GB costs nothing, pages are read when they are touched. Whoever shortens a
 * file while it is mapped stops the process with SIGBUS; replacing it by a rename, as gpt2_output does, is safe. */
struct gpt2_file {
    const uint8_t *bytes; /* (size), page-aligned */
    size_t size;
    char *path; /* as given, for messages */
};

/* False when it cannot be read or is no regular file. An empty file has size 0. */
bool gpt2_file_open(struct gpt2_file *file, const char *path, struct gpt2_error *error);

/* May be called on an all-zero struct. */
void gpt2_file_close(struct gpt2_file *file);

/* folder/name in a new string, which the caller frees; NULL without memory. */
char *gpt2_path(const char *folder, const char *name);

/* A file on its way. Until gpt2_output_commit() has returned true, what stood at `path` before still stands there, whole;
 * the new bytes are in a file beside it, which is removed when anything fails. */
struct gpt2_output {
    char *path, *temporary;
    FILE *stream;
};

/* False also when something that is no regular file, or a link, has that name already. */
bool gpt2_output_begin(struct gpt2_output *output, const char *path, struct gpt2_error *error);

/* Append. After false the output is abandoned already. */
bool gpt2_output_write(struct gpt2_output *output, const void *bytes, size_t size, struct gpt2_error *error);

/* Flush to the disk, give it its name, and flush the folder: after true the file survives a loss of power. */
bool gpt2_output_commit(struct gpt2_output *output, struct gpt2_error *error);

/* Give up: nothing is left. May be called at any time, also after a failure or a commit. */
void gpt2_output_abandon(struct gpt2_output *output);

/* All of it at once: begin, write, commit. */
bool gpt2_file_write(const char *path, const void *bytes, size_t size, struct gpt2_error *error);

#endif
