/* compile.c — a program of its own: runs the compiler of one untrusted file in a sandbox, and makes sure that it ends.
 *
 *   compile NAME WRITABLE READABLE... -- COMMAND...
 *
 * NAME stands in messages. WRITABLE: the one folder that the command may write; READABLE: what it may read besides the system's
 * own folders. Processor time, wall clock and memory are limited, and nothing that the command starts outlives it.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox.h"

enum { SECONDS = 300, CPU_SECONDS = 120, FILE_BYTES = 256 << 20, MOST_PATHS = 64 };
#define ADDRESS_BYTES ((size_t)3 << 30)

static volatile sig_atomic_t group;

static void end_group(int signal) {
    (void)signal;
    if (group > 0) { kill(-group, SIGKILL); }
}

static void accept_signals(bool accept) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(accept ? SIG_UNBLOCK : SIG_BLOCK, &all, NULL);
}

/* COMPILE_SECONDS=N in the environment: of processor time. */
static int cpu_seconds(void) {
    const char *wanted = getenv("COMPILE_SECONDS");
    int seconds = wanted ? atoi(wanted) : 0;
    return seconds > 0 ? seconds : CPU_SECONDS;
}

static void become(char *const command[], const char *const reads[], const char *const writes[], pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) { _exit(1); }
    accept_signals(true);
    sandbox_enter_compiler(reads, writes, cpu_seconds(), ADDRESS_BYTES, FILE_BYTES);
    execvp(command[0], command);
    perror(command[0]);
    _exit(1);
}

int main(int argc, char *argv[]) {
    static const char *const system_folders[] = {"/usr",
                                                 "/bin",
                                                 "/lib",
                                                 "/lib32",
                                                 "/lib64",
                                                 "/etc/ld.so.cache",
                                                 "/etc/alternatives",
                                                 "/opt",
                                                 "/dev/null",
                                                 "/proc/self",
                                                 "/proc/meminfo",
                                                 "/sys/devices/system/cpu",
                                                 NULL};
    const char *reads[MOST_PATHS + 16];
    int at = 3, count = 0, how;
    for (; argc > 3 && at < argc && strcmp(argv[at], "--") != 0 && count < MOST_PATHS; at++) {
        reads[count++] = argv[at];
    }
    if (at + 1 >= argc || strcmp(argv[at], "--") != 0) {
        fputs("usage: compile NAME WRITABLE READABLE... -- COMMAND...\n", stderr);
        return 2;
    }
    for (int i = 0; system_folders[i]; i++) { reads[count++] = system_folders[i]; }
    reads[count] = NULL;
    const char *writes[] = {argv[2], NULL};
    setenv("TMPDIR", argv[2], 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0); /* with make, and so with the grader */
    setpgid(0, 0);                             /* SIGKILL to make's group would leave the command's */
    accept_signals(false);                     /* until it is known what they must end */
    struct sigaction action = {.sa_handler = end_group};
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) { become(argv + at + 1, reads, writes, parent); }
    if (pid < 0) {
        perror("fork");
        return 1;
    }
    setpgid(pid, pid);
    group = pid;
    accept_signals(true);
    alarm(SECONDS);
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) {}
    bool late = alarm(0) == 0;
    kill(-pid, SIGKILL); /* what it has left behind */
    if (WIFEXITED(how)) { return WEXITSTATUS(how); }
    fprintf(stderr, "%s: error: the compiler was stopped: %s\n", argv[1],
            late || WTERMSIG(how) == SIGXCPU ? "it needed too much time" : strsignal(WTERMSIG(how)));
    return 1;
}
