/* copies.h — counts what cudaMemcpy and cudaMemset move: bytes that no kernel asks for. */
#ifndef SIMT_COPIES_H
#define SIMT_COPIES_H

#include "simt.h"

void copies_count(bool from_device, bool to_the_device, uint64_t bytes);
void copies_count_set(uint64_t bytes);
void copies_get(struct simt_counters *out); /* into their fields */
void copies_reset(void);

#endif
