/* fill.h — fills one tensor of every set on the device, with the values of generate.h. */
#ifndef FILL_H
#define FILL_H

#include <cuda_runtime_api.h>

#include "../ops/ops.h"

/* `first`: set 0's tensor; the others follow, `stride` bytes apart. Lengths are all T. Does not wait for the kernel. */
void fill_tensor(const struct op *op, int tensor, const struct op_sizes *sizes, char *first, size_t stride, int sets,
                 uint64_t seed, cudaStream_t stream);

#endif
