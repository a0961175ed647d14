/* case_id.h — a case as one word, which determines the call completely: "softmax_forward_f32:N=6,C=771,values=peak,seed=9e37".
 *
 * A report shows it for each failure, and --case makes the call again. The word names the launcher, its sizes and scalars, and
 * what else differs from an ordinary call:
 *
 *   values=peak   the kind of values (inputs_word)      eps=0.125   a scalar that is not passed, but has made the inputs
 *   offset=1      pointers are moved by one element     moved=x     ... of this tensor only
 *   shared=out:x  the output out has x's pointer        rehearsed   a call with other inputs comes before it
 *   again         the same call comes before it         shuffled    blocks run in another order
 *   refused       every launch fails                    small       on a device with fewer processors and less memory
 */
#ifndef CASE_ID_H
#define CASE_ID_H

#include "check.h"

enum { CASE_ID_BYTES = 512 };

/* Writes and returns `text`. */
const char *case_id(const struct op *op, const struct test_case *test, char text[CASE_ID_BYTES]);

/* The op and the case of that word. False: there is no such case, and `error` says what is wrong with it. */
bool case_read(const char *word, const struct op **op, struct test_case *test, char *error, size_t error_size);

#endif
