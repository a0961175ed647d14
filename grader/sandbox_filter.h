/* sandbox_filter.h — the seccomp filter of a runner process: no network (on a GPU Unix sockets only), no new processes, nothing done to others.
 *
 * A refused call fails with EPERM (or as an unknown call), so that the program carries on and meets an ordinary error. The
 * CPU backend needs no file to write, so there every opening for writing is refused too, with or without Landlock.
 */
#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include <stdbool.h>

enum { FILTER_EXEC_DESCRIPTOR = 4 }; /* the program itself is started from this descriptor, the only exec allowed */

/* In the child, after no_new_privs; allocates nothing. */
bool filter_enter(bool gpu);

#endif
