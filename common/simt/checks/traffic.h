/* traffic.h — the traffic of each allocation: a small table per OS thread during a launch, one table for good. */
#ifndef SIMT_TRAFFIC_H
#define SIMT_TRAFFIC_H

#include "engine/internal.h"

struct traffic_entry {
    uintptr_t start;
    size_t bytes;
    uint64_t id;
    struct simt_traffic traffic;
};

enum { TRAFFIC_RECENT = 64 };

/* `recent` remembers which entry the accesses of a source place last met: mostly it is the same again. */
struct traffic_table {
    struct traffic_entry *entry;
    uint32_t count, room;
    uint32_t recent[TRAFFIC_RECENT]; /* index + 1 */
};

/* The entry of the allocation that holds the address; entry 0, which stands for none, if nothing does. */
struct traffic_entry *traffic_find(struct traffic_table *table, uint32_t pc, uintptr_t address);

/* Adds the table to the totals and empties it: allocations may change between launches. */
void traffic_flush(struct traffic_table *table);
void traffic_reset(void);

#endif
