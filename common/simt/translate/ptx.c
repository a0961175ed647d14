/* ptx.c — inline PTX: asm("…" : outputs : inputs : clobbers) in device code becomes calls of the functions of simt/ptx.h.
 *
 * An asm statement becomes a statement expression: references to the outputs, the inputs' values as words, one call per
 * instruction, and stores to the outputs. The expressions of the operands stay where they are, as tokens, so that later
 * passes see them. Each instruction gets the line of its string literal.
 *
 *     asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
 *     ({ auto &simt_o0 = (d); uint32_t simt_r0 = 0; const uint32_t simt_r1 = simt::ptx::input<uint32_t>(a); …
 *        simt_r0 = simt::ptx::fma<float, simt::ptx::rn>(simt_r1, simt_r2, simt_r3);
 *        simt::ptx::output(simt_o0, simt_r0); });
 *
 * ptx_instructions.c has the instructions. What is not known is an error that names the instruction.
 */
#include "ptx.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text: the template's string literals without quotes and escapes ---- */

static void add_character(struct ptx *p, char c, int token) {
    p->text = grow(p->text, p->length, 1);
    p->token_of = grow(p->token_of, p->length, sizeof *p->token_of);
    p->text[p->length] = c;
    p->token_of[p->length++] = token;
}

static bool add_literal(struct ptx *p, int token) {
    const struct token *k = &p->t->tokens[token];
    const char *c = k->text, *end = k->text + k->length - 1;
    if (*c == 'R') {
        const char *open = memchr(c, '(', (size_t)k->length);
        size_t delimiter = (size_t)(open - c) - 2;
        for (c = open + 1, end -= delimiter + 1; c < end; c++) { add_character(p, *c, token); }
        return true;
    }
    if (*c != '"') { return fail(p->t, token, "asm takes plain string literals"); }
    for (c++; c < end; c++) {
        char is = *c;
        if (is == '\\') {
            is = *++c;
            is = is == 'n' || is == 'r' ? '\n' : is == 't' ? '\t' : is;
        }
        add_character(p, is, token);
    }
    return true;
}

/* ---- operands of the statement ---- */

static const char *register_type(char letter) {
    switch (letter) {
        case 'h': return "::uint16_t";
        case 'r':
        case 'f': return "::uint32_t";
        case 'l':
        case 'd': return "::uint64_t";
        default: return NULL;
    }
}

/* "=r"(expression) at token i; returns the token behind it, or -1. */
static int read_operand(struct ptx *p, int i, bool is_output) {
    struct translation *t = p->t;
    if (is(t, i, "[")) {
        fail(t, i, "asm: named operands are not supported by the CPU backend: number them (%%0, %%1, …)");
        return -1;
    }
    if (i >= t->count || t->tokens[i].kind != TOKEN_STRING || !is(t, i + 1, "(")) {
        fail(t, i, "asm: expected an operand, such as \"r\"(x)");
        return -1;
    }
    if (p->operand_count == MOST_OPERANDS) {
        fail(t, i, "asm: more than %d operands", MOST_OPERANDS);
        return -1;
    }
    const char *c = t->tokens[i].text + 1;
    struct operand *operand = &p->operand[p->operand_count];
    int number = p->operand_count++, close = t->tokens[i + 1].match;
    *operand = (struct operand){.is_output = is_output};
    for (; *c == '=' || *c == '+' || *c == '&' || *c == '%'; c++) { operand->is_input |= *c == '+'; }
    const char *type = register_type(*c);
    operand->is_input |= !is_output;
    if (c[1] != '"' || (!type && (*c != 'n' || is_output))) {
        fail(t, i, "asm: the CPU backend knows the constraints h, r, l, f, d and n, not %.*s", t->tokens[i].length,
             t->tokens[i].text);
        return -1;
    }
    if (is_output) {
        edit_instead(t, i, "auto &simt_o%d = ", number);
        edit_after(t, close, "; ");
    } else if (type) {
        edit_instead(t, i, "const %s simt_r%d = ::simt::ptx::input<%s>", type, number, type);
        edit_after(t, close, "; ");
    } else {
        edit_instead(t, i, "const long long simt_r%d = ", number);
        edit_after(t, close, "; ");
    }
    operand->type = type;
    return close + 1;
}

/* Sections are separated by colons, of which two may be one token. Returns false after an error. */
static bool read_operands(struct ptx *p, int i, int close) {
    struct translation *t = p->t;
    for (int section = 0; i < close;) {
        if (is(t, i, ":") || is(t, i, "::") || is(t, i, ",")) {
            section += is(t, i, ":") ? 1 : is(t, i, "::") ? 2 : 0;
            edit_instead(t, i++, " ");
        } else if (section == 1 || section == 2) {
            i = read_operand(p, i, section == 1);
            if (i < 0) { return false; }
        } else if (section == 3 && t->tokens[i].kind == TOKEN_STRING) {
            edit_instead(t, i++, " ");
        } else {
            return fail(t, i, "asm: expected ':', a string or ')'");
        }
    }
    return true;
}

/* ---- the scanner ---- */

int ptx_token(const struct ptx *p) {
    return p->length == 0 ? p->first_token : p->token_of[p->at < p->length ? p->at : p->length - 1];
}

static void skip_blanks(struct ptx *p) {
    while (p->at < p->length) {
        const char *c = p->text + p->at;
        int left = p->length - p->at;
        if (isspace((unsigned char)*c)) {
            p->at++;
        } else if (left > 1 && c[0] == '/' && (c[1] == '/' || c[1] == '*')) {
            bool line = c[1] == '/';
            p->at += 2;
            while (p->at < p->length &&
                   (line ? p->text[p->at] != '\n' : p->text[p->at - 1] != '/' || p->text[p->at - 2] != '*')) {
                p->at++;
            }
        } else {
            return;
        }
    }
}

bool ptx_at(struct ptx *p, char c) {
    skip_blanks(p);
    return p->at < p->length && p->text[p->at] == c;
}

bool ptx_take(struct ptx *p, char c) {
    if (!ptx_at(p, c)) { return false; }
    p->at++;
    return true;
}

/* A word: letters, digits and _ $ . % and ::, into `word`. */
static void take_word(struct ptx *p, char *word, size_t room) {
    size_t length = 0;
    skip_blanks(p);
    while (p->at < p->length) {
        char c = p->text[p->at];
        bool colons = c == ':' && p->at + 1 < p->length && p->text[p->at + 1] == ':';
        if (!isalnum((unsigned char)c) && !strchr("_$.%", c) && !colons) { break; }
        for (int n = colons ? 2 : 1; n > 0; n--, p->at++) {
            if (length + 1 < room) { word[length++] = p->text[p->at]; }
        }
    }
    word[length] = '\0';
}

bool ptx_fail(struct ptx *p, const char *what) {
    return fail(p->t, ptx_token(p),
                "inline PTX: %s in '%s': write it in CUDA C++, or keep it from the CPU backend with "
                "#ifndef SIMT_CPU_BACKEND",
                what, p->name);
}

/* ---- code ---- */

void ptx_emit(struct ptx *p, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    for (int i = 0; i <= length; i++) { p->code = grow(p->code, p->code_length + i, 1); }
    vsnprintf(p->code + p->code_length, (size_t)length + 1, format, arguments);
    p->code_length += length;
    va_end(arguments);
}

/* ---- registers that the text declares ---- */

static const char *declared_type(const char *type) {
    static const struct {
        const char *name, *type;
    } types[] = {{"pred", "bool"},      {"b16", "::uint16_t"},  {"u16", "::uint16_t"},   {"s16", "::uint16_t"},
                 {"f16", "::uint16_t"}, {"bf16", "::uint16_t"}, {"b32", "::uint32_t"},   {"u32", "::uint32_t"},
                 {"s32", "::uint32_t"}, {"f32", "::uint32_t"},  {"f16x2", "::uint32_t"}, {"bf16x2", "::uint32_t"},
                 {"b64", "::uint64_t"}, {"u64", "::uint64_t"},  {"s64", "::uint64_t"},   {"f64", "::uint64_t"},
                 {"b8", "::uint16_t"},  {"u8", "::uint16_t"},   {"s8", "::uint16_t"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, type) == 0) { return types[i].type; }
    }
    return NULL;
}

static bool declare(struct ptx *p, const char *name, int number, const char *type) {
    if (p->declared_count == MOST_DECLARED) { return ptx_fail(p, "too many registers"); }
    struct declared *d = &p->declared[p->declared_count++];
    if (number < 0) {
        snprintf(d->name, sizeof d->name, "%s", name);
    } else {
        snprintf(d->name, sizeof d->name, "%.24s%d", name, number);
    }
    d->depth = p->depth;
    d->is_predicate = strcmp(type, "bool") == 0;
    ptx_emit(p, "[[maybe_unused]] %s simt_v%d_%d = 0; ", type, p->depth, (int)(d - p->declared));
    return true;
}

/* .reg .b32 a, b<4>; */
static bool read_declaration_of_registers(struct ptx *p) {
    char type[32], name[32];
    take_word(p, type, sizeof type);
    const char *c_type = declared_type(type + (type[0] == '.'));
    if (!c_type) { return ptx_fail(p, "a register type that is not modelled"); }
    do {
        take_word(p, name, sizeof name);
        if (!name[0]) { return ptx_fail(p, "a register without a name"); }
        if (ptx_take(p, '<')) {
            char count[16];
            take_word(p, count, sizeof count);
            for (int i = 0; i < atoi(count); i++) {
                if (!declare(p, name, i, c_type)) { return false; }
            }
            if (!ptx_take(p, '>')) { return ptx_fail(p, "a missing '>'"); }
        } else if (!declare(p, name, -1, c_type)) {
            return false;
        }
    } while (ptx_take(p, ','));
    return ptx_take(p, ';') || ptx_fail(p, "a missing ';'");
}

/* ---- operands of an instruction ---- */

static const char *special_register(const char *name) {
    static const struct {
        const char *name, *code;
    } special[] = {
        {"laneid", "::simt::ptx::laneid()"},
        {"warpid", "::simt::ptx::warpid()"},
        {"nwarpid", "::simt::ptx::nwarpid()"},
        {"smid", "::simt::ptx::smid()"},
        {"nsmid", "::simt::ptx::nsmid()"},
        {"clock", "::simt::ptx::clock64_now()"},
        {"clock64", "::simt::ptx::clock64_now()"},
        {"globaltimer", "::simt::ptx::simt_nanoseconds()"},
        {"globaltimer_lo", "::simt::ptx::simt_nanoseconds()"},
        {"lanemask_eq", "::simt::ptx::lanemask_eq()"},
        {"lanemask_lt", "::simt::ptx::lanemask_lt()"},
        {"lanemask_le", "::simt::ptx::lanemask_le()"},
        {"lanemask_gt", "::simt::ptx::lanemask_gt()"},
        {"lanemask_ge", "::simt::ptx::lanemask_ge()"},
        {"tid.x", "::threadIdx.x"},
        {"tid.y", "::threadIdx.y"},
        {"tid.z", "::threadIdx.z"},
        {"ntid.x", "::blockDim.x"},
        {"ntid.y", "::blockDim.y"},
        {"ntid.z", "::blockDim.z"},
        {"ctaid.x", "::blockIdx.x"},
        {"ctaid.y", "::blockIdx.y"},
        {"ctaid.z", "::blockIdx.z"},
        {"nctaid.x", "::gridDim.x"},
        {"nctaid.y", "::gridDim.y"},
        {"nctaid.z", "::gridDim.z"},
    };
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if (strcmp(special[i].name, name) == 0) { return special[i].code; }
    }
    return NULL;
}

static bool is_digits(const char *text) {
    return *text && text[strspn(text, "0123456789")] == '\0';
}

static const struct declared *find_declared(const struct ptx *p, const char *name) {
    for (int i = p->declared_count - 1; i >= 0; i--) {
        if (strcmp(p->declared[i].name, name) == 0) { return &p->declared[i]; }
    }
    return NULL;
}

/* A literal: 12, -1, 0x1f, 2.5, 0f3F800000, 0d…, with a U behind an integer. */
static bool read_literal(struct ptx *p, const char *word, bool negative, struct argument *out) {
    const char *sign = negative ? "-" : "";
    char *end;
    out->kind = ARGUMENT_LITERAL;
    if (word[0] == '0' && (word[1] == 'f' || word[1] == 'F') && strlen(word) == 10) {
        snprintf(out->code, sizeof out->code, "0x%su", word + 2);
    } else if (word[0] == '0' && (word[1] == 'd' || word[1] == 'D') && strlen(word) == 18) {
        snprintf(out->code, sizeof out->code, "0x%sull", word + 2);
    } else if (strpbrk(word, ".") || (strpbrk(word, "eE") && strncmp(word, "0x", 2) != 0)) {
        strtod(word, &end);
        if (*end) { return ptx_fail(p, "a number that is not understood"); }
        out->kind = ARGUMENT_REAL;
        snprintf(out->code, sizeof out->code, "%s%s", sign, word);
    } else {
        unsigned long long value = strtoull(word, &end, 0);
        if (*end && strcmp(end, "U") != 0) { return ptx_fail(p, "an operand that is not understood"); }
        snprintf(out->code, sizeof out->code, "(%s%llu%s)", sign, value, value >> 63 ? "ull" : "ll");
    }
    return true;
}

/* A register, a special register or a literal. */
static bool read_simple(struct ptx *p, struct argument *out) {
    char word[64];
    bool negative = ptx_take(p, '-'), inverted = !negative && ptx_take(p, '!');
    take_word(p, word, sizeof word);
    *out = (struct argument){.kind = ARGUMENT_REGISTER};
    const struct declared *declared = find_declared(p, word);
    if (declared) {
        out->is_predicate = declared->is_predicate;
        snprintf(out->code, sizeof out->code, "%ssimt_v%d_%d", inverted ? "!" : "", declared->depth,
                 (int)(declared - p->declared));
        return true;
    }
    if (word[0] == '%' && is_digits(word + 1)) {
        int number = atoi(word + 1);
        if (number >= p->operand_count) { return ptx_fail(p, "an operand number that the statement does not have"); }
        if (!p->operand[number].type) { out->kind = ARGUMENT_LITERAL; }
        snprintf(out->code, sizeof out->code, "simt_r%d", number);
        return true;
    }
    if (strcmp(word, "_") == 0) {
        out->kind = ARGUMENT_SINK;
        snprintf(out->code, sizeof out->code, "simt_sink");
        p->uses_sink = true;
        return true;
    }
    if (word[0] == '%') {
        const char *code = special_register(word + strspn(word, "%"));
        if (!code) { return ptx_fail(p, "a special register or name that is not modelled"); }
        out->kind = ARGUMENT_LITERAL;
        snprintf(out->code, sizeof out->code, "%s", code);
        return true;
    }
    if (strcmp(word, "WARP_SZ") == 0) {
        out->kind = ARGUMENT_LITERAL;
        snprintf(out->code, sizeof out->code, "32");
        return true;
    }
    if (!isdigit((unsigned char)word[0])) { return ptx_fail(p, "a name that is not declared there"); }
    return read_literal(p, word, negative, out);
}

/* [address], [address + 16] */
static bool read_address(struct ptx *p, struct argument *out) {
    struct argument base, offset;
    if (!read_simple(p, &base)) { return false; }
    *out = (struct argument){.kind = ARGUMENT_MEMORY};
    if (ptx_take(p, '+')) {
        if (!read_simple(p, &offset)) { return false; }
        snprintf(out->code, sizeof out->code, "static_cast<::uint64_t>(%.60s + %.60s)", base.code, offset.code);
    } else if (ptx_at(p, '-')) {
        if (!read_simple(p, &offset)) { return false; }
        snprintf(out->code, sizeof out->code, "static_cast<::uint64_t>(%.60s + %.60s)", base.code, offset.code);
    } else {
        snprintf(out->code, sizeof out->code, "static_cast<::uint64_t>(%.100s)", base.code);
    }
    return ptx_take(p, ']') || ptx_fail(p, "a missing ']'");
}

/* {a, b}: the codes, separated by commas. */
static bool read_vector(struct ptx *p, struct argument *out) {
    struct argument part;
    size_t used = 0;
    *out = (struct argument){.kind = ARGUMENT_VECTOR};
    do {
        if (!read_simple(p, &part)) { return false; }
        used +=
            (size_t)snprintf(out->code + used, sizeof out->code - used, "%s%.60s", out->count ? ", " : "", part.code);
        if (used + 64 > sizeof out->code) { return ptx_fail(p, "too long a vector"); }
        snprintf(out->part[out->count], sizeof out->part[0], "%.60s", part.code);
        out->count++;
    } while (out->count < MOST_PARTS && ptx_take(p, ','));
    return ptx_take(p, '}') || ptx_fail(p, "a missing '}'");
}

static bool read_argument(struct ptx *p, struct argument *out) {
    if (ptx_take(p, '[')) { return read_address(p, out); }
    if (ptx_take(p, '{')) { return read_vector(p, out); }
    if (!read_simple(p, out)) { return false; }
    if (ptx_take(p, '|')) { /* d|p: a second result */
        struct argument second;
        if (!read_simple(p, &second)) { return false; }
        out->has_second = second.kind == ARGUMENT_REGISTER;
        snprintf(out->second, sizeof out->second, "%.60s", second.code);
    }
    return true;
}

static bool read_arguments(struct ptx *p) {
    p->argument_count = 0;
    if (ptx_at(p, ';') || ptx_at(p, '}')) { return true; }
    skip_blanks(p);
    if (p->at == p->length) { return true; }
    do {
        if (p->argument_count == MOST_ARGUMENTS) { return ptx_fail(p, "too many operands"); }
        if (!read_argument(p, &p->argument[p->argument_count++])) { return false; }
    } while (ptx_take(p, ','));
    return true;
}

/* ---- statements ---- */

static bool read_instruction(struct ptx *p, const char *word) {
    snprintf(p->name, sizeof p->name, "%s", word);
    int token = ptx_token(p);
    if (!read_arguments(p)) { return false; }
    if (!ptx_take(p, ';') && !ptx_at(p, '}')) {
        skip_blanks(p);
        if (p->at < p->length) { return ptx_fail(p, "an operand that is not understood"); }
    }
    ptx_emit(p, "\1%d\1", token);
    if (!ptx_translate(p)) { return false; }
    ptx_emit(p, " ");
    return true;
}

static bool read_statement(struct ptx *p) {
    char word[128], guard[128] = "";
    if (ptx_take(p, '{')) {
        p->depth++;
        ptx_emit(p, "{ ");
        return true;
    }
    if (ptx_take(p, '}')) {
        if (p->depth-- == 0) { return ptx_fail(p, "a '}' without '{'"); }
        while (p->declared_count && p->declared[p->declared_count - 1].depth > p->depth) { p->declared_count--; }
        ptx_emit(p, "} ");
        return true;
    }
    if (ptx_take(p, ';')) { return true; }
    if (ptx_take(p, '@')) {
        struct argument predicate;
        if (!read_simple(p, &predicate)) { return false; }
        snprintf(guard, sizeof guard, "if (%.100s) ", predicate.code);
    }
    take_word(p, word, sizeof word);
    snprintf(p->name, sizeof p->name, "%s", word);
    if (!word[0]) { return ptx_fail(p, "text that is not understood"); }
    if (strcmp(word, ".reg") == 0) { return read_declaration_of_registers(p); }
    if (ptx_at(p, ':')) { return ptx_fail(p, "a label; branches are not modelled"); }
    if (guard[0]) { ptx_emit(p, "%s{ ", guard); }
    bool ok = read_instruction(p, word);
    if (guard[0]) { ptx_emit(p, "} "); }
    return ok;
}

/* ---- the whole statement ---- */

static bool translate_statement(struct ptx *p, int asm_token, int open) {
    struct translation *t = p->t;
    int close = t->tokens[open].match, i = open + 1;
    p->first_token = i;
    for (int k = asm_token + 1; k <= open; k++) { edit_instead(t, k, " "); }
    edit_instead(t, asm_token, "({");
    for (; i < close && t->tokens[i].kind == TOKEN_STRING; i++) {
        if (!add_literal(p, i)) { return false; }
        edit_instead(t, i, " ");
    }
    if (!read_operands(p, i, close)) { return false; }
    for (int n = 0; n < p->operand_count; n++) {
        const struct operand *operand = &p->operand[n];
        if (!operand->is_output) { continue; }
        if (operand->is_input) {
            ptx_emit(p, "%s simt_r%d = ::simt::ptx::input<%s>(simt_o%d); ", operand->type, n, operand->type, n);
        } else {
            ptx_emit(p, "%s simt_r%d = 0; ", operand->type, n);
        }
    }
    for (skip_blanks(p); p->at < p->length; skip_blanks(p)) {
        if (!read_statement(p)) { return false; }
    }
    if (p->depth) { return ptx_fail(p, "a '{' that is never closed"); }
    for (int n = 0; n < p->operand_count; n++) {
        if (p->operand[n].is_output) { ptx_emit(p, "::simt::ptx::output(simt_o%d, simt_r%d); ", n, n); }
    }
    edit_instead(t, close, "%s%s})", p->uses_sink ? "[[maybe_unused]] ::uint64_t simt_sink = 0; " : "",
                 p->code ? p->code : "");
    return true;
}

bool translate_asm(struct translation *t, int token) {
    int open = token + 1;
    for (; is_name(t, open); open++) {
        if (is(t, open, "goto")) { return fail(t, open, "asm goto is not supported by the CPU backend"); }
    }
    if (!is(t, open, "(")) { return true; }
    struct ptx *p = grow(NULL, 0, sizeof *p);
    memset(p, 0, sizeof *p);
    p->t = t;
    bool ok = translate_statement(p, token, open);
    free(p->text);
    free(p->token_of);
    free(p->code);
    free(p);
    return ok;
}
