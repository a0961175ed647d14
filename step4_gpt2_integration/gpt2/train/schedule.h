/* schedule.h — the learning rate of each step: a linear warm-up, then half a cosine down to the least rate. */
#ifndef GPT2_SCHEDULE_H
#define GPT2_SCHEDULE_H

#include <math.h>
#include <stdint.h>

struct gpt2_schedule {
    double rate, least;
    int64_t warmup, steps; /* warmup <= steps */
};

/* step: from 1 to steps. Step 1 has rate / warmup, step `warmup` has rate, step `steps` has least. */
static inline double gpt2_schedule_rate(const struct gpt2_schedule *s, int64_t step) {
    const double pi = 3.14159265358979323846;
    if (step <= s->warmup) { return s->rate * (double)step / (double)s->warmup; }
    if (step >= s->steps) { return s->least; }
    double done = (double)(step - s->warmup) / (double)(s->steps - s->warmup);
    return s->least + 0.5 * (1.0 + cos(pi * done)) * (s->rate - s->least);
}

#endif
