/* ptx_instructions.c — the instructions of inline PTX: each becomes a call of a function of simt/ptx.h.
 *
 * `arithmetic` lists instructions with one result, one type and plain operands. Instructions with a syntax of their own
 * have a function each, in the table `others`.
 */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 16 };

/* The parts of an instruction's name between its dots. */
struct words {
    char text[128];
    char *at[MOST_WORDS];
    int count;
    bool used[MOST_WORDS];
};

static void split(struct words *w, const char *name) {
    memset(w, 0, sizeof *w);
    snprintf(w->text, sizeof w->text, "%s", name);
    for (char *part = strtok(w->text, "."); part && w->count < MOST_WORDS; part = strtok(NULL, ".")) {
        w->at[w->count++] = part;
    }
}

/* Is the word in a list that is separated by blanks? */
static bool in_list(const char *word, const char *list) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length) {
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ')) { return true; }
    }
    return false;
}

static bool take(struct words *w, const char *word) {
    for (int i = 1; i < w->count; i++) {
        if (!w->used[i] && strcmp(w->at[i], word) == 0) { return w->used[i] = true; }
    }
    return false;
}

/* The first unused word of the list, or NULL. */
static const char *take_one(struct words *w, const char *list) {
    for (int i = 1; i < w->count; i++) {
        if (!w->used[i] && in_list(w->at[i], list)) {
            w->used[i] = true;
            return w->at[i];
        }
    }
    return NULL;
}

static bool all_used(const struct words *w) {
    for (int i = 1; i < w->count; i++) {
        if (!w->used[i]) { return false; }
    }
    return true;
}

static bool unknown(struct ptx *p) {
    return fail(
        p->t, ptx_token(p),
        "inline PTX: the CPU backend does not model '%s': write it in CUDA C++, or keep it from the CPU backend "
        "with #ifndef SIMT_CPU_BACKEND",
        p->name);
}

static bool wrong_operands(struct ptx *p) {
    return fail(p->t, ptx_token(p), "inline PTX: the CPU backend does not know these operands of '%s'", p->name);
}

/* ---- types and operands ---- */

#define INTEGERS  "u16 s16 u32 s32 u64 s64"
#define SMALL     "f16 f16x2 bf16 bf16x2"
#define ALL_TYPES "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 tf32"

static const char *cpp_type(const char *type) {
    static const char *const types[][2] = {{"b8", "::uint8_t"},
                                           {"u8", "::uint8_t"},
                                           {"s8", "::int8_t"},
                                           {"b16", "::uint16_t"},
                                           {"u16", "::uint16_t"},
                                           {"s16", "::int16_t"},
                                           {"b32", "::uint32_t"},
                                           {"u32", "::uint32_t"},
                                           {"s32", "::int32_t"},
                                           {"b64", "::uint64_t"},
                                           {"u64", "::uint64_t"},
                                           {"s64", "::int64_t"},
                                           {"f32", "float"},
                                           {"f64", "double"},
                                           {"pred", "bool"},
                                           {"f16", "::simt::ptx::f16"},
                                           {"f16x2", "::simt::ptx::f16x2"},
                                           {"bf16", "::simt::ptx::bf16"},
                                           {"bf16x2", "::simt::ptx::bf16x2"},
                                           {"tf32", "::simt::ptx::tf32"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i][0], type) == 0) { return types[i][1]; }
    }
    return "void";
}

/* The type as it lies in memory. */
static const char *memory_type(const char *type) {
    return in_list(type, "f16 bf16") ? "::uint16_t" : in_list(type, "f16x2 bf16x2") ? "::uint32_t" : cpp_type(type);
}

static bool is_source(const struct argument *a) {
    return a->kind == ARGUMENT_REGISTER || a->kind == ARGUMENT_LITERAL || a->kind == ARGUMENT_REAL;
}

static void emit_source(struct ptx *p, int i, const char *type) {
    const struct argument *a = &p->argument[i];
    if (a->kind == ARGUMENT_REAL) {
        ptx_emit(p, "::simt::ptx::real<%s>(%s)", in_list(type, "f32 f64") ? cpp_type(type) : "float", a->code);
    } else {
        ptx_emit(p, "%s", a->code);
    }
}

static bool is_target(const struct argument *a) {
    return (a->kind == ARGUMENT_REGISTER && a->code[0] != '!') || a->kind == ARGUMENT_SINK;
}

/* The operands: a result, then `sources` plain ones. */
static bool has_plain_operands(const struct ptx *p, int sources) {
    if (p->argument_count != sources + 1 || !is_target(&p->argument[0])) { return false; }
    for (int i = 1; i <= sources; i++) {
        if (!is_source(&p->argument[i])) { return false; }
    }
    return true;
}

/* The modifiers that are functions of simt/ptx.h take as flags. */
static void emit_flags(struct ptx *p, struct words *w, const char *list) {
    ptx_emit(p, "0u");
    for (const char *flag; (flag = take_one(w, list));) {
        ptx_emit(p, " | ::simt::ptx::%s", strcmp(flag, "l") == 0 ? "left" : strcmp(flag, "r") == 0 ? "right" : flag);
    }
}

/* ---- arithmetic ---- */

static const struct {
    const char *name, *types, *flags;
    int sources;
} arithmetic[] = {
    {"add", INTEGERS, "", 2},
    {"add", "f32", "rn rz rm rp ftz sat", 2},
    {"add", "f64", "rn rz rm rp", 2},
    {"add", SMALL, "rn", 2},
    {"sub", INTEGERS, "", 2},
    {"sub", "f32", "rn rz rm rp ftz sat", 2},
    {"sub", "f64", "rn rz rm rp", 2},
    {"sub", SMALL, "rn", 2},
    {"mul", INTEGERS, "lo hi wide", 2},
    {"mul", "f32", "rn rz rm rp ftz sat", 2},
    {"mul", "f64", "rn rz rm rp", 2},
    {"mul", SMALL, "rn", 2},
    {"mad", INTEGERS, "lo hi wide", 3},
    {"mad", "f32", "rn rz rm rp ftz sat", 3},
    {"mad", "f64", "rn rz rm rp", 3},
    {"fma", "f32", "rn rz rm rp ftz sat", 3},
    {"fma", "f64", "rn rz rm rp", 3},
    {"fma", SMALL, "rn", 3},
    {"div", INTEGERS, "", 2},
    {"div", "f32", "rn rz rm rp approx full ftz", 2},
    {"div", "f64", "rn rz rm rp", 2},
    {"rem", INTEGERS, "", 2},
    {"min", INTEGERS, "", 2},
    {"min", "f32", "ftz NaN", 2},
    {"min", "f64 " SMALL, "", 2},
    {"max", INTEGERS, "", 2},
    {"max", "f32", "ftz NaN", 2},
    {"max", "f64 " SMALL, "", 2},
    {"neg", "s16 s32 s64 f64 " SMALL, "", 1},
    {"neg", "f32", "ftz", 1},
    {"abs", "s16 s32 s64 f64 " SMALL, "", 1},
    {"abs", "f32", "ftz", 1},
    {"sqrt", "f32", "rn approx ftz", 1},
    {"sqrt", "f64", "rn", 1},
    {"rcp", "f32", "rn approx ftz", 1},
    {"rcp", "f64", "rn", 1},
    {"rsqrt", "f32", "approx ftz", 1},
    {"rsqrt", "f64", "approx", 1},
    {"ex2", "f32 f16 f16x2", "approx ftz", 1},
    {"ex2", "bf16 bf16x2", "approx ftz", 1},
    {"lg2", "f32", "approx ftz", 1},
    {"sin", "f32", "approx ftz", 1},
    {"cos", "f32", "approx ftz", 1},
    {"tanh", "f32 " SMALL, "approx", 1},
    {"and", "b16 b32 b64 pred", "", 2},
    {"or", "b16 b32 b64 pred", "", 2},
    {"xor", "b16 b32 b64 pred", "", 2},
    {"not", "b16 b32 b64 pred", "", 1},
    {"shl", "b16 b32 b64", "", 2},
    {"shr", "b16 b32 b64 " INTEGERS, "", 2},
    {"shf", "b32", "l r wrap clamp", 3},
    {"popc", "b32 b64", "", 1},
    {"clz", "b32 b64", "", 1},
    {"brev", "b32 b64", "", 1},
    {"bfe", "u32 s32 u64 s64", "", 3},
    {"bfi", "b32 b64", "", 4},
    {"lop3", "b32", "", 4},
    {"prmt", "b32", "", 3},
    {"selp", "b16 b32 b64 f32 f64 " INTEGERS, "", 3},
};

/* 1: translated; 0: not in the table; -1: wrong operands. */
static int translate_arithmetic(struct ptx *p, struct words *w) {
    const char *type = w->at[w->count - 1];
    for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++) {
        if (strcmp(arithmetic[i].name, w->at[0]) != 0 || !in_list(type, arithmetic[i].types)) { continue; }
        bool known = w->count > 1;
        for (int k = 1; k < w->count - 1; k++) { known &= in_list(w->at[k], arithmetic[i].flags); }
        if (!known) { continue; }
        if (!has_plain_operands(p, arithmetic[i].sources)) { return -1; }
        bool keyword = in_list(w->at[0], "and or xor not");
        ptx_emit(p, "%s = ::simt::ptx::%s%s<%s, ", p->argument[0].code, w->at[0], keyword ? "_" : "", cpp_type(type));
        emit_flags(p, w, arithmetic[i].flags);
        ptx_emit(p, ">(");
        for (int k = 1; k < p->argument_count; k++) {
            ptx_emit(p, k > 1 ? ", " : "");
            emit_source(p, k, type);
        }
        ptx_emit(p, ");");
        return 1;
    }
    return 0;
}

/* ---- moves, conversions, comparisons ---- */

static bool translate_mov(struct ptx *p, struct words *w) {
    const char *type = take_one(w, ALL_TYPES " pred");
    if (!type || !all_used(w)) { return unknown(p); }
    const struct argument *to = &p->argument[0], *from = &p->argument[1];
    if (p->argument_count == 2 && is_target(to) && from->kind == ARGUMENT_VECTOR) {
        ptx_emit(p, "%s = ::simt::ptx::packed<%s>(%s);", to->code, cpp_type(type), from->code);
    } else if (p->argument_count == 2 && to->kind == ARGUMENT_VECTOR && is_source(from)) {
        ptx_emit(p, "::simt::ptx::unpacked<%s>(%s, %s);", cpp_type(type), from->code, to->code);
    } else if (has_plain_operands(p, 1)) {
        ptx_emit(p, "%s = ", to->code);
        emit_source(p, 1, type);
        ptx_emit(p, ";");
    } else {
        return wrong_operands(p);
    }
    return true;
}

static bool translate_cvt(struct ptx *p, struct words *w) {
    if (w->count < 3) { return unknown(p); }
    const char *to = w->at[w->count - 2], *from = w->at[w->count - 1];
    bool known = in_list(to, ALL_TYPES) && in_list(from, ALL_TYPES);
    bool pair = in_list(to, "f16x2 bf16x2"), is_whole = false;
    if (in_list(from, "tf32 f16x2 bf16x2") || (in_list(to, "tf32 f16x2 bf16x2") && strcmp(from, "f32") != 0)) {
        known = false;
    }
    for (int i = 1; i < w->count - 2; i++) {
        known &= in_list(w->at[i], "rn rz rm rp rni rzi rmi rpi ftz sat rna relu satfinite");
        known &= strcmp(w->at[i], "rna") != 0 || strcmp(to, "tf32") == 0;
        known &= strcmp(w->at[i], "satfinite") != 0 && (strcmp(w->at[i], "relu") != 0 || in_list(to, SMALL));
        is_whole |= in_list(w->at[i], "rni rzi rmi rpi");
    }
    if (!known) { return unknown(p); }
    if (!has_plain_operands(p, pair ? 2 : 1)) { return wrong_operands(p); }
    w->used[w->count - 2] = w->used[w->count - 1] = true;
    ptx_emit(p, "%s = ::simt::ptx::cvt<%s, %s, ", p->argument[0].code, cpp_type(to), cpp_type(from));
    if (is_whole && in_list(to, "f32 f64")) { ptx_emit(p, "1u << 31 | "); }
    emit_flags(p, w, "rn rz rm rp rni rzi rmi rpi ftz sat rna relu");
    ptx_emit(p, ">(");
    for (int i = 1; i < p->argument_count; i++) {
        ptx_emit(p, i > 1 ? ", " : "");
        emit_source(p, i, from);
    }
    ptx_emit(p, ");");
    return true;
}

static bool translate_setp(struct ptx *p, struct words *w) {
    const char *comparison = take_one(w, "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan");
    const char *type = take_one(w, ALL_TYPES);
    take(w, "ftz");
    if (!comparison || !type || !all_used(w) || in_list(type, "f16x2 bf16x2 tf32")) { return unknown(p); }
    if (!has_plain_operands(p, 2) || !p->argument[0].is_predicate) { return wrong_operands(p); }
    static const char *const of_unsigned[][2] = {{"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(comparison, of_unsigned[i][0]) == 0) { comparison = of_unsigned[i][1]; }
    }
    ptx_emit(p, "%s = ::simt::ptx::setp<%s, ::simt::ptx::%s>(", p->argument[0].code, cpp_type(type), comparison);
    emit_source(p, 1, type);
    ptx_emit(p, ", ");
    emit_source(p, 2, type);
    ptx_emit(p, ");");
    if (p->argument[0].has_second) { ptx_emit(p, " %s = !%s;", p->argument[0].second, p->argument[0].code); }
    return true;
}

/* cvta.to.SPACE: from generic; cvta.SPACE: to generic. */
static bool translate_cvta(struct ptx *p, struct words *w) {
    bool to_space = take(w, "to");
    const char *space = take_one(w, "shared shared::cta global const"), *type = take_one(w, "u32 u64");
    if (!space || !type || !all_used(w)) { return unknown(p); }
    if (!has_plain_operands(p, 1)) { return wrong_operands(p); }
    const char *to = p->argument[0].code, *from = p->argument[1].code;
    if (strncmp(space, "shared", 6) != 0) {
        ptx_emit(p, "%s = %s;", to, from);
    } else if (to_space) {
        ptx_emit(p, "%s = ::__cvta_generic_to_shared(::simt::ptx::generic(%s));", to, from);
    } else {
        ptx_emit(p, "%s = reinterpret_cast<::uint64_t>(::simt::ptx::shared(%s));", to, from);
    }
    return true;
}

/* ---- memory ---- */

#define CACHE_HINTS                                                                                 \
    "nc ca cg cs lu cv wb wt weak L1::no_allocate L1::evict_normal L1::evict_first L1::evict_last " \
    "L1::evict_unchanged L2::64B L2::128B L2::256B L2::evict_normal L2::evict_first L2::evict_last"

/* The pointer of a memory operand, for a space. */
static void emit_pointer(struct ptx *p, int i, const char *space) {
    bool shared = space && strncmp(space, "shared", 6) == 0;
    ptx_emit(p, "::simt::ptx::%s(%s)", shared ? "shared" : "generic", p->argument[i].code);
}

static const char *take_space(struct words *w) {
    return take_one(w, "global shared shared::cta const");
}

static void emit_fence(struct ptx *p, const char *scope) {
    ptx_emit(p, "::simt_fence(%s);",
             scope && strcmp(scope, "cta") == 0   ? "::SIMT_FENCE_BLOCK"
             : scope && strcmp(scope, "sys") == 0 ? "::SIMT_FENCE_SYSTEM"
                                                  : "::SIMT_FENCE_DEVICE");
}

static bool translate_ld_st(struct ptx *p, struct words *w) {
    bool load = w->at[0][0] == 'l';
    const char *order = take_one(w, "volatile relaxed acquire release");
    const char *scope = take_one(w, "cta gpu sys");
    const char *space = take_space(w), *vector = take_one(w, "v2 v4");
    const char *type = take_one(w, "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64");
    while (take_one(w, CACHE_HINTS)) {}
    int parts = vector ? vector[1] - '0' : 1, data = load ? 0 : 1, memory = 1 - data;
    if (!type || !all_used(w) || (parts == 4 && strstr(type, "64"))) { return unknown(p); }
    const struct argument *value = &p->argument[data];
    if (p->argument_count != 2 || p->argument[memory].kind != ARGUMENT_MEMORY ||
        (vector ? value->kind != ARGUMENT_VECTOR || value->count != parts
         : load ? !is_target(value)
                : !is_source(value))) {
        return wrong_operands(p);
    }
    if (order && strcmp(order, "release") == 0) { emit_fence(p, scope); }
    ptx_emit(p, "::simt::ptx::%s<%s, %s>(", w->at[0], memory_type(type), order ? "true" : "false");
    emit_pointer(p, memory, space);
    ptx_emit(p, ", ");
    if (vector) {
        ptx_emit(p, "%s", value->code);
    } else {
        emit_source(p, data, type);
    }
    ptx_emit(p, ");");
    return true;
}

/* atom.global.add.u32 d, [a], b; red.global.add.f32 [a], b; atom.cas.b32 d, [a], b, c. */
static bool translate_atom(struct ptx *p, struct words *w) {
    static const char *const operations[][2] = {{"add", "ADD"}, {"exch", "EXCH"}, {"cas", "CAS"}, {"min", "MIN"},
                                                {"max", "MAX"}, {"and", "AND"},   {"or", "OR"},   {"xor", "XOR"},
                                                {"inc", "INC"}, {"dec", "DEC"}};
    static const char *const types[][2] = {{"u32", "U32"}, {"s32", "I32"},   {"b32", "U32"},     {"u64", "U64"},
                                           {"s64", "I64"}, {"b64", "U64"},   {"f32", "F32"},     {"f64", "F64"},
                                           {"f16", "F16"}, {"bf16", "BF16"}, {"f16x2", "F16X2"}, {"bf16x2", "BF16X2"},
                                           {"b16", "B16"}};
    bool returns = w->at[0][0] == 'a';
    const char *order = take_one(w, "relaxed acquire release acq_rel"), *scope = take_one(w, "cta gpu sys");
    const char *space = take_space(w), *operation = take_one(w, "add exch cas min max and or xor inc dec");
    const char *type = take_one(w, "u32 s32 b32 u64 s64 b64 f32 f64 f16 bf16 f16x2 bf16x2 b16"), *op = "", *kind = "";
    take(w, "noftz");
    if (!operation || !type || !all_used(w)) { return unknown(p); }
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(operations[i][0], operation) == 0) { op = operations[i][1]; }
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i][0], type) == 0) { kind = types[i][1]; }
    }
    int memory = returns ? 1 : 0, sources = strcmp(operation, "cas") == 0 ? 2 : 1;
    if (p->argument_count != memory + 1 + sources || p->argument[memory].kind != ARGUMENT_MEMORY) {
        return wrong_operands(p);
    }
    if (order && in_list(order, "release acq_rel")) { emit_fence(p, scope); }
    if (returns) {
        ptx_emit(p, "%s = static_cast<%s>(", p->argument[0].code, memory_type(type));
    } else {
        ptx_emit(p, "(void)(");
    }
    ptx_emit(p, "::simt_atomic(::SIMT_ATOMIC_%s, ::SIMT_TYPE_%s, ", op, kind);
    emit_pointer(p, memory, space);
    ptx_emit(p, ", ");
    emit_source(p, memory + sources, type); /* compare-and-swap: the desired value is the last operand */
    ptx_emit(p, ", %s));", sources == 2 ? p->argument[memory + 1].code : "0");
    return true;
}

/* Prefetches access nothing: an address out of bounds is no error either. */
static bool translate_nothing(struct ptx *p, struct words *w) {
    (void)w;
    ptx_emit(p, ";");
    return true;
}

static bool translate_fence(struct ptx *p, struct words *w) {
    const char *scope = take_one(w, "cta gpu sys gl");
    take_one(w, "sc acq_rel");
    if (!scope || !all_used(w) || p->argument_count) { return unknown(p); }
    emit_fence(p, scope);
    return true;
}

static bool translate_cp(struct ptx *p, struct words *w) {
    if (!take(w, "async")) { return unknown(p); }
    if (take(w, "commit_group") && all_used(w)) {
        ptx_emit(p, "::simt_async_commit();");
        return true;
    }
    if (take(w, "wait_all") && all_used(w)) {
        ptx_emit(p, "::simt_async_wait_all();");
        return true;
    }
    if (take(w, "wait_group") && all_used(w)) {
        if (p->argument_count != 1 || !is_source(&p->argument[0])) { return wrong_operands(p); }
        ptx_emit(p, "::simt_async_wait(static_cast<unsigned>(%s));", p->argument[0].code);
        return true;
    }
    const char *cache = take_one(w, "ca cg");
    bool spaces = take_one(w, "shared shared::cta") && take(w, "global");
    take_one(w, "L2::64B L2::128B L2::256B");
    if (!cache || !spaces || !all_used(w)) { return unknown(p); }
    if (p->argument_count < 3 || p->argument_count > 4 || p->argument[0].kind != ARGUMENT_MEMORY ||
        p->argument[1].kind != ARGUMENT_MEMORY || p->argument[2].kind != ARGUMENT_LITERAL ||
        (p->argument_count == 4 && (!is_source(&p->argument[3]) || p->argument[3].is_predicate))) {
        return wrong_operands(p);
    }
    ptx_emit(p, "::simt::ptx::copy_async<%d>(", cache[1] == 'g');
    emit_pointer(p, 0, "shared");
    ptx_emit(p, ", ");
    emit_pointer(p, 1, "global");
    ptx_emit(p, ", %s, %s);", p->argument[2].code, p->argument[p->argument_count == 4 ? 3 : 2].code);
    return true;
}

/* ---- barriers and the warp ---- */

static bool translate_bar(struct ptx *p, struct words *w) {
    take_one(w, "aligned cta");
    take_one(w, "aligned");
    if (take(w, "warp") && take(w, "sync") && all_used(w) && p->argument_count == 1) {
        ptx_emit(p, "::__syncwarp(static_cast<unsigned>(%s));", p->argument[0].code);
        return true;
    }
    if (!take(w, "sync") || !all_used(w)) { return unknown(p); }
    if (p->argument_count < 1 || p->argument_count > 2 || !is_source(&p->argument[0])) { return wrong_operands(p); }
    ptx_emit(p, "::simt::ptx::barrier(%s, %s);", p->argument[0].code,
             p->argument_count == 2 ? p->argument[1].code : "0");
    return true;
}

static bool translate_shfl(struct ptx *p, struct words *w) {
    const char *mode = take_one(w, "up down bfly idx");
    if (!take(w, "sync") || !mode || !take(w, "b32") || !all_used(w)) { return unknown(p); }
    if (!has_plain_operands(p, 4)) { return wrong_operands(p); }
    const char *constant = strcmp(mode, "up") == 0     ? "::SIMT_SHUFFLE_UP"
                           : strcmp(mode, "down") == 0 ? "::SIMT_SHUFFLE_DOWN"
                           : strcmp(mode, "bfly") == 0 ? "::SIMT_SHUFFLE_XOR"
                                                       : "::SIMT_SHUFFLE_INDEX";
    const struct argument *a = p->argument;
    if (a[0].has_second) {
        ptx_emit(p, "%s = ::simt::ptx::shfl_inside(%s, %s, %s); ", a[0].second, constant, a[2].code, a[3].code);
    }
    ptx_emit(p, "%s = ::simt::ptx::shfl(%s, %s, %s, %s, %s);", a[0].code, constant, a[1].code, a[2].code, a[3].code,
             a[4].code);
    return true;
}

static bool translate_vote(struct ptx *p, struct words *w) {
    const char *mode = take_one(w, "any all uni ballot");
    if (!take(w, "sync") || !mode || !take_one(w, "pred b32") || !all_used(w)) { return unknown(p); }
    if (!has_plain_operands(p, 2) || !p->argument[1].is_predicate) { return wrong_operands(p); }
    ptx_emit(p, "%s = ::__%s_sync(static_cast<unsigned>(%s), %s);", p->argument[0].code, mode, p->argument[2].code,
             p->argument[1].code);
    return true;
}

static bool translate_activemask(struct ptx *p, struct words *w) {
    if (!take(w, "b32") || !all_used(w)) { return unknown(p); }
    if (!has_plain_operands(p, 0)) { return wrong_operands(p); }
    ptx_emit(p, "%s = ::__activemask();", p->argument[0].code);
    return true;
}

static bool translate_redux(struct ptx *p, struct words *w) {
    const char *operation = take_one(w, "add min max and or xor"), *type = take_one(w, "u32 s32 b32");
    if (!take(w, "sync") || !operation || !type || !all_used(w)) { return unknown(p); }
    if (!has_plain_operands(p, 2)) { return wrong_operands(p); }
    ptx_emit(p, "%s = static_cast<::uint32_t>(::__reduce_%s_sync(static_cast<unsigned>(%s), static_cast<%s>(%s)));",
             p->argument[0].code, operation, p->argument[2].code, strcmp(type, "s32") == 0 ? "int" : "unsigned",
             p->argument[1].code);
    return true;
}

/* elect.sync d|p, mask */
static bool translate_elect(struct ptx *p, struct words *w) {
    if (!take(w, "sync") || !all_used(w)) { return unknown(p); }
    if (!has_plain_operands(p, 1) || !p->argument[0].has_second) { return wrong_operands(p); }
    ptx_emit(p, "{ ::uint32_t simt_leader; %s = ::simt::ptx::elect(static_cast<::uint32_t>(%s), simt_leader); ",
             p->argument[0].second, p->argument[1].code);
    ptx_emit(p, "%s = simt_leader; }", p->argument[0].code);
    return true;
}

/* ---- matrices ---- */

static bool translate_ldmatrix(struct ptx *p, struct words *w) {
    const char *count = take_one(w, "x1 x2 x4");
    bool transposed = take(w, "trans"),
         known = take(w, "sync") && take(w, "aligned") && take(w, "m8n8") && take(w, "b16");
    if (!count || !known || !take_one(w, "shared shared::cta") || !all_used(w)) { return unknown(p); }
    const struct argument *to = &p->argument[0];
    int registers = to->kind == ARGUMENT_VECTOR ? to->count : 1;
    if (p->argument_count != 2 || p->argument[1].kind != ARGUMENT_MEMORY || registers != count[1] - '0') {
        return wrong_operands(p);
    }
    ptx_emit(p, "::simt::ptx::ldmatrix<%c, %s>(%s, %s);", count[1], transposed ? "true" : "false", p->argument[1].code,
             to->code);
    return true;
}

/* Registers i and i + 1 of a vector or a single register, as a 64-bit argument. */
static void emit_pair(struct ptx *p, const struct argument *a, int i) {
    int count = a->kind == ARGUMENT_VECTOR ? a->count : 1;
    const char *first = i >= count ? "0" : a->kind == ARGUMENT_VECTOR ? a->part[i] : a->code;
    ptx_emit(p, "%s::simt::ptx::two_registers(%s, %s)", a == &p->argument[1] && i == 0 ? "" : ", ", first,
             i + 1 < count ? a->part[i + 1] : "0");
}

static bool translate_mma(struct ptx *p, struct words *w) {
    const char *shape = take_one(w, "m16n8k32 m16n8k16 m16n8k8 m16n8k4");
    if (!take(w, "sync") || !take(w, "aligned") || !shape || !take(w, "row") || !take(w, "col")) { return unknown(p); }
    /* The types of d, a, b and c are the last four words. */
    const char *const *type = (const char *const *)&w->at[w->count - 4];
    if (w->count != 10) { return unknown(p); }
    const char *of = strcmp(type[1], "f16") == 0    ? "MATRIX_F16"
                     : strcmp(type[1], "bf16") == 0 ? "MATRIX_BF16"
                     : strcmp(type[1], "tf32") == 0 ? "MATRIX_TF32"
                     : strcmp(type[1], "s8") == 0   ? "MATRIX_S8"
                                                    : NULL;
    bool half_sums = strcmp(type[0], "f16") == 0, tf32 = strcmp(type[1], "tf32") == 0, s8 = strcmp(type[1], "s8") == 0;
    int k = atoi(shape + 6), a_count = tf32 ? k / 2 : s8 ? k / 8 : k / 4, c_count = half_sums ? 2 : 4;
    bool known = of && strcmp(type[1], type[2]) == 0 && strcmp(type[0], type[3]) == 0 &&
                 (half_sums ? strcmp(type[1], "f16") == 0 : strcmp(type[0], s8 ? "s32" : "f32") == 0) &&
                 (tf32 ? k <= 8
                  : s8 ? k == 32
                       : k == 8 || k == 16);
    if (!known) { return unknown(p); }
    const struct argument *d = &p->argument[0], *a = &p->argument[1], *b = &p->argument[2], *c = &p->argument[3];
    int b_count = b->kind == ARGUMENT_VECTOR ? b->count : 1;
    if (p->argument_count != 4 || d->kind != ARGUMENT_VECTOR || c->kind != ARGUMENT_VECTOR ||
        a->kind != ARGUMENT_VECTOR || d->count != c_count || c->count != c_count || a->count != a_count ||
        b_count != a_count / 2) {
        return wrong_operands(p);
    }
    ptx_emit(p, "{ ::simt_registers simt_d = ::simt::ptx::mma<::%s, %d, %s>(", of, k, half_sums ? "true" : "false");
    emit_pair(p, a, 0);
    emit_pair(p, a, 2);
    emit_pair(p, b, 0);
    emit_pair(p, c, 0);
    emit_pair(p, c, 2);
    ptx_emit(p, "); ");
    for (int i = 0; i < c_count; i++) {
        ptx_emit(p, "%s = static_cast<::uint32_t>(simt_d.r%s >> %d); ", d->part[i], i < 2 ? "01" : "23", i % 2 * 32);
    }
    ptx_emit(p, "}");
    return true;
}

/* ---- the rest ---- */

static bool translate_griddepcontrol(struct ptx *p, struct words *w) {
    return take_one(w, "wait launch_dependents") && all_used(w) ? translate_nothing(p, w) : unknown(p);
}

static bool translate_nanosleep(struct ptx *p, struct words *w) {
    (void)w;
    ptx_emit(p, "::simt_yield();");
    return true;
}

static bool translate_trap(struct ptx *p, struct words *w) {
    (void)w;
    ptx_emit(p, "::simt_trap();");
    return true;
}

static bool translate_exit(struct ptx *p, struct words *w) {
    (void)w;
    ptx_emit(p, "::simt_exit();");
    return true;
}

static const struct {
    const char *name;
    bool (*translate)(struct ptx *p, struct words *w);
} others[] = {
    {"mov", translate_mov},
    {"cvt", translate_cvt},
    {"setp", translate_setp},
    {"cvta", translate_cvta},
    {"ld", translate_ld_st},
    {"ldu", translate_ld_st},
    {"st", translate_ld_st},
    {"atom", translate_atom},
    {"red", translate_atom},
    {"prefetch", translate_nothing},
    {"prefetchu", translate_nothing},
    {"membar", translate_fence},
    {"fence", translate_fence},
    {"cp", translate_cp},
    {"bar", translate_bar},
    {"barrier", translate_bar},
    {"shfl", translate_shfl},
    {"vote", translate_vote},
    {"activemask", translate_activemask},
    {"redux", translate_redux},
    {"elect", translate_elect},
    {"ldmatrix", translate_ldmatrix},
    {"mma", translate_mma},
    {"griddepcontrol", translate_griddepcontrol},
    {"nanosleep", translate_nanosleep},
    {"trap", translate_trap},
    {"exit", translate_exit},
};

/* Families without a model, and what replaces them. */
static const struct {
    const char *begins, *instead;
} replaced[] = {
    {"wgmma.", "multiply with mma.sync or mma.h"},
    {"tcgen05.", "multiply with mma.sync or mma.h"},
    {"wmma.", "use mma.h, or mma.sync"},
    {"cp.async.bulk.", "copy with cp.async"},
    {"cp.async.mbarrier.", "wait with cp.async.wait_group"},
    {"mbarrier.", "use cuda::barrier, or __syncthreads()"},
    {"barrier.cluster.", "clusters are not modelled: use grid.sync()"},
    {"mapa.", "clusters are not modelled"},
    {"bra", "write the branch in CUDA C++"},
};

bool ptx_translate(struct ptx *p) {
    struct words w;
    split(&w, p->name);
    if (w.count == 0) { return unknown(p); }
    if (strncmp(p->name, "cp.async.bulk.prefetch.L2", 25) == 0) { return translate_nothing(p, &w); }
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        if (strncmp(p->name, replaced[i].begins, strlen(replaced[i].begins)) == 0) {
            return fail(p->t, ptx_token(p), "inline PTX: the CPU backend does not model '%s': %s", p->name,
                        replaced[i].instead);
        }
    }
    int done = translate_arithmetic(p, &w);
    if (done) { return done > 0 || wrong_operands(p); }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(others[i].name, w.at[0]) == 0) { return others[i].translate(p, &w); }
    }
    return unknown(p);
}
