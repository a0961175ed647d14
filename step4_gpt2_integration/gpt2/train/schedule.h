/* schedule.h — the learning rate of each step: a linear warm-up, then half a cosine down to the least. */
#ifndef GPT2_SCHEDULE_H
#define GPT2_SCHEDULE_H

#include <stdint.h>

struct gpt2_schedule {
    double rate, least;
    int64_t warmup, steps; /* warmup <= steps */
};

/* step: from 1 to steps. Step 1 has rate / warmup, step `warmup` has rate, step `steps` has least. */
double gpt2_schedule_rate(const struct gpt2_schedule *schedule, int64_t step);

#endif
