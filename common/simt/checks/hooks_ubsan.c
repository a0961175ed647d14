/* hooks_ubsan.c — the handlers of -fsanitize=alignment,bounds,shift,float-cast-overflow: operations whose result differs
 * between C++ on a CPU and CUDA on a GPU, members of misaligned vectors, and array indices that leave their array but
 * not the allocation.
 *
 * The structures are those of the compiler's UBSan interface.
 */
#include <stdio.h>

#include "faults.h"

struct ubsan_location {
    const char *file;
    uint32_t line, column;
};

struct ubsan_type {
    uint16_t kind, info; /* kind 0: integer, bit 0 of info: signed, the rest log2 of its bits */
    char name[];
};

struct ubsan_out_of_bounds {
    struct ubsan_location place;
    const struct ubsan_type *array, *index;
};

struct ubsan_shift {
    struct ubsan_location place;
    const struct ubsan_type *left, *right;
};

struct ubsan_mismatch {
    struct ubsan_location place;
    const struct ubsan_type *type;
    unsigned char log2_alignment, kind; /* of an access; 3: of a member */
};

struct ubsan_overflow {
    struct ubsan_location place;
    const struct ubsan_type *type;
};

struct ubsan_float_cast {
    struct ubsan_location place;
    const struct ubsan_type *from, *to;
};

#define CALLER ((uintptr_t)__builtin_return_address(0))

/* Small values are passed themselves, larger ones by address. */
static long long value_of(const struct ubsan_type *type, uintptr_t handle) {
    unsigned bits = 1u << (type->info >> 1);
    if (type->kind != 0 || bits > 64) return 0;
    if (type->info & 1) return (long long)((uint64_t)handle << (64 - bits)) >> (64 - bits);
    return (long long)handle;
}

#if SIMT_CHECKED

void __ubsan_handle_out_of_bounds(struct ubsan_out_of_bounds *data, uintptr_t index);
void __ubsan_handle_out_of_bounds(struct ubsan_out_of_bounds *data, uintptr_t index) {
    if (simt_self == NULL) return;
    simt_report(SIMT_OUT_OF_BOUNDS, true, CALLER, simt_self,
                "Array index out of bounds\nIndex %lld of an array of type %s", value_of(data->index, index),
                data->array->name);
}

/* A member of a vector is read at its own address, which may be aligned when the vector is not: nvcc reads the vector whole. */
void __ubsan_handle_type_mismatch_v1(struct ubsan_mismatch *data, uintptr_t address);
void __ubsan_handle_type_mismatch_v1(struct ubsan_mismatch *data, uintptr_t address) {
    enum { MEMBER = 3 };
    if (simt_self == NULL || data->kind != MEMBER) return; /* access.c checks whole accesses */
    simt_report(SIMT_MISALIGNED, true, CALLER, simt_self,
                "Misaligned access to a member of %s\nIts address %p is not a multiple of %u", data->type->name,
                (void *)address, 1u << data->log2_alignment);
    simt_fail_launch(SIMT_ERROR_MISALIGNED);
}

void __ubsan_handle_shift_out_of_bounds(struct ubsan_shift *data, uintptr_t left, uintptr_t right);
void __ubsan_handle_shift_out_of_bounds(struct ubsan_shift *data, uintptr_t left, uintptr_t right) {
    (void)left;
    if (simt_self == NULL) return;
    long long by = value_of(data->right, right);
    unsigned bits = 1u << (data->left->info >> 1);
    if (by >= 0 && by < (long long)bits)
        return; /* a signed value shifted into its sign: undefined in C++17, but CUDA and this CPU agree */
    simt_report(SIMT_ARITHMETIC, false, CALLER, simt_self,
                "Shift of a %u-bit value by %lld\nCUDA gives 0 or the sign; C++ leaves it undefined; this CPU "
                "shifts by %lld",
                bits, by, by & (bits - 1));
}

void __ubsan_handle_float_cast_overflow(struct ubsan_float_cast *data, uintptr_t from);
void __ubsan_handle_float_cast_overflow(struct ubsan_float_cast *data, uintptr_t from) {
    (void)from;
    if (simt_self == NULL) return;
    simt_report(SIMT_ARITHMETIC, false, CALLER, simt_self,
                "A %s that does not fit is converted to %s\nCUDA gives the nearest value, or 0 for NaN; C++ "
                "leaves it undefined",
                data->from->name, data->to->name);
}

#endif

/* The fast build has this check where the processor divides by zero without a signal (../engine/arch). */
void __ubsan_handle_divrem_overflow(struct ubsan_overflow *data, uintptr_t left, uintptr_t right);
void __ubsan_handle_divrem_overflow(struct ubsan_overflow *data, uintptr_t left, uintptr_t right) {
    (void)left;
    if (simt_self == NULL) return;
    simt_report(SIMT_ARITHMETIC, true, CALLER, simt_self, "%s\nCUDA gives an undefined value; x86-64 stops the program",
                value_of(data->type, right) == 0 ? "Integer division by zero" : "Integer division overflows");
    simt_fail_launch(SIMT_ERROR_LAUNCH_FAILURE);
}
