/* shared.c — shared memory: every live block has a slot of the arena. A variable is laid out at its first use.
 *
 * A slot: red zone, dynamic part, red zone, static variables with red zones between. The layout belongs to the launch. A
 * block lays out the variables that the launch knows when it starts, and the others when one of its threads uses them.
 */
#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/shadow.h"
#include "scheduler.h"

enum { SHARED_LIMIT = 48 << 10, DYNAMIC_OFFSET = RED_ZONE, MAX_KERNELS = 1024 };

/* Attributes of kernels, by entry. */
static struct kernel_shared {
    void (*entry)(const void *);
    size_t opted_in; /* bytes of dynamic memory; 0: cudaFuncSetAttribute was not called */
    size_t used_static;
} kernels[MAX_KERNELS];
static size_t kernel_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t slots;

static size_t round_up(size_t bytes, size_t align) {
    return (bytes + align - 1) / align * align;
}

static struct kernel_shared *attributes_of(void (*entry)(const void *), bool add) {
    for (size_t i = 0; i < kernel_count; i++)
        if (kernels[i].entry == entry) return &kernels[i];
    if (!add || kernel_count == MAX_KERNELS) return NULL;
    kernels[kernel_count] = (struct kernel_shared){.entry = entry};
    return &kernels[kernel_count++];
}

size_t simt_shared_optin(void) {
    if (simt_settings.small_device) return SHARED_LIMIT;
    switch (simt_settings.compute_capability) {
        case 70: return 96 << 10;
        case 75: return 64 << 10;
        case 80:
        case 87: return 163 << 10;
        case 86:
        case 89:
        case 120:
        case 121: return 99 << 10;
        default: return simt_settings.compute_capability >= 90 ? 227 << 10 : SHARED_LIMIT;
    }
}

int simt_allow_shared(void (*entry)(const void *), size_t bytes) {
    pthread_mutex_lock(&lock);
    struct kernel_shared *kernel = attributes_of(entry, true);
    bool fits = kernel && bytes + kernel->used_static <= simt_shared_optin();
    if (fits) kernel->opted_in = bytes;
    pthread_mutex_unlock(&lock);
    return fits ? 0 : SIMT_ERROR_INVALID_VALUE;
}

static bool has_opted_in(void (*entry)(const void *), size_t dynamic) {
    struct kernel_shared *kernel = attributes_of(entry, false);
    return kernel && dynamic <= kernel->opted_in;
}

size_t simt_shared_allowed(void (*entry)(const void *)) {
    struct kernel_shared *kernel = attributes_of(entry, false);
    if (kernel == NULL) return SHARED_LIMIT;
    size_t without = SHARED_LIMIT - kernel->used_static, most = simt_shared_optin() - kernel->used_static;
    size_t wanted = kernel->opted_in > without ? kernel->opted_in : without;
    return wanted < most ? wanted : most;
}

size_t simt_shared_static(void (*entry)(const void *)) {
    struct kernel_shared *kernel = attributes_of(entry, false);
    return kernel ? kernel->used_static : 0;
}

void shared_prepare_launch(struct simt_launch *launch) {
    launch->order->shared_end = DYNAMIC_OFFSET + round_up(launch->dynamic_shared, RED_ZONE) + RED_ZONE;
    launch->order->shared_limit =
        has_opted_in(launch->entry, launch->dynamic_shared) ? simt_shared_optin() : SHARED_LIMIT;
}

void shared_finish_launch(struct simt_launch *launch) {
    if (launch->order->static_bytes == 0) return;
    pthread_mutex_lock(&lock);
    struct kernel_shared *kernel = attributes_of(launch->entry, true);
    if (kernel && launch->order->static_bytes > kernel->used_static) kernel->used_static = launch->order->static_bytes;
    pthread_mutex_unlock(&lock);
}

static char *take_slot(void) {
    uint64_t slot = __atomic_fetch_add(&slots, 1, __ATOMIC_RELAXED);
    if (!arena_open() || (slot + 1) * SHARED_SLOT > ARENA_SHARED_SPAN) {
        fprintf(stderr, "simt: no address space for the shared memory of block %llu\n", (unsigned long long)slot);
        abort();
    }
    return (char *)(ARENA_BASE + slot * SHARED_SLOT);
}

/* Memory for a block: allocated, uninitialised, and filled with NaN. */
static void fresh(char *start, size_t bytes) {
    memset(start, 0xff, bytes);
    shadow_allocate((uintptr_t)start, bytes);
}

static void lay_out(struct simt_block *block, unsigned sites) {
    const struct launch_order *order = block->launch->order;
    for (; block->shared_ready < sites; block->shared_ready++) {
        const struct shared_site *site = &order->site[block->shared_ready];
        fresh(block->shared + site->offset, site->size);
        block->shared_used = site->offset + site->size;
    }
}

void shared_prepare_block(struct simt_block *block) {
    struct simt_launch *launch = block->launch;
    if (block->shared == NULL) block->shared = take_slot();
    if (block->shared_used) shadow_release((uintptr_t)block->shared, block->shared_used);
    block->shared_size = SHARED_SLOT;
    block->shared_used = DYNAMIC_OFFSET + launch->dynamic_shared;
    if (launch->dynamic_shared) fresh(block->shared + DYNAMIC_OFFSET, launch->dynamic_shared);
    block->shared_ready = 0;
    lay_out(block, atomic_load_explicit(&launch->order->sites, memory_order_acquire));
}

void *simt_dynamic_shared(void) {
    struct simt_thread *self = simt_self;
    return self ? self->block->shared + DYNAMIC_OFFSET : NULL;
}

static void too_much(size_t bytes, size_t limit, const char *name, uintptr_t pc) {
    simt_report(SIMT_LAUNCH, true, pc, simt_self,
                "Too much shared memory: static variables and the dynamic part need 0x%zx bytes; the limit is 0x%zx\n"
                "'%s' exceeds the limit; nvcc reports: uses too much shared data",
                bytes, limit, name);
    simt_fail_launch(SIMT_ERROR_INVALID_VALUE);
}

static unsigned add_site(struct simt_launch *launch, const struct shared_site *wanted, size_t align, uintptr_t pc) {
    struct launch_order *order = launch->order;
    pthread_mutex_lock(&order->lock);
    unsigned count = atomic_load(&order->sites), i = 0;
    while (i < count && order->site[i].site != wanted->site) i++;
    size_t limit = order->shared_limit;
    size_t needed = round_up(order->static_bytes, align) + wanted->size;
    bool fits =
        i < count || (i < MAX_SHARED_SITES && needed <= SHARED_LIMIT && needed + launch->dynamic_shared <= limit);
    if (i == count && fits) {
        order->site[i] = *wanted;
        order->site[i].offset = round_up(order->shared_end, align < 16 ? 16 : align);
        order->shared_end = round_up(order->site[i].offset + wanted->size, 4) + RED_ZONE / 2;
        order->static_bytes = needed;
        atomic_store_explicit(&order->sites, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&order->lock);
    if (!fits)
        too_much(needed + launch->dynamic_shared, needed > SHARED_LIMIT ? SHARED_LIMIT : limit, wanted->name, pc);
    return i;
}

void *simt_shared_variable(const void *site, const char *name, size_t size, size_t align) {
    struct simt_thread *self = simt_self;
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    if (self == NULL) return NULL;
    struct simt_block *block = self->block;
    struct launch_order *order = block->launch->order;
    unsigned count = atomic_load_explicit(&order->sites, memory_order_acquire), i = 0;
    while (i < count && order->site[i].site != site) i++;
    if (i == count) {
        struct shared_site wanted = {.site = site, .name = name, .size = size};
        i = add_site(block->launch, &wanted, align, pc);
    }
    if (i >= block->shared_ready) lay_out(block, i + 1);
    return block->shared + order->site[i].offset;
}

static uintptr_t distance_to(uintptr_t address, uintptr_t start, size_t bytes) {
    uintptr_t end = start + bytes;
    return address < start ? start - address : address < end ? 0 : address - end;
}

bool shared_nearest(const struct simt_block *block, uintptr_t address, struct arena_allocation *out) {
    const struct launch_order *order = block->launch->order;
    uintptr_t base = (uintptr_t)block->shared, best = UINTPTR_MAX;
    if (block->launch->dynamic_shared) {
        *out = (struct arena_allocation){base + DYNAMIC_OFFSET, block->launch->dynamic_shared, 0, "extern __shared__"};
        best = distance_to(address, out->start, out->bytes);
    }
    for (unsigned i = 0; i < block->shared_ready; i++) {
        uintptr_t start = base + order->site[i].offset, distance = distance_to(address, start, order->site[i].size);
        if (distance < best) {
            best = distance;
            *out = (struct arena_allocation){start, order->site[i].size, 0, order->site[i].name};
        }
    }
    return best != UINTPTR_MAX;
}
