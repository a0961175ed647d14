/* gpt2.c — in the place of the program gpt2, for test_rate.c. What it does is the name under which it is started. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int is(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, name) == 0;
}

int main(int count, char **argument) {
    const char *rate = strcmp(argument[count - 1], "naive") == 0 ? "300.0" : "900.0";
    if (is(argument[0], "fails")) {
        fprintf(stderr, "gpt2: kernels_lab.so: there is no such kernel set\n");
        return 2;
    }
    if (is(argument[0], "crashes")) { raise(SIGSEGV); }
    if (is(argument[0], "negative")) { rate = "-5"; }
    if (is(argument[0], "not_a_number")) { rate = "nan"; }
    printf("size   type  what    batch tokens      ms p5        p50        p95     tokens/s         MB\n");
    printf("124M   bf16  decode      1     64      0.323      0.327      0.333 %12s      375.4\n", rate);
    return 0;
}
