/* minifloat.h — the sum of two fp16 or bf16 numbers, rounded once to nearest even, as the atomics need it.
 * The sum of two such numbers is exact in double, so one conversion from double rounds correctly. */
#ifndef SIMT_MINIFLOAT_H
#define SIMT_MINIFLOAT_H

#include <stdint.h>

uint16_t half_add(uint16_t a, uint16_t b);
uint16_t bfloat_add(uint16_t a, uint16_t b);

#endif
