/* in_process.h — the translator as a function of one text, for its tests. */
#ifndef TRANSLATE_IN_PROCESS_H
#define TRANSLATE_IN_PROCESS_H

#include "../translate.h"

#include <stdlib.h>
#include <string.h>

/* The translation of `text`, or, when it is refused, the message. To be freed. */
static inline char *translation_of(const char *text, size_t length, bool *ok) {
    struct translation t = {.backend_folder = "/backend"};
    char *out = NULL, *error;
    size_t size = 0;
    FILE *file = open_memstream(&out, &size);
    if (!file) { abort(); }
    *ok = translate(&t, text, length, file);
    fclose(file);
    error = t.error[0] ? strcpy(malloc(strlen(t.error) + 1), t.error) : NULL;
    translation_free(&t);
    if (*ok) {
        free(error);
        return out;
    }
    free(out);
    return error;
}

#endif
