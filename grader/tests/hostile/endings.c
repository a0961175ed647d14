/* endings.c — crash, leave, hang, and take more output, memory or processes than allowed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/runner/protocol.h"

#include "modes.h"

static int *volatile nowhere;
void mode_crash(void) {
    *nowhere = 1;
}
void mode_abort(void) {
    abort();
}
void mode_exit0(void) {
    exit(0);
}
void mode_hang(void) {
    for (;;) { pause(); }
}
void mode_spin(void) {
    for (volatile unsigned long i = 0;; i++) {}
}
void mode_deaf(void) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGXCPU, SIG_IGN);
    mode_hang();
}

void count_blocks(int blocks, unsigned launches_at_once) {
    struct simt_progress *progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED, PROGRESS_FD, 0);
    if (progress == MAP_FAILED) { exit(98); }
    for (int i = 0; i != blocks; i++) {
        usleep(10000);
        __atomic_fetch_add(&progress->blocks, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&progress->launches, launches_at_once, __ATOMIC_RELAXED);
    }
}
void mode_slow(void) {
    count_blocks(100, 0);
    if (write(PROTOCOL_FD, "x", 1) == 1) { mode_hang(); }
}
void mode_slower(void) {
    count_blocks(-1, 0);
}
void mode_launching(void) {
    count_blocks(-1, 1000);
}

void mode_flood(void) {
    char line[4096];
    memset(line, 'x', sizeof line);
    while (write(1, line, sizeof line) > 0) {}
    mode_hang();
}

void mode_memory(void) {
    for (size_t piece = 16 << 20;;) {
        char *p = malloc(piece);
        if (!p) { mode_hang(); }
        memset(p, 1, piece);
    }
}

void mode_forks(void) {
    int made = 0;
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();
        if (pid == 0) { mode_hang(); }
        made += pid > 0;
    }
    printf("forks: %d\n", made);
    fflush(stdout);
    close(3);
    mode_hang();
}

void mode_close(void) {
    close(3);
    mode_hang();
}
