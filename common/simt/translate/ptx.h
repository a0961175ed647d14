/* ptx.h — one asm statement as ptx.c reads it and ptx_instructions.c translates it. */
#ifndef TRANSLATE_PTX_H
#define TRANSLATE_PTX_H

#include "translate.h"

#include <stdarg.h>

enum { MOST_OPERANDS = 96, MOST_DECLARED = 128, MOST_ARGUMENTS = 8, MOST_PARTS = 16 };

enum argument_kind {
    ARGUMENT_REGISTER,
    ARGUMENT_LITERAL, /* or a special register */
    ARGUMENT_REAL,    /* a literal such as 2.5 */
    ARGUMENT_VECTOR,  /* {a, b} */
    ARGUMENT_MEMORY,  /* [address] */
    ARGUMENT_SINK,    /* _ */
};

/* An operand of an instruction, as C++. */
struct argument {
    enum argument_kind kind;
    char code[1200];
    char part[MOST_PARTS][64]; /* of a vector */
    int count;
    bool is_predicate;
    bool has_second; /* d|p */
    char second[64];
};

struct ptx {
    struct translation *t;
    int first_token;
    char *text; /* the template */
    int *token_of, length, at;
    struct operand {
        const char *type; /* the C++ type of its register; NULL for an "n" */
        bool is_output, is_input;
    } operand[MOST_OPERANDS];
    int operand_count;
    struct declared {
        char name[40];
        int depth;
        bool is_predicate;
    } declared[MOST_DECLARED];
    int declared_count, depth;
    bool uses_sink;
    char name[128]; /* the instruction that is translated, with its modifiers */
    struct argument argument[MOST_ARGUMENTS];
    int argument_count;
    char *code;
    int code_length;
};

int ptx_token(const struct ptx *p); /* the string literal that the scanner is in */
bool ptx_at(struct ptx *p, char c);
bool ptx_take(struct ptx *p, char c);
bool ptx_fail(struct ptx *p, const char *what);
void ptx_emit(struct ptx *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ptx_instructions.c: writes the code of the instruction p->name with p->argument. */
bool ptx_translate(struct ptx *p);

#endif
