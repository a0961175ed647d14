#include "reference_call.h"

#include <cuda_runtime.h>

#include <math.h>
#include <string.h>

#include "launchers.h"

extern "C" {
#include "../ops/elements.h"
#include "../ops/inputs.h"
#include "../ops/reference.h"
}

enum { seed = 1 };

op_sizes reference_sizes(const op *op, op_type type, int N, int C) {
    if (op_is_on_matrices(op)) { return op_causal_sizes(type, N, 2, C, 0.125f); }
    op_sizes sizes = {};
    if (op_is_on_sequences(op)) { // B = N sequences of T = C tokens
        sizes = op_model_sizes(type, N, C, 2, 8, C + 3);
        sizes.V = 17;
        sizes.L = 2;
    } else {
        sizes.N = N;
        sizes.C = C;
        sizes.eps = 1e-5f;
        sizes.type = type;
    }
    op_sizes_complete(op, &sizes);
    return sizes;
}

reference_call::reference_call(const op *op, const reference_case &asked) : asked_op(op), asked(asked) {
    float *given[OP_MAX_TENSORS];
    double *expected_data[OP_MAX_TENSORS], *condition_data[OP_MAX_TENSORS];
    for (int i = 0; i < op_tensor_count(op); i++) {
        size_t count = elements(i);
        host[i].assign(count + 1, 0.0f); /* + 1: data() of an empty vector may be null */
        expected[i].assign(count + 1, 0.0);
        condition[i].assign(count + 1, 0.0);
        given[i] = host[i].data();
        expected_data[i] = expected[i].data();
        condition_data[i] = condition[i].data();
    }
    inputs_fill(op, &asked.sizes, VALUES_NORMAL, seed, given);
    if (asked.in_place) { host[asked.output] = host[asked.in_place - 1]; }
    for (int i = 0; i < op_tensor_count(op); i++) { given[i] = host[i].data(); }
    reference_compute(op, &asked.sizes, given, expected_data, condition_data);
}

reference_call::~reference_call() {
    for (void *memory : allocated) { cudaFree(memory); }
}

/* Outputs and scratch, except caches, which are compared whole. */
static bool is_left_out(const op *op, int i) {
    bool cache = op_shape_is(op, i, "B, H, S, D");
    return (op->tensor[i].role == ROLE_OUT || op->tensor[i].role == ROLE_WORK) && !cache;
}

/* Outputs are uploaded only if a causal op does not write all of them, so that uninitialised reads are found. */
cudaError_t reference_call::upload() {
    for (int i = 0; i < op_tensor_count(asked_op); i++) {
        size_t bytes = elements(i) * element_bytes(i), lead = asked.offset * element_bytes(i);
        std::vector<char> packed(bytes + 1);
        if (!op_is_given(asked_op, i, &asked.sizes) || shares(i)) { continue; }
        cudaError_t error = cudaMalloc(&allocated[i], lead + bytes ? lead + bytes : 1);
        if (error != cudaSuccess) { return error; }
        device[i] = (char *)allocated[i] + lead;
        if (bytes == 0 || (is_left_out(asked_op, i) && !asked.sizes.upper)) { continue; }
        elements_pack(asked_op->tensor[i].element, asked.sizes.type, host[i].data(), elements(i), packed.data());
        error = cudaMemcpy(device[i], packed.data(), bytes, cudaMemcpyHostToDevice);
        if (error != cudaSuccess) { return error; }
    }
    if (asked.in_place) { device[asked.output] = device[asked.in_place - 1]; }
    return cudaSuccess;
}

cudaError_t reference_call::launch(int *status) {
    *status = launcher_find(asked_op->name, asked.sizes.type, asked.rung)(asked.rung, device, &asked.sizes, nullptr);
    return cudaDeviceSynchronize();
}

cudaError_t reference_call::launch_from_graph(int *status) {
    cudaStream_t stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaError_t error =
        cudaDeviceSynchronize(); /* a copy from the host may be unfinished, and this stream does not wait for it */
    if (error == cudaSuccess) { error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }
    if (error != cudaSuccess) { return error; }
    error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    if (error == cudaSuccess) {
        *status = launcher_find(asked_op->name, asked.sizes.type, asked.rung)(asked.rung, device, &asked.sizes, stream);
        error = cudaStreamEndCapture(stream, &graph);
    }
    if (error == cudaSuccess) { error = *status ? (cudaError_t)*status : cudaGraphInstantiate(&executable, graph, 0); }
    if (graph) { cudaGraphDestroy(graph); }
    if (error == cudaSuccess) { error = cudaGraphLaunch(executable, stream); }
    if (error == cudaSuccess) { error = cudaStreamSynchronize(stream); }
    if (executable) { cudaGraphExecDestroy(executable); }
    cudaStreamDestroy(stream);
    return error;
}

cudaError_t reference_call::download() {
    for (int i = 0; i < op_tensor_count(asked_op); i++) {
        size_t bytes = elements(i) * element_bytes(i);
        std::vector<char> packed(bytes + 1);
        if (bytes == 0 || asked_op->tensor[i].role == ROLE_IN) { continue; }
        cudaError_t error = cudaMemcpy(packed.data(), device[i], bytes, cudaMemcpyDeviceToHost);
        if (error != cudaSuccess) { return error; }
        elements_unpack(asked_op->tensor[i].element, asked.sizes.type, packed.data(), elements(i), host[i].data());
    }
    return cudaSuccess;
}

void reference_call::compare(reference_error *worst) const {
    for (int i = 0; i < op_tensor_count(asked_op); i++) {
        if (!op_is_output(asked_op, i)) { continue; }
        op_type type = element_type(asked_op, i, asked.sizes.type);
        size_t count = elements(i), misrounded = 0;
        for (size_t k = 0; k < count; k++) {
            double wanted = expected[i][k], rounded = condition[i][k], got = host[i][k];
            double error = fabs(got - wanted), allowed = reference_allowance(type, wanted, rounded);
            if (!reference_accepts(type, wanted, rounded, host[i][k])) { worst->wrong++; }
            misrounded += reference_misrounded(type, wanted, rounded, host[i][k]);
            if (!(error <= worst->error)) { worst->error = error; }
            if (allowed > 0 && !(error / allowed <= worst->share)) { worst->share = error / allowed; }
        }
        if ((long)misrounded > reference_misrounded_allowed(count)) { worst->wrong += misrounded; }
        worst->misrounded += misrounded;
        worst->elements += count;
    }
}

double reference_call::distance(int i) const {
    double off = 0, norm = 0;
    for (size_t k = 0; k < elements(i); k++) {
        off += (host[i][k] - expected[i][k]) * (host[i][k] - expected[i][k]);
        norm += expected[i][k] * expected[i][k];
    }
    return sqrt(off / norm);
}
