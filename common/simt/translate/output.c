/* output.c — the input's text with the edits of its tokens, each token on the learner's own line and column.
 *
 * Where edits or macros push a token to the right, a linemarker begins its line anew. An edit may hold a mark, "\1N\1":
 * what follows is taken to stand where token N stood.
 */
#include "translate.h"

#include <stdlib.h>
#include <string.h>

struct writer {
    struct translation *t;
    FILE *out;
    int column; /* of the next character, from 1 */
    bool moved; /* the last mark named another place: the next token needs a linemarker */
};

static void write_text(struct writer *w, const char *text, size_t length) {
    fwrite(text, 1, length, w->out);
    for (size_t i = 0; i < length; i++) { w->column = text[i] == '\n' ? 1 : w->column + 1; }
}

static void pad(struct writer *w, int column) {
    for (; w->column < column; w->column++) { putc(' ', w->out); }
}

/* The next character will stand where token `k` stood. */
static void go_to(struct writer *w, const struct token *k) {
    if (k->file < 0) { return; }
    fprintf(w->out, "%s# %d \"%s\"\n", w->column > 1 ? "\n" : "", k->line, w->t->files[k->file]);
    w->column = 1;
    pad(w, k->column);
}

static void write_edit(struct writer *w, const char *edit) {
    while (edit && *edit) {
        size_t plain = strcspn(edit, "\1");
        write_text(w, edit, plain);
        edit += plain;
        if (*edit == '\1') {
            const struct token *k = &w->t->tokens[atoi(edit + 1)];
            if (k->owner == OWNER_USER && k->column > 0) {
                go_to(w, k);
                w->moved = true;
            }
            edit = strchr(edit + 1, '\1') + 1;
        }
    }
}

/* Tokens that touch each other, such as the two of >>, stay together. */
static bool touches(const struct token *previous, const struct token *k) {
    return previous && previous->text + previous->length == k->text && !previous->instead && !previous->after &&
           !k->before;
}

static void write_token(struct writer *w, const struct token *previous, const struct token *k) {
    write_edit(w, k->before);
    bool empty = k->instead && !*k->instead;
    if (k->column > 0 && k->owner == OWNER_USER && !empty && !touches(previous, k)) {
        if (w->column > k->column || w->moved) {
            if (!k->in_system_macro) {
                go_to(w, k);
                w->moved = false;
            }
        } else {
            pad(w, k->column);
        }
    }
    if (k->instead) {
        write_edit(w, k->instead);
    } else {
        write_text(w, k->text, (size_t)k->length);
    }
    write_edit(w, k->after);
}

void write_output(struct translation *t, FILE *out) {
    struct writer w = {.t = t, .out = out, .column = 1};
    const char *at = t->text;
    const struct token *previous = NULL;
    for (int i = 0; i < t->count; i++) {
        const struct token *k = &t->tokens[i];
        write_text(&w, at, (size_t)(k->text - at));
        write_token(&w, previous, k);
        at = k->text + k->length;
        previous = k;
    }
    write_text(&w, at, (size_t)(t->text + t->length - at));
}
