/* arch_call.h — x86-64: a call of a function whose parameters are unknown. */
#ifndef SIMT_ARCH_CALL_H
#define SIMT_ARCH_CALL_H

/* Enough zeros for any kernel's arguments, on the stack and in the registers. */
struct zeros {
    char bytes[4096];
};

/* Each argument is zero, and the function may change it. */
static inline void call_with_zeros(const void *function) {
    union {
        const void *pointer;
        void (*call)(long, long, long, long, long, long, double, double, double, double, double, double, double, double,
                     struct zeros);
    } kernel = {function};
    static const struct zeros zeros;
    kernel.call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, zeros);
}

#endif
