/* main.c — for many kernels at once, outside of the tests: make random-kernels COUNT=10000. */
#include <stdio.h>

#include "compare.h"
#include "simt.h"

int main(void) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.quiet = true;
    simt_settings_set(&settings);
    struct comparison c = compare_all(10);
    printf("kernels %u  requests %llu  wrong %u (requests %u, sectors %u, shared %u, syncs %u, results %u)\n",
           c.kernels, (unsigned long long)c.requests, c.wrong, c.wrong_requests, c.wrong_sectors, c.wrong_shared,
           c.wrong_syncs, c.wrong_results);
    return c.wrong != 0;
}
