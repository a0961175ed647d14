/* Random structured kernels: the counters from the traces of the compiled kernel must equal those of an interpreter with
 * lane masks, on any number of OS threads. tests/random/ makes both. More of them: make random-kernels COUNT=10000. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "random/compare.h"
#include "simt.h"

TestSuite(random_kernels, .timeout = 120);

ParameterizedTestParameters(random_kernels, count_as_the_interpreter) {
    static int os_threads[] = {1, 2, 4};
    return cr_make_param_array(int, os_threads, sizeof os_threads / sizeof *os_threads);
}

ParameterizedTest(int *os_threads, random_kernels, count_as_the_interpreter) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.quiet = true;
    settings.os_threads = *os_threads;
    simt_settings_set(&settings);
    struct comparison got = compare_all(5);
    cr_expect_eq(got.kernels, 300, "%u kernels", got.kernels);
    cr_expect_gt(got.requests, 50000);
    cr_expect_eq(got.wrong, 0,
                 "%u of %u kernels are counted wrong (requests %u, sectors %u, shared memory %u, syncs %u)", got.wrong,
                 got.kernels, got.wrong_requests, got.wrong_sectors, got.wrong_shared, got.wrong_syncs);
    cr_expect_eq(got.wrong_results, 0);
}
