/* source: the integers and the hash of a learner's files. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../source.h"

TestSuite(source, .timeout = 20);

static char folder[] = "/tmp/source.XXXXXX";

static void write_file(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static struct source read_folder(void) {
    static const struct exercise exercise = {.file = "a.cu", .includes = {"given.cuh"}};
    struct source source;
    source_read(folder, &exercise, &source);
    return source;
}

static bool has_integer(const struct source *source, int value) {
    for (int i = 0; i < source->integer_count; i++) {
        if (source->integers[i] == value) { return true; }
    }
    return false;
}

Test(source, reads_the_integers_of_a_text) {
    struct source source = {0};
    source_add(&source,
               "enum { a = 256, b = 0x40 }; // 77\n/* 88 */ x1 = 3.5f * 1024u + 1e9 + 2'0; y = 256; z = 1 << 12;");
    cr_assert_eq(source.integer_count, 5, "%d", source.integer_count);
    cr_expect(has_integer(&source, 256) && has_integer(&source, 64) && has_integer(&source, 1024));
    cr_expect(has_integer(&source, 2) && has_integer(&source, 12));
}

Test(source, reads_no_more_integers_than_fit) {
    char text[4 * SOURCE_MAX_INTEGERS * 2], *at = text;
    struct source source = {0};
    for (int i = 0; i < SOURCE_MAX_INTEGERS + 10; i++) { at += sprintf(at, "%d ", 100 + i); }
    source_add(&source, text);
    cr_expect_eq(source.integer_count, SOURCE_MAX_INTEGERS);
}

Test(source, follows_own_headers_and_hashes_every_byte) {
    cr_assert(mkdtemp(folder));
    write_file("a.cu", "#include \"own.cuh\"\n#include \"missing.cuh\"\nint a = 101;\n");
    write_file("own.cuh", "  # include \"a.cu\"\nint b = 102;\n");
    write_file("given.cuh", "int c = 103;\n");
    write_file("other.cuh", "int d = 104;\n");
    struct source first = read_folder(), again = read_folder();
    cr_expect(has_integer(&first, 101) && has_integer(&first, 102) && has_integer(&first, 103));
    cr_expect(!has_integer(&first, 104), "no file includes it");
    cr_expect_eq(first.hash, again.hash);
    write_file("own.cuh", "  # include \"a.cu\"\nint b = 102; \n");
    again = read_folder();
    cr_expect_neq(first.hash, again.hash, "a blank in a header");
}
