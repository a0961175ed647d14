/* train.c — replaces gpt2/program/train.c in a handout, because training wires a block as lab 4's solution does. */
#include "gpt2/program/train.h"

int command_train(int count, char **arguments, struct gpt2_error *error) {
    (void)count, (void)arguments;
    gpt2_fail(error, "train: not in a handout; the course itself has it");
    return 2;
}

void train_options_print(FILE *to) {
    fprintf(to, "  train: not in a handout; the course itself has it\n");
}
