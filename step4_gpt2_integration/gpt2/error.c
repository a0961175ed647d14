#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool gpt2_fail(struct gpt2_error *error, const char *format, ...) {
    if (!error) { return false; }
    char text[GPT2_ERROR_BYTES]; /* the arguments may point into error->text */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c; c++) { /* names from broken files may hold control sequences for a terminal */
        if ((unsigned char)*c < ' ' || *c == 0x7f) { *c = '?'; }
    }
    memcpy(error->text, text, sizeof text);
    return false;
}
