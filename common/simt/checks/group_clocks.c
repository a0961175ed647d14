/* group_clocks.c — a hash table from cells to the clocks of 32 lanes. */
#include "group_clocks.h"
#include "races.h"

#if SIMT_CHECKED

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    const struct race_cell *cell;
    uint32_t clock[WARP_SIZE];
};

static __thread struct entry *table;
static __thread size_t room, count;

static struct entry *find(const struct race_cell *cell) {
    size_t i = (size_t)((uintptr_t)cell * 0x9e3779b97f4a7c15u >> 20) & (room - 1);
    while (table[i].cell && table[i].cell != cell) i = (i + 1) & (room - 1);
    return &table[i];
}

static void grow(void) {
    struct entry *old = table;
    size_t old_room = room;
    room = old_room ? old_room * 2 : 256;
    table = calloc(room, sizeof *table);
    if (table == NULL) {
        fputs("simt: out of memory for the race detector\n", stderr);
        abort();
    }
    for (size_t i = 0; i < old_room; i++)
        if (old[i].cell) *find(old[i].cell) = old[i];
    free(old);
}

uint32_t *group_clocks_make(const struct race_cell *cell) {
    if ((count + 1) * 2 > room) grow();
    struct entry *entry = find(cell);
    if (entry->cell == NULL) {
        entry->cell = cell;
        count++;
    }
    return entry->clock;
}

/* Another block's table does not matter: its groups are never asked lane by lane. */
uint32_t *group_clocks(const struct race_cell *cell) {
    return group_clocks_make(cell);
}

void group_clocks_clear(void) {
    if (count) memset(table, 0, room * sizeof *table);
    count = 0;
}

#else
typedef int group_clocks_is_empty_in_the_fast_build;
#endif
