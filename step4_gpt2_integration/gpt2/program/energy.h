/* energy.h — joules that the GPU has used, from NVIDIA's management library, which is looked for when the program runs. */
#ifndef GPT2_ENERGY_H
#define GPT2_ENERGY_H

#include <stdbool.h>

/* Of the first GPU, since its driver was loaded. False: there is no GPU, no library, or no such counter. The counter moves
 * some ten times a second: differences over less than a second say little. */
bool energy_read(double *joules);

#endif
