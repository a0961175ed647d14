/* stop: stop texts across pieces; nothing of a stop passes, and all that is no stop does. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/program/stop.h"

TestSuite(stop, .timeout = 60);

static struct gpt2_error error;

/* Pushes `text` in pieces of `piece` bytes. Returns what has passed, in a new string; *found: the stop. */
static char *pass(const struct text_list *stops, const char *text, size_t size, size_t piece, const char **found) {
    struct stop_search search = {.stops = stops};
    struct gpt2_text passed = {NULL, 0, 0};
    *found = NULL;
    for (size_t at = 0; at < size && *found == NULL; at += piece) {
        cr_assert(stop_push(&search, text + at, size - at < piece ? size - at : piece, &passed, found, &error));
    }
    if (*found == NULL) { cr_assert(stop_flush(&search, &passed, &error)); }
    stop_close(&search);
    char *copy = calloc(1, passed.size + 1);
    if (passed.size > 0) { memcpy(copy, passed.bytes, passed.size); }
    gpt2_text_free(&passed);
    return copy;
}

Test(stop, cuts_before_the_first_stop_that_is_complete) {
    static const struct {
        struct text_list stops;
        const char *text, *passed, *found;
    } cases[] = {
        {{{"END"}, 1}, "one END two", "one ", "END"},
        {{{"END"}, 1}, "one EN two E", "one EN two E", NULL},
        {{{"aab"}, 1}, "aaaab", "aa", "aab"},
        {{{"abab!", "ba"}, 2}, "xaba", "xa", "ba"},
        {{{"bc", "abc"}, 2}, "xabc", "x", "abc"}, /* complete at once: the longest */
        {{{"abcd", "bc"}, 2}, "xabcd", "xa", "bc"},
        {{{"\n\n"}, 1}, "a\nb\n\nc", "a\nb", "\n\n"},
        {{{"\xe2\x82\xac"}, 1}, "5 \xe2\x82\xac", "5 ", "\xe2\x82\xac"},
        {{{NULL}, 0}, "anything", "anything", NULL},
        {{{"a"}, 1}, "", "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t piece = 1; piece <= 12; piece++) {
            const char *found;
            char *passed = pass(&cases[i].stops, cases[i].text, strlen(cases[i].text), piece, &found);
            cr_assert_str_eq(passed, cases[i].passed, "case %zu, pieces of %zu: '%s'", i, piece, passed);
            cr_assert(found == NULL ? cases[i].found == NULL : cases[i].found && strcmp(found, cases[i].found) == 0);
            free(passed);
        }
    }
}

/* Random texts of few letters, beside a search in the whole text. */
Test(stop, as_a_search_in_the_whole_text) {
    unsigned state = 1;
    for (int round = 0; round < 3000; round++) {
        char text[40] = "", stop[3][6] = {"", "", ""};
        struct text_list stops = {{stop[0], stop[1], stop[2]}, 1 + round % 3};
        for (int i = 0; i < 30; i++) { text[i] = (char)('a' + (state = state * 1103515245u + 12345u) / 65536 % 2); }
        for (int s = 0; s < 3; s++) {
            for (int i = 0; i <= (int)((state = state * 1103515245u + 12345u) / 65536 % 5); i++) {
                stop[s][i] = (char)('a' + (state = state * 1103515245u + 12345u) / 65536 % 2);
            }
        }
        size_t end = strlen(text) + 1, begin = strlen(text);
        for (int s = 0; s < stops.count; s++) { /* the first to be complete, of several the longest */
            const char *at = strstr(text, stop[s]);
            size_t from = at ? (size_t)(at - text) : 0, to = at ? from + strlen(stop[s]) : end;
            if (at != NULL && (to < end || (to == end && from < begin))) { begin = from, end = to; }
        }
        const char *found;
        char *passed = pass(&stops, text, strlen(text), 1 + (size_t)round % 7, &found);
        cr_assert(strlen(passed) == begin && strncmp(passed, text, begin) == 0, "%s, stops %s %s %s: '%s'", text,
                  stop[0], stop[1], stop[2], passed);
        cr_assert_eq(found != NULL, end <= strlen(text));
        free(passed);
    }
}
