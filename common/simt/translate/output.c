/* output.c — writes the input's text with the edits of its tokens, each token on the learner's own line and column.
 *
 * The preprocessor keeps lines but not columns: it expands macros and squeezes blanks. So each line is read again from
 * the learner's file, and its tokens are matched with the preprocessed ones (longest common subsequence). A token that a
 * macro made stays unmatched: column 0. Where edits or macros push a token to the right, a linemarker starts its line
 * anew. An edit may contain a mark, "\1N\1": the text after it gets the place of token N.
 */
#include "translate.h"

#include <stdlib.h>
#include <string.h>

/* ---- columns ---- */

enum { MOST_CELLS = 1 << 18 };

struct source {
    char *text;
    size_t length, *line; /* line[n]: where line n + 1 starts; line[lines] is the end */
    int lines;
};

static void load(struct source *s, const char *name) {
    *s = (struct source){0};
    char *path = NULL;
    int length = 0;
    for (const char *p = name;; p++) { /* the marker's name is quoted as a C string */
        p += *p == '\\' && p[1];
        path = grow(path, length, 1);
        path[length++] = *p;
        if (!*p) { break; }
    }
    FILE *file = fopen(path, "rb");
    free(path);
    if (!file) { return; }
    size_t got;
    do {
        char *larger = realloc(s->text, s->length + 65536);
        if (!larger) { break; }
        s->text = larger;
        got = fread(s->text + s->length, 1, 65536, file);
        s->length += got;
    } while (got == 65536);
    fclose(file);
    for (size_t i = 0; i <= s->length; i++) {
        if (i == 0 || i == s->length || s->text[i - 1] == '\n') {
            s->line = grow(s->line, s->lines, sizeof *s->line);
            s->line[s->lines++] = i;
        }
    }
    s->lines--;
}

static bool same(const struct token *a, const struct token *b) {
    return a->length == b->length && memcmp(a->text, b->text, (size_t)a->length) == 0;
}

/* Longest common subsequence of n tokens and the m of the original line. */
static void align(struct token *token, int n, const struct token *original, int m, const char *line) {
    if (n == 0 || m == 0 || n > MOST_CELLS / (m + 1) - 1) { return; }
    unsigned short *longest = calloc((size_t)(n + 1) * (size_t)(m + 1), sizeof *longest);
    if (!longest) { return; }
#define LONGEST(i, j) longest[(i) * (m + 1) + (j)]
    for (int i = n - 1; i >= 0; i--) {
        for (int j = m - 1; j >= 0; j--) {
            unsigned short skip = LONGEST(i + 1, j) > LONGEST(i, j + 1) ? LONGEST(i + 1, j) : LONGEST(i, j + 1);
            LONGEST(i, j) = same(&token[i], &original[j]) ? (unsigned short)(LONGEST(i + 1, j + 1) + 1) : skip;
        }
    }
    for (int i = 0, j = 0; i < n && j < m;) {
        if (same(&token[i], &original[j])) {
            token[i++].column = (int)(original[j++].text - line) + 1;
        } else if (LONGEST(i + 1, j) >= LONGEST(i, j + 1)) {
            i++;
        } else {
            j++;
        }
    }
#undef LONGEST
    free(longest);
}

/* Tokens [first, first + count) stand on one line of one file. */
static void find_line(struct translation *t, int first, int count, const struct source *s) {
    int line = t->tokens[first].line;
    if (line < 1 || line > s->lines) { return; }
    const char *text = s->text + s->line[line - 1];
    struct translation original = {.text = text, .length = s->line[line] - s->line[line - 1]};
    if (original.length > 0 && text[0] != '#') {
        lex(&original); /* tokens before an error are still useful: the line may end inside a comment */
        align(&t->tokens[first], count, original.tokens, original.count, text);
    }
    translation_free(&original);
}

void find_columns(struct translation *t) {
    struct source *sources = calloc((size_t)t->file_count + 1, sizeof *sources);
    bool *loaded = calloc((size_t)t->file_count + 1, sizeof *loaded);
    for (int i = 0, end; sources && loaded && i < t->count; i = end) {
        const struct token *k = &t->tokens[i];
        for (end = i + 1; end < t->count && t->tokens[end].file == k->file && t->tokens[end].line == k->line;) {
            end++;
        }
        if (k->owner != OWNER_USER || k->file < 0) { continue; }
        if (!loaded[k->file]) {
            loaded[k->file] = true;
            load(&sources[k->file], t->files[k->file]);
        }
        find_line(t, i, end - i, &sources[k->file]);
    }
    for (int f = 0; sources && f < t->file_count; f++) {
        free(sources[f].text);
        free(sources[f].line);
    }
    free(sources);
    free(loaded);
}

/* ---- writing ---- */

struct writer {
    struct translation *t;
    FILE *out;
    int column; /* of the next character, from 1 */
    bool moved; /* the last mark set another place: the next token needs a linemarker */
};

static void write_text(struct writer *w, const char *text, size_t length) {
    fwrite(text, 1, length, w->out);
    for (size_t i = 0; i < length; i++) { w->column = text[i] == '\n' ? 1 : w->column + 1; }
}

static void pad(struct writer *w, int column) {
    for (; w->column < column; w->column++) { putc(' ', w->out); }
}

/* The next character gets the place of token `k`. */
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
