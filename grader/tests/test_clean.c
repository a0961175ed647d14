/* clean: nothing of a submission controls the terminal. */
#include <criterion/criterion.h>
#include <string.h>

#include "grader/clean.h"

static void expect(const char *text, const char *wanted) {
    char copy[64];
    strcpy(copy, text);
    cr_assert_str_eq(clean_text(copy), wanted);
}

Test(clean, text_stays) {
    expect("a.cu:3: error: \xe2\x80\x98x\xe2\x80\x99\n\tint x;\n",
           "a.cu:3: error: \xe2\x80\x98x\xe2\x80\x99\n\tint x;\n");
    expect("", "");
    expect("\xf0\x9f\x98\x80 \xc3\xa9", "\xf0\x9f\x98\x80 \xc3\xa9");
}

Test(clean, controls_are_replaced) {
    expect("\x1b[2J\x07\r\b\x7f", "?[2J????");
    expect("\xc2\x9b"
           "31m",
           "??31m");
    expect("\x9b", "?");
    expect("\xe2\x80\xae"
           "dias",
           "???dias");
    expect("\xe2\x80\xa8", "???");
}

Test(clean, what_is_no_utf8_is_replaced) {
    expect("\xc0\x80 \xed\xa0\x80 \xf5\x80\x80\x80 \xe2\x80", "?? ??? ???? ??");
    expect("\xe2\n", "?\n");
    expect("\xc3", "?");
}
