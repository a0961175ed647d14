#include "copies.h"

#include <stdatomic.h>

static _Atomic uint64_t to_host, to_device, on_device;

void copies_count(bool from_device, bool to_the_device, uint64_t bytes) {
    if (from_device && to_the_device)
        on_device += 2 * bytes;
    else if (from_device)
        to_host += bytes;
    else if (to_the_device)
        to_device += bytes;
}

void copies_count_set(uint64_t bytes) {
    on_device += bytes;
}

void copies_get(struct simt_counters *out) {
    out->bytes_to_host = to_host;
    out->bytes_to_device = to_device;
    out->bytes_on_device = on_device;
}

void copies_reset(void) {
    to_host = to_device = on_device = 0;
}
