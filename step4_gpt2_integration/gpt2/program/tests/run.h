/* run.h — for the tests of the program gpt2: a tiny random model with a tokenizer that the test learns, and the program run on it
 * as a learner runs it. */
#ifndef GPT2_PROGRAM_TESTS_RUN_H
#define GPT2_PROGRAM_TESTS_RUN_H

#include "gpt2/formats/hf.h"
#include "gpt2/model/tests/tiny.h"
#include "gpt2/tokenizer/tokenizer.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static struct gpt2_error error;
static char output[1 << 16];

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
    strcpy(folder, "/tmp/gpt2.XXXXXX");
    cr_assert(mkdtemp(folder));
    struct gpt2_source source = tiny_source(&config);
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(text, strlen(text), config.vocabulary, 2, &error);
    cr_assert(tokenizer, "%s", error.text);
    cr_assert(gpt2_hf_write(folder, &source, GPT2_F32, gpt2_tokenizer_end_of_text(tokenizer), &error), "%s",
              error.text);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, folder, &error), "%s", error.text);
    gpt2_tokenizer_close(tokenizer);
    char path[128];
    snprintf(path, sizeof path, "%s/text", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    fputs(text, file);
    fclose(file);
}

static inline int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}
static inline void end(void) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
/* Runs `gpt2 ARGUMENTS`, in which every @ is the model's folder; what it says on both is in `output`. Its exit status. */
static inline int run(const char *arguments) {
    char command[4096] = GPT2 " ";
    size_t used = strlen(command);
    for (; *arguments != '\0'; arguments++) {
        used += (size_t)snprintf(command + used, sizeof command - used, *arguments == '@' ? "%s" : "%.1s",
                                 *arguments == '@' ? folder : arguments);
    }
    snprintf(command + used, sizeof command - used, " 2>&1");
    FILE *pipe = popen(command, "r");
    cr_assert(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    int status = pclose(pipe);
    cr_assert(WIFEXITED(status), "a signal ended: %s", command);
    return WEXITSTATUS(status);
}

#define succeeds(arguments) cr_assert_eq(run(arguments), 0, "%s", output)
#define says(part)          cr_assert(strstr(output, part), "no '%s' in: %s", part, output)

#endif
