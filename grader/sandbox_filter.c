#include "sandbox_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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

static const int refused[] = {
    SYS_IO_URING_SETUP,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_PIDFD_SEND_SIGNAL,
    SYS_PIDFD_OPEN,
    SYS_PIDFD_GETFD,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_setsid,
    SYS_setpgid,
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
    SYS_execve,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
};

/* Sockets, and what changes the file system; refused where no GPU driver needs it. */
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

bool filter_enter(bool gpu) {
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

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) { refuse_call(f, refused[i], EPERM); }
    refuse_call(f, SYS_CLONE3, ENOSYS); /* its flags lie in memory; the C library then uses clone */
    allow_if_flags(f, SYS_clone, 0, CLONE_THREAD, true, EPERM);
    /* CUDA's driver listens on a socket of its own, inside the machine, to hand descriptors around. */
    uint32_t domain = gpu ? AF_UNIX : ~0u;
    allow_if_argument_is(f, SYS_socket, 0, domain, domain);
    allow_if_argument_is(f, SYS_execveat, 0, FILTER_EXEC_DESCRIPTOR, FILTER_EXEC_DESCRIPTOR);
    allow_if_argument_is(f, SYS_kill, 0, self, self);
    allow_if_argument_is(f, SYS_tgkill, 0, self, self);
    allow_if_argument_is(f, SYS_prlimit64, 0, 0, self);
    if (!gpu) {
        for (size_t i = 0; i < sizeof refused_on_cpu / sizeof *refused_on_cpu; i++) {
            refuse_call(f, refused_on_cpu[i], EROFS);
        }
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
