/* emitted.h — included last before the learner's own text. It undefines CUDA's specifiers, so that the translator sees them
 * even if a header defines them as macros, and declares functions that translated code calls beyond simt/launch.h.
 */
#ifndef SIMT_TRANSLATE_EMITTED_H
#define SIMT_TRANSLATE_EMITTED_H

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __grid_constant__
#undef __launch_bounds__
#undef __maxnreg__
#undef __cluster_dims__
#undef __noinline__
#undef __forceinline__
#undef __inline_hint__
#undef __nv_pure__

#include <stddef.h>

#include <type_traits>

#include <simt/ptx.h>

extern "C" {
void arena_register_variable(void *pointer, size_t bytes, const char *name);
void arena_register_constant(void *pointer, size_t bytes, const char *name);
}

namespace simt {

/* Naming before_main<T>::done is enough for T::run() to run before main. */
template <class T> struct before_main { static inline int done = (T::run(), 0); };

/* 16, the alignment of a variable template. Each specialisation that is used instantiates this, and so T::run() runs before
 * main. */
template <class T> constexpr size_t aligned_before_main() {
    return &before_main<T>::done != nullptr ? 16 : 1;
}

/* The end of a loop without a condition (checked_code.c): the compiler keeps this empty instruction. */
static inline __attribute__((always_inline)) void loop_end() {
    __asm__ volatile("");
}

/* vectors.c: a copy of what one access of a GPU reads, and anything else itself. */
template <class T> constexpr bool is_one_access() {
    if constexpr (std::is_class_v<T> && std::is_trivially_copy_constructible_v<T>) {
        return sizeof(T) <= 16 && alignof(T) == sizeof(T) && sizeof(T) > 1;
    }
    return false;
}
template <class T>
constexpr __attribute__((always_inline)) std::conditional_t<is_one_access<T>(), const T, const T &> whole(const T &v) {
    return v;
}

/* checked_code.c: a read that may meet another thread's atomic. */
template <class T> inline __attribute__((always_inline)) const volatile T *observed(const volatile T *pointer) {
    return pointer;
}

} // namespace simt

#endif
