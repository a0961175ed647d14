/* host_watch.c — checks of host code, such as a launcher that a grader calls: does it use the given stream, free its
 * allocations, and report a failed launch? */
#include "api.h"

static struct simt_watch watch;
static bool watching;
static uint64_t first_allocation;

/* Streams that are ordered after the given stream so far: all of them, because the host has waited; the default stream and
 * the streams that it blocks; or single streams, which have a flag of their own. */
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
    simt_host_waits();
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
                "%s was launched on %s, not on the given stream\n"
                "The two streams are not ordered: the kernel may start before its inputs are ready and end after its "
                "outputs are used.\nWrite kernel<<<blocks, threads, 0, stream>>>(arguments).",
                what, stream_is_default(stream) ? "the default stream" : "another stream");
}

void watch_copy(cudaStream_t stream, const char *function, uintptr_t pc) {
    if (!watching || watch.stream == NULL || is_ordered(stream) || stream_capture(stream) != NULL) { return; }
    simt_report(SIMT_STREAM, true, pc, NULL,
                "%s works on %s, not on the given stream\n"
                "The two streams are not ordered: it may start before its input is ready and end after its output is "
                "used.\nPass the stream as the last argument.",
                function, stream_is_default(stream) ? "the default stream" : "another stream");
}

bool watch_refuses_launches(void) {
    return watching && watch.refuse_launches;
}
