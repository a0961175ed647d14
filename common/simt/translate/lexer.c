/* lexer.c — cuts preprocessed text into tokens and pairs brackets. Skips comments, keeps strings whole, follows linemarkers.
 *
 * `<` and `>` are always tokens of one character, so that `W<W<int>>><<<` needs no special case; launches.c looks for
 * three of them. Text of the C++ library is skipped whole.
 */
#include "translate.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct lexer {
    struct translation *t;
    const char *at, *end;
    int file, line;
    bool in_system_macro;
    enum owner owner;
    enum owner *outer; /* owners of the files that include this one */
    int depth;
};

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static int remember_file(struct lexer *l, const char *text, size_t length) {
    struct translation *t = l->t;
    for (int i = t->file_count - 1; i >= 0; i--) {
        if (strlen(t->files[i]) == length && memcmp(t->files[i], text, length) == 0) { return i; }
    }
    char *name = NULL;
    for (size_t i = 0; i <= length; i++) {
        name = grow(name, (int)i, 1);
        name[i] = i < length ? text[i] : '\0';
    }
    t->files = grow(t->files, t->file_count, sizeof *t->files);
    t->files[t->file_count] = name;
    t->is_learners = grow(t->is_learners, t->file_count, sizeof *t->is_learners);
    t->is_learners[t->file_count] = t->lab && learner_owns(t, name);
    return t->file_count++;
}

static enum owner owner_of(const struct lexer *l, const char *file, bool system) {
    const char *folder = l->t->backend_folder;
    size_t length = folder ? strlen(folder) : 0;
    if (length && strncmp(file, folder, length) == 0 && file[length] == '/') { return OWNER_BACKEND; }
    return system ? OWNER_SYSTEM : OWNER_USER;
}

/* `# 41 "file" flags` at the start of a line: 1 enters a file, 2 returns to one, 3 marks the system's. A 3 without a 1
 * means that a macro of a system header was expanded here. */
static bool read_linemarker(struct lexer *l) {
    const char *p = l->at;
    if (l->end - p < 5 || p[0] != '#' || p[1] != ' ' || !isdigit((unsigned char)p[2])) { return false; }
    const char *stop = memchr(p, '\n', (size_t)(l->end - p));
    stop = stop ? stop : l->end;
    long line = 0;
    for (p += 2; p < stop && isdigit((unsigned char)*p); p++) {
        line = line < 100000000 ? line * 10 + (*p - '0') : line;
    }
    if (stop - p < 3 || p[0] != ' ' || p[1] != '"') { return false; }
    const char *name = p + 2, *quote = name;
    while (quote < stop && *quote != '"') { quote += *quote == '\\' && quote + 1 < stop ? 2 : 1; }
    if (quote >= stop) { return false; }
    bool enters = false, returns = false, system = false;
    for (p = quote + 1; p < stop; p++) {
        enters |= *p == '1';
        returns |= *p == '2';
        system |= *p == '3';
    }
    l->file = remember_file(l, name, (size_t)(quote - name));
    l->line = (int)line - 1; /* the newline that ends the marker counts */
    l->in_system_macro = system && !enters;
    if (enters) {
        l->outer = grow(l->outer, l->depth, sizeof *l->outer);
        l->outer[l->depth++] = l->owner;
        l->owner = owner_of(l, l->t->files[l->file], system);
    } else if (returns && l->depth > 0) {
        l->owner = l->outer[--l->depth];
    }
    l->at = stop;
    return true;
}

static void skip_line(struct lexer *l) {
    const char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
    l->at = stop ? stop : l->end;
}

static void add_token(struct lexer *l, const char *start, int line, enum token_kind kind) {
    struct translation *t = l->t;
    t->tokens = grow(t->tokens, t->count, sizeof *t->tokens);
    t->tokens[t->count++] = (struct token){
        .text = start,
        .length = (int)(l->at - start),
        .kind = kind,
        .owner = l->owner,
        .file = l->file,
        .line = line,
        .match = -1,
        .in_system_macro = l->in_system_macro,
    };
}

/* A "string" or 'character', from its opening quote. */
static bool skip_quoted(struct lexer *l, int line) {
    char quote = *l->at++;
    while (l->at < l->end && *l->at != quote && *l->at != '\n') {
        l->at += *l->at == '\\' && l->at + 1 < l->end ? 2 : 1;
    }
    if (l->at >= l->end || *l->at != quote) {
        return fail_at(l->t, l->file, line, "missing terminating %c character", quote);
    }
    l->at++;
    return true;
}

/* R"delimiter( … )delimiter", from its opening quote. */
static bool skip_raw_string(struct lexer *l, int line) {
    const char *delimiter = ++l->at;
    while (l->at < l->end && *l->at != '(' && *l->at != '\n' && l->at - delimiter <= 16) { l->at++; }
    size_t length = (size_t)(l->at - delimiter);
    if (l->at < l->end && *l->at == '(') {
        for (l->at++; l->at < l->end; l->at++) {
            l->line += *l->at == '\n';
            if (*l->at == ')' && (size_t)(l->end - l->at) > length + 1 && memcmp(l->at + 1, delimiter, length) == 0 &&
                l->at[1 + length] == '"') {
                l->at += length + 2;
                return true;
            }
        }
    }
    return fail_at(l->t, l->file, line, "unterminated raw string");
}

static bool skip_comment(struct lexer *l) {
    if (l->at[1] == '/') {
        skip_line(l);
        return true;
    }
    int line = l->line;
    for (l->at += 2; l->at + 1 < l->end; l->at++) {
        l->line += *l->at == '\n';
        if (l->at[0] == '*' && l->at[1] == '/') {
            l->at += 2;
            return true;
        }
    }
    return fail_at(l->t, l->file, line, "unterminated comment");
}

static void skip_number(struct lexer *l) {
    while (l->at < l->end && (is_word(*l->at) || *l->at == '.' || *l->at == '\'')) {
        if (*l->at == '\'' && !(l->at + 1 < l->end && isalnum((unsigned char)l->at[1]))) { break; }
        bool exponent = strchr("eEpP", *l->at) && l->at + 1 < l->end && (l->at[1] == '+' || l->at[1] == '-');
        l->at += exponent ? 2 : 1;
    }
}

static bool is_prefix(const char *start, size_t length, bool *raw) {
    static const char *const prefixes[] = {"R", "LR", "uR", "UR", "u8R", "L", "u", "U", "u8"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strlen(prefixes[i]) == length && memcmp(prefixes[i], start, length) == 0) {
            *raw = i < 5;
            return true;
        }
    }
    return false;
}

static void skip_punctuator(struct lexer *l) {
    static const char *const longer[] = {"...", "::", "->", "==", "!=", "+=", "-=", "*=", "/=", "%=",
                                         "&=",  "|=", "^=", "<=", ">=", "&&", "||", "++", "--", "##"};
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        size_t length = strlen(longer[i]);
        if ((size_t)(l->end - l->at) >= length && memcmp(l->at, longer[i], length) == 0) {
            l->at += length;
            return;
        }
    }
    l->at++;
}

static bool read_token(struct lexer *l) {
    const char *start = l->at;
    int line = l->line;
    bool raw = false;
    if (*start == '"' || *start == '\'') {
        if (!skip_quoted(l, line)) { return false; }
        add_token(l, start, line, *start == '"' ? TOKEN_STRING : TOKEN_CHARACTER);
    } else if (isdigit((unsigned char)*start) ||
               (*start == '.' && start + 1 < l->end && isdigit((unsigned char)start[1]))) {
        skip_number(l);
        add_token(l, start, line, TOKEN_NUMBER);
    } else if (is_word(*start)) {
        while (l->at < l->end && is_word(*l->at)) { l->at++; }
        bool quote = l->at < l->end && (*l->at == '"' || *l->at == '\'');
        if (quote && is_prefix(start, (size_t)(l->at - start), &raw)) {
            char first = *l->at;
            if (raw && first == '"' ? !skip_raw_string(l, line) : !skip_quoted(l, line)) { return false; }
            add_token(l, start, line, first == '"' ? TOKEN_STRING : TOKEN_CHARACTER);
        } else {
            add_token(l, start, line, TOKEN_NAME);
        }
    } else {
        skip_punctuator(l);
        add_token(l, start, line, TOKEN_PUNCTUATOR);
    }
    return true;
}

static bool lex_all(struct lexer *l) {
    bool line_start = true;
    while (l->at < l->end) {
        char c = *l->at;
        if (line_start && c == '#') {
            const char *start = l->at;
            if (!read_linemarker(l)) { /* #pragma stays as it is */
                skip_line(l);
                if (l->t->lab && l->file >= 0 && l->t->is_learners[l->file] &&
                    !learner_directive(l->t, l->file, l->line, start, (size_t)(l->at - start))) {
                    return false;
                }
            }
        } else if (line_start && l->owner == OWNER_SYSTEM) {
            skip_line(l);
        }
        if (l->at >= l->end) { break; }
        c = *l->at;
        if (c == '\n') {
            l->line++;
            l->at++;
            line_start = true;
        } else if (isspace((unsigned char)c)) {
            l->at++;
        } else if (c == '\\' && l->at + 1 < l->end && l->at[1] == '\n') {
            l->at++;
        } else if (c == '/' && l->at + 1 < l->end && (l->at[1] == '/' || l->at[1] == '*')) {
            if (!skip_comment(l)) { return false; }
            line_start = false;
        } else {
            if (!read_token(l)) { return false; }
            line_start = false;
        }
    }
    return true;
}

bool lex(struct translation *t) {
    struct lexer l = {.t = t, .at = t->text, .end = t->text + t->length, .file = -1, .line = 1};
    bool ok = lex_all(&l);
    free(l.outer);
    return ok;
}

/* ---- brackets: ( ), [ ] and { } ---- */

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
                ok = fail(t, i, "'%c' has no opening bracket", c);
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
