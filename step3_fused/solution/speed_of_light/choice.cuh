// choice.cuh — how the dispatchers choose: the first line of a table that fits the call
//
// SHOW_CHOICE=1 in the environment of any program that calls a launcher prints each line when it is first taken:
//   choice: softmax_forward: line 4 of 18          (18 of 18: no line fits)
#ifndef SPEED_OF_LIGHT_CHOICE_CUH
#define SPEED_OF_LIGHT_CHOICE_CUH

#include <stdio.h>
#include <stdlib.h>

// The first line for which fits(line) is true; null if there is none.
template <class Line, size_t lines, class Fits>
const Line *first_that_fits(const char *name, const Line (&table)[lines], Fits fits) {
    static const bool show = getenv("SHOW_CHOICE") != nullptr;
    static bool shown[lines + 1];
    size_t at = 0;
    while (at < lines && !fits(table[at])) { at++; }
    if (show && !shown[at]) {
        printf("choice: %s: line %zu of %zu\n", name, at, lines);
        shown[at] = true;
    }
    return at < lines ? &table[at] : nullptr;
}

#endif
