/* criterion.h — the part of Criterion that the backend's tests use, for programs that run under qemu-user: Criterion itself
 * starts each test by executing its own program again, which an emulated program cannot do. main.c runs the tests.
 */
#ifndef EMULATED_CRITERION_H
#define EMULATED_CRITERION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct criterion_options {
    void (*init)(void), (*fini)(void);
    double timeout; /* seconds */
};

struct criterion_test_params {
    size_t size;
    void *params;
    size_t length;
};

/* A test, or a suite's options if `run` and `run_with` are NULL. */
struct criterion_test {
    const char *suite, *name;
    void (*run)(void);
    void (*run_with)(void *parameter);
    struct criterion_test_params (*parameters)(void);
    struct criterion_options options;
    struct criterion_test *next;
};

void criterion_add(struct criterion_test *test);
void criterion_check(bool fatal, bool ok, const char *file, int line, const char *what, const char *format, ...);
void cr_redirect_stdout(void);
bool criterion_printed(const char *text);

#define CRITERION_ADD(id, ...)                                \
    __attribute__((constructor)) static void id##_add(void) { \
        static struct criterion_test test = {__VA_ARGS__};    \
        criterion_add(&test);                                 \
    }                                                         \
    extern int criterion_needs_a_semicolon

#define TestSuite(suite_, ...) CRITERION_ADD(suite_, .suite = #suite_, .options = {__VA_ARGS__})

#define Test(suite_, name_, ...)                                                                         \
    static void suite_##_##name_(void);                                                                  \
    CRITERION_ADD(suite_##_##name_, #suite_, #name_, .run = suite_##_##name_, .options = {__VA_ARGS__}); \
    static void suite_##_##name_(void)

#define CHECK(fatal, condition, what, ...) \
    criterion_check(fatal, (condition) ? true : false, __FILE__, __LINE__, what, "" __VA_ARGS__)
#define CHECK_TWO(fatal, a, operator, b, ...) CHECK(fatal, (a) operator(b), #a " " #operator" " #b, __VA_ARGS__)

#define cr_assert(condition, ...)          CHECK(true, condition, #condition, __VA_ARGS__)
#define cr_assert_eq(a, b, ...)            CHECK_TWO(true, a, ==, b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...)           CHECK_TWO(true, a, !=, b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...)            CHECK_TWO(true, a, <, b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...)            CHECK_TWO(true, a, >, b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...)           CHECK_TWO(true, a, >=, b, __VA_ARGS__)
#define cr_assert_null(a, ...)             CHECK_TWO(true, a, ==, NULL, __VA_ARGS__)
#define cr_assert_not_null(a, ...)         CHECK_TWO(true, a, !=, NULL, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)        CHECK(true, strcmp(a, b) == 0, #a " is " #b, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, bytes, ...) CHECK(true, memcmp(a, b, bytes) == 0, #a " is " #b, __VA_ARGS__)
#define cr_assert_stdout_eq_str(text, ...) CHECK(true, criterion_printed(text), "what was printed", __VA_ARGS__)
#define cr_expect(condition, ...)          CHECK(false, condition, #condition, __VA_ARGS__)
#define cr_expect_not(condition, ...)      CHECK(false, !(condition), "not " #condition, __VA_ARGS__)
#define cr_expect_eq(a, b, ...)            CHECK_TWO(false, a, ==, b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...)           CHECK_TWO(false, a, !=, b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...)            CHECK_TWO(false, a, >, b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...)           CHECK_TWO(false, a, >=, b, __VA_ARGS__)
#define cr_expect_null(a, ...)             CHECK_TWO(false, a, ==, NULL, __VA_ARGS__)
#define cr_expect_not_null(a, ...)         CHECK_TWO(false, a, !=, NULL, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...)        CHECK(false, strcmp(a, b) == 0, #a " is " #b, __VA_ARGS__)
#define cr_expect_str_empty(a, ...)        CHECK(false, (a)[0] == '\0', #a " is empty", __VA_ARGS__)

#endif
