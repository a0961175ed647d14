/* launch.c — a kernel launch: its configuration, CUDA's checks of the configuration, its run, its failure. */
#include <string.h>

#include "arena.h"
#include "checks/faults.h"
#include "checks/json_report.h"
#include "checks/record.h"
#include "checks/source.h"
#include "checks/trace.h"
#include "scheduler.h"

enum { GRID_YZ_LIMIT = 65535, BLOCK_Z_LIMIT = 64 };

static __thread struct {
    struct dim grid, block;
    size_t shared;
    uintptr_t pc;
    bool cooperative, pending;
} next;

static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;
static uint64_t launches, blocks;
static struct simt_progress own_progress, *progress = &own_progress;

void simt_progress_set(struct simt_progress *shared) {
    progress = shared;
}

void launch_count_block(void) {
    __atomic_fetch_add(&progress->blocks, 1, __ATOMIC_RELAXED);
}

void simt_configure(struct dim grid, struct dim block, size_t shared, void *stream, uintptr_t pc) {
    (void)stream; /* streams run in the order of the calls */
    next.grid = grid;
    next.block = block;
    next.shared = shared;
    next.pc = pc;
    next.cooperative = false;
    next.pending = true;
}

void simt_configure_cooperative(struct dim grid, struct dim block, size_t shared, void *stream, uintptr_t pc) {
    simt_configure(grid, block, shared, stream, pc);
    next.cooperative = true;
}

bool simt_on_device(void) {
    return simt_self != NULL;
}

/* A launch that CUDA refuses: the finding names the wrong number, the error code is CUDA's. */
static bool refuse(const char *kernel, int error, const char *what, unsigned long long got, unsigned long long limit) {
    char name[512];
    simt_report(SIMT_LAUNCH, true, next.pc, NULL, "Invalid launch of %s\n%s is %llu, allowed: 1 to %llu",
                source_pretty(kernel, name, sizeof name), what, got, limit);
    simt_set_error(error, false);
    return false;
}

static bool configuration_valid(const char *kernel, void (*entry)(const void *)) {
    const struct {
        const char *what;
        unsigned long long got, limit;
    } sizes[] = {
        {"gridDim.x", next.grid.x, 0x7fffffff},
        {"gridDim.y", next.grid.y, GRID_YZ_LIMIT},
        {"gridDim.z", next.grid.z, GRID_YZ_LIMIT},
        {"blockDim.x", next.block.x, MAX_THREADS_PER_BLOCK},
        {"blockDim.y", next.block.y, MAX_THREADS_PER_BLOCK},
        {"blockDim.z", next.block.z, BLOCK_Z_LIMIT},
        {"The number of threads per block", (unsigned long long)next.block.x * next.block.y * next.block.z,
         MAX_THREADS_PER_BLOCK},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].got == 0 || sizes[i].got > sizes[i].limit)
            return refuse(kernel, SIMT_ERROR_INVALID_CONFIGURATION, sizes[i].what, sizes[i].got, sizes[i].limit);
    size_t allowed = simt_shared_allowed(entry);
    if (next.shared > allowed)
        return refuse(kernel, SIMT_ERROR_INVALID_VALUE,
                      "Dynamic shared memory (with the static variables, more than 48 KB only after "
                      "cudaFuncSetAttribute), in bytes,",
                      next.shared, allowed);
    return true;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* About the golden ratio of the grid, so that neighbouring blocks run far apart. */
static uint64_t shuffling_step(uint64_t count) {
    uint64_t step = (uint64_t)((double)count * 0.6180339887) | 1;
    while (greatest_common_divisor(step, count) != 1) step++;
    return step;
}

void launch_fail(struct simt_launch *launch, uint64_t rank, int error, bool sticky) {
    struct launch_order *order = launch->order;
    pthread_mutex_lock(&order->error_lock);
    if (rank < atomic_load(&order->fail_rank)) {
        atomic_store(&order->fail_rank, rank);
        launch->error = error;
        launch->error_sticky = sticky;
    }
    pthread_mutex_unlock(&order->error_lock);
}

void simt_fail_launch(int error) {
    struct simt_thread *self = simt_self;
    struct simt_block *block = self->block;
    launch_fail(block->launch, block->rank, error, error >= SIMT_ERROR_ILLEGAL_ADDRESS);
    block->status = BLOCK_FAILED;
    block_suspend(self);
    __builtin_unreachable();
}

static void run(struct simt_launch *launch) {
    launch->serial = ++launches;
    __atomic_fetch_add(&progress->launches, 1, __ATOMIC_RELAXED);
    launch->first_block_serial = blocks;
    blocks += launch->blocks;
    if (launch->shuffled) launch->order->permutation = shuffling_step(launch->blocks);
    shared_prepare_launch(launch);
    trace_launch_begin(launch, simt_settings.os_threads);
    workers_run(launch);
    trace_launch_end(launch);
    shared_finish_launch(launch);
    report_launch_end(launch);
    json_report_launch(launch);
    record_launch(launch);
    if (launch->error_sticky) arena_context_lost();
    if (launch->error) simt_set_error(launch->error, launch->error_sticky);
}

void simt_launch_kernel(const char *kernel, void (*entry)(const void *), const void *closure) {
    if (!next.pending) {
        simt_report(SIMT_LAUNCH, true, 0, NULL,
                    "Kernel %s is called like a function\nLaunch it: kernel<<<grid, block>>>(...)", kernel);
        simt_set_error(SIMT_ERROR_INVALID_CONFIGURATION, false);
        return;
    }
    next.pending = false;
    if (!confine_may_call((const void *)(uintptr_t)entry)) {
        simt_set_error(SIMT_ERROR_INVALID_CONFIGURATION, false);
        return;
    }
    if (!configuration_valid(kernel, entry)) return;
    struct launch_order order = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                 .error_lock = PTHREAD_MUTEX_INITIALIZER,
                                 .changed = PTHREAD_COND_INITIALIZER,
                                 .fail_rank = UINT64_MAX};
    uint64_t in_grid = (uint64_t)next.grid.x * next.grid.y * next.grid.z, most = simt_settings.most_blocks;
    bool skips = most && in_grid > most && !next.cooperative;
    struct simt_launch launch = {
        .kernel = kernel,
        .grid = next.grid,
        .block = next.block,
        .blocks = skips ? most : in_grid,
        .skipped = skips ? in_grid - most : 0,
        .dynamic_shared = next.shared,
        .cooperative = next.cooperative,
        .shuffled = simt_settings.shuffled_order,
        .spread = simt_settings.spread_blocks,
        .entry = entry,
        .closure = closure,
        .order = &order,
    };
    fault_catch();
    pthread_mutex_lock(&one_launch);
    run(&launch);
    pthread_mutex_unlock(&one_launch);
}

void simt_fence(int scope) {
    struct simt_thread *self = simt_self;
    if (self) trace_fence(self, (uintptr_t)__builtin_return_address(0), scope);
    atomic_thread_fence(memory_order_seq_cst);
}

void simt_yield(void) {
    struct simt_thread *self = simt_self;
    if (self) simt_lane_block(THREAD_YIELDED, (uintptr_t)__builtin_return_address(0));
}
