/* ranks.h — processes that compute together (gpt2/train/collective.h): starting them under mpirun, and dividing a model among
 * them.
 *
 * generate and bench with --gpus N, or under a launcher: every rank runs the same command on its part of the model. Their host
 * code must decide alike, so what depends on one rank alone (times, standard input) comes from the first. The first one alone
 * prints. */
#ifndef GPT2_PROGRAM_RANKS_H
#define GPT2_PROGRAM_RANKS_H

#include "gpt2/train/collective.h"
#include "program.h"

/* With --gpus N, N > 1, outside a launcher: becomes mpirun and does not return. True: there is nothing to start, or a launcher
 * has started N processes. False: it has started another number of them; the machine has fewer GPUs; mpirun is missing.
 * words[0] is the command. */
bool ranks_launch(long gpus, int count, char **words, struct gpt2_error *error);

/* Starts the ranks of --gpus or joins those that a launcher has started; chooses each one's device; silences standard output of
 * all but the first, and *options are quiet there. good: false with a message where this rank has failed before. False: all
 * have failed. */
bool ranks_open(struct gpt2_collective *group, bool good, struct options *options, struct gpt2_error *error);

/* The end of a command, also after ranks_open has failed: the exit status. mpirun ends all ranks when one exits with another
 * status than 0, so the others leave that to the first, which has the message. */
int ranks_close(struct gpt2_collective *group, bool good, struct gpt2_error *error);

/* For struct gpt2_model_options; NULL with one rank. */
const struct gpt2_division *ranks_division(struct gpt2_division *division, struct gpt2_collective *group);

/* After a pass: a failure of this rank alone ends all ranks, since the others wait for its sums. */
bool ranks_passed(const struct gpt2_collective *group, bool good, const struct gpt2_error *error);

/* The ranks compute the logits from the same sums by the same kernels, so they choose the same tokens. Do they? tokens:
 * (count). */
bool ranks_agree_on(const struct gpt2_collective *group, const int32_t *tokens, int count, struct gpt2_error *error);

#endif
