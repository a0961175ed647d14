/* main.c — runs the tests of a program, each in a process of its own, for criterion/criterion.h beside it.
 *
 *   PROGRAM [--xml=FILE] [--filter=SUITE/TEST]     other options of Criterion's are ignored
 *
 * Writes the part of Criterion's XML report that tools/run-tests reads. Exit status: 0 when nothing failed.
 */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "criterion/criterion.h"

/* Emulation is 5 to 20 times as slow. */
enum { SLOWER = 10, DEFAULT_SECONDS = 60 };

/* qemu-user does not limit the address space of the emulated program, and does not emulate times. */
static const char *const left_out[] = {
    "graph_memory/reserved_addresses_are_not_reused",
    "device_side/device_clocks_run_at_the_clock_rate",
};

static struct criterion_test *tests, **last = &tests;
static FILE *printed;

/* Shared by the process of a test and this one. */
static struct progress { int checks, failed; } * progress;

void criterion_add(struct criterion_test *test) {
    *last = test;
    last = &test->next;
}

void criterion_check(bool fatal, bool ok, const char *file, int line, const char *what, const char *format, ...) {
    progress->checks++;
    if (ok) { return; }
    progress->failed++;
    fprintf(stderr, "%s:%d: failed: %s", file, line, what);
    if (*format) {
        va_list arguments;
        va_start(arguments, format);
        fputs(": ", stderr);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
    }
    fputc('\n', stderr);
    if (fatal) { _exit(1); }
}

void cr_redirect_stdout(void) {
    printed = tmpfile();
    if (printed == NULL || dup2(fileno(printed), STDOUT_FILENO) < 0) { abort(); }
}

bool criterion_printed(const char *text) {
    char found[4096];
    rewind(printed);
    size_t bytes = fread(found, 1, sizeof found, printed);
    return bytes == strlen(text) && memcmp(found, text, bytes) == 0;
}

static void call(void (*function)(void)) {
    if (function) { function(); }
}

/* In the process of the test. */
static void run(const struct criterion_test *test, const struct criterion_options *suite, void *parameter) {
    double seconds = test->options.timeout > 0 ? test->options.timeout : suite->timeout;
    alarm(SLOWER * (unsigned)(seconds > 0 ? seconds : DEFAULT_SECONDS));
    call(suite->init);
    call(test->options.init);
    if (test->run) {
        test->run();
    } else {
        test->run_with(parameter);
    }
    call(test->options.fini);
    call(suite->fini);
    fflush(NULL);
    _exit(0);
}

/* True if it passed. */
static bool passes(const struct criterion_test *test, const struct criterion_options *suite, void *parameter) {
    fflush(NULL);
    int failed_before = progress->failed, how = 0;
    pid_t child = fork();
    if (child == 0) { run(test, suite, parameter); }
    if (child < 0 || waitpid(child, &how, 0) != child) { abort(); }
    if (WIFSIGNALED(how)) { fprintf(stderr, "%s/%s: signal %d\n", test->suite, test->name, WTERMSIG(how)); }
    return how == 0 && progress->failed == failed_before;
}

static struct criterion_options options_of(const char *suite) {
    for (const struct criterion_test *test = tests; test; test = test->next)
        if (test->run == NULL && test->run_with == NULL && strcmp(test->suite, suite) == 0) { return test->options; }
    return (struct criterion_options){NULL, NULL, 0};
}

/* As Criterion's report: one entry for each test, whatever its parameters. */
static bool report(FILE *xml, const struct criterion_test *test, const char *name) {
    struct criterion_options suite = options_of(test->suite);
    struct criterion_test_params parameters = {0, NULL, 1};
    if (test->parameters) { parameters = test->parameters(); }
    bool ok = true;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        if (strcmp(name, left_out[i]) == 0) {
            fprintf(xml, "<testcase name=\"%s\" assertions=\"0\" status=\"SKIPPED\">\n", name);
            return true;
        }
    }
    progress->checks = progress->failed = 0;
    for (size_t i = 0; i < parameters.length; i++) {
        ok &= passes(test, &suite, (char *)parameters.params + i * parameters.size);
    }
    if (!ok) { fprintf(stderr, "%s failed\n", name); }
    fprintf(xml, "<testcase name=\"%s\" assertions=\"%d\" status=\"%s\">\n", name, progress->checks,
            ok ? "PASSED" : "FAILED");
    return ok;
}

int main(int argc, char **argv) {
    const char *filter = "";
    FILE *xml = stdout;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--xml=", 6) == 0) { xml = fopen(argv[i] + 6, "w"); }
        if (strncmp(argv[i], "--filter=", 9) == 0) { filter = argv[i] + 9; }
    }
    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (xml == NULL || progress == MAP_FAILED) { return 2; }
    bool ok = true;
    for (const struct criterion_test *test = tests; test; test = test->next) {
        char name[256];
        snprintf(name, sizeof name, "%s/%s", test->suite, test->name ? test->name : "");
        if (test->name && strstr(name, filter)) { ok &= report(xml, test, name); }
    }
    return ok ? 0 : 1;
}
