/* handover.h — what handover.c notes and handover_search.c asks: places where data is handed over, who released it there,
 * who took it over.
 */
#ifndef SIMT_HANDOVER_H
#define SIMT_HANDOVER_H

#include "races.h"

#if SIMT_CHECKED

#include <pthread.h>

struct point { /* a thread, and a clock of its own */
    uint32_t block, clock;
    unsigned warp, lane;
};

struct release {
    struct point by;
    struct fence_reach reach[2]; /* block scope, device scope */
    uint32_t earlier;            /* the block's release before this one at this place, index + 1 */
};

struct place {
    uint64_t address;
    uint32_t block; /* of shared memory: whose; else 0 */
    struct release *release;
    uint32_t count, room;
    uint32_t visited; /* by the search that runs */
};

struct acquire {
    struct point by;
    struct place *place;
    uint32_t version; /* releases that came before */
};

/* What the threads of a block took over. */
struct block_notes {
    uint32_t block;
    struct acquire *acquire;
    uint32_t count, room;
};

extern pthread_mutex_t handover_lock; /* held around all that follows */

/* By block: what its threads took over; NULL if nothing. */
const struct block_notes *handover_notes(uint32_t block);
/* The block's latest release at the place, index + 1; 0 if none. */
uint32_t handover_latest(const struct place *place, uint32_t block);
bool handover_any(void);
void handover_forget_visits(void);
void *handover_must(void *memory);

#endif
#endif
