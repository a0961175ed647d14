#include "progress.h"

#include <poll.h>
#include <stdbool.h>

#include "common/terminal.h"
#include "spawn.h"

#define FIRST_DRAWN   0.5 /* s after the beginning */
#define BETWEEN_DRAWN 0.2

static struct {
    bool on, shown;
    double began, drawn;
    const char *subject, *title, *what;
    int exercise, exercises, call, calls;
} now;

void progress_begin(const char *subject) {
    progress_end();
    now.on = terminal_width(STDERR_FILENO) > 0;
    now.began = child_now();
    now.subject = subject;
}

void progress_exercise(const char *title, int number, int count) {
    now.title = title;
    now.exercise = number;
    now.exercises = count;
    progress_doing(NULL);
}

void progress_doing(const char *what) {
    now.what = what;
    now.call = now.calls = 0;
    progress_tick();
}

void progress_call(int number, int count) {
    now.call = number;
    now.calls = count;
    progress_tick();
}

/* "step4, 1 min 12 s: attention (2 of 5): memory, call 12 of 40" */
static void describe(double seconds, char *line, size_t size) {
    char time[40], exercise[80] = "", call[40] = "", of[40] = "";
    time_text(seconds, time, sizeof time);
    if (now.title) { snprintf(exercise, sizeof exercise, ": %s (%d of %d)", now.title, now.exercise, now.exercises); }
    if (now.call) { snprintf(call, sizeof call, ", call %d", now.call); }
    if (now.calls) { snprintf(of, sizeof of, " of %d", now.calls); }
    snprintf(line, size, "%s, %s%s%s%s%s%s", now.subject, time, exercise, now.what ? ": " : "",
             now.what ? now.what : "", call, of);
}

/* A terminal that is stopped (Ctrl-S) or belongs to another job must not stop the marking, whose calls have deadlines. */
static bool takes_text(void) {
    struct pollfd ready = {STDERR_FILENO, POLLOUT, 0};
    pid_t owner = tcgetpgrp(STDERR_FILENO);
    return (owner < 0 || owner == getpgrp()) && poll(&ready, 1, 0) == 1 && ready.revents == POLLOUT;
}

void progress_tick(void) {
    double time = now.on ? child_now() : 0.0;
    char line[200];
    if (!now.on || time - now.began < FIRST_DRAWN || time - now.drawn < BETWEEN_DRAWN) { return; }
    now.drawn = time;
    if (!takes_text()) { return; }
    describe(time - now.began, line, sizeof line);
    dprintf(STDERR_FILENO, "\r\033[K%.*s", terminal_width(STDERR_FILENO) - 1, line);
    now.shown = true;
}

void progress_end(void) {
    if (now.shown) { dprintf(STDERR_FILENO, "\r\033[K"); }
    memset(&now, 0, sizeof now);
}
