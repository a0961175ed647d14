/* report_fit: no line is wider than the terminal, nothing is lost, and what goes on stands under its own text. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../report.h"

TestSuite(report_fit, .timeout = 20);

static char *fitted;

static const char *fit(const char *text, int width) {
    size_t size = 0;
    free(fitted);
    FILE *out = open_memstream(&fitted, &size);
    report_fit(out, text, width);
    fclose(out);
    return fitted;
}

Test(report_fit, short_lines_stay) {
    cr_assert_str_eq(fit("step1: naive kernels\n\n  20 of 20 points\n", 40),
                     "step1: naive kernels\n\n  20 of 20 points\n");
    cr_assert_str_eq(fit("  exactly twenty col\n", 20), "  exactly twenty col\n");
}

Test(report_fit, long_lines_go_on_under_their_text) {
    cr_assert_str_eq(fit("  next: edit residual.cu, then make step1\n", 24),
                     "  next: edit\n      residual.cu, then\n      make step1\n");
}

Test(report_fit, rows_break_between_columns) {
    cr_assert_str_eq(fit("    traffic     pass   4/4  1.00x the floor in sectors\n", 40),
                     "    traffic     pass   4/4\n        1.00x the floor in sectors\n");
}

Test(report_fit, colours_take_no_place) {
    cr_assert_str_eq(fit("\033[32mfour words of text\033[0m\n", 18), "\033[32mfour words of text\033[0m\n");
    cr_assert_str_eq(fit("\033[32mfour words of text\033[0m\n", 12), "\033[32mfour words\n    of text\033[0m\n");
}

Test(report_fit, long_words_are_cut) {
    const char *lines = fit("0123456789012345678901234567890123456789012345678901234567890\n", 40);
    cr_assert_eq(strcspn(lines, "\n"), 40);
    cr_assert(strstr(lines, "\n    01234567890"));
}
