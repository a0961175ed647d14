/* profile.h — what `gpt2 profile` measured, and its drawing. */
#ifndef GPT2_PROGRAM_PROFILE_H
#define GPT2_PROGRAM_PROFILE_H

#include "gpt2/formats/config.h"
#include "gpt2/model/model.h"

struct profile {
    struct gpt2_interval *intervals;
    int count, room;
    const char *title;
    int passes;    /* in all intervals */
    int B, T;      /* sequences, and tokens of each in a pass: 1 when decoding */
    double cached; /* keys of a sequence that a pass finds in the cache, on average */
};

/* A digraph for Graphviz: a node for each stage in the order of the launches, with its microseconds, the bytes that have to
 * be read and written once, and both together as GB/s; the darker, the larger its share of the time. The blocks are one,
 * with means over them. bytes: of an element. */
bool profile_draw(const struct profile *profiles, int count, const struct gpt2_config *config, int bytes,
                  const char *path, struct gpt2_error *error);

#endif
