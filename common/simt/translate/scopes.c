/* scopes.c — the kind of scope that each { opens: a namespace, a class, a function, a lambda, or a block.
 *
 * The declaration's head, the tokens between the last ; { or } and the brace, determines it.
 */
#include "translate.h"

#include <stdlib.h>

static bool head_has(const struct translation *t, const struct scope *s, const char *word) {
    int end = s->parameters >= 0 ? s->parameters : s->open;
    for (int i = s->head; i < end; i++) {
        if (is(t, i, word)) { return true; }
        if (is(t, i, "(") || is(t, i, "[")) { i = t->tokens[i].match; }
    }
    return false;
}

/* [captures] (parameters) specifiers { : returns the token of the [, or -1. */
static int lambda_introducer(const struct translation *t, int open) {
    int i = open - 1;
    for (; i >= 0; i--) {
        if (is(t, i, "]")) {
            int bracket = t->tokens[i].match, before = bracket - 1;
            bool subscript = (is_name(t, before) && !is(t, before, "return") && !is(t, before, "co_return")) ||
                             is(t, before, ")") || is(t, before, "]") || is(t, bracket + 1, "[");
            return subscript ? -1 : bracket;
        }
        if (is(t, i, ")")) {
            i = t->tokens[i].match;
            if (takes_parenthesis(t, i - 1)) { i--; }
        } else if (!is_name(t, i) && !is(t, i, "->") && !is(t, i, "::") && !is(t, i, "<") && !is(t, i, ">") &&
                   !is(t, i, "*") && !is(t, i, "&")) {
            return -1;
        }
    }
    return -1;
}

/* Is this { the x{1} of a constructor's initialiser list, not the body? */
static bool is_member_initialiser(const struct translation *t, int parameters, int open) {
    if (!is_name(t, open - 1) && !is(t, open - 1, ">")) { return false; }
    if (is(t, open - 1, "const") || is(t, open - 1, "noexcept") || is(t, open - 1, "override") ||
        is(t, open - 1, "final") || is(t, open - 1, "mutable") || is(t, open - 1, "try")) {
        return false;
    }
    for (int i = t->tokens[parameters].match + 1; i < open; i++) {
        if (is(t, i, ":")) { return true; }
        if (is(t, i, "(") || is(t, i, "[") || is(t, i, "{")) { i = t->tokens[i].match; }
    }
    return false;
}

int enclosing_function(const struct translation *t, int scope) {
    return t->scopes[scope].function;
}

static void note_words(const struct translation *t, struct scope *s, int from, int to) {
    for (int i = from; i < to; i++) {
        s->is_global |= is(t, i, "__global__");
        s->is_device |= is(t, i, "__device__");
        s->is_host |= is(t, i, "__host__");
    }
}

static void classify_lambda(const struct translation *t, struct scope *s, int bracket) {
    s->kind = SCOPE_LAMBDA;
    s->head = bracket;
    for (int i = t->tokens[bracket].match + 1; i < s->open; i++) {
        if (is(t, i, "(") && !takes_parenthesis(t, i - 1)) {
            s->parameters = i;
            break;
        }
    }
    note_words(t, s, bracket, s->open);
}

static void classify(const struct translation *t, struct scope *s) {
    s->kind = SCOPE_BLOCK;
    int bracket = lambda_introducer(t, s->open);
    if (bracket >= 0 && bracket >= s->head) {
        classify_lambda(t, s, bracket);
        return;
    }
    bool has_class = head_has(t, s, "class") || head_has(t, s, "struct") || head_has(t, s, "union");
    int parameters = find_parameters(t, s->head, s->open, &s->name);
    if (enclosing_function(t, s->parent) >= 0) {
        s->kind = has_class && parameters < 0 && !head_has(t, s, "=") ? SCOPE_CLASS : SCOPE_BLOCK;
        return;
    }
    if (parameters >= 0) {
        if (is_member_initialiser(t, parameters, s->open)) { return; }
        s->kind = SCOPE_FUNCTION;
        s->parameters = parameters;
        note_words(t, s, s->head, s->open);
    } else if (head_has(t, s, "enum") || head_has(t, s, "=")) {
        s->kind = SCOPE_BLOCK;
    } else if (has_class) {
        s->kind = SCOPE_CLASS;
    } else if (head_has(t, s, "namespace") || head_has(t, s, "extern")) {
        s->kind = SCOPE_NAMESPACE;
    }
}

enum { LONGEST_HEAD = 500 }; /* limit of tokens for a constructor with its initialisers */

/* The head starts after the last ; { } at the brace's own level; a constructor's `x{1},` does not end it. */
static int head_of(const struct translation *t, int open) {
    int i = open;
    while (i > 0) {
        int previous = i - 1;
        if (is(t, previous, ")") || is(t, previous, "]")) {
            i = t->tokens[previous].match;
        } else if (is(t, previous, "}")) {
            int brace = t->tokens[previous].match;
            bool member = (is(t, i, ",") || i == open) && (is_name(t, brace - 1) || is(t, brace - 1, ">"));
            const struct scope *inner = &t->scopes[t->tokens[brace].opens];
            bool goes_on = member && inner->kind == SCOPE_BLOCK && open - inner->head < LONGEST_HEAD;
            return goes_on ? inner->head : i;
        } else if (is(t, previous, ";") || is(t, previous, "{") || is(t, previous, "(") || is(t, previous, "[")) {
            break;
        } else if (is(t, previous, ":") && (is(t, previous - 1, "public") || is(t, previous - 1, "private") ||
                                            is(t, previous - 1, "protected"))) {
            break;
        } else {
            i = previous;
        }
    }
    return i;
}

bool find_scopes(struct translation *t) {
    t->scopes = grow(t->scopes, 0, sizeof *t->scopes);
    t->scopes[0] = (struct scope){
        .kind = SCOPE_FILE, .parent = -1, .open = -1, .close = t->count, .parameters = -1, .name = -1, .function = -1};
    t->scope_count = 1;
    int current = 0;
    for (int i = 0; i < t->count; i++) {
        if (is(t, i, "}")) { current = t->scopes[current].parent; }
        t->tokens[i].scope = current;
        if (is(t, i, "{")) {
            struct scope s = {.parent = current, .open = i, .close = t->tokens[i].match, .parameters = -1, .name = -1};
            s.head = head_of(t, i);
            classify(t, &s);
            s.function = s.kind == SCOPE_FUNCTION || s.kind == SCOPE_LAMBDA ? t->scope_count
                         : s.kind == SCOPE_BLOCK                            ? t->scopes[current].function
                                                                            : -1;
            t->scopes = grow(t->scopes, t->scope_count, sizeof *t->scopes);
            t->scopes[t->scope_count] = s;
            t->tokens[i].opens = t->scope_count;
            current = t->scope_count++;
        }
    }
    return true;
}

bool in_device_code(const struct translation *t, int token) {
    for (int s = t->tokens[token].scope; s >= 0; s = t->scopes[s].parent) {
        const struct scope *scope = &t->scopes[s];
        if (scope->is_global || (scope->is_device && !scope->is_host)) { return true; }
        if (scope->kind == SCOPE_FUNCTION) { return false; }
    }
    return false;
}
