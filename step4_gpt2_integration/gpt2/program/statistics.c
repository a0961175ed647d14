/* statistics.c — see statistics.h. */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(double *values, int count, double p) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    double place = p * (count - 1), below = floor(place);
    int first = (int)below, second = first + 1 < count ? first + 1 : first;
    return values[first] + (place - below) * (values[second] - values[first]);
}
