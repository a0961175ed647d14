/* declaration.c — reads C++ declarations as far as CUDA's specifiers need it: where a declaration starts and ends, whether
 * it declares a function or variables, and their names. Types are not parsed, only skipped.
 */
#include "translate.h"

bool takes_parenthesis(const struct translation *t, int token) {
    static const char *const words[] = {
        "__attribute__",     "__attribute", "alignas",    "__align__", "__builtin_align__",
        "__launch_bounds__", "__maxnreg__", "__declspec", "decltype",  "noexcept",
        "__cluster_dims__",  "__typeof__",  "typeof",     "throw",
    };
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (is(t, token, words[i])) { return is(t, token + 1, "("); }
    }
    return false;
}

/* Past the > that closes the < at `open`, if the tokens between can be template arguments; -1 if it is a comparison. */
int skip_angles(const struct translation *t, int open, int end) {
    int depth = 0;
    for (int i = open; i < end && i < t->count; i++) {
        if (is(t, i, "<")) {
            depth++;
        } else if (is(t, i, ">")) {
            if (--depth == 0) { return i + 1; }
        } else if (is(t, i, "(") || is(t, i, "[") || is(t, i, "{")) {
            i = t->tokens[i].match;
        } else if (is(t, i, ";") || is(t, i, ")") || is(t, i, "]") || is(t, i, "}") || is(t, i, "?")) {
            return -1;
        }
    }
    return -1;
}

/* The first token of the declaration or statement that contains `token`. */
int declaration_start(const struct translation *t, int token) {
    int i = token;
    while (i > 0) {
        int previous = i - 1;
        if (is(t, previous, ";") || is(t, previous, "{") || is(t, previous, "}") || is(t, previous, ":") ||
            is(t, previous, "(") || is(t, previous, ",")) {
            break;
        }
        if (is(t, previous, "]") || is(t, previous, ")")) {
            int open = t->tokens[previous].match;
            bool attribute = is(t, previous, "]") || takes_parenthesis(t, open - 1);
            if (!attribute) { break; }
            i = open;
            continue;
        }
        if (is(t, previous, ">")) { /* template <…> or a type's arguments: skip them */
            int depth = 0, j = previous;
            for (; j >= 0; j--) {
                if (is(t, j, ")") || is(t, j, "]") || is(t, j, "}")) {
                    j = t->tokens[j].match;
                } else if (is(t, j, ">")) {
                    depth++;
                } else if (is(t, j, "<") && --depth == 0) {
                    break;
                } else if (is(t, j, ";") || is(t, j, "{") || is(t, j, "(")) {
                    return i;
                }
            }
            if (j < 0) { return i; }
            i = j;
            continue;
        }
        i = previous;
    }
    return i;
}

/* template <class T, int N> … : past the parameter list. */
static int skip_template_heads(const struct translation *t, int i, int end) {
    while (i < end && is(t, i, "template") && is(t, i + 1, "<")) {
        int past = skip_angles(t, i + 1, end);
        if (past < 0) { return i + 1; }
        i = past;
    }
    return i;
}

/* Is the group at `open` the (*name) of a pointer to a function or an array? */
static bool is_pointer_declarator(const struct translation *t, int open) {
    int i = open + 1, close = t->tokens[open].match;
    while (is_name(t, i) && is(t, i + 1, "::")) { i += 2; }
    return i < close && (is(t, i, "*") || is(t, i, "&"));
}

/* The ( of the parameter list of the function that [start, end) declares, with its name; -1 if it is no function. */
int find_parameters(const struct translation *t, int start, int end, int *name) {
    int i = skip_template_heads(t, start, end);
    for (; i < end; i++) {
        if (takes_parenthesis(t, i)) {
            i = t->tokens[i + 1].match;
        } else if (is(t, i, "operator")) {
            *name = i;
            i++;
            if (is(t, i, "(")) { i = t->tokens[i].match + 1; }
            while (i < end && !is(t, i, "(")) { i++; }
            return i < end ? i : -1;
        } else if (is(t, i, "[") || is(t, i, "{")) {
            if (is(t, i, "[") && is_name(t, i - 1) && !is(t, i + 1, "[")) { return -1; /* an array */ }
            i = t->tokens[i].match;
        } else if (is(t, i, "<") && is_name(t, i - 1)) {
            int past = skip_angles(t, i, end);
            if (past < 0) { return -1; }
            i = past - 1;
        } else if (is(t, i, "=") || is(t, i, ";") || is(t, i, ",")) {
            return -1;
        } else if (is(t, i, "(")) {
            int before = i - 1;
            if (is(t, before, ">")) { /* k<float>( : the name stands before the arguments */
                int depth = 0;
                for (; before > start; before--) {
                    depth += is(t, before, ">") - is(t, before, "<");
                    if (depth == 0) { break; }
                }
                before--;
            }
            const struct token *first = &t->tokens[i + 1];
            bool literal = first->kind == TOKEN_NUMBER || first->kind == TOKEN_STRING || first->kind == TOKEN_CHARACTER;
            if (!is_name(t, before) || is_pointer_declarator(t, i) || literal) { return -1; }
            *name = before;
            return i;
        }
    }
    return -1;
}

static bool add_name(struct translation *t, struct declaration *d, int name, int initialiser) {
    if (d->name_count == MAX_DECLARATORS) {
        return fail(t, name, "more than %d variables in one declaration", MAX_DECLARATORS);
    }
    if (!is_name(t, name)) { return fail(t, d->start, "cannot find the variable's name in this declaration"); }
    d->initialiser[d->name_count] = initialiser;
    d->names[d->name_count++] = name;
    return true;
}

/* Past the initialiser that begins at `i`, to the , or ; that ends it. */
static int skip_initialiser(const struct translation *t, int i, int end) {
    while (i < end && !is(t, i, ",") && !is(t, i, ";")) {
        if (is(t, i, "(") || is(t, i, "[") || is(t, i, "{")) {
            i = t->tokens[i].match;
        } else if (is(t, i, "<") && is_name(t, i - 1)) {
            int past = skip_angles(t, i, end);
            i = past > 0 ? past - 1 : i;
        }
        i++;
    }
    return i;
}

/* The name inside (*name)(…), (*name[4])(…). */
static int pointer_name(const struct translation *t, int open) {
    int name = -1;
    for (int i = open + 1; i < t->tokens[open].match && !is(t, i, "[") && !is(t, i, "("); i++) {
        name = is_name(t, i) ? i : name;
    }
    return name;
}

static bool read_variables(struct translation *t, struct declaration *d) {
    int name = -1, initialiser = -1, i = skip_template_heads(t, d->start, t->count);
    bool body_allowed = false, named = false;
    for (; i < t->count; i++) {
        if (takes_parenthesis(t, i)) {
            i = t->tokens[i + 1].match;
        } else if (is(t, i, ",") || is(t, i, ";")) {
            if (!add_name(t, d, name, initialiser)) { return false; }
            name = initialiser = -1;
            named = false;
            if (is(t, i, ";")) {
                d->end = i;
                return true;
            }
        } else if (is(t, i, "=") || is(t, i, "{") || is(t, i, "(") || is(t, i, "[")) {
            int close = t->tokens[i].match;
            if (is(t, i, "{") && body_allowed) { /* struct { … } name */
                body_allowed = false;
                i = close;
            } else if (is(t, i, "[")) {
                named |= !is(t, i + 1, "["); /* not an [[attribute]] */
                i = close;
            } else if (is(t, i, "(") && !named && is_pointer_declarator(t, i)) {
                name = pointer_name(t, i);
                named = true;
                i = close;
            } else if (is(t, i, "(") && named && initialiser < 0 && is(t, i - 1, ")")) {
                i = close; /* the parameters of a function pointer */
            } else {
                initialiser = i;
                i = skip_initialiser(t, i, t->count) - 1;
            }
        } else if (is(t, i, "<") && is_name(t, i - 1)) {
            int past = skip_angles(t, i, t->count);
            i = past > 0 ? past - 1 : i;
        } else if (is(t, i, "}") || is(t, i, ")")) {
            break;
        } else if (is_name(t, i)) {
            body_allowed |= is(t, i, "struct") || is(t, i, "union") || is(t, i, "class") || is(t, i, "enum");
            bool word =
                is(t, i, "__shared__") || is(t, i, "__device__") || is(t, i, "__constant__") || is(t, i, "__managed__");
            name = named || word ? name : i;
        }
    }
    return fail(t, d->start, "expected ';' at the end of this declaration");
}

bool read_declaration(struct translation *t, int token, struct declaration *d) {
    *d = (struct declaration){.start = declaration_start(t, token), .parameters = -1};
    int name = -1;
    d->parameters = find_parameters(t, d->start, t->count, &name);
    if (d->parameters < 0) { return read_variables(t, d); }
    d->is_function = true;
    d->names[0] = name;
    d->name_count = 1;
    d->end = d->parameters;
    return true;
}
