/* arena_reserved.c — reservations: addresses that are known before the memory is there, for what graphs allocate. */
#include "arena_reserved.h"
#include "arena.h"

#include <pthread.h>
#include <stdlib.h>

struct reservation {
    uintptr_t start;
    size_t bytes;
    uintptr_t pc; /* who asked for it */
    int holders;
    struct reservation *next;
};

/* Taken while the arena is locked, never the other way round. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reservation *reservations;

static struct reservation **find(const void *start) {
    struct reservation **link = &reservations;
    while (*link && (*link)->start != (uintptr_t)start) link = &(*link)->next;
    return link;
}

/* An ordinary allocation finds the place, and ends when the place is taken: the second holder. */
void *arena_reserve(size_t bytes, uintptr_t pc) {
    struct reservation *made = malloc(sizeof *made);
    void *start = made ? arena_alloc_at(bytes, pc) : NULL;
    if (!start) {
        free(made);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    *made = (struct reservation){(uintptr_t)start, bytes, pc, 2, reservations};
    reservations = made;
    pthread_mutex_unlock(&lock);
    arena_free(start);
    return start;
}

bool arena_hold(void *start) {
    pthread_mutex_lock(&lock);
    struct reservation *found = *find(start);
    if (found) found->holders++;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

void arena_let_go(void *start) {
    pthread_mutex_lock(&lock);
    struct reservation **link = find(start), *found = *link;
    if (found && --found->holders == 0) {
        *link = found->next;
        free(found);
    }
    pthread_mutex_unlock(&lock);
}

bool arena_alloc_reserved(void *start) {
    pthread_mutex_lock(&lock);
    struct reservation *found = *find(start), copy = {0};
    if (found) {
        found->holders++;
        copy = *found;
    }
    pthread_mutex_unlock(&lock);
    bool done = found && arena_alloc_place(copy.start, copy.bytes, copy.pc);
    if (found && !done) arena_let_go(start);
    return done;
}

uintptr_t arena_past_reserved(uintptr_t start, size_t bytes) {
    pthread_mutex_lock(&lock);
    struct reservation *other = reservations;
    while (other) {
        bool apart = arena_after(start, bytes) <= other->start || arena_after(other->start, other->bytes) <= start;
        if (!apart) start = arena_after(other->start, other->bytes);
        other = apart ? other->next : reservations;
    }
    pthread_mutex_unlock(&lock);
    return start;
}
