// stage_clock.cuh — events at the end of every stage: what gpt2_time_begin and gpt2_time_end are made of
#ifndef GPT2_STAGE_CLOCK_CUH
#define GPT2_STAGE_CLOCK_CUH

#include "gpt2/model/device.cuh"

int stage_clock_open(stage_clock **clock, cudaStream_t stream);
void stage_clock_close(stage_clock *clock); // null is fine
int stage_clock_mark(stage_clock *clock, cudaStream_t stream, const char *stage, int layer);

// Waits for the last stage.
int stage_clock_read(stage_clock *clock, gpt2_interval *intervals, int room, int *count);

#endif
