/* record.c — records of launches and requests (record.h). */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#include "source.h"

#if SIMT_CHECKED

bool record_launches, record_requests;

static struct simt_recorder recorder;
static struct simt_array *array; /* of the launch that ends */
static size_t arrays, room;

void simt_record(const struct simt_recorder *wanted) {
    recorder = wanted ? *wanted : (struct simt_recorder){0};
    record_launches = recorder.launched != NULL;
    record_requests = recorder.requested != NULL;
}

struct simt_traffic *record_array(const void *start, size_t bytes) {
    for (size_t i = 0; i < arrays; i++)
        if (array[i].start == start) return &array[i].traffic;
    if (arrays == room) {
        size_t more = room ? 2 * room : 16;
        struct simt_array *grown = realloc(array, more * sizeof *array);
        if (grown == NULL) return NULL;
        array = grown;
        room = more;
    }
    array[arrays] = (struct simt_array){.start = start, .bytes = bytes};
    return &array[arrays++].traffic;
}

/* In the order of their addresses, whichever OS thread was the first to access them. */
static int by_start(const void *a, const void *b) {
    uintptr_t left = (uintptr_t)((const struct simt_array *)a)->start;
    uintptr_t right = (uintptr_t)((const struct simt_array *)b)->start;
    return (left > right) - (left < right);
}

void record_launch(const struct simt_launch *launch) {
    if (!record_launches) return;
    char name[1024];
    if (arrays) qsort(array, arrays, sizeof *array, by_start);
    struct simt_launched launched = {
        .kernel = source_pretty(launch->kernel, name, sizeof name),
        .grid = {launch->grid.x, launch->grid.y, launch->grid.z},
        .block = {launch->block.x, launch->block.y, launch->block.z},
        .failed = launch->error != 0,
        .counters = &launch->counters,
        .array = array,
        .arrays = arrays,
    };
    recorder.launched(&launched, recorder.data);
    arrays = 0;
}

void record_request(const struct request *request) {
    char name[1024];
    const struct simt_block *block = request->warp->block;
    bool loads = request->kind == TRACE_READ || request->kind == TRACE_VOLATILE_READ;
    bool stores = request->kind == TRACE_WRITE || request->kind == TRACE_VOLATILE_WRITE;
    struct simt_requested requested = {
        .kernel = source_pretty(block->launch->kernel, name, sizeof name),
        .block = block->linear,
        .warp = request->warp->index,
        .kind = loads    ? SIMT_LOAD
                : stores ? SIMT_STORE
                         : SIMT_ATOMIC,
        .bytes = 1u << request->size_log2,
        .mask = request->mask,
        .address = request->address,
        .pc = request->pc,
    };
    recorder.requested(&requested, recorder.data);
}

#else

void simt_record(const struct simt_recorder *recorder) {
    (void)recorder;
}

void record_launch(const struct simt_launch *launch) {
    (void)launch;
}

#endif
