/* load.c — kernel sets from shared objects, and tables composed of them (load.h). */
#define _GNU_SOURCE
#include "load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SETS = 16 };

struct kernel_choice {
    struct kernel_table table;
    void *libraries[MOST_SETS];
    int count;
};

/* ---- tables, op by op ---- */

#define NAME(op) #op,
static const char *const op_names[KERNEL_OP_COUNT] = {KERNEL_OPS(NAME)};

typedef void any_function(void);

/* The struct of each type is an array of KERNEL_OP_COUNT pointers to functions, in the same order. */
_Static_assert(sizeof(struct kernels_f32) == KERNEL_OP_COUNT * sizeof(any_function *), "a table is an array of ops");

int kernel_op_find(const char *name, size_t length) {
    for (int op = 0; op < KERNEL_OP_COUNT; op++) {
        if (strlen(op_names[op]) == length && memcmp(op_names[op], name, length) == 0) { return op; }
    }
    return -1;
}

const char *kernel_op_name(int op) {
    return op_names[op];
}

static char *slot(const struct kernel_table *table, int type, int op) {
    const void *types[] = {&table->f32, &table->f16, &table->bf16};
    return (char *)(size_t)types[type] + (size_t)op * sizeof(any_function *);
}

static bool is_null(const char *pointer) {
    static const char null[sizeof(any_function *)];
    return memcmp(pointer, null, sizeof null) == 0;
}

void kernel_table_take(struct kernel_table *into, const struct kernel_table *from, int op) {
    for (int type = 0; type < 3; type++) {
        if (!is_null(slot(from, type, op))) {
            memcpy(slot(into, type, op), slot(from, type, op), sizeof(any_function *));
        }
    }
}

void kernel_table_complete(struct kernel_table *into, const struct kernel_table *from) {
    for (int type = 0; type < 3; type++) {
        for (int op = 0; op < KERNEL_OP_COUNT; op++) {
            char *to = slot(into, type, op);
            if (is_null(to)) { memcpy(to, slot(from, type, op), sizeof(any_function *)); }
        }
    }
}

/* ---- files ---- */

/* The file of a set: a path, or by its name beside the program. */
static bool find_file(char *path, size_t size, const char *name, size_t length, struct gpt2_error *error) {
    const char *folder = getenv("GPT2_KERNELS");
    char program[4096];
    int written;
    if (memchr(name, '/', length) != NULL) {
        written = snprintf(path, size, "%.*s", (int)length, name);
    } else if (folder != NULL) {
        written = snprintf(path, size, "%s/kernels_%.*s.so", folder, (int)length, name);
    } else {
        ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
        program[bytes < 0 ? 0 : bytes] = 0;
        char *slash = strrchr(program, '/');
        if (slash != NULL) { *slash = 0; }
        written = snprintf(path, size, "%s/kernels/kernels_%.*s.so", program, (int)length, name);
    }
    if (written < 0 || (size_t)written >= size) { return gpt2_fail(error, "%.*s: a path too long", 80, name); }
    if (access(path, R_OK) != 0) {
        return gpt2_fail(error,
                         "%s: there is no such kernel set (sets: naive, reference, lab where `make step4` has built "
                         "it, or the path of one)",
                         path);
    }
    return true;
}

static const struct kernel_table *load(struct kernel_choice *choice, const char *name, size_t length,
                                       struct gpt2_error *error) {
    char path[4400];
    if (!find_file(path, sizeof path, name, length, error)) { return NULL; }
    if (choice->count == MOST_SETS) {
        gpt2_fail(error, "%s: more than %d kernel sets", path, (int)MOST_SETS);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        gpt2_fail(error, "%s: is not a kernel set: %s", path, dlerror());
        return NULL;
    }
    choice->libraries[choice->count++] = library;
    const struct kernel_table *table = dlsym(library, "gpt2_kernel_set");
    if (table == NULL || table->version != KERNEL_TABLE_VERSION) {
        gpt2_fail(error,
                  table == NULL ? "%s: is not a kernel set: it has no gpt2_kernel_set"
                                : "%s: was built for another version of the model: build it again",
                  path);
        return NULL;
    }
    return table;
}

/* "set,op=set,op=set" */
static bool choose(struct kernel_choice *choice, const char *text, struct gpt2_error *error) {
    size_t length = strcspn(text, ",");
    const struct kernel_table *set = load(choice, text, length, error);
    if (set == NULL) { return false; }
    choice->table = *set;
    while (text[length] == ',') {
        text += length + 1;
        length = strcspn(text, ",");
        size_t name = strcspn(text, ",=");
        int op = kernel_op_find(text, name);
        if (op < 0 || text[name] != '=') {
            return gpt2_fail(error, "--kernels: no op is called '%.*s' (as in causal_softmax_forward=naive)", (int)name,
                             text);
        }
        const struct kernel_table *other = load(choice, text + name + 1, length - name - 1, error);
        if (other == NULL) { return false; }
        kernel_table_take(&choice->table, other, op);
        choice->table.name =
            "mixed"; /* not "reference", so that auto chooses the forms that call its ops (forms.cuh) */
    }
    static const char *const rests[] = {"reference", "naive"};
    bool complete = strcmp(set->name, "reference") == 0 || strcmp(set->name, "naive") == 0;
    for (int i = 0; !complete && i < 2; i++) { /* a handout has no reference */
        struct gpt2_error unheard;
        const struct kernel_table *rest = load(choice, rests[i], strlen(rests[i]), &unheard);
        if (rest != NULL) { kernel_table_complete(&choice->table, rest); }
    }
    return true;
}

struct kernel_choice *kernel_choice_open(const char *text, struct gpt2_error *error) {
    struct kernel_choice *choice = calloc(1, sizeof *choice);
    if (choice == NULL) {
        gpt2_fail(error, "out of memory");
        return NULL;
    }
    if (!choose(choice, text, error)) {
        kernel_choice_close(choice);
        return NULL;
    }
    return choice;
}

const struct kernel_table *kernel_choice_table(const struct kernel_choice *choice) {
    return &choice->table;
}

/* The libraries stay loaded: the CUDA runtime keeps references to their kernels. */
void kernel_choice_close(struct kernel_choice *choice) {
    free(choice);
}
