#include "gpt2/train/schedule.h"

#include <math.h>

double gpt2_schedule_rate(const struct gpt2_schedule *s, int64_t step) {
    const double pi = 3.14159265358979323846;
    if (step <= s->warmup) { return s->rate * (double)step / (double)s->warmup; }
    if (step >= s->steps) { return s->least; }
    double done = (double)(step - s->warmup) / (double)(s->steps - s->warmup);
    return s->least + 0.5 * (1.0 + cos(pi * done)) * (s->rate - s->least);
}
