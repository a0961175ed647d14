/* sides.c — host code and device code see different text where a source tests __CUDA_ARCH__, which nvcc defines only when it
 * compiles device code. simt-cc preprocesses such a source twice. This pass joins the two texts into one:
 *
 *   - in host functions, the host's text; in device functions and kernels, the device's;
 *   - in __host__ __device__ functions, both bodies: if (simt_on_device()) { device's } else { host's };
 *   - outside functions, the declarations of both. Where they declare the same name, and within a declaration, the
 *     device's.
 *
 * The texts are compared token by token; a token is the same if its text, file and line are.
 */
#include "translate.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 20000 }; /* tokens in which the texts must agree again */

struct sides {
    struct translation *device, *host;
    int *file;   /* of each of the host's files, its index in the device's */
    int *twin;   /* of each of the device's tokens, the host's, or -1 */
    size_t done; /* bytes of the device's text that are written */
    int split;   /* the function whose two bodies were written last */
    FILE *out;
};

static bool same_token(const struct sides *s, int d, int h) {
    const struct token *a = &s->device->tokens[d], *b = &s->host->tokens[h];
    return a->line == b->line && a->length == b->length && (b->file < 0 ? -1 : s->file[b->file]) == a->file &&
           memcmp(a->text, b->text, (size_t)a->length) == 0;
}

static bool match_files(struct sides *s) {
    s->file = calloc((size_t)s->host->file_count + 1, sizeof *s->file);
    s->twin = calloc((size_t)s->device->count + 1, sizeof *s->twin);
    for (int i = 0; s->file && i < s->host->file_count; i++) {
        s->file[i] = -2;
        for (int k = 0; k < s->device->file_count; k++) {
            if (strcmp(s->host->files[i], s->device->files[k]) == 0) { s->file[i] = k; }
        }
    }
    return s->file && s->twin;
}

/* The next place, from (*d, *h) on, where the texts agree; the ends if there is none. */
static void resume(const struct sides *s, int *d, int *h) {
    for (int i = *d; i < s->device->count; i++) {
        for (int k = *h; k < s->host->count && k < *h + WINDOW; k++) {
            if (same_token(s, i, k)) {
                *d = i;
                *h = k;
                return;
            }
        }
    }
    *d = s->device->count;
    *h = s->host->count;
}

static void find_twins(struct sides *s) {
    for (int d = 0, h = 0; d < s->device->count; d++) {
        if (h >= s->host->count || !same_token(s, d, h)) {
            int from = d;
            resume(s, &d, &h);
            for (int i = from; i < d; i++) { s->twin[i] = -1; }
        }
        if (d < s->device->count) { s->twin[d] = h++; }
    }
}

/* The scope of the place before a token. */
static int scope_before(const struct translation *t, int token) {
    if (token >= t->count) { return 0; }
    return is(t, token, "}") && t->tokens[token].match >= 0 ? t->tokens[t->tokens[token].match].opens
                                                            : t->tokens[token].scope;
}

enum side { SIDE_DEVICE, SIDE_HOST, SIDE_BOTH, SIDE_NONE };

/* Whose code is the scope? For SIDE_BOTH, *function is the outermost function that both execute. */
static enum side side_of(const struct translation *t, int scope, int *function) {
    enum side side = SIDE_NONE;
    for (int k = scope; k >= 0; k = t->scopes[k].parent) {
        const struct scope *s = &t->scopes[k];
        if (s->kind != SCOPE_FUNCTION && s->kind != SCOPE_LAMBDA) { continue; }
        if (s->is_global || (s->is_device && !s->is_host)) { return SIDE_DEVICE; }
        if (s->is_device) {
            side = SIDE_BOTH;
            *function = k;
        } else if (side == SIDE_NONE) {
            side = SIDE_HOST;
        }
    }
    return side;
}

static void mark_line(struct sides *s, const struct translation *t, int token) {
    const struct token *k = &t->tokens[token];
    if (token < t->count && k->file >= 0) { fprintf(s->out, "\n# %d \"%s\"\n", k->line, t->files[k->file]); }
}

static void write_until(struct sides *s, const char *end) {
    const char *from = s->device->text + s->done;
    if (end > from) { fwrite(from, 1, (size_t)(end - from), s->out); }
    s->done = (size_t)(end - s->device->text);
}

/* The host's tokens [from, to). */
static void write_host(struct sides *s, int from, int to) {
    if (from >= to) { return; }
    const struct token *last = &s->host->tokens[to - 1];
    const char *start = s->host->tokens[from].text;
    mark_line(s, s->host, from);
    fwrite(start, 1, (size_t)(last->text + last->length - start), s->out);
}

/* Both bodies of the function; returns the device's token that ends it, or -1 if the host's text lacks the function. */
static int write_both(struct sides *s, int function) {
    const struct scope *f = &s->device->scopes[function];
    int open = s->twin[f->open];
    if (open < 0 || s->host->tokens[open].match < 0) { return -1; }
    write_until(s, s->device->tokens[f->open].text + 1);
    fputs(" if (simt_on_device()) {", s->out);
    write_until(s, s->device->tokens[f->close].text);
    fputs("} else {", s->out);
    write_host(s, open + 1, s->host->tokens[open].match);
    fputs("}", s->out);
    mark_line(s, s->device, f->close);
    return f->close;
}

/* Are the tokens [from, to) complete declarations? */
static bool is_complete(const struct translation *t, int from, int to) {
    bool starts = from == 0 || is(t, from - 1, ";") || is(t, from - 1, "}") || is(t, from - 1, "{");
    return from == to || (starts && (is(t, to - 1, ";") || is(t, to - 1, "}")));
}

/* Does [from, to) declare what the name at `token` of the text u does? */
static bool declares(const struct translation *t, int from, int to, const struct translation *u, int token) {
    for (int i = from; i < to; i++) {
        if (is(t, i, "(") || is(t, i, "{") || is(t, i, "[")) {
            i = t->tokens[i].match >= 0 ? t->tokens[i].match : i;
        } else if (is_name(t, i) && t->tokens[i].length == u->tokens[token].length &&
                   memcmp(t->tokens[i].text, u->tokens[token].text, (size_t)t->tokens[i].length) == 0 &&
                   (is(t, i + 1, "(") || is(t, i + 1, "[") || is(t, i + 1, "{") || is(t, i + 1, "=") ||
                    is(t, i + 1, ";"))) {
            return true;
        }
    }
    return false;
}

static bool can_have_both(const struct sides *s, int from, int to, int host_from, int host_to) {
    if (!is_complete(s->device, from, to) || !is_complete(s->host, host_from, host_to)) { return from == to; }
    for (int i = host_from; i < host_to; i++) {
        if (is_name(s->host, i) && declares(s->host, host_from, host_to, s->host, i) &&
            declares(s->device, from, to, s->host, i)) {
            return false;
        }
    }
    return true;
}

/* The device's tokens [from, to) stand where the host has [host_from, host_to). Returns the next token to compare. */
static int join_hunk(struct sides *s, int from, int to, int host_from, int host_to) {
    int function = -1;
    enum side side = side_of(s->device, scope_before(s->device, from), &function);
    const char *start = from < s->device->count ? s->device->tokens[from].text : s->device->text + s->device->length;
    if (side == SIDE_BOTH && s->split != function) {
        s->split = function;
        int end = write_both(s, function);
        return end < 0 ? to : end;
    }
    if (side == SIDE_DEVICE || side == SIDE_BOTH) { return to; }
    if (side == SIDE_NONE && !can_have_both(s, from, to, host_from, host_to)) { return to; }
    if (side == SIDE_NONE && from < to) {
        start = s->device->tokens[to - 1].text + s->device->tokens[to - 1].length;
        from = to;
    }
    write_until(s, start);
    write_host(s, host_from, host_to);
    mark_line(s, s->device, to);
    if (from < to) {
        s->done = (size_t)(s->device->tokens[to - 1].text + s->device->tokens[to - 1].length - s->device->text);
    }
    return to;
}

static void join(struct sides *s) {
    int host = 0; /* the next token of the host's that is not compared */
    for (int d = 0; d <= s->device->count;) {
        if (d < s->device->count && s->twin[d] == host) {
            host++;
            d++;
            continue;
        }
        int to = d;
        while (to < s->device->count && s->twin[to] < 0) { to++; }
        int host_to = to < s->device->count ? s->twin[to] : s->host->count;
        int next = d < to || host < host_to ? join_hunk(s, d, to, host, host_to) : to;
        if (next >= s->device->count) { break; }
        /* After both bodies, the brace that closes them is next. */
        host = s->twin[next] >= 0 ? s->twin[next] : host_to;
        d = next;
    }
    write_until(s, s->device->text + s->device->length);
}

static bool read(struct translation *t, const char *text, size_t length, const char *backend_folder) {
    memset(t, 0, sizeof *t);
    t->text = text;
    t->length = length;
    t->backend_folder = backend_folder;
    return lex(t) && match_brackets(t) && find_scopes(t);
}

char *join_sides(struct text device, struct text host, const char *backend_folder, size_t *length) {
    struct translation d, h;
    struct sides s = {.device = &d, .host = &h, .split = -1};
    char *joined = NULL;
    bool ok = read(&d, device.start, device.length, backend_folder);
    ok = read(&h, host.start, host.length, backend_folder) && ok;
    if (ok && match_files(&s) && (s.out = open_memstream(&joined, length))) {
        find_twins(&s);
        join(&s);
        fclose(s.out);
    }
    free(s.file);
    free(s.twin);
    translation_free(&d);
    translation_free(&h);
    return joined;
}
