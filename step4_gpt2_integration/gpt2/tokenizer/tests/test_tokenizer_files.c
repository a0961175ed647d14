/* tokenizer_files: each format in a round trip, and one error for each invalid file. */
#include <criterion/criterion.h>

#include "gpt2/tests/scratch.h"
#include "gpt2/tokenizer/internal.h"

static const char text[] = "the cat \"sat\" on\\the mat; the cat sat. 1999 na\xc3\xafve 1999 na\xc3\xafve\n\n\n\n";

static void write_files(void) {
    scratch_make();
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(text, strlen(text), 1000, 2, &error);
    cr_assert(tokenizer, "%s", error.text);
    cr_assert_eq(mkdir(at("hf"), 0777), 0);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, at("hf"), &error), "%s", error.text);
    cr_assert(gpt2_tokenizer_write_llmc(tokenizer, at("t.bin"), &error), "%s", error.text);
    gpt2_tokenizer_close(tokenizer);
}

TestSuite(tokenizer_files, .init = write_files, .fini = scratch_remove, .timeout = 60);

static struct gpt2_tokenizer *open_it(const char *name) {
    return gpt2_tokenizer_open(at(name), &error);
}

/* Opens a file and writes both formats: the same bytes. */
static void check_round_trip(const char *name) {
    struct gpt2_tokenizer *tokenizer = open_it(name);
    cr_assert(tokenizer, "%s", error.text);
    mkdir(at("again"), 0777);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, at("again"), &error), "%s", error.text);
    cr_assert(gpt2_tokenizer_write_llmc(tokenizer, at("again.bin"), &error), "%s", error.text);
    gpt2_tokenizer_close(tokenizer);
    cr_assert(same_file("hf/vocab.json", "again/vocab.json") && same_file("hf/merges.txt", "again/merges.txt"));
    cr_assert(same_file("t.bin", "again.bin"));
}

Test(tokenizer_files, come_back_to_the_byte) {
    check_round_trip("hf");
    check_round_trip("t.bin");
}

/* The start of llm.c's file by hand: "!" is token 0, after it come the printable bytes, then U+0100: the byte 0. */
Test(tokenizer_files, llmc_to_the_byte) {
    size_t size;
    uint8_t *bytes = get("t.bin", &size);
    int32_t header[4];
    memcpy(header, bytes, sizeof header);
    cr_assert(header[0] == 20240328 && header[1] == 2 && header[3] == header[2] - 1);
    cr_assert(bytes[1024] == 1 && bytes[1025] == '!' && bytes[1024 + 2 * 188] == 1 && bytes[1025 + 2 * 188] == 0);
    cr_assert(memcmp(bytes + size - 14, "\x0d<|endoftext|>", 14) == 0);
    free(bytes);
}

/* Replaces the first `from` in a file by `to`; NULL cuts the file there. */
static void edit(const char *name, const char *from, const char *to) {
    size_t size;
    char *bytes = (char *)get(name, &size), *found = strstr(bytes, from);
    cr_assert(found, "%s", from);
    FILE *file = fopen(at(name), "wb");
    fwrite(bytes, 1, (size_t)(found - bytes), file);
    if (to) { fprintf(file, "%s%s", to, found + strlen(from)); }
    fclose(file);
    free(bytes);
}

/* As Hugging Face writes it: \u escapes, merges as texts or as pairs. */
static void write_json(const char *kind, const char *cut, const char *added, bool pairs) {
    size_t size;
    char *vocabulary = (char *)get("hf/vocab.json", &size), *merges = (char *)get("hf/merges.txt", &size);
    FILE *file = fopen(at("json/tokenizer.json"), "w");
    fprintf(file,
            "{\"version\":\"1.0\",\"normalizer\":null,\"added_tokens\":[%s],\"pre_tokenizer\":%s,"
            "\"model\":{\"type\":\"%s\",\"dropout\":null,\"vocab\":%s,\"merges\":[",
            added, cut, kind, vocabulary);
    int count = 0;
    for (char *line = strtok(strchr(merges, '\n'), "\n"); line; line = strtok(NULL, "\n")) {
        fprintf(file, "%s%s", count++ ? "," : "", pairs ? "[\"" : "\"");
        for (char *c = line; *c; c++) {
            if (*c == ' ' && pairs) {
                fprintf(file, "\",\"");
            } else if ((*c & 0xe0) == 0xc0) {
                fprintf(file, "\\u%04x", (unsigned)((*c & 0x1f) << 6 | (c[1] & 0x3f)));
                c++;
            } else {
                fprintf(file, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
            }
        }
        fprintf(file, "%s", pairs ? "\"]" : "\"");
    }
    fprintf(file, "]}}");
    fclose(file);
    free(vocabulary);
    free(merges);
}

#define CUT   "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true}"
#define ADDED "{\"id\":274,\"content\":\"<|endoftext|>\",\"special\":true}"

Test(tokenizer_files, tokenizer_json_is_read) {
    mkdir(at("json"), 0777);
    for (int pairs = 0; pairs < 2; pairs++) {
        write_json("BPE", CUT, ADDED, pairs);
        check_round_trip("json");
    }
}

Test(tokenizer_files, another_kind_of_tokenizer_json_is_refused) {
    mkdir(at("json"), 0777);
    write_json("Unigram", CUT, ADDED, false);
    cr_assert(fails_with(open_it("json"), "json/tokenizer.json: its model is not BPE"), "%s", error.text);
    write_json("BPE", "{\"type\":\"Whitespace\"}", ADDED, false);
    cr_assert(fails_with(open_it("json"), "its pre_tokenizer is not ByteLevel"), "%s", error.text);
    write_json("BPE", "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}", ADDED, false);
    cr_assert(fails_with(open_it("json"), "json/tokenizer.json: its pre_tokenizer has use_regex false"), "%s",
              error.text);
}

/* Settings of Hugging Face's `tokenizers` that differ from GPT-2's. */
Test(tokenizer_files, a_setting_that_changes_the_ids_is_refused) {
    static const char another[] = "in another way than GPT-2", template[] = "\"post_processor\":{\"type\":\"";
    static const char normalizer[] = "\"normalizer\":null";
    static const struct {
        const char *from, *to, *reason;
    } cases[] = {
        {"\"dropout\":null", "\"dropout\":0.1", "its model has a dropout"},
        {"\"dropout\":null", "\"dropout\":0.0", NULL},
        {"\"dropout\":null", "\"ignore_merges\":true", "\"ignore_merges\""},
        {"\"dropout\":null", "\"byte_fallback\":true", "\"byte_fallback\""},
        {normalizer, "\"normalizer\":{\"type\":\"NFC\"}", "its normalizer is not supported: \"NFC\""},
        {"\"dropout\":null", "\"continuing_subword_prefix\":\"##\"", another},
        {"\"dropout\":null", "\"end_of_word_suffix\":\"</w>\"", another},
        {"\"special\":true", "\"lstrip\":true", NULL},
        {"\"special\":true", "\"rstrip\":true", NULL},
        {"\"special\":true", "\"single_word\":true", "single_word, which is not supported"},
        {template, "TemplateProcessing\",\"single\":[{},{}]},", "adds tokens to a text"},
        {template, "BertProcessing\"},", "adds tokens to a text"},
        {template, "TemplateProcessing\",\"single\":[{}]},", NULL},
        {template, "ByteLevel\"},", NULL},
    };
    mkdir(at("json"), 0777);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        bool is_new = cases[i].from == template;
        snprintf(text, sizeof text, "%s%s%s", is_new ? template : "", cases[i].to, is_new ? "\"model\"" : "");
        write_json("BPE", CUT, ADDED, false);
        edit("json/tokenizer.json", is_new ? "\"model\"" : cases[i].from, text);
        struct gpt2_tokenizer *tokenizer = open_it("json");
        if (cases[i].reason) {
            cr_assert(!tokenizer && strstr(error.text, cases[i].reason), "%s: %s", text, error.text);
        } else {
            cr_assert(tokenizer, "%s: %s", text, error.text);
        }
        gpt2_tokenizer_close(tokenizer);
    }
}

static void check_edit(const char *name, const char *from, const char *to, const char *reason) {
    write_files();
    edit(name, from, to);
    cr_assert(fails_with(open_it("hf"), reason), "%s to %s: %s", from, to ? to : "(end)", error.text);
    cr_assert(strstr(error.text, name), "%s", error.text);
    scratch_remove();
}

Test(tokenizer_files, wrong_vocabularies_are_refused) {
    static const char file[] = "hf/vocab.json";
    scratch_remove();
    check_edit(file, "\"a\": 64, ", NULL, "invalid JSON");
    check_edit(file, "\"a\": 64, ", "", "a token has the id 273; the ids of 273 tokens are 0 to 272");
    check_edit(file, "\"a\": 64, \"b\": 65, ", "\"a\": 65, \"b\": 65, ", "two tokens have the id 65");
    check_edit(file, "\"a\": 64, ", "\"a\": 273, ", "two tokens have the id 273");
    check_edit(file, "\"a\": 64, ", "\"a\": 64.5, ", "the id of \"a\" is not a whole number");
    check_edit(file, "\"a\": 64, ", "\"a\": \"64\", ", "the id of \"a\" is not a whole number");
    check_edit(file, "\"a\": 64, ", "\"a\": 16777215, ", "a token has the id 16777215; the ids of");
    check_edit(file, "\"a\": 64, ", "\"a b\": 64, ", "has a character that stands for no byte");
    check_edit(file, "\"a\": 64, ", "\"\xe6\x97\xa5\": 64, ", "has a character that stands for no byte");
    check_edit(file, "\"a\": 64, ", "\"\": 64, ", "token 64 has 0 bytes");
    check_edit(file, "\"a\": 64, ", "\"b\": 64, ", "the key \"b\" is there twice");
    check_edit(file, "\"a\": 64, ", "\"ab\": 64, ", "the byte 0x61 has no token");
    scratch_make();
}

Test(tokenizer_files, wrong_merges_are_refused) {
    static const char file[] = "hf/merges.txt";
    scratch_remove();
    check_edit(file, "a t\n", "at\n", "merges.txt, line ");
    check_edit(file, "a t\n", "a t t\n", "not two tokens with a space between them");
    check_edit(file, "a t\n", "a  t\n", "not two tokens with a space between them");
    check_edit(file, "a t\n", "a qq\n", "\"qq\" is not a token");
    check_edit(file, "a t\n", "a t\r\r\n", "is not a token");
    check_edit(file, "a t\n", "z q\n", "the result of the merge is not a token");
    check_edit(file, "a t\n", "a t\na t\n", "the same pair as in merge ");
    scratch_make();
}

Test(tokenizer_files, lines_may_end_as_windows_writes_them) {
    size_t size;
    char *merges = (char *)get("hf/merges.txt", &size);
    FILE *file = fopen(at("hf/merges.txt"), "wb");
    for (size_t i = 0; i < size; i++) { fprintf(file, merges[i] == '\n' ? "\r\n" : "%c", merges[i]); }
    fclose(file);
    struct gpt2_tokenizer *tokenizer = open_it("hf");
    cr_assert(tokenizer, "%s", error.text);
    cr_assert(gpt2_tokenizer_write_llmc(tokenizer, at("again.bin"), &error), "%s", error.text);
    cr_assert(same_file("t.bin", "again.bin"));
    gpt2_tokenizer_close(tokenizer);
    free(merges);
}

Test(tokenizer_files, missing_files_are_named) {
    cr_assert_eq(remove(at("hf/merges.txt")), 0);
    cr_assert(fails_with(open_it("hf"), "hf/merges.txt: No such file"), "%s", error.text);
    cr_assert_eq(remove(at("hf/vocab.json")), 0);
    cr_assert(fails_with(open_it("hf"), "hf/vocab.json: No such file"), "%s", error.text);
    cr_assert(fails_with(open_it("none"), "none: No such file"), "%s", error.text);
}

static void check_llmc(size_t at_byte, uint8_t byte, long size_by, const char *reason) {
    size_t size;
    uint8_t *bytes = get("t.bin", &size);
    bytes[at_byte] = byte;
    put("bad.bin", bytes, (size_t)((long)size + size_by));
    cr_assert(fails_with(open_it("bad.bin"), reason), "%zu: %s", at_byte, error.text);
    free(bytes);
}

Test(tokenizer_files, wrong_llmc_files_are_refused) {
    check_llmc(0, 0, 0, "bad.bin: not a tokenizer of llm.c");
    check_llmc(4, 1, 0, "version 1, which is not supported");
    check_llmc(8, 0, 0, "bad.bin: ");
    check_llmc(11, 0x7f, 0, "are too few for");
    check_llmc(11, 0xff, 0, "are too few for");
    check_llmc(12, 5, 0, "token 261 is <|endoftext|>, but another one is");
    check_llmc(15, 0xff, 0, "but another one is");
    check_llmc(1024, 255, 0, "bad.bin: ");
    check_llmc(1024, 0, 0, "token 0 has 0 bytes");
    check_llmc(1025, '"', 0, "tokens 0 and 1 are the same");
    check_llmc(0, 0x18, -1, "bad.bin: ");
    check_llmc(0, 0x18, 1, "bad.bin: ");
}

/* Merges that the file cannot hold are not written to it. */
Test(tokenizer_files, an_order_that_llmc_lacks_is_refused) {
    static const char *const merges[] = {"c d\na b\n", "a b\n", "a b\nc d\n"}, lines[] = "ab\nab\nab\ncd\ncd";
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(lines, strlen(lines), 1000, 2, &error);
    cr_assert(tokenizer && gpt2_tokenizer_write_hf(tokenizer, at("hf"), &error), "%s", error.text);
    gpt2_tokenizer_close(tokenizer);
    for (int i = 0; i < 3; i++) {
        put_text("hf/merges.txt", merges[i]);
        tokenizer = open_it("hf");
        cr_assert(tokenizer, "%s", error.text);
        bool ok = gpt2_tokenizer_write_llmc(tokenizer, at("new.bin"), &error);
        cr_assert(i == 2 ? ok : !ok && strstr(error.text, "the order of the tokens"), "%d: %s", i, error.text);
        cr_assert_eq(exists("new.bin"), i == 2);
        gpt2_tokenizer_close(tokenizer);
    }
}
