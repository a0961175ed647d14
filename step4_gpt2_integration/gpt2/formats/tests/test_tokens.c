/* tokens: files of ids, and their batches. */
#include "gpt2/formats/tokens.h"

#include "gpt2/tests/scratch.h"

enum { COUNT = 10001 };

static void make_tokens(void) {
    scratch_make();
    int32_t ids[COUNT];
    for (int i = 0; i < COUNT; i++) { ids[i] = i % 50257; }
    cr_assert(gpt2_tokens_write(at("t.bin"), ids, COUNT, &error), "%s", error.text);
}

TestSuite(tokens, .init = make_tokens, .fini = scratch_remove, .timeout = 30);

static bool opens(int vocabulary) {
    struct gpt2_tokens tokens;
    bool ok = gpt2_tokens_open(&tokens, at("t.bin"), vocabulary, &error);
    gpt2_tokens_close(&tokens);
    return ok;
}

Test(tokens, come_back) {
    static const int32_t header[] = {20240520, 1, COUNT, 0};
    struct gpt2_tokens tokens;
    cr_assert(gpt2_tokens_open(&tokens, at("t.bin"), 50257, &error), "%s", error.text);
    cr_assert_eq(tokens.count, COUNT);
    for (int i = 0; i < COUNT; i++) { cr_assert_eq(tokens.ids[i], i); }
    gpt2_tokens_close(&tokens);
    size_t size;
    uint8_t *bytes = get("t.bin", &size);
    cr_assert(size == 1024 + 2 * COUNT && memcmp(bytes, header, sizeof header) == 0);
    free(bytes);
}

Test(tokens, are_cut_as_llm_c_does) {
    struct gpt2_tokens tokens;
    cr_assert(gpt2_tokens_open(&tokens, at("t.bin"), 50257, &error), "%s", error.text);
    cr_assert_eq(gpt2_tokens_batches(&tokens, 4, 50, 1), 50); /* 10000 tokens and one more for the last target */
    cr_assert_eq(gpt2_tokens_batches(&tokens, 4, 50, 2), 25);
    cr_assert_eq(gpt2_tokens_batches(&tokens, 4, 51, 1), 49);
    cr_assert_eq(gpt2_tokens_batches(&tokens, 101, 100, 1), 0);
    cr_assert_eq(gpt2_tokens_batch(&tokens, 0, 4, 50, 0, 2)[0], 0);
    cr_assert_eq(gpt2_tokens_batch(&tokens, 0, 4, 50, 1, 2)[0], 200);
    cr_assert_eq(gpt2_tokens_batch(&tokens, 24, 4, 50, 1, 2)[200], 10000);
    cr_assert_null(gpt2_tokens_batch(&tokens, 25, 4, 50, 0, 2));
    cr_assert_null(gpt2_tokens_batch(&tokens, -1, 4, 50, 0, 2));
    gpt2_tokens_close(&tokens);
}

static void set(int index, int32_t value) {
    FILE *file = fopen(at("t.bin"), "r+b");
    fseek(file, 4L * index, SEEK_SET);
    fwrite(&value, sizeof value, 1, file);
    fclose(file);
}

static bool is_tokens(const char *name, bool *tokens) {
    struct gpt2_file file;
    cr_assert(gpt2_file_open(&file, at(name), &error), "%s", error.text);
    bool known = gpt2_tokens_or_text(&file, tokens, &error);
    gpt2_file_close(&file);
    return known;
}

Test(tokens, or_a_text_or_neither) {
    bool tokens;
    cr_assert(is_tokens("t.bin", &tokens) && tokens);
    put("text", "In the beginning\n", 17);
    cr_assert(is_tokens("text", &tokens) && !tokens);
    put("empty", "", 0);
    cr_assert(is_tokens("empty", &tokens) && !tokens);
    set(0, 20240521);
    cr_assert(
        fails_with(is_tokens("t.bin", &tokens), "t.bin: neither a text, for it has zero bytes, nor tokens as llm.c"),
        "%s", error.text);
}

Test(tokens, that_are_none_are_refused) {
    cr_assert(fails_with(opens(10000), "token 10000 is 10000, outside the vocabulary of 10000"), "%s", error.text);
    set(2, COUNT + 1);
    cr_assert(fails_with(opens(50257), "its header says 10002 tokens"), "%s", error.text);
    set(2, -1);
    cr_assert(fails_with(opens(50257), "its header says -1 tokens"), "%s", error.text);
    set(2, COUNT);
    set(1, 2);
    cr_assert(fails_with(opens(50257), "version 2, which is not supported"), "%s", error.text);
    set(0, 7);
    cr_assert(fails_with(opens(50257), "magic number is 7"), "%s", error.text);
}

Test(tokens, that_do_not_fit_are_not_written) {
    static const int32_t large[] = {1, 65536}, negative[] = {-1};
    cr_assert(fails_with(gpt2_tokens_write(at("new.bin"), large, 2, &error), "token 65536 does not fit"));
    cr_assert(fails_with(gpt2_tokens_write(at("new.bin"), negative, 1, &error), "token -1 does not fit"));
    cr_assert_eq(count_files(), 1);
    cr_assert(gpt2_tokens_write(at("new.bin"), NULL, 0, &error), "%s", error.text);
}
