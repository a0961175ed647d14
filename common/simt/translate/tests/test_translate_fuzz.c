/* translate_fuzz: for no text does the translator crash or hang; its result is a translation or one error line.
 *
 * The mutations are the same on every run: bytes changed, parts cut, doubled and swapped in the case files, and random
 * sequences of CUDA's own tokens. `make test-asan` runs this under the address and UB sanitizers.
 * TRANSLATE_FUZZ=N: N times as many.
 */
#include "in_process.h"

#include <criterion/criterion.h>
#include <stdint.h>

TestSuite(translate_fuzz, .timeout = 600);

static uint64_t state;

static uint32_t next(uint32_t below) {
    state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 32) % below;
}

static int rounds(int usual) {
    const char *more = getenv("TRANSLATE_FUZZ");
    return usual * (more && atoi(more) > 0 ? atoi(more) : 1);
}

static const char *const pieces[] = {
    "<<<",
    ">>>",
    "<<<1, 2>>>(x)",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    "::",
    ".",
    "->",
    "=",
    "*",
    "&",
    ":",
    "asm(\"{ .reg .pred p; @!p add.u32 %0, %1, [%2+4]; }\"",
    "\"ld.global.v2.u32 {%0, %1}, [%2];\"",
    ": \"=r\"(x), \"+f\"(y)",
    "__global__",
    "__device__",
    "__host__",
    "__shared__",
    "extern __shared__",
    "__constant__",
    "__managed__",
    "static",
    "void",
    "template",
    "template <",
    "class",
    "struct",
    "namespace",
    "operator",
    "int",
    "float",
    "k",
    "s",
    "x",
    "return",
    "if",
    "extern",
    "\"C\"",
    "__launch_bounds__",
    "__align__(8)",
    "alignas",
    "decltype",
    "__attribute__",
    "asm",
    "tex2D",
    "texture<",
    "cudaFunc(",
    "cudaLaunchKernel((void *)",
    "reinterpret_cast<void *>",
    "#",
    "\n# 3 \"b.cu\" 1\n",
    "\n# 4 \"s.h\" 1 3\n",
    "\n# 1 \"a.cu\" 2\n",
    "\n#pragma x\n",
    "/*",
    "*/",
    "//",
    "\n",
    "\"",
    "'",
    "R\"(",
    ")\"",
    "\\",
    "0x1p-3",
    "1'0",
    "=",
    "__func__",
    "typename",
    "friend",
    "[=]",
    "mutable",
    "noexcept",
    "auto",
    "typedef",
    "union",
    "enum",
    "public:",
    "\1",
    "\1"
    "9\1",
    "\xff",
};

static void check(const char *text, size_t length) {
    bool ok;
    char *out = translation_of(text, length, &ok);
    cr_assert_not_null(out);
    if (!ok) {
        const char *error = strstr(out, ": error: ");
        cr_assert(error && strlen(error) > strlen(": error: "), "message: %s", out);
    }
    free(out);
}

static char *read_case(const char *name, size_t *length) {
    char path[200];
    snprintf(path, sizeof path, "common/simt/translate/tests/cases/%s", name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s is missing", path);
    char *text = malloc(1 << 16);
    *length = fread(text, 1, 1 << 16, file);
    fclose(file);
    return text;
}

static void mutate(char *text, size_t *length, size_t room) {
    uint32_t at = next((uint32_t)*length), size = 1 + next(40), kind = next(5);
    size = at + size > *length ? (uint32_t)*length - at : size;
    if (kind == 0) {
        text[at] = (char)next(256);
    } else if (kind == 1) { /* cut */
        memmove(text + at, text + at + size, *length - at - size);
        *length -= size;
    } else if (kind == 2 && *length + size < room) { /* double */
        memmove(text + at + size, text + at, *length - at);
        *length += size;
    } else if (kind == 3) { /* overwrite with another place's */
        uint32_t from = next((uint32_t)*length - size + 1);
        memmove(text + at, text + from, size);
    } else { /* insert a part */
        const char *piece = pieces[next(sizeof pieces / sizeof *pieces)];
        size_t piece_length = strlen(piece);
        if (*length + piece_length < room) {
            memmove(text + at + piece_length, text + at, *length - at);
            memcpy(text + at, piece, piece_length);
            *length += piece_length;
        }
    }
}

Test(translate_fuzz, mutated_cases) {
    static const char *const names[] = {
        "launched_kernels.cu", "launch_syntax.cu", "kernel_heads.cu", "kernel_bodies.cu", "shared.cu",
        "shared_dynamic.cu",   "variables.cu",     "headers.cu",      "local.cuh",        "inline_ptx.cu"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        size_t length;
        char *original = read_case(names[n], &length), *text = malloc(1 << 17);
        for (int round = 0; round < rounds(150); round++) {
            state = n * 1000000 + (uint64_t)round;
            size_t mutated = length;
            memcpy(text, original, length);
            for (uint32_t changes = 1 + next(4); changes > 0 && mutated > 100; changes--) {
                mutate(text, &mutated, 1 << 17);
            }
            check(text, mutated);
        }
        free(original);
        free(text);
    }
}

/* Host and device code that differ in any way. */
Test(translate_fuzz, two_sides) {
    size_t length;
    char *original = read_case("sides.cu", &length), *text = malloc(1 << 17);
    for (int round = 0; round < rounds(500); round++) {
        size_t mutated = length, joined_length = 0;
        state = (uint64_t)round << 24;
        memcpy(text, original, length);
        for (uint32_t changes = 1 + next(6); changes > 0 && mutated > 100; changes--) {
            mutate(text, &mutated, 1 << 17);
        }
        struct text a = {original, length}, b = {text, mutated};
        char *joined = round % 2 ? join_sides(a, b, NULL, &joined_length) : join_sides(b, a, NULL, &joined_length);
        if (joined) { check(joined, joined_length); }
        free(joined);
    }
    free(original);
    free(text);
}

/* Every beginning of a text: the end of file may come anywhere. */
Test(translate_fuzz, cut_short) {
    size_t length;
    char *original = read_case("kernel_heads.cu", &length);
    for (size_t end = 0; end < length; end += 1 + (size_t)next(24)) {
        char *text = malloc(end ? end : 1); /* exactly as long, so that a read past the end is seen */
        memcpy(text, original, end);
        check(text, end);
        free(text);
    }
    free(original);
}

Test(translate_fuzz, random_tokens) {
    for (int round = 0; round < rounds(20000); round++) {
        char text[4000] = "";
        size_t length = 0;
        state = (uint64_t)round << 20;
        for (uint32_t count = next(60); count > 0; count--) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
                                       pieces[next(sizeof pieces / sizeof *pieces)], next(3) ? " " : "");
        }
        check(text, length);
    }
}

/* Deep nesting and long lines: the time stays proportional. */
Test(translate_fuzz, large) {
    enum { MANY = 20000 };
    static const char *const units[] = {"{",  "(",     "k<<<1,2>>>(x);",        "__shared__ int x;",
                                        "a<", "x{1},", "__global__ void k(){}", "int x;\n"};
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        size_t size = strlen(units[u]);
        char *text = malloc(size * MANY);
        for (size_t i = 0; i < MANY; i++) { memcpy(text + i * size, units[u], size); }
        check(text, size * MANY);
        free(text);
    }
}
