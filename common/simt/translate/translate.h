/* translate.h — from CUDA to C++: the translator of the CPU backend.
 *
 * Input is a preprocessed file (g++ -E -C): includes and macros are expanded, and linemarkers (`# 41 "a.cu"`) give the
 * origin of each line. So launches in macro bodies, kernels in headers and code under #if need no special treatment, and
 * every message names the learner's own file and line. Output is C++17 with the same linemarkers.
 *
 * Flow: lexer.c cuts the text into tokens and pairs brackets. scopes.c finds namespaces, classes and functions. Then each
 * rewriting pass (unsupported, specifiers, shared, kernels, launches, calls, checked_code) attaches edits to tokens.
 * output.c writes the text so that each token keeps its place. A pass that fails puts one message into `error` and
 * returns false.
 */
#ifndef TRANSLATE_H
#define TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum token_kind { TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_CHARACTER, TOKEN_PUNCTUATOR };

/* The origin of the text. The C++ library's is copied unread; the backend's own headers lose only CUDA's specifiers. */
enum owner { OWNER_USER, OWNER_BACKEND, OWNER_SYSTEM };

struct token {
    const char *text; /* into the input */
    int length;
    enum token_kind kind;
    enum owner owner;
    int file, line; /* file: index into translation.files */
    int column;     /* in the learner's file, from 1; 0 when a macro made it */
    bool in_system_macro;
    int match; /* the bracket's partner, or -1 */
    int scope; /* innermost scope that contains the token; braces belong to the scope around them */
    int opens; /* for a {: the scope that it opens */
    char *before, *instead, *after; /* edits, or NULL */
};

enum scope_kind { SCOPE_FILE, SCOPE_NAMESPACE, SCOPE_CLASS, SCOPE_FUNCTION, SCOPE_LAMBDA, SCOPE_BLOCK };

struct scope {
    enum scope_kind kind;
    int parent;
    int open, close;                    /* tokens of the braces; -1 and count for the file */
    int head;                           /* first token of the declaration that the brace belongs to */
    int parameters;                     /* the ( of a function's or lambda's parameter list, or -1 */
    int name;                           /* the token of a function's name, or -1 */
    int function;                       /* innermost function or lambda that this scope lies in or is, or -1 */
    bool is_global, is_device, is_host; /* the specifiers in a function's head */
};

struct
    shared_at_namespace_scope { /* shared.c leaves them, kernels.c puts a reference into each function that uses one */
    char *name;
    int scope, token;
    bool dynamic;
    struct shared_at_namespace_scope *next;
};

struct known_name {
    char *text;
    struct known_name *next;
};

struct translation {
    const char *text;
    size_t length;
    const char *backend_folder; /* files below it are the backend's own headers; may be NULL */
    const char *lab;     /* the files below this folder are marked, and learner.c's rules apply to them; or NULL */
    const char *headers; /* patterns of further headers that they may include, separated by blanks; or NULL */
    bool *is_learners;   /* of each file */
    char **files;
    int file_count;
    struct token *tokens;
    int count;
    struct scope *scopes;
    int scope_count;
    struct shared_at_namespace_scope *shared;
    struct known_name *kernels, *empty_constructors;
    bool constructors_known;
    char error[600];
};

/* Translates preprocessed text; on failure returns false with `error` set to "file:line: error: what". The caller sets
 * backend_folder and lab. */
bool translate(struct translation *t, const char *text, size_t length, FILE *out);
void translation_free(struct translation *t);
/* sides.c: joins what device code and host code see of a source. To be freed; NULL if a text cannot be read. */
struct text {
    const char *start;
    size_t length;
};
char *join_sides(struct text device, struct text host, const char *backend_folder, size_t *length);

/* learner.c: may a file that is marked say this? The directives of a source and of its own headers; a line of preprocessed text
 * that begins with #; the names, attributes and asm in the text. */
bool learner_source(struct translation *t, const char *path);
bool learner_owns(const struct translation *t, const char *path);
bool learner_directive(struct translation *t, int file, int line, const char *text, size_t length);
bool learner_tokens(struct translation *t);

/* lexer.c, scopes.c */
bool lex(struct translation *t);
bool match_brackets(struct translation *t);
bool find_scopes(struct translation *t);
bool in_device_code(const struct translation *t, int token);    /* inside a body that is never run on the host */
int enclosing_function(const struct translation *t, int scope); /* index of a function or lambda scope, or -1 */

/* declaration.c: reads C++ declarations as far as CUDA's specifiers need it. All functions take and return token indices. */
enum { MAX_DECLARATORS = 64 };
struct declaration {
    int start, end; /* first token and the ; or { that ends it */
    bool is_function;
    int parameters;                   /* of a function: its ( */
    int names[MAX_DECLARATORS];       /* of variables, or the function's name at [0] */
    int initialiser[MAX_DECLARATORS]; /* the = { or ( that begins it, or -1 */
    int name_count;
};
int declaration_start(const struct translation *t, int token);
bool read_declaration(struct translation *t, int token, struct declaration *out);
int find_parameters(const struct translation *t, int start, int end, int *name);
int skip_angles(const struct translation *t, int open, int end); /* past the > that closes `open`, or -1 */
bool takes_parenthesis(const struct translation *t, int token);  /* __attribute__, alignas, decltype, … */

/* kernels.c: does [from, to) name this variable? */
bool mentions(const struct translation *t, int from, int to, const char *name);

/* the passes */
bool reject_unsupported(struct translation *t);
void list_unsupported(FILE *out); /* lines of: name, feature, what to use instead; separated by tabs */
bool translate_asm(struct translation *t, int token); /* ptx.c: inline PTX; the statement that begins there */
bool translate_variables(struct translation *t);
bool translate_shared(struct translation *t);
bool translate_kernels(struct translation *t);
bool translate_launches(struct translation *t);
bool translate_casts(struct translation *t);
bool check_calls(struct translation *t);
bool translate_loops(struct translation *t);
void translate_vectors(struct translation *t);
void translate_observed(struct translation *t);
bool translate_words(struct translation *t);
void find_columns(struct translation *t);
void write_output(struct translation *t, FILE *out);

/* text.c: tokens as text, edits, errors */
bool is(const struct translation *t, int token, const char *text); /* false outside the file as well */
bool is_name(const struct translation *t, int token);
bool is_user(const struct translation *t, int token);
bool is_learners(const struct translation *t, int token); /* written in a file that is marked */
char *token_text(const struct translation *t, int first,
                 int last); /* to be freed; a blank where there was white space */
void edit_before(struct translation *t, int token, const char *format, ...) __attribute__((format(printf, 3, 4)));
void edit_first(struct translation *t, int token, const char *format, ...) __attribute__((format(printf, 3, 4)));
void edit_instead(struct translation *t, int token, const char *format, ...) __attribute__((format(printf, 3, 4)));
void edit_after(struct translation *t, int token, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool fail(struct translation *t, int token, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool fail_at(struct translation *t, int file, int line, const char *format, ...) __attribute__((format(printf, 4, 5)));
void *grow(void *array, int count, size_t size); /* room for one more; doubles; exits when out of memory */
bool knows(const struct known_name *list, const struct translation *t, int token);
void learn(struct known_name **list, const struct translation *t, int token);

#endif
