/* confine.c — runs host code that is not trusted on a stack of its own, with access to its own memory only.
 *
 * simt-cc --learner instruments every access, so that the checks see it, and sends every indirect call or jump through
 * simt_indirect_target. The linker places what is not trusted between the objects learner_begin and learner_end of a program, and
 * the code that calls it, such as a model around it, between that and around_end. Memory that the code may access:
 *   - its variables, those of the code around it, the stack, memory from its malloc and new
 *   - constants of the program, for reading
 *   - memory of cudaMallocHost and cudaMallocManaged
 * An access of anything else is a finding. The code does not continue: its caller goes on without it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api.h"
#include "checks/access.h"
#include "checks/source.h"

extern char __executable_start, data_start;
/* common/runner/learner_begin.c; a program without them confines nothing. */
extern char learner_data_begin __attribute__((weak)), learner_data_end __attribute__((weak));
extern char learner_bss_begin __attribute__((weak)), learner_bss_end __attribute__((weak));
extern void learner_text_begin(void) __attribute__((weak)), learner_text_end(void) __attribute__((weak));
extern void around_text_end(void) __attribute__((weak));

enum { CONFINED_STACK = 8 << 20, GUARD = 64 << 10 };

bool simt_confined;
static char *stack;
static void *outside; /* the context of simt_confine */
static void (*code)(void *data);
static void *code_data;
static bool code_ended;

/* ---- memory of malloc and new on the host: in one range of addresses; what describes it lies outside. In kernels: the
 * device's heap ---- */

enum { GRANULE = 64, CLASSES = 40 };
#define HEAP_BYTES ((size_t)1 << 30)

static struct {
    char *memory;
    unsigned *next_free;          /* of each free granule: 1 + the next of its class */
    unsigned char *class_of;      /* of each granule that begins an allocation: 1 + log2 of its granules */
    size_t used;                  /* granules */
    unsigned first_free[CLASSES]; /* 1 + granule */
} heap;

static void *reserve(size_t bytes) {
    void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

static bool heap_open(void) {
    size_t granules = HEAP_BYTES / GRANULE;
    if (heap.memory) { return true; }
    heap.next_free = reserve(granules * sizeof *heap.next_free);
    heap.class_of = reserve(granules);
    heap.memory = heap.next_free && heap.class_of ? reserve(HEAP_BYTES) : NULL;
    return heap.memory != NULL;
}

static void *allocate(size_t bytes, uintptr_t pc) {
    unsigned class = 0;
    if (simt_self) { return arena_alloc_at(bytes, pc); }
    while (class < CLASSES && ((size_t)GRANULE << class) < bytes) { class ++; }
    if (bytes > HEAP_BYTES || !heap_open()) { return NULL; }
    unsigned found = heap.first_free[class];
    if (found) {
        heap.first_free[class] = heap.next_free[found - 1];
    } else {
        if ((heap.used + ((size_t)1 << class)) * GRANULE > HEAP_BYTES) { return NULL; }
        found = (unsigned)heap.used + 1;
        heap.used += (size_t)1 << class;
    }
    heap.class_of[found - 1] = (unsigned char)(class + 1);
    return heap.memory + (size_t)(found - 1) * GRANULE;
}

static void give_up(void) {
    simt_confined = false;
    fiber_leave(outside);
}

/* The bytes of an allocation that begins there, or 0. */
static size_t allocated(const void *pointer, unsigned *granule) {
    size_t offset = (size_t)((const char *)pointer - heap.memory);
    if (!heap.memory || offset >= HEAP_BYTES || offset % GRANULE) { return 0; }
    *granule = (unsigned)(offset / GRANULE);
    return heap.class_of[*granule] ? (size_t)GRANULE << (heap.class_of[*granule] - 1) : 0;
}

/* The bytes of the allocation, which must be one. */
static size_t freed(const void *pointer, unsigned *granule, uintptr_t pc) {
    size_t bytes = allocated(pointer, granule);
    if (bytes > 0) { return bytes; }
    simt_report(SIMT_FOREIGN, true, pc, NULL, "Invalid free\n%p is not the start of memory from malloc or new",
                pointer);
    if (!simt_confined) { abort(); }
    give_up();
    return 0;
}

static void release(void *pointer, uintptr_t pc) {
    unsigned granule;
    if (simt_self) { device_free(pointer, pc); }
    if (simt_self || !pointer || freed(pointer, &granule, pc) == 0) { return; }
    unsigned class = heap.class_of[granule] - 1u;
    heap.class_of[granule] = 0;
    heap.next_free[granule] = heap.first_free[class];
    heap.first_free[class] = granule + 1;
}

void *confine_allocate(size_t alignment, size_t bytes) {
    return simt_confined && alignment <= GRANULE ? allocate(bytes, 0) : aligned_alloc(alignment, bytes);
}

void confine_release(void *memory) {
    unsigned granule;
    if (allocated(memory, &granule)) {
        release(memory, 0);
    } else {
        free(memory);
    }
}

void *learner_malloc(size_t bytes) {
    return allocate(bytes, API_CALLER);
}
void learner_free(void *pointer) {
    release(pointer, API_CALLER);
}

/* Of a CUDA source, whose malloc and free have names of their own (simt/heap.h). */
void *learner_heap_malloc(size_t bytes) {
    return allocate(bytes, API_CALLER);
}
void learner_heap_free(void *pointer) {
    release(pointer, API_CALLER);
}

static void not_in_kernels(const char *function, uintptr_t pc) {
    if (!simt_self) { return; }
    simt_report(SIMT_FOREIGN, true, pc, simt_self, "Invalid call\n%s is a function of the host", function);
    simt_fail_launch(SIMT_ERROR_ILLEGAL_ADDRESS);
}

void *learner_calloc(size_t count, size_t bytes) {
    size_t all;
    not_in_kernels("calloc", API_CALLER);
    void *pointer = __builtin_mul_overflow(count, bytes, &all) ? NULL : allocate(all, API_CALLER);
    return pointer ? memset(pointer, 0, all) : NULL;
}

void *learner_realloc(void *old, size_t bytes) {
    unsigned granule;
    not_in_kernels("realloc", API_CALLER);
    size_t had = old ? freed(old, &granule, API_CALLER) : 0;
    if (old && bytes <= had) { return old; }
    void *pointer = allocate(bytes, API_CALLER);
    if (pointer && old) {
        memcpy(pointer, old, had);
        release(old, API_CALLER);
    }
    return pointer;
}

static void *make(size_t bytes, uintptr_t pc) {
    void *pointer = allocate(bytes, pc);
    if (!pointer && !simt_self) { abort(); }
    return pointer;
}
void *learner_new(size_t bytes) {
    return make(bytes, API_CALLER);
}
void *learner_new_array(size_t bytes) {
    return make(bytes, API_CALLER);
}
void learner_delete(void *pointer) {
    release(pointer, API_CALLER);
}
void learner_delete_array(void *pointer) {
    release(pointer, API_CALLER);
}
void learner_delete_sized(void *pointer, size_t bytes) {
    (void)bytes;
    release(pointer, API_CALLER);
}
void learner_delete_array_sized(void *pointer, size_t bytes) {
    (void)bytes;
    release(pointer, API_CALLER);
}

/* ---- what it may access ---- */

static bool between(uintptr_t address, size_t bytes, const char *begin, const char *end) {
    return begin && address >= (uintptr_t)begin && address <= (uintptr_t)end && bytes <= (uintptr_t)end - address;
}

bool confine_allows(const void *pointer, size_t bytes, bool write) {
    uintptr_t address = (uintptr_t)pointer;
    if (!simt_confined || bytes == 0) { return true; }
    return between(address, bytes, stack, stack + CONFINED_STACK) ||
           between(address, bytes, heap.memory, heap.memory + HEAP_BYTES) ||
           between(address, bytes, &learner_data_begin, &learner_data_end) ||
           between(address, bytes, &learner_bss_begin, &learner_bss_end) ||
           (!write && between(address, bytes, &__executable_start, &data_start)) ||
           (!write && (pointer == (void *)&stdout || pointer == (void *)&stderr)) ||
           simt_host_and_device(address, bytes);
}

/* The code around is trusted. */
static bool is_trusted(uintptr_t pc) {
    return pc < (uintptr_t)&learner_text_begin || pc >= (uintptr_t)&learner_text_end;
}

bool confine_is_around(uintptr_t pc) {
    return &around_text_end && pc >= (uintptr_t)&learner_text_end && pc < (uintptr_t)&around_text_end;
}

void confine_check(uintptr_t pc, const void *pointer, size_t bytes, bool write) {
    if (!simt_confined || is_trusted(pc) || (uintptr_t)pointer < 4096 || confine_allows(pointer, bytes, write)) {
        return;
    }
    simt_report(SIMT_FOREIGN, true, pc, NULL,
                "Invalid host %s of size %zu bytes\nAccess to %p is outside of the memory of the lab's own code",
                write ? "write" : "read", bytes, pointer);
    give_up();
}

/* ---- indirect calls and jumps ---- */

static bool is_entry(const void *target) {
    static const unsigned char mark[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64: where an indirect call may go */
    uintptr_t at = (uintptr_t)target, begin = (uintptr_t)&learner_text_begin, end = (uintptr_t)&around_text_end;
    if (!begin) { return true; }
#ifndef __x86_64__
    return at >= begin && at < end;
#endif
    return at >= begin && end - at > sizeof mark && at < end && memcmp(target, mark, sizeof mark) == 0;
}

/* A function of the toolkit, such as cudaFree as a deleter. */
static bool is_toolkit(const void *target) {
    const uintptr_t functions[] = {(uintptr_t)cudaFree, (uintptr_t)cudaFreeHost, (uintptr_t)cudaStreamDestroy,
                                   (uintptr_t)cudaEventDestroy};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (functions[i] == (uintptr_t)target) { return true; }
    }
    return false;
}

bool confine_may_call(const void *target) {
    return !simt_confined || is_entry(target);
}

void simt_indirect_target(const void *target, uintptr_t pc) {
    if (!simt_confined || is_entry(target) || is_toolkit(target)) { return; }
    simt_report(SIMT_FOREIGN, true, pc, simt_self, "Invalid call\n%p is no function of the lab's own code", target);
    if (simt_self) { simt_fail_launch(SIMT_ERROR_ILLEGAL_ADDRESS); }
    give_up();
}

/* ---- functions of the C library, for what it prints ---- */

/* %n writes. */
static bool prints_only(const char *format) {
    for (const char *p = format; (p = strchr(p, '%')); p++) {
        p += 1 + strspn(p + 1, "-+ #0'I123456789.*$hlqjztL");
        if (*p == 'n') { return false; }
        if (!*p) { break; }
    }
    return true;
}

static FILE *checked(FILE *file, uintptr_t pc) {
    if (file != stdout && file != stderr) { confine_check(pc, (void *)UINTPTR_MAX, 1, true); }
    return file == stderr ? stderr : stdout;
}

static int print(FILE *file, const char *format, va_list arguments, uintptr_t pc) {
    if (!prints_only(format)) { confine_check(pc, (void *)UINTPTR_MAX, 1, true); }
    return vfprintf(checked(file, pc), format, arguments);
}

int learner_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = print(stdout, format, arguments, API_CALLER);
    va_end(arguments);
    return n;
}
int learner_fprintf(FILE *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = print(file, format, arguments, API_CALLER);
    va_end(arguments);
    return n;
}
int learner_puts(const char *text) {
    return puts(text);
}
int learner_putchar(int c) {
    return putchar(c);
}
int learner_fputs(const char *text, FILE *file) {
    return fputs(text, checked(file, API_CALLER));
}
int learner_fputc(int c, FILE *file) {
    return fputc(c, checked(file, API_CALLER));
}
size_t learner_fwrite(const void *data, size_t size, size_t count, FILE *file) {
    return fwrite(data, size, count, checked(file, API_CALLER));
}
int learner_fflush(FILE *file) {
    return fflush(file ? checked(file, API_CALLER) : NULL);
}
char *learner_getenv(const char *name) {
    return simt_confined ? NULL : getenv(name);
}

/* Host code runs on one thread, so a mutex is always free. Its content is the lab's and is not used. */
int learner_mutex_lock(const void *mutex) {
    (void)mutex;
    return 0;
}
int learner_mutex_trylock(const void *mutex) {
    (void)mutex;
    return 0;
}
int learner_mutex_unlock(const void *mutex) {
    (void)mutex;
    return 0;
}

/* ---- running it ---- */

static void run(void) {
    code(code_data);
    code_ended = true;
    give_up();
}

bool simt_confine(void (*function)(void *data), void *data) {
    if (!stack) {
        char *made = reserve(CONFINED_STACK + GUARD);
        if (!made || mprotect(made, GUARD, PROT_NONE) != 0) { abort(); }
        stack = made + GUARD;
    }
    code = function;
    code_data = data;
    code_ended = false;
    simt_confined = &learner_data_begin != NULL;
    fiber_start(&outside, stack + CONFINED_STACK, run);
    return code_ended;
}
