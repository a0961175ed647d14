// stage_clock.cu — see stage_clock.cuh. An event costs the stream about a microsecond, so short stages look a little longer.
#include "gpt2/model/stage_clock.cuh"

#include <new>
#include <vector>

struct stage_clock {
    struct mark {
        cudaEvent_t event;
        const char *stage;
        int layer;
    };
    std::vector<mark> marks; // the first is the start
};

int stage_clock_mark(stage_clock *clock, cudaStream_t stream, const char *stage, int layer) {
    stage_clock::mark mark = {nullptr, stage, layer};
    TRY(cudaEventCreate(&mark.event));
    clock->marks.push_back(mark);
    return cudaEventRecord(mark.event, stream);
}

int stage_clock_open(stage_clock **clock, cudaStream_t stream) {
    *clock = new (std::nothrow) stage_clock;
    if (*clock == nullptr) { return cudaErrorMemoryAllocation; }
    return stage_clock_mark(*clock, stream, "start", -1);
}

void stage_clock_close(stage_clock *clock) {
    if (clock == nullptr) { return; }
    for (stage_clock::mark &mark : clock->marks) { cudaEventDestroy(mark.event); }
    delete clock;
}

int stage_clock_read(stage_clock *clock, gpt2_interval *intervals, int room, int *count) {
    *count = (int)clock->marks.size() - 1;
    TRY(cudaEventSynchronize(clock->marks.back().event));
    for (int i = 0; i < *count && i < room; i++) {
        const stage_clock::mark &from = clock->marks[(size_t)i], &to = clock->marks[(size_t)i + 1];
        float begin = 0.0f, length = 0.0f; // milliseconds
        TRY(cudaEventElapsedTime(&begin, clock->marks[0].event, from.event));
        TRY(cudaEventElapsedTime(&length, from.event, to.event));
        intervals[i] = {to.stage, to.layer, 1e3f * begin, 1e3f * length};
    }
    return 0;
}
