/* janitor.h — a process that tidies up after the grader, however the grader ends: it ends the build and removes the copy of the
 * submission. Without it a killed grader would leave both. */
#ifndef JANITOR_H
#define JANITOR_H

#include <sys/types.h>

/* Starts it, once. The grader works without it, too. */
void janitor_start(void);

/* Of which process group and which folder it has to take care from now on; 0 and NULL: of none. */
void janitor_group(pid_t group);
void janitor_folder(const char *folder);

#endif
