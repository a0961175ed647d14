/* output.c — the input's text with the edits of its tokens. */
#include "translate.h"

#include <string.h>

/* A replaced token leaves blanks, so that what follows keeps its column. */
static void write_instead(const struct token *k, FILE *out)
{
    size_t length = strlen(k->instead);
    fputs(k->instead, out);
    for (size_t i = length; i < (size_t)k->length; i++) {
        putc(' ', out);
    }
}

bool write_output(struct translation *t, FILE *out)
{
    const char *at = t->text;
    for (int i = 0; i < t->count; i++) {
        const struct token *k = &t->tokens[i];
        if (!k->before && !k->instead && !k->after) {
            continue;
        }
        fwrite(at, 1, (size_t)(k->text - at), out);
        if (k->before) {
            fputs(k->before, out);
        }
        if (k->instead) {
            write_instead(k, out);
        } else {
            fwrite(k->text, 1, (size_t)k->length, out);
        }
        if (k->after) {
            fputs(k->after, out);
        }
        at = k->text + k->length;
    }
    fwrite(at, 1, (size_t)(t->text + t->length - at), out);
    return true;
}
