/* learner.c — what a file that is marked may say: `translate --learner LAB`, for simt-cc --learner.
 *
 * Device memory is counted, and the runner is safe from the learner's code, because that code is compiled in a known way and
 * cannot name anything else. So this is a list of what is allowed, and it is complete:
 *
 *   directives     #include of the lab's, the course's, the toolkit's and the language's headers; #define, conditions, #error,
 *                  #pragma once and unroll. No #line and no linemarker: the lines of the learner are told by linemarkers.
 *   attributes     those that change neither the code nor its place
 *   asm            only in device code, where it is translated as PTX
 *   reserved names only those that the toolkit itself declares, and none of the backend
 *   exceptions     none
 *
 * Directives are read in the file as it is written, before anything else reads it; the rest in the preprocessed text, where
 * macros can hide nothing.
 */
#include "translate.h"

#include <ctype.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool starts(const char *text, size_t length, const char *prefix) {
    size_t n = strlen(prefix);
    return length >= n && memcmp(text, prefix, n) == 0;
}

static bool listed(const char *const list[], size_t count, const char *text, size_t length) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]) == length && memcmp(list[i], text, length) == 0) { return true; }
    }
    return false;
}
#define LISTED(list, text, length) listed(list, sizeof(list) / sizeof *(list), text, length)

/* ---- preprocessed text: names, attributes, asm ---- */

/* Names that are reserved and that no header of the toolkit declares: CUDA's specifiers, and the language's. */
static const char *const language[] = {
    "__global__",
    "__device__",
    "__host__",
    "__shared__",
    "__constant__",
    "__managed__",
    "__grid_constant__",
    "__launch_bounds__",
    "__maxnreg__",
    "__cluster_dims__",
    "__noinline__",
    "__forceinline__",
    "__inline_hint__",
    "__nv_pure__",
    "__restrict",
    "__restrict__",
    "__inline",
    "__inline__",
    "__func__",
    "__FUNCTION__",
    "__alignof__",
    "__const",
    "__volatile__",
    "__PRETTY_FUNCTION__",
    "__FILE__",
    "__LINE__",
    "__int128",
    "__extension__",
    "__builtin_expect",
    "__builtin_assume",
    "__builtin_isnan",
    "__builtin_isinf",
    "__builtin_unreachable",
    "__builtin_assume_aligned",
    "__builtin_fabs",
    "__builtin_inf",
    "__builtin_inff",
    "__builtin_huge_valf",
    "__builtin_nanf",
    "__builtin_fabsf",
    "__builtin_nan",
};
static const char *const families[] = {"__builtin_", "__atomic_",    "__sync_",   "__tsan_",   "__asan_",
                                       "__ubsan_",   "__sanitizer_", "__asm",     "__simt",    "__cov_",
                                       "__cxa_",     "__gnu_",       "__gthread", "__typeof",  "__attribute",
                                       "__label__",  "__real",       "__imag",    "__float128"};
static const char *const attributes[] = {"aligned",    "__aligned__",   "unused",
                                         "__unused__", "always_inline", "__always_inline__"};
static const char *const standard_attributes[] = {"nodiscard", "maybe_unused", "fallthrough",
                                                  "likely",    "unlikely",     "deprecated"};

static bool family_of(const char *text, size_t length) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (starts(text, length, families[i])) { return true; }
    }
    return false;
}

/* Sorted texts of the reserved names in the toolkit's own headers. */
struct names {
    const struct token **token;
    int count;
};

static int by_text(const void *a, const void *b) {
    const struct token *x = *(const struct token *const *)a, *y = *(const struct token *const *)b;
    int order = memcmp(x->text, y->text, (size_t)(x->length < y->length ? x->length : y->length));
    return order ? order : x->length - y->length;
}

static bool is_reserved(const struct token *k) {
    return k->kind == TOKEN_NAME && starts(k->text, (size_t)k->length, "__");
}

static struct names toolkit_names(const struct translation *t) {
    struct names names = {NULL, 0};
    for (int i = 0; i < t->count; i++) {
        const struct token *k = &t->tokens[i];
        if (k->owner != OWNER_BACKEND || !is_reserved(k) || family_of(k->text, (size_t)k->length)) { continue; }
        names.token = grow(names.token, names.count, sizeof *names.token);
        names.token[names.count++] = k;
    }
    if (names.count) { qsort(names.token, (size_t)names.count, sizeof *names.token, by_text); }
    return names;
}

static bool declares(const struct names *names, const struct token *k) {
    return names->count && bsearch(&k, names->token, (size_t)names->count, sizeof *names->token, by_text);
}

/* The words in [from, to), which must all be listed; what stands in brackets behind one is its argument. */
static bool attributes_allowed(struct translation *t, int from, int to, bool standard) {
    for (int i = from; i < to; i++) {
        const struct token *k = &t->tokens[i];
        bool fine = standard ? LISTED(standard_attributes, k->text, (size_t)k->length)
                             : LISTED(attributes, k->text, (size_t)k->length);
        if (is(t, i, ",")) { continue; }
        if (!fine || is(t, i + 1, "::")) { return fail(t, i, "not allowed: the attribute '%.*s'", k->length, k->text); }
        if (is(t, i + 1, "(")) { i = t->tokens[i + 1].match; }
    }
    return true;
}

static bool attribute_allowed(struct translation *t, int i) {
    int open = i + 1;
    if (!is(t, open, "(") || !is(t, open + 1, "(")) {
        return fail(t, i, "not allowed: an attribute without its brackets");
    }
    return attributes_allowed(t, open + 2, t->tokens[open + 1].match, false);
}

static bool name_allowed(struct translation *t, int i, const struct names *names) {
    const struct token *k = &t->tokens[i];
    size_t length = (size_t)k->length;
    if (is(t, i, "__attribute__") || is(t, i, "__attribute")) { return attribute_allowed(t, i); }
    if (is(t, i, "asm") || is(t, i, "__asm__") || is(t, i, "__asm")) { return true; /* unsupported.c */ }
    if (starts(k->text, length, "simt") || starts(k->text, length, "arena_") || starts(k->text, length, "SIMT_") ||
        starts(k->text, length, "learner_")) {
        return fail(t, i, "not allowed: '%.*s', a name of the CPU backend itself", k->length, k->text);
    }
    if (is_reserved(k) && !LISTED(language, k->text, length) && !declares(names, k)) {
        return fail(t, i, "not allowed: the reserved name '%.*s', which CUDA does not have", k->length, k->text);
    }
    bool specifies = is(t, i, "throw") && is(t, i + 1, "(") && is(t, i + 2, ")"); /* of a function: it throws nothing */
    if (is(t, i, "try") || is(t, i, "catch") || (is(t, i, "throw") && !specifies)) {
        return fail(t, i, "not allowed: '%.*s': a marked file has no exceptions", k->length, k->text);
    }
    if (is(t, i, "thread_local")) { return fail(t, i, "not allowed: thread_local: use a local or a static variable"); }
    if (is(t, i, "goto") && is(t, i + 1, "*")) { return fail(t, i, "not allowed: a goto to an address"); }
    return true;
}

bool learner_tokens(struct translation *t) {
    struct names names = toolkit_names(t);
    bool ok = true;
    for (int i = 0; i < t->count && ok; i++) {
        const struct token *k = &t->tokens[i];
        if (!is_learners(t, i)) { continue; }
        if (k->kind == TOKEN_NAME) {
            ok = name_allowed(t, i, &names);
        } else if (is(t, i, "[") && is(t, i + 1, "[")) {
            ok = attributes_allowed(t, i + 2, t->tokens[i + 1].match, true);
        } else if (k->kind == TOKEN_PUNCTUATOR && (*k->text == '#' || *k->text == '\\')) {
            ok = fail(t, i, "not allowed: a stray '%c'", *k->text);
        }
    }
    free(names.token);
    return ok;
}

/* What follows #pragma. */
static bool pragma_allowed(const char *text, size_t length) {
    static const char *const words[] = {"unroll",           "nounroll",        "once",
                                        "nv_diag_suppress", "nv_diag_default", "nv_diagnostic"};
    size_t end = 0;
    while (end < length && (isalnum((unsigned char)text[end]) || text[end] == '_')) { end++; }
    return LISTED(words, text, end);
}

/* A line of preprocessed text that begins with # and is no linemarker. _Pragma has become such a line. */
bool learner_directive(struct translation *t, int file, int line, const char *text, size_t length) {
    size_t at = 1;
    while (at < length && isblank((unsigned char)text[at])) { at++; }
    bool pragma = starts(text + at, length - at, "pragma");
    for (at += pragma ? strlen("pragma") : 0; at < length && isblank((unsigned char)text[at]);) { at++; }
    return (pragma && pragma_allowed(text + at, length - at)) ||
           fail_at(t, file, line, "not allowed: the pragma %.*s", (int)(length - at < 80 ? length - at : 80),
                   text + at);
}

bool learner_owns(const struct translation *t, const char *path) {
    char lab[PATH_MAX], file[PATH_MAX];
    if (!realpath(t->lab, lab) || !realpath(path, file)) { return false; }
    size_t length = strlen(lab);
    return strncmp(file, lab, length) == 0 && file[length] == '/';
}

/* ---- the file as it is written: directives ---- */

struct reader {
    struct translation *t; /* for its error and its files */
    const char *at, *end;
    int file, line;
};

static bool say(struct reader *r, const char *what, const char *text, size_t length) {
    return fail_at(r->t, r->file, r->line, "%s%.*s", what, (int)(length < 80 ? length : 80), text);
}

/* Past line breaks that a backslash hides, with the blanks that g++ ignores before them. */
static void skip_splices(struct reader *r) {
    while (r->at < r->end && *r->at == '\\') {
        const char *p = r->at + 1;
        while (p < r->end && (isblank((unsigned char)*p) || *p == '\r' || *p == '\f' || *p == '\v')) { p++; }
        if (p >= r->end || *p != '\n') { return; }
        r->at = p + 1;
        r->line++;
    }
}

static int peek(struct reader *r) {
    skip_splices(r);
    return r->at < r->end ? (unsigned char)*r->at : -1;
}

static int next(struct reader *r) {
    int c = peek(r);
    if (c >= 0) {
        r->at++;
        r->line += c == '\n';
    }
    return c;
}

static void skip_block_comment(struct reader *r) {
    for (int last = 0, c; (c = next(r)) >= 0; last = c) {
        if (last == '*' && c == '/') { return; }
    }
}

/* A string or character, past its opening quote. One that the line ends is no string: g++ says so. */
static void skip_literal(struct reader *r, int quote) {
    for (int c; (c = peek(r)) >= 0 && c != '\n';) {
        next(r);
        if (c == quote) { return; }
        if (c == '\\' && peek(r) != '\n') { next(r); }
    }
}

/* R"delimiter(…)delimiter", past its quote. Nothing is spliced in it. */
static void skip_raw_literal(struct reader *r) {
    const char *delimiter = r->at;
    while (r->at < r->end && *r->at != '(' && r->at - delimiter < 17) { r->at++; }
    size_t length = (size_t)(r->at - delimiter);
    for (; r->at < r->end; r->at++) {
        r->line += *r->at == '\n';
        if (*r->at == ')' && (size_t)(r->end - r->at) > length + 1 && memcmp(r->at + 1, delimiter, length) == 0 &&
            r->at[length + 1] == '"') {
            r->at += length + 2;
            return;
        }
    }
}

/* One logical line without comments, literals kept; false at the end of the file. A raw string may contain line breaks. */
static bool read_line(struct reader *r, char **line, size_t *length) {
    size_t n = 0;
    bool any = false;
    for (int c; (c = next(r)) >= 0;) {
        any = true;
        if (c == '\n') { break; }
        if (c == '/' && peek(r) == '*') {
            next(r);
            skip_block_comment(r);
            c = ' ';
        } else if (c == '/' && peek(r) == '/') {
            while (peek(r) >= 0 && peek(r) != '\n') { next(r); }
            continue;
        }
        *line = grow(*line, (int)n, 1);
        (*line)[n++] = (char)c;
        if (c != '"' && c != '\'') { continue; }
        bool number = c == '\'' && n > 1 && isxdigit((unsigned char)(*line)[n - 2]); /* 1'000; no harm if it is not */
        size_t word = n - 1;
        while (word > 0 && (isalnum((unsigned char)(*line)[word - 1]) || (*line)[word - 1] == '_')) { word--; }
        size_t prefix = n - 1 - word;
        const char *p = *line + word;
        bool raw = c == '"' && ((prefix == 1 && *p == 'R') || (prefix == 2 && strchr("LuU", *p) && p[1] == 'R') ||
                                (prefix == 3 && memcmp(p, "u8R", 3) == 0));
        const char *from = r->at;
        if (raw) {
            skip_raw_literal(r);
        } else if (!(number && isdigit((unsigned char)(*line)[word]))) {
            skip_literal(r, c);
        }
        for (; from < r->at; from++) {
            *line = grow(*line, (int)n, 1);
            (*line)[n++] = *from == '\n' ? ' ' : *from;
        }
    }
    *line = grow(*line, (int)n, 1);
    (*line)[n] = '\0';
    *length = n;
    return any;
}

/* Headers of the language whose functions a header defines, and none of the system's. Those left out need functions that the
 * C++ library has compiled, such as the rebalancing of a map: these would write wherever a node points, unchecked. <list> is
 * here for a table that only a GPU's build of lab 3's solution uses; the object rules refuse its functions. */
static const char *const standard_headers[] = {
    "algorithm",        "array",     "atomic",  "bit",      "bitset",    "cassert",  "cctype",       "cfloat",
    "chrono",           "cinttypes", "climits", "cmath",    "compare",   "complex",  "concepts",     "cstdarg",
    "cstddef",          "cstdint",   "cstdio",  "cstdlib",  "cstring",   "deque",    "forward_list", "functional",
    "initializer_list", "iterator",  "limits",  "list",     "memory",    "mutex",    "new",          "numbers",
    "numeric",          "optional",  "queue",   "ratio",    "span",      "stack",    "string_view",  "tuple",
    "type_traits",      "utility",   "variant", "vector",   "version",   "assert.h", "ctype.h",      "float.h",
    "inttypes.h",       "limits.h",  "math.h",  "stdarg.h", "stdbool.h", "stddef.h", "stdint.h",     "stdio.h",
    "stdlib.h",         "string.h",
};
/* Patterns. Of a header that the backend lacks, simt-cc says so. */
static const char *const toolkit_headers[] = {
    "cuda_*.hpp",           "cuda/*",     "cu*.h",        "cub/*",      "thrust/*",         "cooperative_groups.h",
    "cooperative_groups/*", "nvtx3/*",    "nvToolsExt.h", "mma.h",      "math_constants.h", "math_functions.h",
    "library_types.h",      "vector_*.h", "device_*.h",   "driver_*.h", "builtin_types.h",  "host_defines.h",
    "channel_descriptor.h", "sm_*.h",
};

/* A header of the toolkit, or one that the caller allows, by a pattern such as common/warp*.cuh. */
static bool is_allowed_header(const struct translation *t, const char *name, size_t length) {
    char header[512], pattern[512];
    snprintf(header, sizeof header, "%.*s", (int)length, name);
    for (size_t i = 0; i < sizeof toolkit_headers / sizeof *toolkit_headers; i++) {
        if (fnmatch(toolkit_headers[i], header, 0) == 0) { return true; }
    }
    for (const char *p = t->headers ? t->headers : "", *end; *(p += strspn(p, " ")); p = end) {
        end = p + strcspn(p, " ");
        snprintf(pattern, sizeof pattern, "%.*s", (int)(end - p), p);
        if (fnmatch(pattern, header, FNM_PATHNAME | FNM_PERIOD) == 0) { return true; }
    }
    return false;
}

static bool read_source(struct reader *from, const char *path, int depth);

/* A header beside the including file, in the lab's folder. */
static bool read_own_header(struct reader *r, const char *name, size_t length, int depth, bool *found) {
    char path[4096];
    const char *file = r->t->files[r->file], *slash = strrchr(file, '/');
    int n = snprintf(path, sizeof path, "%.*s%.*s", slash ? (int)(slash - file + 1) : 0, file, (int)length, name);
    *found = n < (int)sizeof path && access(path, F_OK) == 0;
    if (!*found) { return true; }
    if (!learner_owns(r->t, path)) { return say(r, "not allowed: an include from outside of the lab: ", name, length); }
    for (int i = 0; i < r->t->file_count; i++) {
        if (strcmp(r->t->files[i], path) == 0) { return true; }
    }
    return read_source(r, path, depth + 1);
}

static bool include_allowed(struct reader *r, const char *name, size_t length, int depth) {
    char close = *name == '"' ? '"' : *name == '<' ? '>' : '\0';
    const char *end = close ? memchr(name + 1, close, length - 1) : NULL;
    if (!end) { return say(r, "not allowed: an include without \"\" or <>: ", name, length); }
    bool quoted = close == '"', found = false;
    name++;
    length = (size_t)(end - name);
    if (quoted && (!read_own_header(r, name, length, depth, &found) || found)) { return found && !*r->t->error; }
    if (*name != '/' && (LISTED(standard_headers, name, length) || is_allowed_header(r->t, name, length))) {
        if (!memmem(name, length, "..", 2)) { return true; }
    }
    return fail_at(r->t, r->file, r->line,
                   "not allowed: an include of %.*s, which is %s the headers that a marked file may include: "
                   "docs/grading.md lists them",
                   (int)(length < 80 ? length + 2 : 80), name - 1,
                   quoted ? "neither beside this file nor among" : "not among");
}

static bool directive_allowed(struct reader *r, const char *line, size_t length, int depth) {
    static const char *const words[] = {"define", "undef", "if",    "ifdef",   "ifndef", "elif",
                                        "else",   "endif", "error", "warning", ""};
    size_t from = 0;
    while (from < length && isspace((unsigned char)line[from])) { from++; }
    size_t to = from;
    while (to < length && (isalnum((unsigned char)line[to]) || line[to] == '_')) { to++; }
    const char *word = line + from;
    size_t size = to - from;
    while (to < length && isspace((unsigned char)line[to])) { to++; }
    if (memmem(line, length, "__has_", 6)) {
        return say(r, "not allowed: a question which files there are: #", word, length - from);
    }
    if (starts(word, size, "pragma") && size == 6) {
        return pragma_allowed(line + to, length - to) || say(r, "not allowed: the pragma ", line + to, length - to);
    }
    if (starts(word, size, "include") && size == 7) { return include_allowed(r, line + to, length - to, depth); }
    if (!LISTED(words, word, size) || (size == 0 && from < length)) {
        return say(r, "not allowed: the directive #", word, length - from);
    }
    return true;
}

static bool read_source(struct reader *from, const char *path, int depth) {
    struct reader r = *from;
    FILE *file = fopen(path, "rb");
    char *text = NULL, *line = NULL;
    size_t size = 0, length;
    bool ok = file != NULL && depth < 100;
    for (size_t got = 1; ok && got > 0;) {
        text = realloc(text, size + (1 << 16));
        got = text ? fread(text + size, 1, 1 << 16, file) : 0;
        size += got;
        ok = text && size < (64 << 20);
    }
    if (file) { fclose(file); }
    char *name = strdup(path);
    r.t->files = grow(r.t->files, r.t->file_count, sizeof *r.t->files);
    r.t->files[r.t->file_count] = name;
    r.file = r.t->file_count++;
    r.line = 1;
    r.at = text;
    r.end = text + size;
    if (!ok) { say(&r, "not allowed: a file that cannot be read", "", 0); }
    if (ok && size && memchr(text, '\0', size)) { ok = say(&r, "not allowed: a NUL character", "", 0); }
    while (ok && read_line(&r, &line, &length)) {
        size_t at = 0;
        while (at < length && isspace((unsigned char)line[at])) { at++; }
        int sign = at < length && line[at] == '#'           ? 1
                   : starts(line + at, length - at, "%:")   ? 2
                   : starts(line + at, length - at, "?\?=") ? 3
                                                            : 0;
        r.line--; /* of the line that was read */
        if (sign) { ok = directive_allowed(&r, line + at + sign, length - at - (size_t)sign, depth); }
        r.line++;
    }
    free(line);
    free(text);
    return ok;
}

bool learner_source(struct translation *t, const char *path) {
    struct reader r = {.t = t};
    return read_source(&r, path, 0);
}
