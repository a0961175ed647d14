/* sandbox_landlock.h — a file system that cannot be written, without root and without namespaces (Linux 5.13 and later).
 *
 * Raw system calls with this file's own constants, because distributions' headers know fewer rights than their kernels.
 */
#ifndef SANDBOX_LANDLOCK_H
#define SANDBOX_LANDLOCK_H

#include <stdbool.h>

/* A rule set as a descriptor, or -1 where the kernel has no Landlock. With gpu, /dev/nvidia* and /dev/shm stay writable. */
int landlock_prepare(bool gpu);

/* In the child, after no_new_privs. */
bool landlock_enter(int ruleset, bool gpu);

#endif
