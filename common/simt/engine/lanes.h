/* lanes.h — comparisons of one word per lane, of all 32 lanes, with the 16-byte vectors that every x86-64 has. */
#ifndef SIMT_LANES_H
#define SIMT_LANES_H

#include "internal.h"

typedef uint64_t pair __attribute__((vector_size(16)));
typedef uint64_t pair_anywhere __attribute__((vector_size(16), aligned(8)));

/* Are the 32 words all the same? They are aligned to 16 bytes. */
static inline bool all_equal(const uint64_t *word) {
    const pair *v = (const pair *)word;
    pair first = {word[0], word[0]}, even = v[0] ^ first, odd = v[1] ^ first;
    for (unsigned i = 2; i < WARP_SIZE / 2; i += 2) {
        even |= v[i] ^ first;
        odd |= v[i + 1] ^ first;
    }
    even |= odd;
    return (even[0] | even[1]) == 0;
}

/* Do the 32 words lie `stride` apart? */
static inline bool all_strided(const uint64_t *word, uint64_t stride) {
    pair step = {stride, stride}, differs = {0, 0};
    for (unsigned i = 0; i < WARP_SIZE - 2; i += 2)
        differs |= (*(const pair_anywhere *)(word + i + 1) - *(const pair_anywhere *)(word + i)) ^ step;
    return (differs[0] | differs[1] | ((word[31] - word[30]) ^ stride)) == 0;
}

/* Are the 32 words those of `from`, plus `by`? Both are aligned to 16 bytes. */
static inline bool all_moved(const uint64_t *word, const uint64_t *from, uint64_t by) {
    const pair *v = (const pair *)word, *f = (const pair *)from;
    pair step = {by, by}, even = {0, 0}, odd = {0, 0};
    for (unsigned i = 0; i < WARP_SIZE / 2; i += 2) {
        even |= (v[i] - f[i]) ^ step;
        odd |= (v[i + 1] - f[i + 1]) ^ step;
    }
    even |= odd;
    return (even[0] | even[1]) == 0;
}

#endif
