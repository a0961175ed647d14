/* brackets.c — pairs ( ), [ ] and { }. */
#include "translate.h"

#include <stdlib.h>

static char bracket(const struct translation *t, int token) {
    const struct token *k = &t->tokens[token];
    return k->kind == TOKEN_PUNCTUATOR && k->length == 1 ? *k->text : '\0';
}

static char partner(char close) {
    return close == ')' ? '(' : close == ']' ? '[' : '{';
}

bool match_brackets(struct translation *t) {
    int *open = NULL, depth = 0;
    bool ok = true;
    for (int i = 0; ok && i < t->count; i++) {
        char c = bracket(t, i);
        if (c == '(' || c == '[' || c == '{') {
            open = grow(open, depth, sizeof *open);
            open[depth++] = i;
        } else if (c == ')' || c == ']' || c == '}') {
            if (depth == 0) {
                ok = fail(t, i, "'%c' closes nothing", c);
            } else if (bracket(t, open[depth - 1]) != partner(c)) {
                const struct token *began = &t->tokens[open[depth - 1]];
                ok = fail(t, i, "'%c' does not close the '%c' of line %d", c, *began->text, began->line);
            } else {
                depth--;
                t->tokens[i].match = open[depth];
                t->tokens[open[depth]].match = i;
            }
        }
    }
    if (ok && depth > 0) { ok = fail(t, open[depth - 1], "'%c' is never closed", bracket(t, open[depth - 1])); }
    free(open);
    return ok;
}
