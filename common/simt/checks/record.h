/* record.h — records of launches and requests for a program that asks for them (simt_record in simt.h). */
#ifndef SIMT_RECORD_H
#define SIMT_RECORD_H

#include "merge.h"

#if SIMT_CHECKED

/* Is there a function to call? */
extern bool record_launches, record_requests;

/* Of the launch that ends: the traffic of this allocation, to which the caller adds; NULL: no memory. */
struct simt_traffic *record_array(const void *start, size_t bytes);

void record_request(const struct request *request);

#endif

/* After a launch. */
void record_launch(const struct simt_launch *launch);

#endif
