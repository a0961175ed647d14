/* arena_variables.c — __device__ and __constant__ variables: they register themselves before main(). */
#include "arena.h"

#include <stdlib.h>

/* By address. They register in static initialisers, on one OS thread, and are only read from then on. */
static struct arena_allocation *variables;
static size_t count, room;
static uintptr_t lowest = UINTPTR_MAX, highest;
static __thread size_t last;

/* Their ids lie above those of all allocations. */
#define FIRST_ID (UINT64_C(1) << 62)

static void add(void *pointer, size_t bytes, const char *name, uint64_t id) {
    uintptr_t start = (uintptr_t)pointer;
    size_t at = count;
    while (at > 0 && variables[at - 1].start > start) at--;
    if (at > 0 && variables[at - 1].start == start) return; /* an inline variable of several translation units */
    if (count == room) {
        size_t larger = room ? room * 2 : 32;
        struct arena_allocation *moved = realloc(variables, larger * sizeof *moved);
        if (moved == NULL) abort();
        variables = moved;
        room = larger;
    }
    for (size_t i = count; i > at; i--) variables[i] = variables[i - 1];
    variables[at] = (struct arena_allocation){start, bytes, id + count, name};
    count++;
    if (start < lowest) lowest = start;
    if (start + bytes > highest) highest = start + bytes;
}

void arena_register_variable(void *pointer, size_t bytes, const char *name) {
    add(pointer, bytes, name, FIRST_ID);
}

void arena_register_constant(void *pointer, size_t bytes, const char *name) {
    add(pointer, bytes, name, FIRST_ID | ARENA_CONSTANT);
}

bool arena_find_variable(uintptr_t address, struct arena_allocation *out) {
    if (address - lowest >= highest - lowest || count == 0) return false;
    size_t low = 0, high = count;
    if (last < count && address - variables[last].start < variables[last].bytes) {
        *out = variables[last];
        return true;
    }
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (variables[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address - variables[low - 1].start >= variables[low - 1].bytes) return false;
    last = low - 1;
    *out = variables[last];
    return true;
}

bool arena_variable_before(uintptr_t address, size_t distance, struct arena_allocation *out) {
    for (size_t i = count; i-- > 0;)
        if (variables[i].start <= address) {
            *out = variables[i];
            return address - variables[i].start < variables[i].bytes + distance;
        }
    return false;
}
