#include "sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox_filter.h"
#include "sandbox_landlock.h"

/* Between the ranges that systemd and adduser hand out: no file and no other process belongs to these users. */
enum { FIRST_USER = 61200, USERS = 3000, MAX_PROCESSES = 256, MAX_DESCRIPTORS = 256 };

static bool others_may(const char *path, int descriptor, mode_t bits) {
    struct stat s;
    int failed = path ? stat(path, &s) : fstat(descriptor, &s);
    return !failed && (s.st_mode & bits) == bits;
}

/* Root gives the child a user of its own, unless that user could not run the program or open the GPU. */
static uid_t choose_user(const struct sandbox *sandbox, int executable) {
    if (geteuid() != 0) { return 0; }
    if (!others_may(NULL, executable, S_IROTH | S_IXOTH)) { return 0; }
    if (sandbox->gpu && access("/dev/nvidiactl", F_OK) == 0 && !others_may("/dev/nvidiactl", -1, S_IROTH | S_IWOTH)) {
        return 0;
    }
    return FIRST_USER + (uid_t)(getpid() % USERS);
}

void sandbox_prepare(struct sandbox *sandbox, int executable) {
    sandbox->user = choose_user(sandbox, executable);
    sandbox->ruleset = landlock_prepare(sandbox->gpu);
}

void sandbox_release(struct sandbox *sandbox) {
    if (sandbox->ruleset >= 0) { close(sandbox->ruleset); }
    sandbox->ruleset = -1;
}

static bool limit(int resource, rlim_t value) {
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)resource, &now) != 0) { return false; }
    /* CPU time: one more second until SIGKILL, so that SIGXCPU comes first and tells why. */
    struct rlimit wanted = {value, resource == RLIMIT_CPU ? value + 1 : value};
    if (wanted.rlim_max > now.rlim_max) { wanted.rlim_max = now.rlim_max; }
    if (wanted.rlim_cur > wanted.rlim_max) { wanted.rlim_cur = wanted.rlim_max; }
    return setrlimit((__rlimit_resource_t)resource, &wanted) == 0;
}

/* Nothing above stdin, stdout, stderr and the socket survives the exec. */
static bool close_descriptors(void) {
    if (close_range(4, ~0u, CLOSE_RANGE_CLOEXEC) == 0) { return true; }
    for (int i = 4; i < 4096; i++) { fcntl(i, F_SETFD, FD_CLOEXEC); } /* before Linux 5.11 */
    return true;
}

static bool enter_rlimits(const struct sandbox *sandbox) {
    bool ok = limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, MAX_DESCRIPTORS);
    if (sandbox->cpu_seconds > 0) { ok &= limit(RLIMIT_CPU, (rlim_t)sandbox->cpu_seconds); }
    if (sandbox->file_bytes > 0) { ok &= limit(RLIMIT_FSIZE, sandbox->file_bytes); }
    /* CUDA maps far more address space than it uses, so only resident memory can be limited there (spawn.c). */
    if (sandbox->address_bytes > 0 && !sandbox->gpu) { ok &= limit(RLIMIT_AS, sandbox->address_bytes); }
    /* Counted per user, so it means something only for a user without other processes. */
    if (sandbox->user) { ok &= limit(RLIMIT_NPROC, MAX_PROCESSES); }
    return ok;
}

static bool enter_user(uid_t user) {
    return user && setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
}

unsigned sandbox_enter(const struct sandbox *sandbox) {
    unsigned layers = 0;
    if (getsid(0) == getpid()) { layers |= SANDBOX_SESSION; }
    if (close_descriptors()) { layers |= SANDBOX_DESCRIPTORS; }
    if (enter_rlimits(sandbox)) { layers |= SANDBOX_RLIMITS; }
    if (enter_user(sandbox->user)) {
        layers |= SANDBOX_USER;
    } else if (geteuid() == 0) {
        /* Still root: at least without root's powers after the exec. */
        for (int capability = 0; capability < 64; capability++) { prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); }
    }
    prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0); /* after setresuid, which clears it: the child does not outlive the grader */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) { return layers; }
    if (landlock_enter(sandbox->ruleset, sandbox->gpu)) { layers |= SANDBOX_LANDLOCK; }
    if (filter_enter(sandbox->gpu)) { layers |= SANDBOX_SECCOMP; }
    return layers;
}

const char *sandbox_describe(unsigned layers, char *text, size_t size) {
    static const char *const names[] = {"own session", "resource limits", "closed descriptors",
                                        "own user",    "Landlock",        "seccomp"};
    size_t used = 0;
    snprintf(text, size, "none");
    for (size_t i = 0; i < sizeof names / sizeof *names && used < size; i++) {
        if (layers >> i & 1) {
            int n = snprintf(text + used, size - used, "%s%s", used ? ", " : "", names[i]);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    return text;
}
