/* paths.h — where files are: the course, a step's files, submissions. */
#ifndef PATHS_H
#define PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "grader.h"

enum { PATHS_BYTES = 1024 };

/* The folder that holds common/step.mk: $COURSE, course/ (a handout), the folder above, this one, or beside the program. */
bool paths_course(char *path, size_t size);

/* The step whose files here were edited last; NULL when none is here or all are equally old. */
const struct step *paths_last_edited(const struct step *steps);

bool paths_make_folder(const char *path);

/* Copies the lab's own files and the learner's headers, and nothing else, from a folder that was handed in (the step's folder
 * itself, or one that holds it) into a new folder, whose path is returned in `clean`. False: error says why. */
bool paths_take_submission(const struct step *step, const char *submission, char *clean, size_t size, char *error,
                           size_t error_size);

/* Removes a folder with everything in it. */
void paths_remove(const char *folder);

/* Is a program of that name in a folder of $PATH? */
bool paths_have_program(const char *name);

#endif
