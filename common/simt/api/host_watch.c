/* host_watch.c — checks of host code, such as a launcher that a grader calls: is its work ordered with the given stream, does
 * it wait, free its allocations, and report a failed launch? */
#include <stdio.h>
#include <string.h>

#include "api.h"

static struct simt_watch watch;
static bool watching, told; /* told: of work on another stream */
static uint64_t first_allocation;
static int given;           /* the given stream's number */
static uint32_t before_all; /* its work that the caller has issued before */

/* The latest work of each stream since the watch began. */
static struct {
    uint32_t number;
    uintptr_t pc;
    char what[160];
} latest[ORDER_STREAMS];

/* Memory that was allocated on a stream since the watch began. */
static struct {
    const void *memory;
    int stream;
    uint32_t allocated;
    uint64_t requests; /* of kernels, so far */
    struct order used;
} owned[64];
enum { MOST_OWNED = sizeof owned / sizeof *owned };

static bool follows_streams(void) {
    return watching && watch.stream != NULL;
}

static const char *stream_name(int stream) {
    return stream == order_number(cudaStreamLegacy) ? "the default stream" : "another stream";
}

void simt_watch_begin(const struct simt_watch *asked) {
    watch = *asked;
    watching = true;
    told = false;
    first_allocation = arena_next_id();
    memset(latest, 0, sizeof latest);
    memset(owned, 0, sizeof owned);
    given = order_number((cudaStream_t)(uintptr_t)watch.stream);
    before_all = order_work(given);
}

static void report_unjoined(void) {
    struct order after = order_after(given);
    for (int s = 0; s < ORDER_STREAMS && !told; s++) {
        if (s == given || order_includes(&after, s, latest[s].number)) { continue; }
        told = true;
        simt_report(SIMT_STREAM, true, latest[s].pc, NULL,
                    "The given stream does not wait for %s, which is on %s\n"
                    "What the caller does next on the given stream may start before it ends.\n"
                    "Record an event behind it, and call cudaStreamWaitEvent(stream, event, 0).",
                    latest[s].what, stream_name(s));
    }
}

void simt_watch_end(void) {
    if (follows_streams()) { report_unjoined(); }
    if (watching && watch.must_free) { arena_report_leaks(first_allocation); }
    watching = false;
}

/* ---- waits of the host ---- */

static bool must_not_wait(uintptr_t pc) {
    return watching && watch.must_not_wait && !confine_is_around(pc);
}

static void report_wait(const char *function, uintptr_t pc) {
    if (!must_not_wait(pc)) { return; }
    simt_report(SIMT_WAIT, true, pc, NULL,
                "%s waits for the device, but a launcher returns without waiting\n"
                "The caller waits when it needs the result. Work on one stream is done in order.",
                function);
}

void watch_waits(const struct order *order, const char *function, uintptr_t pc) {
    report_wait(function, pc);
    simt_host_waits();
    order_host_waits(order);
}

void watch_host_waits(cudaStream_t stream, const char *function, uintptr_t pc) {
    struct order done = order_after(order_number(stream));
    watch_waits(&done, function, pc);
}

void watch_host_waits_for_all(const char *function, uintptr_t pc) {
    report_wait(function, pc);
    simt_host_waits();
    order_host_waits_for_all();
}

/* Its memory and streams are the caller's: what is still allocated is no leak. */
bool watch_device_reset(const char *function, uintptr_t pc) {
    if (!watching) { return false; }
    simt_report(
        SIMT_WAIT, true, pc, NULL,
        "%s waits for the device, then frees all memory and streams of the process, which the launcher's caller "
        "still uses\nA launcher frees only what it has allocated.",
        function);
    return true;
}

/* ---- work ---- */

/* True: it comes after the caller's work on the given stream. */
static bool add_work(cudaStream_t stream, const char *what, uintptr_t pc) {
    int number = order_number(stream);
    uint32_t work = order_work(number);
    if (!follows_streams() || number == ORDER_UNKNOWN) { return true; }
    latest[number].number = work;
    latest[number].pc = pc;
    snprintf(latest[number].what, sizeof latest[number].what, "%s", what);
    struct order after = order_after(number);
    bool ordered = order_includes(&after, given, before_all);
    told |= !ordered;
    return ordered;
}

void watch_launch(cudaStream_t stream, const char *what) {
    if (add_work(stream, what, 0)) { return; }
    simt_report(SIMT_STREAM, true, 0, NULL,
                "%s was launched on %s, not on the given stream\n"
                "The two streams are not ordered: the kernel may start before its inputs are ready and end after its "
                "outputs are used.\nWrite kernel<<<blocks, threads, 0, stream>>>(arguments).",
                what, stream_name(order_number(stream)));
}

static void report_copy(cudaStream_t stream, const char *advice, const char *function, uintptr_t pc) {
    if (add_work(stream, function, pc)) { return; }
    simt_report(SIMT_STREAM, true, pc, NULL,
                "%s works on %s, not on the given stream\n"
                "The two streams are not ordered: it may start before its input is ready and end after its output is "
                "used.\n%s",
                function, stream_name(order_number(stream)), advice);
}

void watch_copy(cudaStream_t stream, const char *function, uintptr_t pc) {
    if (stream_capture(stream) == NULL) { report_copy(stream, "Pass the stream as the last argument.", function, pc); }
}

void watch_synchronous(bool waits, const char *function, uintptr_t pc) {
    if (must_not_wait(pc)) {
        report_copy(cudaStreamLegacy, "Call its asynchronous form, and pass the stream as the last argument.", function,
                    pc);
    }
    if (!waits) { return; }
    struct order done = order_after(order_number(cudaStreamLegacy));
    simt_host_waits();
    order_host_waits(&done);
}

/* ---- memory that is allocated on a stream ---- */

static uint64_t requests_of(const void *memory) {
    struct simt_traffic traffic;
    if (!simt_allocation_traffic(memory, &traffic)) { return 0; }
    return traffic.load_requests + traffic.store_requests + traffic.atomic_requests;
}

void watch_allocated(const void *memory, cudaStream_t stream) {
    for (int i = 0; i < MOST_OWNED && follows_streams(); i++) {
        if (owned[i].memory) { continue; }
        memset(&owned[i], 0, sizeof owned[i]);
        owned[i].memory = memory;
        owned[i].stream = order_number(stream);
        owned[i].allocated = order_work(owned[i].stream);
        owned[i].requests = requests_of(memory);
        return;
    }
}

void watch_launched(cudaStream_t stream) {
    int number = order_number(stream);
    for (int i = 0; i < MOST_OWNED && follows_streams() && number != ORDER_UNKNOWN; i++) {
        uint64_t requests = owned[i].memory ? requests_of(owned[i].memory) : 0;
        if (!owned[i].memory || requests == owned[i].requests) { continue; }
        owned[i].requests = requests;
        owned[i].used.seen[number] = latest[number].number;
        struct order after = order_after(number);
        if (order_includes(&after, owned[i].stream, owned[i].allocated) || told) { continue; }
        told = true;
        simt_report(SIMT_STREAM, true, 0, NULL,
                    "%s, on %s, uses memory that cudaMallocAsync allocates on %s\n"
                    "The two streams are not ordered: the kernel may start before the memory is allocated.\n"
                    "Allocate on the stream of the kernel, or let it wait for an event of the other.",
                    latest[number].what, number == given ? "the given stream" : stream_name(number),
                    owned[i].stream == given ? "the given stream" : stream_name(owned[i].stream));
    }
}

void watch_freed(const void *memory, cudaStream_t stream, const char *function, uintptr_t pc) {
    int number = order_number(stream);
    struct order after = order_after(number);
    for (int i = 0; i < MOST_OWNED && follows_streams(); i++) {
        if (owned[i].memory != memory) { continue; }
        owned[i].memory = NULL;
        for (int s = 0; s < ORDER_STREAMS && !told; s++) {
            if (order_includes(&after, s, owned[i].used.seen[s])) { continue; }
            told = true;
            simt_report(SIMT_STREAM, true, pc, NULL,
                        "%s frees memory on %s, while work on %s may still use it\n"
                        "The two streams are not ordered. Free the memory on the stream of the kernels that use it.",
                        function, number == given ? "the given stream" : stream_name(number),
                        s == given ? "the given stream" : stream_name(s));
        }
        return;
    }
}

bool watch_refuses_launches(void) {
    return watching && watch.refuse_launches;
}
