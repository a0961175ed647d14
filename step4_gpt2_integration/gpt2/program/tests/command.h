/* command.h — for the tests of the program gpt2: a scratch folder, and commands that are run in it as a learner runs them. */
#ifndef GPT2_PROGRAM_TESTS_COMMAND_H
#define GPT2_PROGRAM_TESTS_COMMAND_H

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpt2/file.h"

static char folder[64];
static struct gpt2_error error;
static char output[1 << 18];

static inline void make_folder(void) {
    strcpy(folder, "/tmp/gpt2.XXXXXX");
    cr_assert(mkdtemp(folder));
}

static inline int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}
static inline void end(void) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void write_text(const char *name, const char *what, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert(gpt2_file_write(path, what, size, &error), "%s", error.text);
}

/* In a command, @ is the folder. */
static inline void spell(char *to, size_t size, const char *command) {
    size_t used = 0;
    for (; *command != '\0'; command++) {
        used += (size_t)snprintf(to + used, size - used, *command == '@' ? "%s" : "%.1s",
                                 *command == '@' ? folder : command);
    }
}

/* Runs a command. Its output is in `output`. Returns its exit status. */
static inline int run_command(const char *command) {
    char spelled[4096];
    spell(spelled, sizeof spelled - 8, command);
    strcat(spelled, " 2>&1");
    FILE *pipe = popen(spelled, "r");
    cr_assert(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    int status = pclose(pipe);
    cr_assert(WIFEXITED(status), "a signal ended: %s", spelled);
    return WEXITSTATUS(status);
}

#define succeeds(command) cr_assert_eq(run(command), 0, "%s", output)
#define says(part)        cr_assert(strstr(output, part), "no '%s' in: %s", part, output)

#endif
