/* launch.c — from k<<<…>>>(…) to simt_launch_kernel: configurations wait on a stack until their kernel takes them. */
#include "../include/simt/kernel.h"
#include "api.h"

enum { CONFIGURATION_DEPTH = 64 };

/* Arguments of a launch may launch themselves, so there can be more than one. */
static _Thread_local struct launch_configuration pending[CONFIGURATION_DEPTH];
static _Thread_local int pending_count;

static _Thread_local cudaError_t outcome; /* of this thread's last launch */

static _Thread_local bool asking;
static _Thread_local struct simt_kernel *answer;

void simt_push_configuration(struct dim3 grid, struct dim3 block, size_t shared, cudaStream_t stream) {
    if (pending_count < CONFIGURATION_DEPTH) {
        pending[pending_count] = (struct launch_configuration){grid, block, shared, stream, false};
    }
    pending_count++;
}

void simt_mark_cooperative(void) {
    if (pending_count > 0 && pending_count <= CONFIGURATION_DEPTH) { pending[pending_count - 1].cooperative = true; }
}

bool simt_kernel_called(struct simt_kernel *kernel) {
    if (asking) {
        answer = kernel;
        return false;
    }
    return true;
}

static void launch_impossible(struct simt_kernel *kernel, const char *what, cudaError_t error) {
    simt_report(SIMT_LAUNCH, true, 0, simt_self, "%s: %s", kernel->name, what);
    if (simt_self != NULL) { simt_fail_launch(error); }
    outcome = api_fail(error);
}

void simt_kernel_launch(struct simt_kernel *kernel, const void *closure) {
    if (simt_self != NULL) {
        launch_impossible(
            kernel,
            "a kernel launched from a kernel\nThe CPU backend has no dynamic parallelism; launch it on the host.",
            cudaErrorNotSupported);
        return;
    }
    if (pending_count == 0 || pending_count > CONFIGURATION_DEPTH) {
        pending_count = 0;
        launch_impossible(kernel,
                          "a kernel called without <<<grid, block>>>\nWrite kernel<<<grid, block>>>(arguments).",
                          cudaErrorMissingConfiguration);
        return;
    }
    struct launch_configuration configuration = pending[--pending_count];
    outcome = api_enter("a launch");
    if (outcome != cudaSuccess) { return; }
    if (!stream_valid(configuration.stream)) {
        outcome = api_fail(cudaErrorInvalidResourceHandle);
        return;
    }
    struct CUgraph_st *graph = stream_capture(configuration.stream);
    outcome = graph != NULL ? graph_add_kernel(graph, &configuration, kernel, closure)
                            : launch_now(&configuration, kernel, closure);
}

cudaError_t simt_launch_outcome(void) {
    return outcome;
}

/* A grid that meets at a barrier must be resident as a whole. */
static bool fits_the_device(const struct launch_configuration *configuration, const struct simt_kernel *kernel) {
    struct dim3 grid = configuration->grid, block = configuration->block;
    uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z, threads = (uint64_t)block.x * block.y * block.z;
    if (blocks == 0 || threads == 0 || threads > MAX_THREADS_PER_BLOCK) { return true; } /* refused for that */
    uint64_t room = (uint64_t)resident_blocks(kernel, (int)threads, configuration->shared) *
                    (uint64_t)device_limits().multiprocessors;
    if (blocks <= room) { return true; }
    simt_report(
        SIMT_LAUNCH, true, 0, NULL,
        "Invalid cooperative launch of %s\nThe grid has %llu blocks, but the device holds %llu of this size at once",
        kernel->name, (unsigned long long)blocks, (unsigned long long)room);
    return false;
}

cudaError_t launch_now(const struct launch_configuration *configuration, struct simt_kernel *kernel,
                       const void *closure) {
    if (configuration->cooperative && !fits_the_device(configuration, kernel)) {
        return api_fail(cudaErrorCooperativeLaunchTooLarge);
    }
    cudaError_t before = api_swap_last_error(cudaSuccess);
    struct dim grid = {configuration->grid.x, configuration->grid.y, configuration->grid.z};
    struct dim block = {configuration->block.x, configuration->block.y, configuration->block.z};
    if (configuration->cooperative) {
        simt_configure_cooperative(grid, block, configuration->shared, configuration->stream);
    } else {
        simt_configure(grid, block, configuration->shared, configuration->stream);
    }
    simt_launch_kernel(kernel->name, kernel->entry, closure);
    device_output_flush();
    cudaError_t error = cudaPeekAtLastError();
    if (error == cudaSuccess) { api_swap_last_error(before); }
    return error;
}

/* Enough zeros for any kernel's arguments, on the stack and in the registers. */
struct zeros {
    char bytes[4096];
};

struct simt_kernel *kernel_of_function(const void *function) {
    if (function == NULL) { return NULL; }
    /* The stub only says who it is: it reads no argument. */
    union {
        const void *pointer;
        void (*call)(long, long, long, long, long, long, double, double, double, double, double, double, double, double,
                     struct zeros);
    } stub = {function};
    static const struct zeros zeros;
    asking = true;
    answer = NULL;
    stub.call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, zeros);
    asking = false;
    return answer;
}

/* With arguments of unknown types there is nothing to call: the C++ header has the forms that know them. */
static cudaError_t launch_untyped(const char *function, const void *kernel) {
    struct simt_kernel *known = kernel_of_function(kernel);
    simt_report(SIMT_LAUNCH, true, 0, NULL,
                "%s(%s): the kernel came as a (void *), so its parameters are not known\n"
                "Pass the kernel itself: %s(kernel, grid, block, arguments, …).",
                function, known == NULL ? "?" : known->name, function);
    return api_fail(cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
    (void)grid, (void)block, (void)arguments, (void)shared, (void)stream;
    API_ENTER();
    return launch_untyped(__func__, kernel);
}

cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream) {
    (void)grid, (void)block, (void)arguments, (void)shared, (void)stream;
    API_ENTER();
    return launch_untyped(__func__, kernel);
}
