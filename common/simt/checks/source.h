/* source.h — from a program counter to the learner's line and function, through libbacktrace. See internal.h. */
#ifndef SIMT_SOURCE_H
#define SIMT_SOURCE_H

#include "engine/internal.h"

/* A kernel's __PRETTY_FUNCTION__ as compute-sanitizer writes it: "k(float *, int)". Returns `out`. */
const char *source_pretty(const char *function, char *out, size_t room);

/* The variable of the program that contains the address, as "tile" or "ns::tile", and its size; "" if none does. The
 * string is never freed. */
const char *source_variable(uintptr_t address, size_t *bytes);

/* The first pc from here on, within a few instructions, that belongs to a line of the learner's. A function's prologue
 * belongs to none when calls were inlined. */
uintptr_t source_next_line(uintptr_t pc);

/* A number with commas, as the tools print it: 4,092. Returns `out`. */
enum { GROUPED = 32 };
const char *grouped(unsigned long long value, char out[GROUPED]);

#endif
