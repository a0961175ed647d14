/* kernel.h — the runtime's record of one kernel: one object per kernel and template instance. C17 and C++. */
#ifndef SIMT_KERNEL_H
#define SIMT_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "driver_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct simt_kernel {
    const char *name; /* __PRETTY_FUNCTION__ */
    void (*entry)(const void *closure);
    size_t closure_size;
    void (*copy_closure)(void *to, const void *from);
    void (*destroy_closure)(void *closure);
    unsigned most_threads; /* of a block, by __launch_bounds__; 0: no bound */
};

/* api/launch.c */
void simt_push_configuration(struct dim3 grid, struct dim3 block, size_t shared, cudaStream_t stream);
/* The next launch of the configuration on top is a cooperative one. */
void simt_mark_cooperative(void);
/* False when cudaFunc…() only looks up the kernel of a function. */
bool simt_kernel_called(struct simt_kernel *kernel);
void simt_kernel_launch(struct simt_kernel *kernel, const void *closure);
/* For a kernel that was called through a `void *`: its arguments, or NULL. Only kernels that can accept them call it. */
void **simt_untyped_arguments(void);
/* Attributes of cudaLaunchKernelEx that only affect speed are ignored; clusters of blocks are refused with a message. */
cudaError_t simt_check_attributes(const cudaLaunchConfig_t *config);
/* The result of this host thread's last launch, regardless of earlier errors. */
cudaError_t simt_launch_outcome(void);

#ifdef __cplusplus
}
#endif
#endif
