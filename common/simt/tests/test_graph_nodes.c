/* Graphs that are built by hand and updated. */
#include "findings.h"

TestSuite(graph_nodes, .init = quiet, .timeout = 60);

#define RIGHT(test)                    \
    int run_##test(void);              \
    Test(graph_nodes, test) {          \
        cr_assert_eq(run_##test(), 0); \
        expect_none();                 \
    }

RIGHT(order)
RIGHT(cycle)
RIGHT(changed_parameters)
RIGHT(update)
RIGHT(child_and_host)

static void shuffle(void) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.shuffled_order = true;
    simt_settings_set(&settings);
}

Test(graph_nodes, order_shuffled) {
    shuffle();
    cr_assert_eq(run_order(), 0);
    expect_none();
}

/* The kernel that comes too early reads uninitialised memory. */
int run_without_dependency(void);
Test(graph_nodes, missing_dependency_is_found) {
    cr_assert_neq(run_without_dependency(), 0);
    cr_assert_not_null(find_kind(SIMT_UNINITIALISED));
}

int run_fault_in_node(void);
Test(graph_nodes, names_the_line_of_a_fault) {
    cr_assert_eq(run_fault_in_node(), 700);
    EXPECT_FINDING(SIMT_OUT_OF_BOUNDS, true, "beyond the array", "Invalid __global__ read of size 4");
}
