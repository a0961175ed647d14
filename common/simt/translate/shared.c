/* shared.c — __shared__ variables become references into the running block's own memory.
 *
 * The declaration turns into a typedef of the same shape, so that no type needs to be understood:
 *     __shared__ float a[32], b;   ->   typedef float simt_type_a[32], simt_type_b; simt_type_a &a = …; simt_type_b &b = …;
 * `extern __shared__ T s[]` refers to the launch's dynamic part. For C++ it is one variable of the namespace, wherever it is
 * declared, so a block with an `extern` declaration lets the compiler refuse another type for it. At namespace scope there is no
 * block of threads yet: kernels.c puts the reference into each function that names the variable. A lambda gets a reference of its
 * own: in CUDA the variable is not local, so the lambda needs no capture and does not copy it.
 */
#include "translate.h"

#include <stdlib.h>

/* The names of all default constructors that do nothing, `T() {}`. */
static void learn_empty_constructors(struct translation *t) {
    for (int i = 0; i + 4 < t->count && !t->constructors_known; i++) {
        int body = i + 3 + is(t, i + 3, "noexcept");
        if (is_name(t, i) && is(t, i + 1, "(") && is(t, i + 2, ")") && is(t, body, "{") && is(t, body + 1, "}")) {
            learn(&t->empty_constructors, t, i);
        }
    }
    t->constructors_known = true;
}

/* Such types are allowed in shared memory, as in nvcc. */
static bool has_empty_constructor(struct translation *t, const struct declaration *d) {
    learn_empty_constructors(t);
    for (int type = d->start; type < d->names[0]; type++) {
        if (is_name(t, type) && knows(t->empty_constructors, t, type)) { return true; }
    }
    return false;
}

/* Removes the storage class and the alignment from the declaration; returns the alignment's text or NULL. */
static char *strip_specifiers(struct translation *t, const struct declaration *d, bool *dynamic) {
    char *alignment = NULL;
    for (int i = d->start; i < d->end; i++) {
        if (is(t, i, "{") || is(t, i, "[") || is(t, i, "(")) {
            i = t->tokens[i].match;
        } else if (is(t, i, "extern") || is(t, i, "static") || is(t, i, "inline") || is(t, i, "__shared__") ||
                   is(t, i, "__device__")) {
            *dynamic |= is(t, i, "extern");
            edit_instead(t, i, "%s", "");
            if (is(t, i, "extern") && t->tokens[i + 1].kind == TOKEN_STRING) { edit_instead(t, i + 1, "%s", ""); }
        } else if (takes_parenthesis(t, i) && !is(t, i, "decltype") && !is(t, i, "__typeof__") && !is(t, i, "typeof")) {
            int close = t->tokens[i + 1].match;
            free(alignment);
            alignment = token_text(t, i, close);
            for (; i <= close; i++) { edit_instead(t, i, "%s", ""); }
            i = close;
        }
    }
    return alignment;
}

static bool check(struct translation *t, const struct declaration *d) {
    if (d->is_function) { return fail(t, d->names[0], "a function cannot be __shared__"); }
    for (int n = 0; n < d->name_count; n++) {
        if (d->initialiser[n] >= 0) {
            return fail(t, d->names[n],
                        "initializer not allowed for __shared__ variable '%.*s': assign it in the kernel",
                        t->tokens[d->names[n]].length, t->tokens[d->names[n]].text);
        }
    }
    if (t->scopes[t->tokens[d->start].scope].kind == SCOPE_CLASS) {
        return fail(t, d->names[0], "__shared__ is not allowed on a class member");
    }
    return true;
}

/* The mark \1N\1 makes messages about the variable point at its name. */
static void emit_local(struct translation *t, const struct declaration *d, int token, const char *name,
                       const char *alignment) {
    if (alignment) { edit_after(t, d->end, " struct simt_align_%s { %s char byte; };", name, alignment); }
    edit_after(t, d->end,
               " static char simt_site_%s; simt_type_%s &\1%d\1%s = *static_cast<simt_type_%s *>("
               "simt_shared_variable(&simt_site_%s, \"%s\", sizeof(simt_type_%s), ",
               name, name, token, name, name, name, name, name);
    if (alignment) {
        edit_after(t, d->end, "alignof(simt_align_%s) > alignof(simt_type_%s) ? alignof(simt_align_%s) : ", name, name,
                   name);
    }
    edit_after(t, d->end, "alignof(simt_type_%s)));", name);
}

static void emit_local_dynamic(struct translation *t, const struct declaration *d, int token, const char *name) {
    edit_after(t, d->end, " { extern simt_type_%s \1%d\1%s __attribute__((unused)); }", name, token, name);
    edit_after(t, d->end, " simt_type_%s &\1%d\1%s = *static_cast<simt_type_%s *>(simt_dynamic_shared());", name, token,
               name, name);
}

static bool lies_in(const struct translation *t, int inner, int outer) {
    while (inner >= 0 && inner != outer) { inner = t->scopes[inner].parent; }
    return inner == outer;
}

static void bring_into_lambdas(struct translation *t, const struct declaration *d, const char *name, bool dynamic) {
    for (int k = 1; k < t->scope_count; k++) {
        const struct scope *s = &t->scopes[k];
        if (s->kind != SCOPE_LAMBDA || s->open < d->end || !lies_in(t, k, t->tokens[d->start].scope) ||
            mentions(t, s->head, s->open, name) || !mentions(t, s->open, s->close, name)) {
            continue;
        }
        edit_after(t, s->open, " simt_type_%s &%s = *static_cast<simt_type_%s *>(", name, name, name);
        edit_after(t, s->open,
                   dynamic ? "simt_dynamic_shared()); {"
                           : "simt_shared_variable(&simt_site_%s, \"%s\", sizeof(simt_type_%s), 1)); {",
                   name, name, name);
        edit_first(t, s->close, "}");
    }
}

/* No jump may cross a reference's initialisation, so the rest of a `case` without braces gets them. */
static bool put_in_braces(struct translation *t, const struct declaration *d) {
    int scope = t->tokens[d->start].scope, open = t->scopes[scope].open;
    if (!is(t, open - 1, ")") || !is(t, t->tokens[open - 1].match - 1, "switch")) { return false; }
    int end = d->end + 1;
    while (end < t->scopes[scope].close &&
           (t->tokens[end].scope != scope || !(is(t, end, "case") || (is(t, end, "default") && is(t, end + 1, ":"))))) {
        end++;
    }
    edit_first(t, end, "}");
    return true;
}

static void emit_at_namespace_scope(struct translation *t, const struct declaration *d, int token, char *name,
                                    bool dynamic) {
    struct shared_at_namespace_scope *v = grow(NULL, 0, sizeof *v);
    *v = (struct shared_at_namespace_scope){
        .name = name, .scope = t->tokens[token].scope, .token = token, .dynamic = dynamic, .next = t->shared};
    t->shared = v;
    if (dynamic) {
        edit_after(t, d->end, " extern simt_type_%s \1%d\1%s;", name, token, name);
    } else {
        edit_after(t, d->end, " static char simt_site_%s;", name);
    }
}

static bool translate_one(struct translation *t, const struct declaration *d) {
    bool local = enclosing_function(t, t->tokens[d->start].scope) >= 0, dynamic = false;
    char *alignment = strip_specifiers(t, d, &dynamic);
    edit_before(t, d->start, local && put_in_braces(t, d) ? "{ typedef " : "typedef ");
    for (int n = 0; n < d->name_count; n++) {
        char *name = token_text(t, d->names[n], d->names[n]);
        edit_instead(t, d->names[n], "simt_type_%s", name);
        if (!dynamic && !has_empty_constructor(t, d)) {
            edit_after(t, d->end,
                       " static_assert(\1%d\1__has_trivial_constructor(simt_type_%s), \"dynamic initialization is not "
                       "supported for "
                       "the __shared__ variable '%s': its type has a constructor\");",
                       d->names[n], name, name);
        }
        if (!local) {
            emit_at_namespace_scope(t, d, d->names[n], name, dynamic);
            continue;
        }
        if (dynamic) {
            emit_local_dynamic(t, d, d->names[n], name);
        } else {
            emit_local(t, d, d->names[n], name, alignment);
        }
        bring_into_lambdas(t, d, name, dynamic);
        free(name);
    }
    free(alignment);
    return true;
}

bool translate_shared(struct translation *t) {
    for (int i = 0; i < t->count; i++) {
        if (!is_user(t, i) || !is(t, i, "__shared__")) { continue; }
        struct declaration d;
        if (!read_declaration(t, i, &d) || !check(t, &d) || !translate_one(t, &d)) { return false; }
        i = d.end;
    }
    return true;
}
