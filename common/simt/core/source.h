/* source.h — from a program counter to the learner's line and function, through libbacktrace. See internal.h. */
#ifndef SIMT_SOURCE_H
#define SIMT_SOURCE_H

#include "internal.h"

/* A kernel's __PRETTY_FUNCTION__ as compute-sanitizer writes it: "k(float *, int)". Returns `out`. */
const char *source_pretty(const char *function, char *out, size_t room);

/* The variable of the program that holds the address, as "tile" or "ns::tile"; "" if none does. Lives for ever. */
const char *source_variable(uintptr_t address);

/* A number with commas, as the tools print it: 4,092. Returns `out`. */
enum { GROUPED = 32 };
const char *grouped(unsigned long long value, char out[GROUPED]);

#endif
