/* probes.c — what the sandbox must refuse. One line per attempt, "what: result", for the tests to read. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "modes.h"

static void tell(const char *what, long outcome) {
    printf("%s: %s\n", what, outcome >= 0 ? "worked" : strerrorname_np(errno));
}

void mode_probe(void) {
    pid_t parent = getppid();
    char path[64];
    tell("socket", socket(AF_INET, SOCK_STREAM, 0));
    tell("unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
    tell("create", open("/tmp/hostile-was-here", O_WRONLY | O_CREAT, 0600));
    tell("mkdir", mkdir("/tmp/hostile-folder", 0700));
    tell("unlink", unlink("/tmp/hostile-target"));
    tell("overwrite", open("/tmp/hostile-target", O_WRONLY | O_TRUNC));
    tell("read", open("/proc/self/exe", O_RDONLY));
    snprintf(path, sizeof path, "/proc/%d/mem", (int)parent);
    tell("parent's memory", open(path, O_RDWR));
    tell("kill", kill(parent, SIGUSR1));
    tell("kill group", kill(0, SIGUSR1));
    tell("ptrace", ptrace(PTRACE_ATTACH, parent, NULL, NULL));
    tell("limits", syscall(SYS_prlimit64, parent, RLIMIT_NOFILE, &(struct rlimit){10, 10}, NULL));
    tell("fork", fork());
    tell("session", setsid());
    tell("exec", execl("/bin/true", "true", (char *)NULL));
    tell("raise", raise(0));
    printf("user: %d\n", (int)getuid());
    printf("parent: %d\n", (int)parent);
    exit(0);
}

void mode_descriptors(void) {
    for (int i = 0; i < 200; i++) {
        if (fcntl(i, F_GETFD) >= 0) { printf("%d ", i); }
    }
    printf("| %s | %s\n", getenv("SECRET") ? "leaked" : "no secret", getenv("GIVEN") ? getenv("GIVEN") : "none");
    exit(0);
}
