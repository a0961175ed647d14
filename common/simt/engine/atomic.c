/* atomic.c — CUDA's atomic functions: one typed read-modify-write, in the canonical order of the blocks (workers.c).
 *
 * Lanes switch only where they block, and blocks that use global atomics run one at a time. So a load and a store are
 * enough. Both are atomic because other OS threads may access the value.
 */
#include "checks/access.h"
#include "scheduler.h"

#include "include/simt/minifloat.h"

union bits32 {
    uint32_t bits;
    float value;
};
union bits64 {
    uint64_t bits;
    double value;
};

static float float_of(uint64_t bits) {
    return (union bits32){.bits = (uint32_t)bits}.value;
}
static uint64_t bits_of_float(float value) {
    return (union bits32){.value = value}.bits;
}
static double double_of(uint64_t bits) {
    return (union bits64){.bits = bits}.value;
}
static uint64_t bits_of_double(double value) {
    return (union bits64){.value = value}.bits;
}

static unsigned size_log2_of(enum simt_type type) {
    switch (type) {
        case TYPE_I64:
        case TYPE_U64:
        case TYPE_F64: return 3;
        case TYPE_F16:
        case TYPE_BF16:
        case TYPE_B16: return 1;
        default: return 2;
    }
}

static uint64_t add(enum simt_type type, uint64_t old, uint64_t operand) {
    switch (type) {
        case TYPE_F32: return bits_of_float(float_of(old) + float_of(operand));
        case TYPE_F64: return bits_of_double(double_of(old) + double_of(operand));
        case TYPE_F16: return simt_half_add((uint16_t)old, (uint16_t)operand);
        case TYPE_BF16: return simt_bfloat_add((uint16_t)old, (uint16_t)operand);
        case TYPE_F16X2:
            return simt_half_add((uint16_t)old, (uint16_t)operand) |
                   (uint64_t)simt_half_add((uint16_t)(old >> 16), (uint16_t)(operand >> 16)) << 16;
        case TYPE_BF16X2:
            return simt_bfloat_add((uint16_t)old, (uint16_t)operand) |
                   (uint64_t)simt_bfloat_add((uint16_t)(old >> 16), (uint16_t)(operand >> 16)) << 16;
        default: return old + operand;
    }
}

/* Is a before b in the order of the type? Floating-point maxima treat NaN as missing. */
static bool less(enum simt_type type, uint64_t a, uint64_t b) {
    switch (type) {
        case TYPE_I32: return (int32_t)a < (int32_t)b;
        case TYPE_I64: return (int64_t)a < (int64_t)b;
        case TYPE_U64: return a < b;
        case TYPE_F32: return float_of(a) < float_of(b) || (float_of(a) == float_of(a) && float_of(b) != float_of(b));
        case TYPE_F64:
            return double_of(a) < double_of(b) || (double_of(a) == double_of(a) && double_of(b) != double_of(b));
        default: return (uint32_t)a < (uint32_t)b;
    }
}

static uint64_t apply(enum simt_atomic_op op, enum simt_type type, uint64_t old, uint64_t operand, uint64_t compare) {
    switch (op) {
        case ATOMIC_ADD: return add(type, old, operand);
        case ATOMIC_EXCH: return operand;
        case ATOMIC_CAS: return old == compare ? operand : old;
        case ATOMIC_MIN: return less(type, operand, old) ? operand : old;
        case ATOMIC_MAX: return less(type, old, operand) ? operand : old;
        case ATOMIC_AND: return old & operand;
        case ATOMIC_OR: return old | operand;
        case ATOMIC_XOR: return old ^ operand;
        case ATOMIC_INC: return (uint32_t)old >= (uint32_t)operand ? 0 : old + 1;
        default: return (uint32_t)old == 0 || (uint32_t)old > (uint32_t)operand ? (uint32_t)operand : old - 1;
    }
}

static uint64_t load(const void *address, unsigned size_log2) {
    switch (size_log2) {
        case 1: return __atomic_load_n((const uint16_t *)address, __ATOMIC_RELAXED);
        case 2: return __atomic_load_n((const uint32_t *)address, __ATOMIC_RELAXED);
        default: return __atomic_load_n((const uint64_t *)address, __ATOMIC_RELAXED);
    }
}

static void store(void *address, unsigned size_log2, uint64_t value) {
    switch (size_log2) {
        case 1: __atomic_store_n((uint16_t *)address, (uint16_t)value, __ATOMIC_RELAXED); break;
        case 2: __atomic_store_n((uint32_t *)address, (uint32_t)value, __ATOMIC_RELAXED); break;
        default: __atomic_store_n((uint64_t *)address, value, __ATOMIC_RELAXED);
    }
}

static uint64_t mask_of(unsigned size_log2) {
    return size_log2 == 3 ? UINT64_MAX : (UINT64_C(1) << (8 << size_log2)) - 1;
}

/* Waits for the block's turn when other blocks may observe the value. */
void atomic_enter(struct simt_thread *self, uintptr_t address) {
    if (!self->block->ordered && !in_shared(address) && address - self->stack_low >= STACK_BYTES)
        order_enter(self->block);
}

#if SIMT_CHECKED
/* A warp that takes one ticket after another from a global counter takes its work from a queue. On a device all warps do so at
 * the same time; here it lets the others take theirs first. */
static void take_ticket(struct simt_thread *self, enum simt_atomic_op op, enum simt_type type, uint64_t operand,
                        uintptr_t address, uintptr_t pc) {
    struct simt_warp *warp = self->warp;
    bool counts = op == ATOMIC_INC || (op == ATOMIC_ADD && type <= TYPE_U64 /* integers */);
    if (!counts || operand == 0 || in_shared(address)) return;
    if (warp->ticket != address) warp->had_ticket = 0;
    warp->ticket = address;
    if (warp->had_ticket >> self->lane & 1) {
        warp->had_ticket = 0;
        warp->passes = self->block->shares = true;
        simt_lane_block(THREAD_TRACE_FULL, pc);
    }
    warp->had_ticket |= 1u << self->lane;
}
#endif

uint64_t simt_atomic(enum simt_atomic_op op, enum simt_type type, void *address, uint64_t operand, uint64_t compare) {
    struct simt_thread *self = simt_self;
    unsigned size_log2 = size_log2_of(type);
    uint64_t mask = mask_of(size_log2);
    if (self == NULL) {
#if SIMT_CHECKED
        access_hook((uintptr_t)__builtin_return_address(0), TRACE_ATOMIC, (uintptr_t)address, size_log2);
#endif
        uint64_t old = load(address, size_log2);
        store(address, size_log2, apply(op, type, old, operand & mask, compare & mask));
        return old;
    }
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    atomic_enter(self, (uintptr_t)address);
#if SIMT_CHECKED
    take_ticket(self, op, type, operand & mask, (uintptr_t)address, pc);
    access_hook(pc, TRACE_ATOMIC, (uintptr_t)address, size_log2);
#endif
    uint64_t old = load(address, size_log2);
    uint64_t value = apply(op, type, old, operand & mask, compare & mask) & mask;
    store(address, size_log2, value);
    if (value == old)
        access_poll(self, pc, (uintptr_t)address, old);
    else
        self->block->effects++;
    return old;
}
