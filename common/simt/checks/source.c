/* source.c — from a program counter to the learner's line and function.
 *
 * A pc lies in several nested functions when calls were inlined; the innermost frame that is not in the backend's own
 * headers is the learner's. Where that is not the kernel's body, the kernel's line that calls it is kept too. Reading the debug
 * information costs about 50 ms once, so only reports read it.
 */
#define _GNU_SOURCE
#include "source.h"

#include <backtrace.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/preempt.h"

enum { CACHE_SLOTS = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct backtrace_state *state;
static struct {
    uintptr_t pc;
    struct source_place place;
} cache[CACHE_SLOTS];

static bool no_lines; /* a program without debug information: each attempt would read the whole file again */

static void ignore_error(void *data, const char *message, int number) {
    (void)data, (void)message;
    if (number == -1) no_lines = true;
}

/* ---- files without the system's libraries ----
 *
 * At its first call, libbacktrace reads the debug information of each file that dl_iterate_phdr names. Where that of the
 * system's libraries is installed, this takes more than a second, and none of them holds a line of a kernel. So this
 * definition takes the place of the C library's, and leaves them out for calls by libbacktrace. */

typedef int phdr_visitor(struct dl_phdr_info *file, size_t bytes, void *data);
struct phdr_visit {
    phdr_visitor *visit;
    void *data;
};

static __thread bool in_libbacktrace;

static int visit_own_file(struct dl_phdr_info *file, size_t bytes, void *data) {
    const struct phdr_visit *wanted = data;
    bool system = strncmp(file->dlpi_name, "/lib", 4) == 0 || strncmp(file->dlpi_name, "/usr/", 5) == 0;
    return system ? 0 : wanted->visit(file, bytes, wanted->data);
}

int dl_iterate_phdr(phdr_visitor *visit, void *data) {
    typedef int iterate(phdr_visitor *, void *);
    iterate *next;
    *(void **)&next = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    struct phdr_visit wanted = {visit, data};
    return in_libbacktrace ? next(visit_own_file, &wanted) : next(visit, data);
}

static bool is_backend_header(const char *file) {
    return strstr(file, "common/simt/include/") != NULL || strncmp(file, "/usr/", 5) == 0;
}

static uint64_t hash(uint64_t value, const char *text) {
    for (; text && *text; text++) value = (value ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return value;
}

/* The body of a kernel is a lambda; its name may be mangled. What calls it is the backend's. */
static bool is_kernel_body(const char *function) {
    return strstr(function, "operator()") || strstr(function, "lambda") || strstr(function, "UlvE_clE");
}

/* One call per frame, from the innermost outwards. */
static int visit(void *data, uintptr_t pc, const char *file, int line, const char *function) {
    struct source_place *place = data;
    (void)pc;
    place->stack = hash(hash(place->stack + (unsigned)line, file), function);
    if (file == NULL || is_backend_header(file)) return 0;
    bool is_body = is_kernel_body(function ? function : "");
    if (place->line == 0) {
        place->file = file;
        place->line = line;
        place->function = function ? function : "";
    } else if (!place->is_complete) {
        place->caller = file;
        place->caller_line = line;
    }
    place->is_complete |= is_body;
    return 0;
}

/* Of the C++ runtime, which every program with kernels has. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status) __attribute__((weak));

static char *demangle(const char *function) {
    char pretty[512], *plain = NULL;
    int status = -1;
    if (strncmp(function, "_Z", 2) == 0 && __cxa_demangle) plain = __cxa_demangle(function, NULL, NULL, &status);
    char *result = strdup(source_pretty(plain && status == 0 ? plain : function, pretty, sizeof pretty));
    free(plain);
    return result ? result : "";
}

/* The strings that libbacktrace hands out may not outlive the call. */
static const char *keep(const char *text) {
    char *copy = *text ? strdup(text) : NULL;
    return copy ? copy : "";
}

static void open_locked(void) {
    if (state == NULL) state = backtrace_create_state(NULL, 1, ignore_error, NULL);
}

struct symbol {
    uintptr_t address;
    const char *name;
    size_t bytes;
};

static void visit_symbol(void *data, uintptr_t pc, const char *name, uintptr_t start, uintptr_t bytes) {
    struct symbol *symbol = data;
    (void)pc;
    if (name && symbol->address - start < bytes) {
        symbol->name = demangle(name);
        symbol->bytes = bytes;
    }
}

const char *source_variable(uintptr_t address, size_t *bytes) {
    struct symbol symbol = {address, "", 0};
    preempt_off++;
    pthread_mutex_lock(&lock);
    open_locked();
    in_libbacktrace = true;
    if (state) backtrace_syminfo(state, address, visit_symbol, ignore_error, &symbol);
    in_libbacktrace = false;
    pthread_mutex_unlock(&lock);
    preempt_off--;
    *bytes = symbol.bytes;
    return symbol.name;
}

uintptr_t source_next_line(uintptr_t pc) {
    enum { REACH = 256 };
    for (uintptr_t at = pc; at < pc + REACH; at++)
        if (simt_source_place(at).line) return at;
    return pc;
}

struct source_place simt_source_place(uintptr_t pc) {
    struct source_place place = {"", "", 0, UINT64_C(0xcbf29ce484222325), "", 0, false};
    if (pc == 0) return place;
    size_t slot = pc * UINT64_C(0x9e3779b97f4a7c15) >> 54;
    preempt_off++;
    pthread_mutex_lock(&lock);
    if (cache[slot].pc == pc) {
        place = cache[slot].place;
    } else {
        open_locked();
        in_libbacktrace = true;
        if (state && !no_lines) backtrace_pcinfo(state, pc - 1, visit, ignore_error, &place);
        in_libbacktrace = false;
        place.file = keep(place.file);
        place.function = demangle(place.function);
        place.caller = keep(place.caller);
        cache[slot].pc = pc;
        cache[slot].place = place;
    }
    pthread_mutex_unlock(&lock);
    preempt_off--;
    return place;
}

bool simt_source_line(uintptr_t pc, const char **file, int *line) {
    struct source_place place = {.file = "", .function = "", .caller = ""};
    preempt_off++;
    pthread_mutex_lock(&lock);
    open_locked();
    in_libbacktrace = true;
    if (state && !no_lines) backtrace_pcinfo(state, pc - 1, visit, ignore_error, &place);
    in_libbacktrace = false;
    pthread_mutex_unlock(&lock);
    preempt_off--;
    *file = place.file;
    *line = place.line;
    return place.line != 0;
}

static void visit_function(void *data, uintptr_t pc, const char *name, uintptr_t start, uintptr_t bytes) {
    (void)name;
    if (pc - start < bytes) *(uintptr_t *)data = start;
}

uintptr_t simt_source_function(uintptr_t pc) {
    uintptr_t start = 0;
    preempt_off++;
    pthread_mutex_lock(&lock);
    open_locked();
    in_libbacktrace = true;
    if (state) backtrace_syminfo(state, pc - 1, visit_function, ignore_error, &start);
    in_libbacktrace = false;
    pthread_mutex_unlock(&lock);
    preempt_off--;
    return start;
}

/* "void k(float*, int)" becomes "k(float *, int)", "k(float const*)" becomes "k(const float *)". */
const char *source_pretty(const char *function, char *out, size_t room) {
    size_t used = 0, parameter = 0; /* where the running parameter starts in `out` */
    if (strncmp(function, "void ", 5) == 0) function += 5;
    for (const char *c = function; *c && used + 8 < room; c++) {
        if ((strncmp(c, " const*", 7) == 0 || strncmp(c, " const&", 7) == 0) && parameter) {
            memmove(out + parameter + 6, out + parameter, used - parameter);
            memcpy(out + parameter, "const ", 6);
            used += 6;
            c += 6;
        }
        if ((*c == '*' || *c == '&') && used && !strchr(" *&(", out[used - 1])) out[used++] = ' ';
        out[used++] = *c;
        if (*c == '(' || *c == '<' || (*c == ' ' && used > 1 && out[used - 2] == ',')) parameter = used;
    }
    out[used] = '\0';
    return out;
}

const char *grouped(unsigned long long value, char out[GROUPED]) {
    char digits[GROUPED];
    int count = snprintf(digits, sizeof digits, "%llu", value), used = 0;
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0) out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}
