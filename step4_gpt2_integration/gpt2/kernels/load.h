/* load.h — loads kernel sets for the model by name, whole or op by op.
 *
 *     struct kernel_choice *choice = kernel_choice_open("lab,causal_softmax_forward=naive", error);
 *     ... kernel_choice_table(choice) ...
 *     kernel_choice_close(choice);
 */
#ifndef GPT2_KERNELS_LOAD_H
#define GPT2_KERNELS_LOAD_H

#include "gpt2/error.h"
#include "table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kernel_choice;

/* text: a set, then any number of ",op=set". A set is a name (naive, reference, lab: kernels_NAME.so in the folder "kernels"
 * beside the program, or in $GPT2_KERNELS) or the path of a shared object. Ops that the set lacks are taken from reference, or
 * from naive where there is no reference. Refused: a missing file, a file that is not a kernel set or has another version, an
 * unknown op. */
struct kernel_choice *kernel_choice_open(const char *text, struct gpt2_error *error);

/* Valid until the close. */
const struct kernel_table *kernel_choice_table(const struct kernel_choice *choice);

void kernel_choice_close(struct kernel_choice *choice); /* NULL is allowed */

/* The number of the op with that name in a table; -1: none. */
int kernel_op_find(const char *name, size_t length);
const char *kernel_op_name(int op);

/* Copies ops of `from` into `into`, in all three types: those that `into` lacks, or one op. */
void kernel_table_complete(struct kernel_table *into, const struct kernel_table *from);
void kernel_table_take(struct kernel_table *into, const struct kernel_table *from, int op);

#ifdef __cplusplus
}
#endif

#endif
