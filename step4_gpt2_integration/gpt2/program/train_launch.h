/* train_launch.h — gpt2 train --gpus N: the same command again, as N processes under mpirun. */
#ifndef GPT2_PROGRAM_TRAIN_LAUNCH_H
#define GPT2_PROGRAM_TRAIN_LAUNCH_H

#include "train.h"

/* With --gpus N, N > 1, outside a launcher: becomes mpirun and does not return. True: there is nothing to start, or a launcher has
 * started N processes. False: it has started another number of them; the machine has fewer GPUs; mpirun is missing. words[0] is the
 * command. */
bool train_launch(const struct train_options *options, int count, char **words, struct gpt2_error *error);

#endif
