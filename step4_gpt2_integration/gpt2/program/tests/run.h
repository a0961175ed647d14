/* run.h — for the tests of the program gpt2: a tiny random model with a learned tokenizer, and the program run on it. */
#ifndef GPT2_PROGRAM_TESTS_RUN_H
#define GPT2_PROGRAM_TESTS_RUN_H

#include "gpt2/formats/hf.h"
#include "gpt2/model/tests/tiny.h"
#include "gpt2/program/tests/command.h"
#include "gpt2/tokenizer/tokenizer.h"

static const struct gpt2_config config = {.max_tokens = 48,
                                          .vocabulary = 300,
                                          .padded_vocabulary = 384,
                                          .layers = 2,
                                          .heads = 2,
                                          .channels = 32,
                                          .epsilon = 1e-5f};
static const char text[] = "the cat sat on the mat and the dog sat on the cat; then the mat ate the cat and the dog. "
                           "There is nothing new under the sun, and the sun also rises, and the sun goes down.";

static inline void begin(void) {
    make_folder();
    struct gpt2_source source = tiny_source(&config);
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(text, strlen(text), config.vocabulary, 2, &error);
    cr_assert(tokenizer, "%s", error.text);
    cr_assert(gpt2_hf_write(folder, &source, GPT2_F32, gpt2_tokenizer_end_of_text(tokenizer), &error), "%s",
              error.text);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, folder, &error), "%s", error.text);
    gpt2_tokenizer_close(tokenizer);
    write_text("text", text, strlen(text));
}

/* Runs `gpt2 ARGUMENTS`, in which @ is the model's folder. Its output is in `output`. Returns its exit status. */
static inline int run(const char *arguments) {
    char command[4096];
    snprintf(command, sizeof command, GPT2 " %s", arguments);
    return run_command(command);
}

#endif
