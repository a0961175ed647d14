/* stream_order.c — which work comes before which: a vector clock for each stream, each event and the host.
 *
 * Every stream numbers its work. The clock of a stream, an event or the host holds for each stream the number of its latest
 * work that comes before. Streams beyond the table's size are not followed: their work counts as ordered.
 * Source: C. Fidge, Timestamps in message-passing systems that preserve the partial ordering, 1988.
 */
#include <pthread.h>

#include "api.h"

enum { LEGACY, PER_THREAD, FIRST_OTHER };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct order streams[ORDER_STREAMS], host;
static bool taken[ORDER_STREAMS] = {[LEGACY] = true, [PER_THREAD] = true};
static bool blocking[ORDER_STREAMS] = {[PER_THREAD] = true}; /* the default stream and this one wait for each other */

static void join(struct order *order, const struct order *before) {
    for (int s = 0; s < ORDER_STREAMS; s++) {
        if (before->seen[s] > order->seen[s]) { order->seen[s] = before->seen[s]; }
    }
    order->unknown |= before->unknown;
}

/* What comes before the next work of stream s. */
static struct order *catch_up(int s) {
    join(&streams[s], &host);
    for (int other = 0; s == LEGACY && other < ORDER_STREAMS; other++) {
        if (taken[other] && blocking[other]) { join(&streams[s], &streams[other]); }
    }
    if (blocking[s]) { join(&streams[s], &streams[LEGACY]); }
    return &streams[s];
}

int order_number(cudaStream_t stream) {
    if (stream == cudaStreamPerThread) { return PER_THREAD; }
    return stream_is_default(stream) ? LEGACY : stream->number;
}

int order_take_number(bool is_blocking) {
    int number = ORDER_UNKNOWN;
    pthread_mutex_lock(&lock);
    for (int s = FIRST_OTHER; s < ORDER_STREAMS && number == ORDER_UNKNOWN; s++) { number = taken[s] ? number : s; }
    if (number != ORDER_UNKNOWN) {
        taken[number] = true;
        blocking[number] = is_blocking;
    }
    pthread_mutex_unlock(&lock);
    return number;
}

/* The next stream with this number comes after the work of this one. */
void order_give_number(int number) {
    pthread_mutex_lock(&lock);
    if (number != ORDER_UNKNOWN) { taken[number] = false; }
    pthread_mutex_unlock(&lock);
}

uint32_t order_work(int stream) {
    if (stream == ORDER_UNKNOWN) { return 0; }
    pthread_mutex_lock(&lock);
    uint32_t work = ++catch_up(stream)->seen[stream];
    pthread_mutex_unlock(&lock);
    return work;
}

struct order order_after(int stream) {
    struct order after = {.unknown = stream == ORDER_UNKNOWN};
    if (after.unknown) { return after; }
    pthread_mutex_lock(&lock);
    after = *catch_up(stream);
    pthread_mutex_unlock(&lock);
    return after;
}

void order_wait(int stream, const struct order *event) {
    if (stream == ORDER_UNKNOWN) { return; }
    pthread_mutex_lock(&lock);
    join(&streams[stream], event);
    pthread_mutex_unlock(&lock);
}

void order_host_waits(const struct order *order) {
    pthread_mutex_lock(&lock);
    join(&host, order);
    pthread_mutex_unlock(&lock);
}

void order_host_waits_for_all(void) {
    pthread_mutex_lock(&lock);
    for (int s = 0; s < ORDER_STREAMS; s++) { join(&host, &streams[s]); }
    pthread_mutex_unlock(&lock);
}

bool order_includes(const struct order *order, int stream, uint32_t work) {
    return stream == ORDER_UNKNOWN || order->unknown || order->seen[stream] >= work;
}
