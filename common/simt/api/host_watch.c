/* host_watch.c — host code that is watched, such as a launcher that a grader calls: does it work on the stream that it was
 * given, free what it allocates, and say when a launch fails? */
#include "api.h"

static struct simt_watch watch;
static bool watching;
static uint64_t first_allocation;

/* What has been ordered after the given stream so far: everything, since the host has waited; the default stream and those
 * that wait for it; or single streams, which remember it themselves. */
static bool host_waited, default_ordered;

void simt_watch_begin(const struct simt_watch *asked) {
    watch = *asked;
    watching = true;
    host_waited = default_ordered = false;
    first_allocation = arena_next_id();
    streams_forget_order();
}

void simt_watch_end(void) {
    if (watching && watch.must_free) { arena_report_leaks(first_allocation); }
    watching = false;
}

void watch_host_waits(void) {
    host_waited = true;
}

void watch_stream_waits(cudaStream_t stream) {
    if (stream_is_default(stream) || stream->flags != cudaStreamNonBlocking) {
        default_ordered = true;
    } else {
        stream->ordered = true;
    }
}

static bool is_ordered(cudaStream_t stream) {
    if (host_waited || stream == watch.stream) { return true; }
    bool with_default = stream_is_default(stream) || stream->flags != cudaStreamNonBlocking;
    return with_default ? default_ordered : stream->ordered;
}

void watch_launch(cudaStream_t stream, const char *what) {
    if (!watching || watch.stream == NULL || is_ordered(stream)) { return; }
    simt_report(SIMT_STREAM, true, 0, NULL,
                "%s was launched on %s, not on the stream that was given\n"
                "Nothing orders the two, so the kernel may start before its inputs are there, and end after its "
                "outputs are used.\nWrite kernel<<<blocks, threads, 0, stream>>>(arguments).",
                what, stream_is_default(stream) ? "the default stream" : "another stream");
}

void watch_copy(cudaStream_t stream, const char *function, uintptr_t pc) {
    if (!watching || watch.stream == NULL || is_ordered(stream) || stream_capture(stream) != NULL) { return; }
    simt_report(
        SIMT_STREAM, true, pc, NULL,
        "%s works on %s, not on the stream that was given\n"
        "Nothing orders the two, so it may begin before what it reads is there, and end after what it writes is "
        "used.\nGive it the stream as its last argument.",
        function, stream_is_default(stream) ? "the default stream" : "another stream");
}

bool watch_refuses_launches(void) {
    return watching && watch.refuse_launches;
}
