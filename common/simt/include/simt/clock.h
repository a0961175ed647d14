/* clock.h — clocks and traps. The clocks count real time at cudaDeviceProp::clockRate; they do not predict a GPU's. */
#ifndef SIMT_CLOCK_H
#define SIMT_CLOCK_H

#include "boundary.h"

extern "C" void simt_trap(void) noexcept __attribute__((noreturn)); /* api/device_side.c */

/* In a kernel, clock() of <time.h> is the same clock; on the host it is the C library's (api/device_side.c). */
extern "C" long long simt_clock(void) noexcept;
SIMT_INLINE long long clock64() {
    return simt_clock();
}

SIMT_INLINE void __trap() {
    simt_trap();
}
SIMT_INLINE void __brkpt() {}
SIMT_INLINE void __prof_trigger(int) {}

#endif
