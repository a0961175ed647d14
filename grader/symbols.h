/* symbols.h — which libraries does a lab's object use, by its symbols? */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

/* Names the first library that the lab object uses and a kernel lab may not ("cuBLAS", "cuDNN", "Thrust", "CUB", "the
 * grader's own runtime"), and an offending symbol. True if there is one. `path`: an ELF object or executable; `allowed`: a
 * library that this lab may use all the same, or NULL. */
bool symbols_forbidden(const char *path, const char *allowed, char *library, size_t library_size, char *symbol,
                       size_t symbol_size);

#endif
