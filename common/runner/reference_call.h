/* reference_call.h — one call of a launcher in this process, and its result in float64.
 *
 * For programs without a parent (exercise, and the tests of a step's ladders): the launchers of a lab file are
 * called directly, on buffers that begin at the start of an allocation, or `offset` elements after it.
 */
#ifndef REFERENCE_CALL_H
#define REFERENCE_CALL_H

#include <cuda_runtime_api.h>

#include <vector>

extern "C" {
#include "../ops/ops.h"
}

/* The request. */
struct reference_case {
    op_sizes sizes;
    int rung = 0;
    int offset = 0;               /* elements by which every tensor is moved */
    int output = 0, in_place = 0; /* in_place: 1 + the tensor whose pointer `output` gets; 0: none */
};

/* The errors of a result. */
struct reference_error {
    double error = 0, share = 0; /* |got - expected|, and its quotient by the tolerance */
    size_t wrong = 0, misrounded = 0, elements = 0;
};

/* Sizes of a call on (N, C), or on (B, 2, T, T) and on sequences of tokens with B = N and T = C. */
op_sizes reference_sizes(const op *op, op_type type, int N, int C);

class reference_call {
  public:
    reference_call(const op *op, const reference_case &asked);
    ~reference_call();
    reference_call(const reference_call &) = delete;
    reference_call &operator=(const reference_call &) = delete;

    cudaError_t upload();
    cudaError_t launch(int *status);            /* the launcher's status; returns the error after it */
    cudaError_t launch_from_graph(int *status); /* the same, captured into a graph */
    cudaError_t download();
    void compare(reference_error *worst) const;
    double distance(int i) const; /* |got - expected| / |expected|, of a whole tensor */

    void *tensor(int i) const { return device[i]; }                   /* on the device; null if not given */
    const std::vector<float> &result(int i) const { return host[i]; } /* after download() */

  private:
    const op *asked_op;
    reference_case asked;
    std::vector<float> host[OP_MAX_TENSORS];
    std::vector<double> expected[OP_MAX_TENSORS], condition[OP_MAX_TENSORS];
    void *allocated[OP_MAX_TENSORS] = {}, *device[OP_MAX_TENSORS] = {};
    bool shares(int i) const { return asked.in_place && i == asked.output; }
    size_t elements(int i) const { return op_elements(asked_op, i, &asked.sizes); }
    size_t element_bytes(int i) const { return op_element_bytes(asked_op, i, asked.sizes.type); }
};

#endif
