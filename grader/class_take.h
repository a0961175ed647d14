/* class_take.h — what a student handed in, a folder or an archive of any shape, becomes a folder with the lab's files.
 *
 * What goes wrong is a reason for this submission alone. */
#ifndef CLASS_TAKE_H
#define CLASS_TAKE_H

#include "grader.h"
#include "sha256.h"

/* Copies the sources around the lab's files from `path` into the new folder `to`, and adds their names and contents to `hash`.
 * False: `error` says why. */
bool class_take(const struct step *step, const char *path, const char *to, struct sha256 *hash, char *error,
                size_t error_size);

/* Files of the lab, without its predictions, that the submission holds in one folder; -1: it cannot be read. */
int class_count_files(const struct step *step, const char *path);

/* All files of the lab but its predictions, each once. */
int class_lab_files(const struct step *step);

#endif
