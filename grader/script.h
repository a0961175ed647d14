/* script.h — an optional exercise in Python, marked by a program of the course: its harness (struct script).
 *
 *   HARNESS check         says which Python it can run with, or what is missing
 *   HARNESS run FILE      in the sandbox: loads the learner's file, and answers with what it saw
 *   HARNESS judge         in a process of its own, which never loads that file: answers with a verdict for each check
 *
 * So the learner's process holds no reference and gives no verdict. Messages go through descriptor 3: 8 bytes of length, then as
 * many bytes. Both get the seed; the judge then gets the answer of `run`. Its verdicts are lines, "pass NAME", "FAIL NAME" or
 * "not run NAME", each followed by its message in lines that begin with a blank.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "grade.h"

struct script_request {
    const struct step *step;
    const struct script *script;
    const char *course, *files; /* folders */
    uint64_t seed;
};

/* Marks the learner's file and prints the verdicts. EXIT_FULL: every check passes. EXIT_USAGE and EXIT_FAULT: error says what is
 * missing, or what failed. */
enum exit_code script_mark(const struct script_request *request, FILE *out, char *error, size_t error_size);

/* Prints the judge's verdicts. Returns how many did not pass, or -1 if there is none. */
int script_print(FILE *out, const char *verdicts);

#endif
