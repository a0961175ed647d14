/* Each wall, tried from inside by a program that reports what worked. A wall that this machine does not have is skipped by
 * the layer's own report, which is checked against what the machine is known to have. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "grader/spawn.h"
#include "hostile.h"

static struct child child;

static void probe(bool gpu) {
    const char *path = hostile_path("hostile");
    const char *argv[] = {path, "probe", NULL};
    struct limits limits = limits_default;
    limits.gpu = gpu;
    char byte;
    close(open("/tmp/hostile-target", O_WRONLY | O_CREAT, 0666));
    cr_assert_eq(child_start(&child, path, argv, &limits), CHILD_OK, "%s", child.message);
    cr_assert_eq(child_receive(&child, &byte, 1, child_now() + 5), CHILD_EXITED, "%s", child.message);
    unlink("/tmp/hostile-target");
}

static void expect(const char *line) {
    cr_assert(strstr(child.output, line), "no '%s' in:\n%s", line, child.output);
}

static void refuse(const char *what) {
    char worked[64];
    snprintf(worked, sizeof worked, "\n%s: worked", what);
    cr_assert(strstr(child.output, what), "'%s' was not tried:\n%s", what, child.output);
    bool first = strncmp(child.output, worked + 1, strlen(worked + 1)) == 0;
    cr_assert(!first && !strstr(child.output, worked), "%s worked:\n%s", what, child.output);
}

Test(sandbox, always_there) {
    probe(false);
    unsigned always = SANDBOX_SESSION | SANDBOX_RLIMITS | SANDBOX_DESCRIPTORS;
    cr_assert_eq(child.layers & always, always, "layers %x", child.layers);
}

Test(sandbox, no_network) {
    probe(false);
    if (!(child.layers & SANDBOX_SECCOMP)) { cr_skip_test("no seccomp here"); }
    refuse("socket");
    refuse("unix socket");
    probe(true);
    refuse("socket");
    expect("\nunix socket: worked"); /* CUDA's driver needs one */
}

Test(sandbox, no_file_is_written) {
    probe(false);
    if (!(child.layers & (SANDBOX_SECCOMP | SANDBOX_LANDLOCK))) { cr_skip_test("neither seccomp nor Landlock here"); }
    refuse("create");
    refuse("overwrite");
    refuse("mkdir");
    refuse("unlink");
    expect("read: worked");
}

Test(sandbox, on_a_gpu_landlock_alone_keeps_files) {
    probe(true);
    if (!(child.layers & SANDBOX_LANDLOCK)) { cr_skip_test("no Landlock here"); }
    refuse("create");
    refuse("overwrite");
    refuse("mkdir");
    expect("read: worked");
}

static volatile sig_atomic_t signalled;
static void on_signal(int number) {
    signalled = number;
}

Test(sandbox, nothing_is_done_to_the_grader) {
    signal(SIGUSR1, on_signal);
    probe(false);
    if (!(child.layers & SANDBOX_SECCOMP)) { cr_skip_test("no seccomp here"); }
    refuse("kill");
    refuse("kill group");
    refuse("ptrace");
    refuse("limits");
    refuse("parent's memory");
    expect("raise: worked");
    cr_assert_eq(signalled, 0);
}

Test(sandbox, no_processes) {
    probe(false);
    if (!(child.layers & SANDBOX_SECCOMP)) { cr_skip_test("no seccomp here"); }
    refuse("fork");
    refuse("exec");
    refuse("session");
}

Test(sandbox, root_is_given_up) {
    probe(false);
    if (geteuid() != 0) { cr_skip_test("the tests do not run as root"); }
    if (!(child.layers & SANDBOX_USER)) { cr_skip_test("the program cannot be executed by others here"); }
    cr_assert(!strstr(child.output, "user: 0\n"), "%s", child.output);
}

Test(sandbox, a_program_that_others_cannot_execute_still_runs) {
    if (geteuid() != 0) { cr_skip_test("the tests do not run as root"); }
    char command[4096], copy[1024];
    snprintf(copy, sizeof copy, "%s-private-%d", hostile_path("hostile"), (int)getpid());
    snprintf(command, sizeof command, "cp %s %s && chmod 700 %s", hostile_path("hostile"), copy, copy);
    cr_assert_eq(system(command), 0);
    const char *argv[] = {copy, "probe", NULL};
    char byte;
    enum child_status started = child_start(&child, copy, argv, NULL);
    unlink(copy);
    cr_assert_eq(started, CHILD_OK, "%s", child.message);
    cr_assert_eq(child_receive(&child, &byte, 1, child_now() + 5), CHILD_EXITED, "%s", child.message);
    cr_assert_eq(child.layers & SANDBOX_USER, 0u);
    expect("user: 0");
}

Test(sandbox, layers_are_named) {
    char text[200];
    cr_assert_str_eq(sandbox_describe(SANDBOX_SESSION | SANDBOX_LANDLOCK, text, sizeof text), "own session, Landlock");
    cr_assert_str_eq(sandbox_describe(0, text, sizeof text), "none");
    cr_assert(strstr(sandbox_describe(SANDBOX_ALL, text, sizeof text), "seccomp"));
    cr_assert_eq(strlen(sandbox_describe(SANDBOX_ALL, text, 10)), 9u);
}

/* A grader that has opened nothing yet gets low descriptors, which the child uses for other things. */
static unsigned layers_with_low_descriptors_free(void) {
    int answer[2], how;
    cr_assert_eq(pipe(answer), 0);
    unsigned layers = 0;
    pid_t pid = fork(); /* Criterion's own descriptors must stay open in the test */
    if (pid == 0) {
        dup2(answer[1], 20);
        for (int i = 3; i < 20; i++) { close(i); }
        const char *path = hostile_path("hostile"), *argv[] = {path, "hang", NULL};
        child_start(&child, path, argv, NULL);
        child_kill(&child, CHILD_OK, "%s", "");
        _exit(write(20, &child.layers, sizeof child.layers) < 0);
    }
    cr_assert_eq(read(answer[0], &layers, sizeof layers), (ssize_t)sizeof layers);
    cr_assert_eq(waitpid(pid, &how, 0), pid);
    return layers;
}

Test(sandbox, landlock_is_used_where_the_kernel_has_it) {
    bool kernel_has = syscall(444, NULL, 0, 1) >= 1; /* landlock_create_ruleset, asked for its version */
    probe(false);
    cr_assert_eq((child.layers & SANDBOX_LANDLOCK) != 0, kernel_has);
    cr_assert_eq(layers_with_low_descriptors_free(), child.layers);
}
