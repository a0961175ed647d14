/* Kernel sets by the names that the program uses. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdlib.h>

#include "gpt2/kernels/load.h"

/* auto chooses fused forms for the reference set alone, so that a changed op is called. */
Test(kernel_sets, a_mixed_set_is_not_the_reference) {
    struct gpt2_error error;
    setenv("GPT2_KERNELS", KERNELS, 1);
    struct kernel_choice *whole = kernel_choice_open("reference", &error);
    struct kernel_choice *mixed = kernel_choice_open("reference,bias_gelu_forward=naive", &error);
    cr_assert(whole && mixed, "%s", error.text);
    cr_assert_str_eq(kernel_choice_table(whole)->name, "reference");
    cr_assert_str_neq(kernel_choice_table(mixed)->name, "reference");
    kernel_choice_close(whole);
    kernel_choice_close(mixed);
}
