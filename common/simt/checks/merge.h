/* merge.h — the result of merging lane traces: warp requests, in the order in which the warp would make them. */
#ifndef SIMT_MERGE_H
#define SIMT_MERGE_H

#include "trace.h"

#if SIMT_CHECKED

/* One instruction of one warp: the same pc, call path, kind, size and space in every lane of `mask`. */
struct request {
    struct simt_warp *warp;
    uint64_t key; /* of the trace entries (trace.h) */
    uint32_t pc;
    enum trace_kind kind;
    enum trace_space space;
    unsigned size_log2;
    uint32_t mask;           /* lanes that make it */
    unsigned lanes, first;   /* how many, and the lowest */
    const uint64_t *address; /* [lane]; meaningless outside mask */
    const uint16_t *value;   /* [lane]; of plain stores: a hash of the value */
    bool strided;            /* mask has no holes and address[l] == address[first] + (l - first) * stride */
    int64_t stride;
};

/* The buffers of one warp, from a pool of its OS thread. */
struct warp_trace {
    struct trace_summary summary;
    struct trace_row row[TRACE_ROWS];
    struct lane_trace lane[WARP_SIZE];
    uint64_t global_requests; /* of this warp, for the longest chain */
    struct warp_trace *next_free;
};

/* Call paths of one OS thread, interned: two lanes are in the same frame if their paths are the same number.
 * Path 0 is the kernel's launch; every other path is a call at `call_pc` in its parent. */
struct path {
    uint32_t parent, call_pc, depth;
};
struct path_table {
    struct path *path;
    uint32_t *slot; /* open addressing, path + 1 */
    uint32_t count, slots;
};
extern __thread struct path_table call_paths;

/* Does a lane at pc_a in path_a come before one at pc_b in path_b? Frames are compared from the outermost. */
bool path_before(uint32_t path_a, uint32_t pc_a, uint32_t path_b, uint32_t pc_b);

#endif
#endif
