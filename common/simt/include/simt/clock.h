/* clock.h — clocks and traps. The clocks are this machine's; they do not predict a GPU's. */
#ifndef SIMT_CLOCK_H
#define SIMT_CLOCK_H

#include "boundary.h"

extern "C" void simt_trap(void) noexcept __attribute__((noreturn)); /* api/device_side.c */

/* clock() is the C library's. */
SIMT_INLINE long long clock64() {
    return static_cast<long long>(__builtin_ia32_rdtsc());
}

SIMT_INLINE void __trap() {
    simt_trap();
}
SIMT_INLINE void __brkpt() {}
SIMT_INLINE void __prof_trigger(int) {}

#endif
