#include "script.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clean.h"
#include "paths.h"
#include "progress.h"
#include "sandbox.h"
#include "spawn.h"

enum { SAID_BYTES = 2048, LONGEST_SECONDS = 120, LONGEST_CPU_SECONDS = 600, MOST_ANSWER_BYTES = 64 << 20 };

/* ---- a Python that has what the harness needs ---- */

/* Runs `python HARNESS check` and keeps what it says, without the end of its last line. True: it can be used. */
static bool check_python(const char *python, const char *harness, char *said) {
    const char *const argv[] = {python, "-I", "-B", harness, "check", NULL};
    int pipes[2], how = -1;
    size_t kept = 0;
    ssize_t n;
    said[0] = '\0';
    if (pipe2(pipes, O_CLOEXEC) != 0) { return false; }
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipes[1], 1);
        dup2(pipes[1], 2);
        execvp(python, (char *const *)argv);
        _exit(127);
    }
    close(pipes[1]);
    while (pid > 0 && ((n = read(pipes[0], said + kept, SAID_BYTES - 1 - kept)) > 0 || (n < 0 && errno == EINTR))) {
        if (n > 0) { kept += (size_t)n; }
    }
    close(pipes[0]);
    while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR) {}
    while (kept > 0 && said[kept - 1] == '\n') { kept--; }
    said[kept] = '\0';
    return pid > 0 && WIFEXITED(how) && WEXITSTATUS(how) == 0 && said[0] == '/';
}

/* The path of the first that can be used: that of $PYTHON, or one of the system. False: why not the first. */
static bool find_python(const char *harness, char *python, char *error, size_t error_size) {
    const char *named = getenv("PYTHON"),
               *candidates[] = {named && *named ? named : "python3", "python3", "/usr/bin/python3"};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        if (check_python(candidates[i], harness, python)) { return true; }
        if (i == 0) {
            snprintf(error, error_size, python[0] ? "%s" : "there is no %s, which this optional exercise needs",
                     python[0] ? python : candidates[0]);
        }
    }
    return false;
}

/* ---- the two processes ---- */

/* May every user read the file, and reach it? */
static bool is_open_to_all(const char *path) {
    char real[PATH_MAX];
    struct stat status;
    if (!realpath(path, real) || stat(real, &status) != 0 || !(status.st_mode & S_IROTH)) { return false; }
    for (char *slash = real; (slash = strrchr(real, '/')) && slash != real;) {
        *slash = '\0';
        if (stat(real, &status) != 0 || !(status.st_mode & S_IXOTH)) { return false; }
    }
    return true;
}

static bool send_message(struct child *child, const void *data, size_t size, double deadline) {
    uint64_t length = size;
    return child_send(child, &length, sizeof length, deadline) == CHILD_OK &&
           child_send(child, data, size, deadline) == CHILD_OK;
}

/* The message, which the caller frees, or NULL. A '\0' follows it. */
static char *receive_message(struct child *child, size_t *size, double deadline) {
    uint64_t length;
    if (child_receive(child, &length, sizeof length, deadline) != CHILD_OK) { return NULL; }
    char *data = length <= MOST_ANSWER_BYTES ? malloc((size_t)length + 1) : NULL;
    if (!data) {
        child_kill(child, CHILD_GARBAGE, "answered with %llu bytes, more than is allowed", (unsigned long long)length);
        return NULL;
    }
    if (child_receive(child, data, (size_t)length, deadline) != CHILD_OK) {
        free(data);
        return NULL;
    }
    *size = (size_t)length;
    data[length] = '\0';
    return data;
}

struct harness {
    const char *python;
    char path[PATHS_BYTES], file[PATHS_BYTES];
    uint64_t seed;
    bool same_user; /* no other user could read what the processes need */
};

/* Runs the harness with the seed and, for the judge, an answer. Gives its own answer, which the caller frees, or NULL: the child
 * says why. */
static char *converse(const struct harness *harness, const char *action, const char *answer, size_t *size,
                      struct child *child) {
    const char *const argv[] = {harness->python, "-I", "-B", harness->path, action, harness->file, NULL};
    static char kernels[PATHS_BYTES + 16];
    const char *named = getenv("COURSE_KERNELS");
    const char *environment[] = {"OMP_NUM_THREADS=1", "HF_HUB_OFFLINE=1", "TRANSFORMERS_VERBOSITY=error",
                                 named ? kernels : NULL, NULL};
    struct limits limits = limits_default;
    char seed[64];
    snprintf(kernels, sizeof kernels, "COURSE_KERNELS=%s", named ? named : "");
    snprintf(seed, sizeof seed, "{\"seed\": %llu}", (unsigned long long)harness->seed);
    limits.call_seconds = LONGEST_SECONDS;
    limits.cpu_seconds = LONGEST_CPU_SECONDS;
    limits.same_user = harness->same_user;
    limits.environment = environment;
    limits.waiting = progress_tick;
    if (child_start(child, harness->python, argv, &limits) != CHILD_OK) { return NULL; }
    double deadline = child_now() + LONGEST_SECONDS;
    bool sent =
        send_message(child, seed, strlen(seed), deadline) && (!answer || send_message(child, answer, *size, deadline));
    char *reply = sent ? receive_message(child, size, deadline) : NULL;
    child_finish(child, child_now() + 5);
    return reply;
}

/* ---- the report ---- */

int script_print(FILE *out, const char *verdicts) {
    static const char *const words[] = {"pass", "FAIL", "not run"};
    int failed = 0, checks = 0;
    for (const char *line = verdicts; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        int length = (int)strcspn(line, "\n");
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            size_t word = strlen(words[i]);
            if (strncmp(line, words[i], word) != 0 || line[word] != ' ') { continue; }
            fprintf(out, "  %-34.*s  %s\n", length - (int)word - 1, line + word + 1, words[i]);
            failed += i != 0;
            checks++;
        }
        if (*line == ' ') { fprintf(out, "    %.*s\n", length - 1, line + 1); }
    }
    return checks ? failed : -1;
}

static void print_output(FILE *out, struct child *child) {
    if (!child->output[0]) { return; }
    enum { LAST_LINES = 12 };
    char *end = clean_text(child->output) + strlen(child->output), *from = end;
    for (int lines = 0; from > child->output && (from[-1] != '\n' || from == end || ++lines < LAST_LINES);) { from--; }
    fprintf(out, "\n  printed by your file:\n");
    for (char *line = strtok(from, "\n"); line; line = strtok(NULL, "\n")) { fprintf(out, "    %s\n", line); }
}

/* What a learner's process ended with, in place of an answer. */
static enum exit_code report_end(const struct script_request *request, struct child *child, FILE *out, char *error,
                                 size_t error_size) {
    if (child->status == CHILD_CANNOT_START) {
        snprintf(error, error_size, "%s", child->message);
        return EXIT_FAULT;
    }
    fprintf(out, "  %-34s  FAIL\n    the process that ran %s %s\n", "all checks", request->script->file,
            child->message);
    print_output(out, child);
    return EXIT_FEWER;
}

static enum exit_code judge(const struct script_request *request, const struct harness *harness, FILE *out, char *error,
                            size_t error_size) {
    static struct child run, judged;
    char layers[128];
    size_t size = 0;
    progress_begin(request->step->name);
    progress_doing(request->script->title);
    char *answer = converse(harness, "run", NULL, &size, &run);
    char *verdicts = answer ? converse(harness, "judge", answer, &size, &judged) : NULL;
    progress_end();
    if (!answer) { return report_end(request, &run, out, error, error_size); }
    free(answer);
    int failed = verdicts ? script_print(out, clean_text(verdicts)) : -1;
    free(verdicts);
    if (failed < 0) {
        snprintf(error, error_size, "%s judge gave no verdict: %.200s\n%.1200s", request->script->harness,
                 judged.message, judged.output);
        return EXIT_FAULT;
    }
    print_output(out, &run);
    fprintf(out, "\n  seed %llu, sandbox: %s\n", (unsigned long long)request->seed,
            sandbox_describe(run.layers, layers, sizeof layers));
    return failed ? EXIT_FEWER : EXIT_FULL;
}

enum exit_code script_mark(const struct script_request *request, FILE *out, char *error, size_t error_size) {
    char python[SAID_BYTES], course[PATH_MAX], files[PATH_MAX];
    struct harness harness = {.python = python, .seed = request->seed};
    const struct script *script = request->script;
    if (!realpath(request->course, course) || !realpath(request->files, files) ||
        snprintf(harness.path, sizeof harness.path, "%s/%s/%s", course, request->step->folder, script->harness) >=
            (int)sizeof harness.path ||
        snprintf(harness.file, sizeof harness.file, "%s/%s", files, script->file) >= (int)sizeof harness.file) {
        snprintf(error, error_size, "the folders %s and %s cannot be used", request->course, request->files);
        return EXIT_USAGE;
    }
    if (access(harness.path, R_OK) != 0) {
        snprintf(error, error_size, "%s is not here: this optional exercise needs a checkout of the course",
                 harness.path);
        return EXIT_USAGE;
    }
    if (access(harness.file, R_OK) != 0) {
        snprintf(error, error_size, "cannot read %s: %s", harness.file, strerror(errno));
        return EXIT_USAGE;
    }
    if (!find_python(harness.path, python, error, error_size)) { return EXIT_USAGE; }
    harness.same_user = !is_open_to_all(python) || !is_open_to_all(harness.path) || !is_open_to_all(harness.file);
    fprintf(out, "%s: %s   [optional, without points]\n\n", request->step->name, script->title);
    enum exit_code code = judge(request, &harness, out, error, error_size);
    if (code == EXIT_FEWER) {
        fprintf(out, "  hint: ./grader %s --kernel %s --hint=1\n", request->step->name, script->name);
    }
    return code;
}
