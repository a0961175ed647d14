/* Watched host code: work on unordered streams, waits, leaked memory, failed launches. */
#include "findings.h"

TestSuite(host_watch, .init = quiet, .timeout = 60);

enum { SUCCESS = 0, OUT_OF_RESOURCES = 701, COPIED = 32 * 4 };

#define RIGHT(test)                          \
    int run_##test(void);                    \
    Test(host_watch, test) {                 \
        cr_assert_eq(run_##test(), SUCCESS); \
        expect_none();                       \
    }

RIGHT(given_stream)
RIGHT(forked_and_joined)
RIGHT(joined_in_two_steps)
RIGHT(default_stream_ordered)
RIGHT(through_the_default_stream)
RIGHT(host_waits)
RIGHT(copies_given)
RIGHT(scratch_given)
RIGHT(scratch_on_fork)
RIGHT(stream_queried)

int run_default_stream(void), run_own_stream(void), run_other_stream_ordered(void), run_captured(int on_given);

Test(host_watch, default_stream) {
    cr_assert_eq(run_default_stream(), SUCCESS);
    EXPECT_FINDING(SIMT_STREAM, true, NULL, "was launched on the default stream", "<<<blocks, threads, 0, stream>>>");
}

Test(host_watch, own_stream) {
    cr_assert_eq(run_own_stream(), SUCCESS);
    EXPECT_FINDING(SIMT_STREAM, true, NULL, "was launched on another stream");
}

Test(host_watch, order_of_one_stream_is_not_that_of_another) {
    cr_assert_eq(run_other_stream_ordered(), SUCCESS);
    EXPECT_FINDING(SIMT_STREAM, true, NULL, "was launched on the default stream");
}

Test(host_watch, graphs_count_where_they_are_launched) {
    cr_assert_eq(run_captured(1), SUCCESS);
    expect_none();
    cr_assert_eq(run_captured(0), SUCCESS);
    EXPECT_FINDING(SIMT_STREAM, true, NULL, "a graph was launched on the default stream");
}

#define UNORDERED(test, ...)                                  \
    int run_##test(void);                                     \
    Test(host_watch, test) {                                  \
        cr_assert_eq(run_##test(), SUCCESS);                  \
        EXPECT_FINDING(SIMT_STREAM, true, NULL, __VA_ARGS__); \
    }

UNORDERED(not_joined, "The given stream does not wait for void one(float*)", "which is on another stream",
          "cudaStreamWaitEvent")
UNORDERED(host_waits_before_alone, "does not wait for void one(float*), which is on the default stream")
UNORDERED(joined_too_early, "The given stream does not wait for void one(float*)")
UNORDERED(one_stream_queried, "The given stream does not wait for void one(float*)")
UNORDERED(event_of_another_stream, "was launched on another stream")
UNORDERED(event_never_recorded, "was launched on another stream")
UNORDERED(scratch_of_another_stream, "uses memory that cudaMallocAsync allocates on another stream", "the given stream")

#define WAITS(test, kind, ...)                          \
    int run_##test(void);                               \
    Test(host_watch, test) {                            \
        cr_assert_eq(run_##test(), SUCCESS);            \
        EXPECT_FINDING(kind, true, #test, __VA_ARGS__); \
    }

WAITS(waits_for_device, SIMT_WAIT, "cudaDeviceSynchronize waits for the device")
WAITS(waits_for_stream, SIMT_WAIT, "cudaStreamSynchronize waits for the device")
WAITS(waits_for_event, SIMT_WAIT, "cudaEventSynchronize waits for the device")
WAITS(resets_device, SIMT_WAIT, "cudaDeviceReset waits for the device", "which the launcher's caller still uses")
WAITS(copy_without_stream, SIMT_STREAM, "cudaMemcpy works on the default stream", "asynchronous form")
WAITS(memset_without_stream, SIMT_STREAM, "cudaMemset works on the default stream", "asynchronous form")

#define COPY_ELSEWHERE(test, marker, ...)                       \
    int run_##test(void);                                       \
    Test(host_watch, test) {                                    \
        cr_assert_eq(run_##test(), SUCCESS);                    \
        EXPECT_FINDING(SIMT_STREAM, true, marker, __VA_ARGS__); \
    }

COPY_ELSEWHERE(memset_default_stream, "set", "cudaMemsetAsync works on the default stream", "as the last argument")
COPY_ELSEWHERE(copy_own_stream, "copied", "cudaMemcpyAsync works on another stream")
COPY_ELSEWHERE(symbol_default_stream, "symbol", "cudaMemcpyToSymbolAsync works on the default stream")

COPY_ELSEWHERE(scratch_freed_elsewhere, "freed", "cudaFreeAsync frees memory on another stream", "the given stream")

int run_kept(void);
Test(host_watch, memory_that_is_not_freed) {
    cr_assert_eq(run_kept(), SUCCESS);
    EXPECT_FINDING(SIMT_LEAK, true, "kept", "Leaked 400 bytes");
}

int run_refused(void);
Test(host_watch, launches_are_refused) {
    cr_assert_eq(run_refused(), OUT_OF_RESOURCES);
    expect_none();
    cr_assert_eq(run_given_stream(), SUCCESS, "only while it is watched");
}

void run_copies(void);
Test(host_watch, copies_are_counted) {
    struct simt_counters counters;
    run_copies();
    simt_counters_get(&counters);
    cr_assert_eq(counters.bytes_to_device, COPIED);
    cr_assert_eq(counters.bytes_to_host, COPIED);
    cr_assert_eq(counters.bytes_on_device, 5 * COPIED);
}
