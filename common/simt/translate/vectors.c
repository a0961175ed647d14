/* vectors.c — a vector that a device function takes by reference, `const float4 &v`, is read whole.
 *
 * nvcc expands such a function where it is called, and merges the reads of v.x, v.y, v.z and v.w into one. g++ with checks
 * reads the members one by one. So the function begins with a copy of the vector, which is one access. This is done only where
 * nothing shows the difference: the body has no condition, so that it would read the vector in any case; unless it is an
 * operator, it has no other reference and no pointer through which it could write the vector; and it does not return it.
 */
#include "translate.h"

#include <string.h>

/* char2 ... ulonglong4: those of CUDA's vectors that one access reads whole. */
static bool is_vector(const struct translation *t, int token) {
    static const char *const bases[] = {"char", "uchar", "short",    "ushort",    "int",   "uint",
                                        "long", "ulong", "longlong", "ulonglong", "float", "double"};
    const struct token *k = &t->tokens[token];
    if (!is_name(t, token) || k->length < 2) { return false; }
    char size = k->text[k->length - 1];
    for (unsigned i = 0; (size == '2' || size == '4') && i < sizeof bases / sizeof *bases; i++) {
        if (strlen(bases[i]) == (size_t)k->length - 1 && memcmp(bases[i], k->text, strlen(bases[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* The & of `const VECTOR &name` or `VECTOR const &name` with the type's vector at `token`, or -1. */
static int constant_reference(const struct translation *t, int token) {
    int reference = is(t, token + 1, "const") ? token + 2 : token + 1;
    bool is_constant = is(t, token - 1, "const") || reference == token + 2;
    bool ends = is(t, reference + 2, ",") || is(t, reference + 2, ")");
    return is_vector(t, token) && is_constant && is(t, reference, "&") && is_name(t, reference + 1) && ends ? reference
                                                                                                            : -1;
}

static bool has_condition(const struct translation *t, const struct scope *function) {
    static const char *const words[] = {"if", "for", "while", "switch", "?", "&&", "||", "and", "or", "["};
    for (int i = function->open; i < function->close; i++) {
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
    int close = t->tokens[function->parameters].match, vectors = 0;
    bool is_operator = is(t, function->name, "operator") || is(t, function->name - 1, "operator");
    for (int i = function->parameters + 1; i < close; i++) {
        int reference = constant_reference(t, i);
        bool refers = is(t, i, "&") || is(t, i, "*") || is(t, i, "[") || is(t, i, "&&");
        if (refers && !is_operator) { return; }
        if (reference < 0) { continue; }
        vectors++;
        i = reference;
    }
    if (vectors == 0 || has_condition(t, function) || keeps_reference(t, function)) { return; }
    for (int i = function->parameters + 1; i < close; i++) {
        int reference = constant_reference(t, i);
        if (reference < 0) { continue; }
        const struct token *type = &t->tokens[i], *name = &t->tokens[reference + 1];
        edit_after(t, reference + 1, "__whole");
        edit_after(t, function->open, " [[maybe_unused]] const %.*s %.*s = %.*s__whole;", type->length, type->text,
                   name->length, name->text, name->length, name->text);
        i = reference;
    }
}

void translate_vectors(struct translation *t) {
    for (int i = 0; i < t->scope_count; i++) {
        const struct scope *function = &t->scopes[i];
        bool has_parameters = function->parameters >= 0 && function->kind == SCOPE_FUNCTION;
        if (has_parameters && function->is_device && is_user(t, function->open)) { copy_vectors(t, function); }
    }
}
