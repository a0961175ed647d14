/* traffic.c — which allocation an access belongs to, and how much traffic each allocation has seen. */
#include "traffic.h"

#if SIMT_CHECKED

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Totals by allocation: open addressing over ids, which are never reused. */
struct total {
    uint64_t id_plus_1;
    struct simt_traffic traffic;
};
static struct total *totals;
static size_t totals_count, totals_room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *must(void *memory) {
    if (memory == NULL) {
        fputs("simt: out of memory for the traffic counters\n", stderr);
        abort();
    }
    return memory;
}

static struct total *total_of(uint64_t id) {
    size_t i = (size_t)(id * 0x9e3779b97f4a7c15u >> 32) & (totals_room - 1);
    while (totals[i].id_plus_1 && totals[i].id_plus_1 != id + 1) i = (i + 1) & (totals_room - 1);
    return &totals[i];
}

static void totals_grow(void) {
    struct total *old = totals;
    size_t old_room = totals_room;
    totals_room = old_room ? old_room * 2 : 64;
    totals = must(calloc(totals_room, sizeof *totals));
    for (size_t i = 0; i < old_room; i++)
        if (old[i].id_plus_1) *total_of(old[i].id_plus_1 - 1) = old[i];
    free(old);
}

static void traffic_sum(struct simt_traffic *to, const struct simt_traffic *from) {
    to->load_requests += from->load_requests;
    to->store_requests += from->store_requests;
    to->atomic_requests += from->atomic_requests;
    to->load_sectors += from->load_sectors;
    to->store_sectors += from->store_sectors;
    to->atomic_sectors += from->atomic_sectors;
    to->load_bytes += from->load_bytes;
    to->store_bytes += from->store_bytes;
    to->atomic_bytes += from->atomic_bytes;
}

static uint32_t entry_add(struct traffic_table *table, uintptr_t start, size_t bytes, uint64_t id) {
    if (table->count == table->room) {
        table->room = table->room ? table->room * 2 : 16;
        table->entry = must(realloc(table->entry, table->room * sizeof *table->entry));
    }
    table->entry[table->count] = (struct traffic_entry){.start = start, .bytes = bytes, .id = id};
    return table->count++;
}

struct traffic_entry *traffic_find(struct traffic_table *table, uint32_t pc, uintptr_t address) {
    uint32_t *recent = &table->recent[(pc ^ pc >> 6) % TRAFFIC_RECENT];
    if (*recent) {
        struct traffic_entry *entry = &table->entry[*recent - 1];
        if (address - entry->start < entry->bytes) return entry;
    }
    if (table->count == 0) entry_add(table, 0, 0, UINT64_MAX - 1);
    for (uint32_t i = 1; i < table->count; i++) {
        if (address - table->entry[i].start < table->entry[i].bytes) {
            *recent = i + 1;
            return &table->entry[i];
        }
    }
    struct arena_allocation found;
    if (!arena_find(address, &found)) return &table->entry[0];
    uint32_t i = entry_add(table, found.start, found.bytes, found.id);
    *recent = i + 1;
    return &table->entry[i];
}

void traffic_flush(struct traffic_table *table) {
    pthread_mutex_lock(&lock);
    for (uint32_t i = 1; i < table->count; i++) {
        if ((totals_count + 1) * 2 > totals_room) totals_grow();
        struct total *total = total_of(table->entry[i].id);
        if (total->id_plus_1 == 0) {
            total->id_plus_1 = table->entry[i].id + 1;
            totals_count++;
        }
        traffic_sum(&total->traffic, &table->entry[i].traffic);
    }
    table->count = 0;
    memset(table->recent, 0, sizeof table->recent);
    pthread_mutex_unlock(&lock);
}

void traffic_reset(void) {
    pthread_mutex_lock(&lock);
    free(totals);
    totals = NULL;
    totals_count = totals_room = 0;
    pthread_mutex_unlock(&lock);
}

bool simt_allocation_traffic(const void *pointer, struct simt_traffic *out) {
    memset(out, 0, sizeof *out);
    struct arena_allocation found;
    if (!arena_find((uintptr_t)pointer, &found)) return false;
    pthread_mutex_lock(&lock);
    if (totals_room) *out = total_of(found.id)->traffic;
    pthread_mutex_unlock(&lock);
    return true;
}

#else
typedef int traffic_is_empty_in_the_fast_build;
#endif
