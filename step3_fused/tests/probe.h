/* probe.h — the tests of one of lab 3's solution files, which is linked with this program.
 *
 * Each function prints a line for every failure and returns the number of failures.
 */
#ifndef PROBE_H
#define PROBE_H

#include "common/runner/launchers.h"
#include "common/runner/reference_call.h"

/* The ladder's last kernels before speed of light: sectors within 1.02 of the floor, no bank conflicts. */
int taught_kernels_move_the_floor(const op *op, op_type type);

/* The launcher's own choice on this device: sectors within 1.05 of the floor. */
int launcher_moves_the_floor(const op *op, op_type type);

/* The launcher is right at shapes that reach every line of its tables. For sizes that take a CPU too long only the choice
 * is tested. */
int every_line_is_right(const op *op, op_type type);

/* The launcher's float outputs are as exact as PyTorch's: 3e-7 of the tensor's norm, also of means near 0. */
int digits_are_kept(const op *op, op_type type);

/* Every kernel of the ladder refuses invalid arguments, and accepts all valid ones. */
int arguments_are_checked(const op *op, op_type type);

/* ---- shared ---- */

/* Does kernel `rung` exist? 0 is the launcher, any other number a kernel of the ladder. */
bool has_rung(const op *op, op_type type, int rung);

/* Prints "softmax_forward_bf16, kernel 3: N = 4, C = 768: TEXT" (printf-style) and returns 1. */
int complain(const op *op, const reference_case &asked, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Calls and compares; complains and returns 1 if anything is wrong. The results stay in `call`. */
int call_is_wrong(reference_call &call, const op *op, const reference_case &asked);

/* The launcher's status when every launch is refused, so that no kernel reads the pointers; and the number of launches. */
int status_without_launch(const op *op, const reference_case &asked, void *const tensors[], uint64_t *launches);

#endif
