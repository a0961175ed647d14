/* text.c — tokens as text, edits on tokens, and the one error message. */
#include "translate.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool is(const struct translation *t, int token, const char *text) {
    if (token < 0 || token >= t->count) { return false; }
    const struct token *k = &t->tokens[token];
    return strncmp(k->text, text, (size_t)k->length) == 0 && text[k->length] == '\0' && k->kind != TOKEN_STRING;
}

bool is_name(const struct translation *t, int token) {
    return token >= 0 && token < t->count && t->tokens[token].kind == TOKEN_NAME;
}

bool is_user(const struct translation *t, int token) {
    return token >= 0 && token < t->count && t->tokens[token].owner == OWNER_USER;
}

bool is_learners(const struct translation *t, int token) {
    const struct token *k = &t->tokens[token];
    return t->lab && k->file >= 0 && t->is_learners[k->file] && !k->in_system_macro;
}

static void *must(void *pointer) {
    if (!pointer) {
        fputs("translate: out of memory\n", stderr);
        exit(1);
    }
    return pointer;
}

void *grow(void *array, int count, size_t size) {
    bool is_power = (count & (count - 1)) == 0;
    if (!is_power && count > 0) { return array; }
    return must(realloc(array, (count ? (size_t)count * 2 : 1) * size));
}

char *token_text(const struct translation *t, int first, int last) {
    size_t size = 1;
    for (int i = first; i <= last; i++) { size += (size_t)t->tokens[i].length + 1; }
    char *text = must(malloc(size)), *end = text;
    for (int i = first; i <= last; i++) {
        memcpy(end, t->tokens[i].text, (size_t)t->tokens[i].length);
        end += t->tokens[i].length;
        bool touches = i < last && t->tokens[i].text + t->tokens[i].length == t->tokens[i + 1].text;
        if (i < last && !touches) { *end++ = ' '; }
    }
    *end = '\0';
    return text;
}

/* old + new, or new + old when `first`; frees old. */
static char *join(char *old, bool first, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    size_t had = old ? strlen(old) : 0;
    char *text = must(malloc(had + (size_t)length + 1));
    vsnprintf(first ? text : text + had, (size_t)length + 1, format, arguments);
    if (had) { memcpy(first ? text + length : text, old, had); }
    text[had + (size_t)length] = '\0';
    free(old);
    return text;
}

void edit_before(struct translation *t, int token, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    t->tokens[token].before = join(t->tokens[token].before, false, format, arguments);
    va_end(arguments);
}

/* As edit_before, but ahead of what was attached already. */
void edit_first(struct translation *t, int token, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    t->tokens[token].before = join(t->tokens[token].before, true, format, arguments);
    va_end(arguments);
}

void edit_instead(struct translation *t, int token, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    free(t->tokens[token].instead);
    t->tokens[token].instead = join(NULL, false, format, arguments);
    va_end(arguments);
}

void edit_after(struct translation *t, int token, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    t->tokens[token].after = join(t->tokens[token].after, false, format, arguments);
    va_end(arguments);
}

static void message(struct translation *t, int file, int line, const char *format, va_list arguments) {
    if (t->error[0]) { return; }
    const char *name = file >= 0 && file < t->file_count ? t->files[file] : "<input>";
    int used = snprintf(t->error, sizeof t->error, "%s:%d: error: ", name, line);
    if (used > 0 && (size_t)used < sizeof t->error) {
        vsnprintf(t->error + used, sizeof t->error - (size_t)used, format, arguments);
    }
}

bool fail_at(struct translation *t, int file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    message(t, file, line, format, arguments);
    va_end(arguments);
    return false;
}

bool fail(struct translation *t, int token, const char *format, ...) {
    if (token >= t->count) { token = t->count - 1; }
    va_list arguments;
    va_start(arguments, format);
    message(t, token < 0 ? -1 : t->tokens[token].file, token < 0 ? 0 : t->tokens[token].line, format, arguments);
    va_end(arguments);
    return false;
}

bool knows(const struct known_name *list, const struct translation *t, int token) {
    for (; list; list = list->next) {
        if (is(t, token, list->text)) { return true; }
    }
    return false;
}

void learn(struct known_name **list, const struct translation *t, int token) {
    if (!knows(*list, t, token)) {
        struct known_name *name = grow(NULL, 0, sizeof *name);
        name->text = token_text(t, token, token);
        name->next = *list;
        *list = name;
    }
}
