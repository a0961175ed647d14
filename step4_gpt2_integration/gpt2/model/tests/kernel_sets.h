/* kernel_sets.h — for the tests of the model and of training: kernel sets, and what the checked CPU backend found. */
#ifndef GPT2_MODEL_TESTS_KERNEL_SETS_H
#define GPT2_MODEL_TESTS_KERNEL_SETS_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "gpt2/kernels/load.h"

#ifdef CHECKED
#include "simt.h"
static const char *const sets[] = {"naive"}; /* linked in */
#else
static const char *const sets[] = {"naive", "reference"};
#endif
enum { SETS = sizeof sets / sizeof *sets };

static struct gpt2_error error;
static struct kernel_choice *choice;

static inline const struct kernel_table *kernels_of(const char *set) {
#ifdef CHECKED
    (void)set;
    return &gpt2_kernel_set;
#else
    setenv("GPT2_KERNELS", KERNELS, 1);
    choice = kernel_choice_open(set, &error);
    cr_assert(choice, "%s", error.text);
    return kernel_choice_table(choice);
#endif
}

/* After a model or trainer has been closed. */
static inline void close_kernels(void) {
    kernel_choice_close(choice);
    choice = NULL;
#ifdef CHECKED
    for (size_t i = 0; i < simt_finding_count(); i++) {
        cr_assert(!simt_finding_at(i)->is_error, "%s", simt_finding_at(i)->text);
    }
#endif
}

#endif
