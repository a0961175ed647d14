/* progress.h — marking shows what it does: a line on standard error, redrawn, and erased before the report.
 *
 * Only on a terminal that can redraw a line, and only for work that takes longer than half a second. Titles come from the lab's
 * description and numbers from the grader's own lists of calls. Nothing that the lab's process writes reaches the line.
 * Without progress_begin, all others do nothing.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

void progress_begin(const char *subject); /* "step4" */
void progress_end(void);                  /* erases the line; may be called again */

/* The exercise under way, from 1, of all. */
void progress_exercise(const char *title, int number, int count);

/* What is done now: "build", "shapes". */
void progress_doing(const char *what);

/* The call under way, from 1, of what is done now; count 0: their number is not known. */
void progress_call(int number, int count);

/* Redraws the line if it is old: for loops that wait. Never blocks. */
void progress_tick(void);

#endif
