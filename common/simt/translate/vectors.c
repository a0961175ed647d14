/* vectors.c — a vector or a small struct that a device function takes by reference, `const float4 &v`, is read whole.
 *
 * nvcc expands such a function where it is called, and merges the reads of v.x, v.y, v.z and v.w into one. g++ with checks
 * reads the members one by one. So the function begins with a copy, which is one access (simt::whole in emitted.h). This is
 * done only where nothing shows the difference: the body has no condition, so that it would read the vector in any case;
 * unless it is an operator, it has no other reference and no pointer through which it could write the vector; and it does not
 * return it.
 */
#include "translate.h"

#include <stdlib.h>

/* The & of `const TYPE &name` or `TYPE const &name`, where the parameter [first, end) is one; else -1. */
static int constant_reference(const struct translation *t, int first, int end) {
    bool is_constant = false;
    for (int i = first; i < end; i++) {
        if (is(t, i, "*") || is(t, i, "(") || is(t, i, "[") || is(t, i, "=") || is(t, i, "&&")) { return -1; }
        is_constant |= is(t, i, "const");
    }
    return end - first >= 4 && is_constant && is(t, end - 2, "&") && is_name(t, end - 1) ? end - 2 : -1;
}

/* The comma or parenthesis behind the parameter. */
static int end_of_parameter(const struct translation *t, int first, int close) {
    for (int i = first; i < close; i++) {
        if (is(t, i, ",")) { return i; }
        if (is(t, i, "(") || is(t, i, "[") || is(t, i, "{")) { i = t->tokens[i].match; }
        if (is(t, i, "<") && is_name(t, i - 1)) {
            int past = skip_angles(t, i, close);
            i = past > 0 ? past - 1 : i;
        }
    }
    return close;
}

/* for (int i = 0; i < 4; i++), or up to a name that the function does not declare. */
static bool is_fixed_loop(const struct translation *t, const struct scope *function, int token) {
    int close = t->tokens[token + 1].match, bound = -1;
    for (int i = token + 2; i < close; i++) {
        if (is(t, i, ";")) {
            bound = is(t, i + 2, "<") && is(t, i + 4, ";") ? i + 3 : -1;
            break;
        }
    }
    if (bound < 0 || !is_name(t, bound)) { return bound >= 0; }
    char *name = token_text(t, bound, bound);
    bool declares = false;
    for (int i = function->parameters; i < function->close; i++) {
        declares |= is(t, i, name) && (is_name(t, i - 1) || is(t, i - 1, "&") || is(t, i - 1, "*"));
    }
    free(name);
    return !declares;
}

static bool has_condition(const struct translation *t, const struct scope *function) {
    static const char *const words[] = {"if", "while", "switch", "?", "&&", "||", "and", "or"};
    for (int i = function->open; i < function->close; i++) {
        if (is(t, i, "for") && !is_fixed_loop(t, function, i)) { return true; }
        for (unsigned k = 0; k < sizeof words / sizeof *words; k++) {
            if (is(t, i, words[k])) { return true; }
        }
    }
    return false;
}

/* Can the function return a reference to a constant vector, or initialise members with it? */
static bool keeps_reference(const struct translation *t, const struct scope *function) {
    bool refers = false, is_constant = false;
    for (int i = function->head; i < function->name; i++) {
        refers |= is(t, i, "&") || is(t, i, "&&") || is(t, i, "*");
        is_constant |= is(t, i, "const") || is(t, i, "auto");
    }
    for (int i = t->tokens[function->parameters].match + 1; i < function->open; i++) {
        if (is(t, i, "->") || is(t, i, ":")) { return true; }
    }
    return refers && is_constant;
}

static void copy_vectors(struct translation *t, const struct scope *function) {
    int close = t->tokens[function->parameters].match;
    bool is_operator = is(t, function->name, "operator") || is(t, function->name - 1, "operator");
    for (int pass = 0; pass < 2; pass++) {
        for (int i = function->parameters + 1, end; i < close; i = end + 1) {
            end = end_of_parameter(t, i, close);
            int reference = constant_reference(t, i, end);
            for (int k = i; k < end && reference < 0 && !is_operator; k++) {
                if (is(t, k, "&") || is(t, k, "*") || is(t, k, "[") || is(t, k, "&&")) { return; }
            }
            if (reference < 0 || pass == 0) { continue; }
            const struct token *name = &t->tokens[end - 1];
            edit_after(t, end - 1, "__whole");
            edit_after(t, function->open, " [[maybe_unused]] decltype(auto) %.*s = ::simt::whole(%.*s__whole);",
                       name->length, name->text, name->length, name->text);
        }
        if (pass == 0 && (has_condition(t, function) || keeps_reference(t, function))) { return; }
    }
}

void translate_vectors(struct translation *t) {
    for (int i = 0; i < t->scope_count; i++) {
        const struct scope *function = &t->scopes[i];
        bool has_parameters = function->parameters >= 0 && function->kind == SCOPE_FUNCTION;
        if (has_parameters && function->is_device && is_user(t, function->open)) { copy_vectors(t, function); }
    }
}
