/* error.h — error messages of the GPT-2 library.
 *
 * Every function that can fail returns false and leaves one line in the caller's struct: the file first, then the reason.
 * The library neither prints nor exits; the program's main() prints the line, once, and returns status 2.
 */
#ifndef GPT2_ERROR_H
#define GPT2_ERROR_H

#include <stdbool.h>

enum { GPT2_ERROR_BYTES = 512 };

struct gpt2_error {
    char text[GPT2_ERROR_BYTES]; /* one line without a newline, always terminated; control characters become ? */
};

/* Writes the message and returns false, so that a failure is one statement: return gpt2_fail(error, ...). error may be NULL. */
__attribute__((format(printf, 2, 3))) bool gpt2_fail(struct gpt2_error *error, const char *format, ...);

#endif
