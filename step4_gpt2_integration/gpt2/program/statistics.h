/* statistics.h — figures of a sample of times. */
#ifndef GPT2_STATISTICS_H
#define GPT2_STATISTICS_H

/* The value below which a share p (0 to 1) of the sample lies, between neighbours by the straight line: numpy's and
 * Excel's quantile. values: (count), which are put in order; count >= 1. */
double quantile(double *values, int count, double p);

#endif
