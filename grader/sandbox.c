#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Landlock: a file system that cannot be written, without root and without namespaces (Linux 5.13 and later) ----
 *
 * Raw system calls with this file's own constants, because the headers of distributions know fewer rights than their kernels. */

enum { SYS_CREATE_RULESET = 444, SYS_ADD_RULE = 445, SYS_RESTRICT_SELF = 446 }; /* the same on every architecture */
enum { CREATE_RULESET_VERSION = 1, RULE_PATH_BENEATH = 1 };

enum {
    WRITE_FILE =
        1 << 1, /* execute (bit 0), read (2) and list (3) are not restricted: programs load (common/runner/files.cpp) */
    MAKE_AND_REMOVE = 0x1ff0,
    REFER = 1 << 13,    /* ABI 2 */
    TRUNCATE = 1 << 14, /* ABI 3 */
    NET_TCP = 3,        /* ABI 4: bind and connect */
    SCOPE_ALL = 3,      /* ABI 6: no abstract Unix sockets and no signals beyond this sandbox */
};

struct ruleset_attributes {
    uint64_t files, net, scoped;
};

struct path_beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

static bool allow_writes(int ruleset, const char *path, uint64_t rights) {
    int descriptor = open(path, O_PATH | O_CLOEXEC);
    struct stat s;
    if (descriptor < 0) { return false; }
    bool ok = fstat(descriptor, &s) == 0;
    if (ok) {
        struct path_beneath rule = {rights, descriptor};
        if (!S_ISDIR(s.st_mode)) { rule.allowed &= WRITE_FILE | TRUNCATE; }
        ok = syscall(SYS_ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) == 0;
    }
    close(descriptor);
    return ok;
}

/* A rule set as a descriptor, or -1 where the kernel has no Landlock. With gpu, /dev/nvidia* and /dev/shm stay writable. */
static int landlock_prepare(bool gpu) {
    long abi = syscall(SYS_CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);
    if (abi < 1) { return -1; }
    struct ruleset_attributes attributes = {.files = WRITE_FILE | MAKE_AND_REMOVE};
    size_t size = sizeof attributes.files;
    if (abi >= 2) { attributes.files |= REFER; }
    if (abi >= 3) { attributes.files |= TRUNCATE; }
    if (abi >= 4) {
        attributes.net = NET_TCP;
        size = 2 * sizeof(uint64_t);
    }
    if (abi >= 6) {
        attributes.scoped = SCOPE_ALL;
        size = 3 * sizeof(uint64_t);
    }
    int created = (int)syscall(SYS_CREATE_RULESET, &attributes, size, 0);
    if (created < 0) { return -1; }
    int ruleset = fcntl(created, F_DUPFD_CLOEXEC, 10); /* above the child's fixed descriptors */
    close(created);
    if (ruleset < 0) { return -1; }
    allow_writes(ruleset, "/dev/null", attributes.files);
    if (gpu) {
        static const char *const devices[] = {"/dev/nvidia*", "/dev/dxg", "/dev/nvhost*", "/dev/nvmap", "/dev/shm"};
        for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
            glob_t found;
            if (glob(devices[i], 0, NULL, &found) != 0) { continue; }
            for (size_t j = 0; j < found.gl_pathc; j++) { allow_writes(ruleset, found.gl_pathv[j], attributes.files); }
            globfree(&found);
        }
    }
    return ruleset;
}

/* In the child, after no_new_privs. */
static bool landlock_enter(int ruleset, bool gpu) {
    /* CUDA's driver names its threads through /proc/self/task/N/comm, and fails where it cannot. */
    static const char threads[] = "/proc/self/task";
    if (ruleset >= 0 && gpu && !allow_writes(ruleset, threads, WRITE_FILE | TRUNCATE)) {
        allow_writes(ruleset, threads, WRITE_FILE); /* before ABI 3, rule sets have no right to truncate */
    }
    return ruleset >= 0 && syscall(SYS_RESTRICT_SELF, ruleset, 0) == 0;
}

/* ---- seccomp: no network (on a GPU Unix sockets only), no new processes, no access to other processes ----
 *
 * A refused call fails with EPERM (or as an unknown call), so that the program carries on and meets an ordinary error. The
 * CPU backend writes no file, so there every opening for writing is refused too, with or without Landlock. */

#if defined(__x86_64__)
#define NATIVE_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Numbers that older headers lack; the same on every architecture. */
enum {
    SYS_PIDFD_SEND_SIGNAL = 424,
    SYS_IO_URING_SETUP = 425,
    SYS_PIDFD_OPEN = 434,
    SYS_CLONE3 = 435,
    SYS_OPENAT2 = 437,
    SYS_PIDFD_GETFD = 438,
    SYS_FCHMODAT2 = 452,
};
enum { X32_SYSCALLS = 0x40000000 };

/* Other processes, other names of the system, and its keys; refused to compilers, too. */
static const int refused_to_all[] = {
    SYS_IO_URING_SETUP,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_PIDFD_SEND_SIGNAL,
    SYS_PIDFD_OPEN,
    SYS_PIDFD_GETFD,
    SYS_setsid,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
};

static const int refused[] = {
    SYS_kcmp, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_setpgid, SYS_execve,
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
};

/* Sockets, and calls that change the file system; refused on the CPU backend, because only GPU drivers need them. */
static const int refused_on_cpu[] = {
    SYS_connect, SYS_bind,   SYS_listen,    SYS_accept,   SYS_accept4,   SYS_unlinkat, SYS_renameat2, SYS_mkdirat,
    SYS_mknodat, SYS_linkat, SYS_symlinkat, SYS_fchmodat, SYS_FCHMODAT2, SYS_fchownat, SYS_truncate,  SYS_utimensat,
    SYS_OPENAT2,
#ifdef SYS_open
    SYS_unlink,  SYS_rename, SYS_renameat,  SYS_mkdir,    SYS_rmdir,     SYS_mknod,    SYS_link,      SYS_symlink,
    SYS_chmod,   SYS_chown,  SYS_lchown,    SYS_creat,    SYS_utime,     SYS_utimes,   SYS_futimesat,
#endif
};

enum { MAX_INSTRUCTIONS = 256 };

struct filter {
    struct sock_filter code[MAX_INSTRUCTIONS];
    unsigned short length;
};

static void add(struct filter *f, uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false) {
    if (f->length < MAX_INSTRUCTIONS) { f->code[f->length++] = (struct sock_filter){code, if_true, if_false, k}; }
}

static void load(struct filter *f, size_t offset) {
    add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}
static void answer(struct filter *f, uint32_t action) {
    add(f, BPF_RET | BPF_K, action, 0, 0);
}
static void allow(struct filter *f) {
    answer(f, SECCOMP_RET_ALLOW);
}
static void refuse(struct filter *f, int error) {
    answer(f, SECCOMP_RET_ERRNO | (uint32_t)error);
}

/* The low half of an argument: descriptors, process ids and flags fit into it (the machine is little-endian). */
static void load_argument(struct filter *f, int i) {
    load(f, offsetof(struct seccomp_data, args) + (size_t)i * sizeof(uint64_t));
}

static void refuse_call(struct filter *f, int number, int error) {
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
    refuse(f, error);
}

static void refuse_calls(struct filter *f, const int numbers[], size_t count, int error) {
    for (size_t i = 0; i < count; i++) { refuse_call(f, numbers[i], error); }
}

/* Call `number` is allowed when its argument equals `value` (or `also`), else refused. */
static void allow_if_argument_is(struct filter *f, int number, int argument, uint32_t value, uint32_t also) {
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 5);
    load_argument(f, argument);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, also, 0, 1);
    allow(f);
    refuse(f, EPERM);
}

/* Call `number` is allowed when (argument & mask) is non-zero (`set`) or zero (not `set`), else refused. */
static void allow_if_flags(struct filter *f, int number, int argument, uint32_t mask, bool set, int error) {
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4);
    load_argument(f, argument);
    add(f, BPF_JMP | BPF_JSET | BPF_K, mask, set ? 0 : 1, set ? 1 : 0);
    allow(f);
    refuse(f, error);
}

/* In the child, after no_new_privs; allocates nothing. */
static bool filter_enter(bool gpu) {
#ifndef NATIVE_ARCHITECTURE
    (void)gpu;
    return false;
#else
    struct filter filter = {.length = 0}, *f = &filter;
    uint32_t self = (uint32_t)getpid(), writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;

    load(f, offsetof(struct seccomp_data, arch));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 1, 0);
    refuse(f, EPERM);
    load(f, offsetof(struct seccomp_data, nr));
    add(f, BPF_JMP | BPF_JGE | BPF_K, X32_SYSCALLS, 0, 1);
    refuse(f, EPERM);

    refuse_calls(f, refused_to_all, sizeof refused_to_all / sizeof *refused_to_all, EPERM);
    refuse_calls(f, refused, sizeof refused / sizeof *refused, EPERM);
    refuse_call(f, SYS_CLONE3,
                ENOSYS); /* its flags are in memory, which a filter cannot read; the C library falls back to clone */
    allow_if_flags(f, SYS_clone, 0, CLONE_THREAD, true, EPERM);
    /* CUDA's driver passes descriptors over a Unix socket. */
    uint32_t domain = gpu ? AF_UNIX : ~0u;
    allow_if_argument_is(f, SYS_socket, 0, domain, domain);
    allow_if_argument_is(f, SYS_execveat, 0, SANDBOX_EXEC_DESCRIPTOR, SANDBOX_EXEC_DESCRIPTOR);
    allow_if_argument_is(f, SYS_kill, 0, self, self);
    allow_if_argument_is(f, SYS_tgkill, 0, self, self);
    allow_if_argument_is(f, SYS_prlimit64, 0, 0, self);
    if (!gpu) {
        refuse_calls(f, refused_on_cpu, sizeof refused_on_cpu / sizeof *refused_on_cpu, EROFS);
        allow_if_flags(f, SYS_openat, 2, writing, false, EROFS);
#ifdef SYS_open
        allow_if_flags(f, SYS_open, 1, writing, false, EROFS);
#endif
    }
    allow(f);
    struct sock_fprog program = {filter.length, filter.code};
    return filter.length < MAX_INSTRUCTIONS && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
#endif
}

/* ---- all layers ---- */

/* Between the ranges of systemd and adduser: no file and no other process belongs to these users. */
enum { FIRST_USER = 61200, USERS = 3000, MAX_PROCESSES = 256, MAX_DESCRIPTORS = 256 };

static bool others_may(const char *path, int descriptor, mode_t bits) {
    struct stat s;
    int failed = path ? stat(path, &s) : fstat(descriptor, &s);
    return !failed && (s.st_mode & bits) == bits;
}

/* As root, the child gets a separate user, unless that user could not run the program or open the GPU. */
static uid_t choose_user(const struct sandbox *sandbox, int executable) {
    if (geteuid() != 0 || sandbox->same_user) { return 0; }
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
    /* CPU time: SIGKILL comes one second after SIGXCPU, which identifies the cause. */
    struct rlimit wanted = {value, resource == RLIMIT_CPU ? value + 1 : value};
    if (wanted.rlim_max > now.rlim_max) { wanted.rlim_max = now.rlim_max; }
    if (wanted.rlim_cur > wanted.rlim_max) { wanted.rlim_cur = wanted.rlim_max; }
    return setrlimit((__rlimit_resource_t)resource, &wanted) == 0;
}

/* Only stdin, stdout, stderr, the socket and the progress stay open across the exec. */
static bool close_descriptors(void) {
    if (close_range(SANDBOX_EXEC_DESCRIPTOR, ~0u, CLOSE_RANGE_CLOEXEC) == 0) { return true; }
    for (int i = SANDBOX_EXEC_DESCRIPTOR; i < 4096; i++) { fcntl(i, F_SETFD, FD_CLOEXEC); } /* before Linux 5.11 */
    return true;
}

static bool enter_rlimits(const struct sandbox *sandbox) {
    bool ok = limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, MAX_DESCRIPTORS);
    if (sandbox->cpu_seconds > 0) { ok &= limit(RLIMIT_CPU, (rlim_t)sandbox->cpu_seconds); }
    if (sandbox->file_bytes > 0) { ok &= limit(RLIMIT_FSIZE, sandbox->file_bytes); }
    /* CUDA maps far more address space than it uses, so only resident memory can be limited there (spawn.c). */
    if (sandbox->address_bytes > 0 && !sandbox->gpu) { ok &= limit(RLIMIT_AS, sandbox->address_bytes); }
    /* The limit is per user, so it is useful only for a user without other processes. */
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
        /* Still root: drop root's capabilities for after the exec. */
        for (int capability = 0; capability < 64; capability++) { prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); }
    }
    prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0); /* after setresuid, which clears it: the child does not outlive the grader */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) { return layers; }
    if (landlock_enter(sandbox->ruleset, sandbox->gpu)) { layers |= SANDBOX_LANDLOCK; }
    if (filter_enter(sandbox->gpu)) { layers |= SANDBOX_SECCOMP; }
    return layers;
}

/* ---- the compiler ---- */

enum { EXECUTE = 1 << 0, READ_FILE = 1 << 2, READ_DIR = 1 << 3 };

static bool allow_below(int ruleset, const char *const paths[], uint64_t rights) {
    bool all = true;
    for (int i = 0; paths[i]; i++) {
        int descriptor = open(paths[i], O_PATH | O_CLOEXEC);
        struct stat s;
        if (descriptor < 0) { continue; } /* not on this system */
        struct path_beneath rule = {rights, descriptor};
        bool known = fstat(descriptor, &s) == 0;
        if (known && !S_ISDIR(s.st_mode)) { rule.allowed &= EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE; }
        all &= known && syscall(SYS_ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) == 0;
        close(descriptor);
    }
    return all;
}

static bool landlock_compiler(const char *const reads[], const char *const writes[]) {
    static const char *const nothing[] = {"/dev/null", NULL};
    long abi = syscall(SYS_CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);
    struct ruleset_attributes attributes = {.files = EXECUTE | READ_FILE | READ_DIR | WRITE_FILE | MAKE_AND_REMOVE};
    if (abi < 1) { return false; }
    if (abi >= 2) { attributes.files |= REFER; }
    if (abi >= 3) { attributes.files |= TRUNCATE; }
    int ruleset = (int)syscall(SYS_CREATE_RULESET, &attributes, sizeof attributes.files, 0);
    if (ruleset < 0) { return false; }
    bool ok = allow_below(ruleset, reads, EXECUTE | READ_FILE | READ_DIR) &&
              allow_below(ruleset, writes, attributes.files) &&
              allow_below(ruleset, nothing, (READ_FILE | WRITE_FILE | TRUNCATE) & attributes.files) &&
              syscall(SYS_RESTRICT_SELF, ruleset, 0) == 0;
    close(ruleset);
    return ok;
}

/* No network, no access to other processes. */
static bool filter_compiler(void) {
#ifndef NATIVE_ARCHITECTURE
    return false;
#else
    struct filter filter = {.length = 0}, *f = &filter;
    load(f, offsetof(struct seccomp_data, arch));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 1, 0);
    refuse(f, EPERM);
    load(f, offsetof(struct seccomp_data, nr));
    add(f, BPF_JMP | BPF_JGE | BPF_K, X32_SYSCALLS, 0, 1);
    refuse(f, EPERM);
    refuse_call(f, SYS_socket, EPERM);
    refuse_calls(f, refused_to_all, sizeof refused_to_all / sizeof *refused_to_all, EPERM);
    allow(f);
    struct sock_fprog program = {filter.length, filter.code};
    return filter.length < MAX_INSTRUCTIONS && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
#endif
}

unsigned sandbox_enter_compiler(const char *const reads[], const char *const writes[], int cpu_seconds,
                                size_t address_bytes, size_t file_bytes) {
    unsigned layers = getpgrp() == getpid() ? SANDBOX_SESSION : 0;
    for (int i = 3; i < 4096; i++) { fcntl(i, F_SETFD, FD_CLOEXEC); }
    layers |= SANDBOX_DESCRIPTORS;
    if (limit(RLIMIT_CORE, 0) && limit(RLIMIT_CPU, (rlim_t)cpu_seconds) && limit(RLIMIT_AS, address_bytes) &&
        limit(RLIMIT_FSIZE, file_bytes)) {
        layers |= SANDBOX_RLIMITS;
    }
    for (int capability = 0; geteuid() == 0 && capability < 64; capability++) {
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) { return layers; }
    if (landlock_compiler(reads, writes)) { layers |= SANDBOX_LANDLOCK; }
    if (filter_compiler()) { layers |= SANDBOX_SECCOMP; }
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
