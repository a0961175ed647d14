/* probe.h — what lab 3's tests ask of one solution file, which is linked with this program.
 *
 * Each question prints a line for everything that is wrong and returns how many there were.
 */
#ifndef PROBE_H
#define PROBE_H

#include "common/runner/launchers.h"
#include "common/runner/reference_call.h"

/* The ladder's last kernels before speed of light: sectors within 1.02 of the floor, no bank conflicts. */
int taught_kernels_move_the_floor(const op *op, op_type type);

/* The launcher as it chooses on this device: sectors within 1.05 of the floor. */
int launcher_moves_the_floor(const op *op, op_type type);

/* The launcher is right at shapes that reach every line of its tables; sizes that no CPU can compute are only chosen. */
int every_line_is_right(const op *op, op_type type);

/* The launcher's float outputs are as exact as PyTorch's: 3e-7 of the tensor's norm, also of means near 0. */
int digits_are_kept(const op *op, op_type type);

/* Every kernel of the ladder refuses arguments that cannot be, and takes all that can. */
int arguments_are_checked(const op *op, op_type type);

/* ---- shared ---- */

/* Kernel `rung` exists: it is the launcher (0), or the ladder takes that number. */
bool has_rung(const op *op, op_type type, int rung);

/* Prints "softmax_forward_bf16, kernel 3: N = 4, C = 768: TEXT" (printf-style) and returns 1. */
int complain(const op *op, const reference_case &asked, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Calls and compares; complains and returns 1 if anything is wrong. The call's results stay in it. */
int call_is_wrong(reference_call &call, const op *op, const reference_case &asked);

/* What is left of the launcher when no launch may succeed: its status for pointers that nobody reads. */
int status_without_launch(const op *op, const reference_case &asked, void *const tensors[], uint64_t *launches);

#endif
