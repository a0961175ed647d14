/* train.c — replaces gpt2/program/train.c in a handout, because training wires a block as lab 4's solution does. */
#include "gpt2/program/train.h"

const struct arguments train_arguments = {NULL, 0, "train"};

int command_train(int count, char **words, struct gpt2_error *error) {
    (void)count, (void)words;
    gpt2_fail(error, "train: not in a handout; the course itself has it");
    return 2;
}
