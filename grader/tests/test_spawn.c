/* Every way in which an untrusted program can end or refuse to, and what the grader says about it. */
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "grader/spawn.h"
#include "hostile.h"

static struct limits quick(double seconds) {
    struct limits limits = limits_default;
    limits.call_seconds = seconds;
    return limits;
}

/* Starts the program and waits for one byte that never comes. */
static enum child_status run(struct child *child, const char *mode, struct limits limits) {
    const char *path = hostile_path("hostile");
    const char *argv[] = {path, mode, NULL};
    char byte;
    if (child_start(child, path, argv, &limits) != CHILD_OK) { return child->status; }
    return child_receive(child, &byte, 1, child_now() + limits.call_seconds);
}

static void expect(const char *mode, double seconds, enum child_status status, const char *words) {
    struct child child;
    double start = child_now();
    enum child_status got = run(&child, mode, quick(seconds));
    cr_assert_eq(got, status, "%s: %s, not %s (%s)", mode, child_status_name(got), child_status_name(status),
                 child.message);
    cr_assert_eq(child.status, status, "%s", mode);
    cr_assert(strstr(child.message, words), "%s: '%s' does not say '%s'", mode, child.message, words);
    cr_assert_eq(child.pid, 0, "%s: the child is still known", mode);
    cr_assert(child_now() - start < seconds + 3, "%s took %g s", mode, child_now() - start);
    cr_assert(waitpid(-1, NULL, WNOHANG) < 0, "%s: a child is left over", mode);
}

Test(spawn, a_crash_names_its_signal) {
    expect("crash", 5, CHILD_CRASHED, "SIGSEGV");
}
Test(spawn, an_abort_names_its_signal) {
    expect("abort", 5, CHILD_CRASHED, "SIGABRT");
}
Test(spawn, exit_zero_is_no_success) {
    expect("exit0", 5, CHILD_EXITED, "exit status 0");
}
Test(spawn, exit_in_a_constructor_is_no_success) {
    expect("constructor", 5, CHILD_EXITED, "exit status 0");
}
Test(spawn, a_hang_is_stopped) {
    expect("hang", 0.3, CHILD_TIMED_OUT, "within 0.3 s");
}
Test(spawn, ignoring_signals_does_not_help) {
    expect("deaf", 0.3, CHILD_TIMED_OUT, "within 0.3 s");
}
Test(spawn, an_endless_loop_is_stopped) {
    expect("spin", 0.3, CHILD_TIMED_OUT, "within 0.3 s");
}
/* Its blocks go on ending: it gets six times the time. */
Test(spawn, a_slow_child_may_answer_late) {
    struct child child;
    cr_assert_eq(run(&child, "slow", quick(0.4)), CHILD_OK, "%s", child.message);
    child_kill(&child, CHILD_OK, "%s", "");
}
Test(spawn, a_slower_child_is_stopped_in_the_end) {
    expect("slower", 0.4, CHILD_TOO_SLOW, "within 2 s");
}
Test(spawn, launches_without_end_are_no_progress) {
    expect("launching", 0.4, CHILD_TIMED_OUT, "within 0.4 s");
}
/* On one processor, beside three processes that never sleep, it has a quarter of the time; half, if sessions share equally. */
Test(spawn, a_child_that_waits_for_a_processor_gets_its_time) {
    enum { OTHERS = 3 };
    cpu_set_t one;
    pid_t other[OTHERS];
    struct child child;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    for (int i = 0; i < OTHERS; i++) {
        if ((other[i] = fork()) != 0) { continue; }
        alarm(20);
        for (volatile unsigned long n = 0;; n++) {}
    }
    double start = child_now();
    enum child_status status = run(&child, "spin", quick(0.4));
    double seconds = child_now() - start;
    for (int i = 0; i < OTHERS; i++) {
        kill(other[i], SIGKILL);
        waitpid(other[i], NULL, 0);
    }
    cr_assert_eq(status, CHILD_TIMED_OUT, "%s", child.message);
    cr_assert(seconds > 0.6 && seconds < 6, "%g s", seconds);
}
Test(spawn, a_closed_socket_is_found_at_once) {
    expect("close", 30, CHILD_CLOSED, "descriptor 3");
}
Test(spawn, endless_output_is_stopped) {
    expect("flood", 20, CHILD_FLOODED, "16 MiB");
}

Test(spawn, the_first_output_is_kept) {
    struct child child;
    run(&child, "flood", quick(20));
    cr_assert_eq(child.output_length, SPAWN_OUTPUT_BYTES);
    cr_assert_eq(strlen(child.output), SPAWN_OUTPUT_BYTES);
    cr_assert(child.output_total > child.limits.output_bytes);
}

Test(spawn, a_memory_bomb_is_stopped) {
    struct child child;
    struct limits limits = quick(20);
    limits.resident_bytes = (size_t)256 << 20;
    cr_assert_eq(run(&child, "memory", limits), CHILD_MEMORY, "%s", child.message);
    cr_assert(strstr(child.message, "0.2 GiB"), "%s", child.message);
}

Test(spawn, processor_time_is_limited) {
    struct child child;
    struct limits limits = quick(20);
    limits.cpu_seconds = 1;
    cr_assert_eq(run(&child, "spin", limits), CHILD_TIMED_OUT, "%s", child.message);
    cr_assert(strstr(child.message, "processor time"), "%s", child.message);
}

Test(spawn, a_fork_bomb_makes_no_process) {
    struct child child;
    cr_assert_eq(run(&child, "forks", quick(5)), CHILD_CLOSED, "%s", child.message);
    bool filtered = child.layers & SANDBOX_SECCOMP;
    cr_assert(!filtered || strstr(child.output, "forks: 0"), "%s", child.output);
}

Test(spawn, a_missing_program_is_no_crash) {
    struct child child;
    cr_assert_eq(child_start(&child, "build/hostile/none-such", NULL, NULL), CHILD_CANNOT_START);
    cr_assert(strstr(child.message, "No such file"), "%s", child.message);
    cr_assert_eq(child.pid, 0);
}

Test(spawn, a_text_file_is_no_program) {
    struct child child;
    cr_assert_eq(child_start(&child, "Makefile", NULL, NULL), CHILD_CANNOT_START);
    cr_assert(strstr(child.message, "cannot execute"), "%s", child.message);
}

Test(spawn, only_five_descriptors_and_a_clean_environment) {
    struct child child;
    setenv("SECRET", "1", 1);
    int extra = dup(2);
    cr_assert(extra > 3);
    static const char *const given[] = {"GIVEN=this", NULL};
    struct limits limits = quick(5);
    limits.environment = given;
    cr_assert_eq(run(&child, "descriptors", limits), CHILD_EXITED);
    cr_assert_str_eq(child.output, "0 1 2 3 4 | no secret | this\n");
}

Test(spawn, a_dead_child_answers_nothing_more) {
    struct child child;
    char byte;
    run(&child, "exit0", quick(5));
    cr_assert_eq(child_receive(&child, &byte, 1, child_now() + 1), CHILD_EXITED);
    cr_assert_eq(child_send(&child, "x", 1, child_now() + 1), CHILD_EXITED);
    child_kill(&child, CHILD_OK, "%s", "");
}

Test(spawn, starting_and_ending_is_quick) {
    double start = child_now();
    for (int i = 0; i < 20; i++) {
        struct child child;
        run(&child, "exit0", quick(5));
        cr_assert_eq(child.status, CHILD_EXITED);
    }
    cr_assert(child_now() - start < 2, "20 lives took %g s", child_now() - start);
}
