/* launchers.h — the launchers of all contracts, by the op's name and type.
 *
 * A lab file defines only the launchers of its own ops, so all launchers are weak symbols here. One that the file does
 * not define is null, and launcher_find() returns NULL. `rung` 0 is the contract's launcher; k >= 1 is kernel k of the
 * ladder, which a reference solution exports as <launcher>_rung(int rung, ...), returning cudaErrorInvalidValue past
 * the last.
 */
#ifndef LAUNCHERS_H
#define LAUNCHERS_H

#include <cuda_runtime_api.h>

#include "../ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Calls with the tensors in the order of ops.h. Returns what the launcher returns. */
typedef int launcher(int rung, void *const tensors[], const struct op_sizes *sizes, cudaStream_t stream);

/* NULL if the lab file defines no such launcher (rung 0) or no ladder (rung >= 1) for that type. */
launcher *launcher_find(const char *op, enum op_type type, int rung);

/* The arguments that the contract declares, a letter each: p a pointer, i an int, f a float, s the stream; NULL: the
 * contract declares no such launcher. */
const char *launcher_signature(const char *op, enum op_type type);

#ifdef __cplusplus
}
#endif

#endif
