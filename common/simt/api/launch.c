/* launch.c — from k<<<…>>>(…) to simt_launch_kernel: a stack holds the configurations until their kernels pop them. */
#include "arch_call.h"
#include "graph.h"

enum { CONFIGURATION_DEPTH = 64 };

/* Arguments of a launch may launch kernels, so there can be more than one. */
static _Thread_local struct launch_configuration pending[CONFIGURATION_DEPTH];
static _Thread_local int pending_count;

static _Thread_local cudaError_t outcome; /* of this thread's last launch */

static _Thread_local bool asking, takes_untyped;
static _Thread_local struct simt_kernel *answer;
static _Thread_local void **untyped;              /* of the current launch through a `void *` */
static _Thread_local struct CUgraph_st *building; /* the launch becomes a node of this graph, which is built by hand */

static void push(struct launch_configuration configuration) {
    if (pending_count < CONFIGURATION_DEPTH) { pending[pending_count] = configuration; }
    pending_count++;
}

void simt_push_configuration(struct dim3 grid, struct dim3 block, size_t shared, cudaStream_t stream) {
    push((struct launch_configuration){grid, block, shared, stream, false, API_CALLER});
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

void **simt_untyped_arguments(void) {
    void **arguments = asking ? NULL : untyped;
    takes_untyped = true;
    untyped = NULL;
    return arguments;
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
    struct CUgraph_st *graph = building != NULL ? building : stream_capture(configuration.stream);
    if (graph != NULL) {
        outcome = graph_add_kernel(graph, &configuration, kernel, closure);
        return;
    }
    watch_launch(configuration.stream, kernel->name);
    outcome = launch_now(&configuration, kernel, closure);
    watch_launched(configuration.stream);
}

cudaError_t simt_check_attributes(const cudaLaunchConfig_t *config) {
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *attribute = &config->attrs[i];
        unsigned x = attribute->val.clusterDim.x, y = attribute->val.clusterDim.y, z = attribute->val.clusterDim.z;
        if (attribute->id != cudaLaunchAttributeClusterDimension || (x == 1 && y == 1 && z == 1)) { continue; }
        simt_report(SIMT_LAUNCH, true, 0, NULL,
                    "Launch with clusters of %ux%ux%u blocks\n"
                    "The CPU backend has no thread block clusters: exchange data between blocks in global memory",
                    x, y, z);
        return outcome = api_fail(cudaErrorNotSupported);
    }
    return cudaSuccess;
}

cudaError_t simt_launch_outcome(void) {
    return outcome;
}

/* A grid with a grid barrier must be resident as a whole. */
static bool fits_the_device(const struct launch_configuration *configuration, const struct simt_kernel *kernel) {
    struct dim3 grid = configuration->grid, block = configuration->block;
    uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z, threads = (uint64_t)block.x * block.y * block.z;
    if (blocks == 0 || threads == 0 || threads > MAX_THREADS_PER_BLOCK) { return true; } /* refused elsewhere */
    uint64_t room = (uint64_t)resident_blocks(kernel, (int)threads, configuration->shared) *
                    (uint64_t)device_limits().multiprocessors;
    if (blocks <= room) { return true; }
    simt_report(
        SIMT_LAUNCH, true, configuration->pc, NULL,
        "Invalid cooperative launch of %s\nThe grid has %llu blocks, but the device holds %llu of this size at once",
        kernel->name, (unsigned long long)blocks, (unsigned long long)room);
    return false;
}

static bool within_bounds(const struct launch_configuration *configuration, const struct simt_kernel *kernel) {
    struct dim3 block = configuration->block;
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    if (kernel->most_threads == 0 || threads <= kernel->most_threads) { return true; }
    simt_report(SIMT_LAUNCH, true, configuration->pc, NULL,
                "Invalid launch of %s\nThe block has %llu threads, but __launch_bounds__ declares at most %u",
                kernel->name, (unsigned long long)threads, kernel->most_threads);
    return false;
}

cudaError_t launch_now(const struct launch_configuration *configuration, struct simt_kernel *kernel,
                       const void *closure) {
    if (watch_refuses_launches()) { return api_fail(cudaErrorLaunchOutOfResources); }
    if (!within_bounds(configuration, kernel)) { return api_fail(cudaErrorInvalidValue); }
    if (configuration->cooperative && !fits_the_device(configuration, kernel)) {
        return api_fail(cudaErrorCooperativeLaunchTooLarge);
    }
    cudaError_t before = api_swap_last_error(cudaSuccess);
    struct dim grid = {configuration->grid.x, configuration->grid.y, configuration->grid.z};
    struct dim block = {configuration->block.x, configuration->block.y, configuration->block.z};
    if (configuration->cooperative) {
        simt_configure_cooperative(grid, block, configuration->shared, configuration->stream, configuration->pc);
    } else {
        simt_configure(grid, block, configuration->shared, configuration->stream, configuration->pc);
    }
    simt_launch_kernel(kernel->name, kernel->entry, closure);
    device_output_flush();
    cudaError_t error = cudaPeekAtLastError();
    if (error == cudaSuccess) { api_swap_last_error(before); }
    return error;
}

/* The stub only identifies its kernel: it reads no argument. */
struct simt_kernel *kernel_of_function(const void *function) {
    if (function == NULL || !confine_may_call(function)) { return NULL; }
    asking = true;
    takes_untyped = false;
    answer = NULL;
    call_with_zeros(function);
    asking = false;
    return answer;
}

/* The kernel is passed as `void *`: its stub knows its parameters and reads them from the array. */
static cudaError_t launch_untyped(const char *function, const void *kernel,
                                  const struct launch_configuration *configuration, void **arguments) {
    struct simt_kernel *known = kernel_of_function(kernel);
    if (known == NULL || !takes_untyped) {
        simt_report(SIMT_LAUNCH, true, 0, NULL,
                    "%s(%s): the kernel is passed as (void *), so its parameters are unknown\n"
                    "Pass the kernel itself: %s(kernel, grid, block, arguments, …).",
                    function, known == NULL ? "?" : known->name, function);
        return api_fail(cudaErrorInvalidDeviceFunction);
    }
    push(*configuration);
    untyped = arguments;
    call_with_zeros(kernel);
    return outcome;
}

cudaError_t launch_into_graph(struct CUgraph_st *graph, const void *kernel,
                              const struct launch_configuration *configuration, void **arguments) {
    building = graph;
    cudaError_t error = launch_untyped("cudaGraphAddKernelNode", kernel, configuration, arguments);
    building = NULL;
    return error;
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
    API_ENTER();
    struct launch_configuration configuration = {grid, block, shared, stream, false, API_CALLER};
    return launch_untyped(__func__, kernel, &configuration, arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream) {
    API_ENTER();
    struct launch_configuration configuration = {grid, block, shared, stream, true, API_CALLER};
    return launch_untyped(__func__, kernel, &configuration, arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    API_ENTER();
    cudaError_t refused = simt_check_attributes(config);
    if (refused != cudaSuccess) { return refused; }
    struct launch_configuration configuration = {
        config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, false, API_CALLER};
    for (unsigned i = 0; i < config->numAttrs; i++) {
        configuration.cooperative |=
            config->attrs[i].id == cudaLaunchAttributeCooperative && config->attrs[i].val.cooperative;
    }
    return launch_untyped(__func__, kernel, &configuration, arguments);
}
