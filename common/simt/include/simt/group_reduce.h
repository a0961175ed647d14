/* group_reduce.h — reductions and scans of tiles and coalesced groups, over any trivially copyable type. */
#ifndef SIMT_GROUP_REDUCE_H
#define SIMT_GROUP_REDUCE_H

#include <type_traits>

#include "group_warp.h"

namespace cooperative_groups {

#define SIMT_OPERATION(name, expression)                                \
    template <class T> struct name {                                    \
        SIMT_MEMBER T operator()(T a, T b) const { return expression; } \
    };
SIMT_OPERATION(plus, a + b)
SIMT_OPERATION(less, b < a ? b : a)
SIMT_OPERATION(greater, a < b ? b : a)
SIMT_OPERATION(bit_and, a &b)
SIMT_OPERATION(bit_or, a | b)
SIMT_OPERATION(bit_xor, a ^ b)
#undef SIMT_OPERATION

/* Integers have one instruction for it (compute capability 8.0). */
#define SIMT_REDUCTION(operation, name, T)                                         \
    SIMT_MEMBER T reduce_lanes(const thread_group &group, T value, operation<T>) { \
        return __reduce_##name##_sync(group_access::mask(group), value);           \
    }
SIMT_REDUCTION(plus, add, int)
SIMT_REDUCTION(plus, add, unsigned)
SIMT_REDUCTION(less, min, int)
SIMT_REDUCTION(less, min, unsigned)
SIMT_REDUCTION(greater, max, int)
SIMT_REDUCTION(greater, max, unsigned)
SIMT_REDUCTION(bit_and, and, unsigned)
SIMT_REDUCTION(bit_or, or, unsigned)
SIMT_REDUCTION(bit_xor, xor, unsigned)
#undef SIMT_REDUCTION

template <unsigned Size, class Parent, class T, class Operation>
SIMT_MEMBER T reduce_lanes(const thread_block_tile<Size, Parent> &group, T value, Operation operation) {
    for (unsigned offset = Size / 2; offset > 0; offset /= 2) {
        value = operation(value, group.shfl_xor(value, offset));
    }
    return value;
}

template <class T, class Operation>
SIMT_MEMBER T reduce_lanes(const coalesced_group &group, T value, Operation operation) {
    unsigned rank = group.thread_rank(), size = group.size();
    for (unsigned offset = 1; offset < size; offset *= 2) {
        T other = group.shfl_down(value, offset);
        if (rank + offset < size) { value = operation(value, other); }
    }
    return group.shfl(value, 0);
}

template <class Group, class T, class Operation>
SIMT_MEMBER auto reduce(const Group &group, T &&value, Operation &&operation) {
    return reduce_lanes(group, static_cast<std::decay_t<T>>(value), static_cast<std::decay_t<Operation>>(operation));
}

template <class Group, class T, class Operation>
SIMT_MEMBER auto inclusive_scan(const Group &group, T &&first, Operation &&operation) {
    std::decay_t<T> value = first;
    unsigned rank = static_cast<unsigned>(group.thread_rank()), size = static_cast<unsigned>(group.size());
    for (unsigned offset = 1; offset < size; offset *= 2) {
        std::decay_t<T> other = group.shfl_up(value, offset);
        if (rank >= offset) { value = operation(other, value); }
    }
    return value;
}
template <class Group, class T> SIMT_MEMBER auto inclusive_scan(const Group &group, T &&value) {
    return inclusive_scan(group, value, plus<std::decay_t<T>>());
}

/* The first one gets T(). */
template <class Group, class T, class Operation>
SIMT_MEMBER auto exclusive_scan(const Group &group, T &&value, Operation &&operation) {
    auto before = group.shfl_up(inclusive_scan(group, value, operation), 1);
    return group.thread_rank() == 0 ? std::decay_t<T>() : before;
}
template <class Group, class T> SIMT_MEMBER auto exclusive_scan(const Group &group, T &&value) {
    return exclusive_scan(group, value, plus<std::decay_t<T>>());
}

} // namespace cooperative_groups

#endif
