/* arch_call.h — 64-bit ARM: a call of a function whose parameters are unknown. */
#ifndef SIMT_ARCH_CALL_H
#define SIMT_ARCH_CALL_H

#include <stdint.h>
#include <stdlib.h>

/* call.S: x0 to x7 get the first 8 words, d0 to d7 zeros, the stack the remaining words, an even number. */
void call_with_words(const void *function, const uint64_t *words, uint64_t count);

/* Each argument is zero or any number, and the function may change it. A structure of more than 16 bytes is passed as its
 * address, so each word is the address of zeros that suffice for any kernel's arguments. */
static inline void call_with_zeros(const void *function) {
    enum { BYTES = 4096, WORDS = 8 + BYTES / 8 };
    uint64_t words[WORDS];
    char *zeros = (char *)calloc(WORDS, BYTES);
    if (zeros == NULL) return;
    for (int i = 0; i < WORDS; i++) words[i] = (uint64_t)(uintptr_t)(zeros + (size_t)i * BYTES);
    call_with_words(function, words, WORDS);
    free(zeros);
}

#endif
