/* launch.h — a kernel launch, as the translator writes it.
 *
 *     __global__ void k(P a, Q b) { body }   →   void k(P a, Q b) { simt::take_arguments(a, b);
 *                                                    simt::kernel(__PRETTY_FUNCTION__, [=]() mutable { body }); }
 *     k<<<grid, block, shared, stream>>>(x)  →   (simt::configure(grid, block, shared, stream), k(x))
 *
 * configure() pushes, kernel() pops, so arguments may launch kernels themselves. The closure holds a copy of
 * the arguments; each CUDA thread gets its own copy of it, by value, so that a parameter is a local variable. As in CUDA,
 * an argument's copy constructor and destructor run on the host only: a thread gets the bytes of the copy.
 */
#ifndef SIMT_LAUNCH_H
#define SIMT_LAUNCH_H

#include <new>
#include <type_traits>

#include "boundary.h"
#include "kernel.h"

/* The entry of a kernel makes no events. */
#if __has_attribute(no_sanitize_coverage)
#define SIMT_NO_EVENTS __attribute__((no_sanitize("thread"), no_sanitize_coverage))
#else
#define SIMT_NO_EVENTS __attribute__((no_sanitize("thread")))
#endif

namespace simt {

SIMT_INLINE void configure(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr) {
    simt_push_configuration(grid, block, shared, stream);
}

/* One thread of the kernel. The parameter is a private copy in this frame: no memory events. The functions that the kernel calls
 * become part of it: a struct that is passed by value straight from memory, as in f(x[i]), makes no event. */
template <class Body> __attribute__((noinline, flatten)) void run(Body body) {
    body();
}

template <class Body> __attribute__((noinline, flatten)) void run_in_place(Body &body) {
    body();
}

template <class Body> union bytes_of { /* neither constructed nor destroyed */
    Body body;
    bytes_of() {}
    ~bytes_of() {}
};

template <class Body> SIMT_NO_EVENTS __attribute__((noinline)) void enter(const void *closure) {
    if constexpr (std::is_trivially_copyable_v<Body>) {
        simt::run<Body>(*static_cast<const Body *>(closure));
    } else {
        bytes_of<Body> own;
        __builtin_memcpy(static_cast<void *>(&own), closure, sizeof own);
        simt::run_in_place(own.body);
    }
}

template <class Body> void copy_closure(void *to, const void *from) {
    new (to) Body(*static_cast<const Body *>(from));
}
template <class Body> void destroy_closure(void *closure) {
    static_cast<Body *>(closure)->~Body();
}

template <class Body> struct kernel_of {
    static inline simt_kernel description = {
        nullptr, enter<Body>, sizeof(Body), copy_closure<Body>, destroy_closure<Body>, 0,
    };
};

/* Called through a `void *`, the kernel's parameters are filled from the array of pointers (api/launch.c). */
template <class... P> SIMT_NO_EVENTS void take_arguments(P &...parameters) {
    if constexpr ((std::is_trivially_copyable_v<P> && ...)) {
        void **from = simt_untyped_arguments();
        if (from == nullptr) { return; }
        ((void)__builtin_memcpy(const_cast<std::remove_cv_t<P> *>(__builtin_addressof(parameters)), *from++, sizeof(P)),
         ...);
    }
}

template <class Body> SIMT_NO_EVENTS void kernel(const char *name, const Body &body, unsigned most_threads = 0) {
    simt_kernel *kernel = &kernel_of<Body>::description;
    kernel->name = name;
    kernel->most_threads = most_threads;
    if (simt_kernel_called(kernel)) { simt_kernel_launch(kernel, &body); }
}

} // namespace simt

#endif
