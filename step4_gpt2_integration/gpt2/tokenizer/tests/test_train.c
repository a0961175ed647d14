/* train: the merged pairs and their order, worked out by hand; the same result every time. */
#include <criterion/criterion.h>

#include "gpt2/tests/scratch.h"
#include "gpt2/tokenizer/internal.h"

TestSuite(train, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

static struct gpt2_tokenizer *train(const char *text, int size, int least) {
    return gpt2_tokenizer_train(text, strlen(text), size, least, &error);
}

/* Merges as "a b, ab c". */
static const char *merges_of(const struct gpt2_tokenizer *tokenizer) {
    static char text[1000];
    text[0] = '\0';
    for (int i = 0; i < tokenizer->merge_count; i++) {
        size_t left, right;
        const uint8_t *a = gpt2_tokenizer_token(tokenizer, tokenizer->merges[i].left, &left);
        const uint8_t *b = gpt2_tokenizer_token(tokenizer, tokenizer->merges[i].right, &right);
        sprintf(text + strlen(text), "%s%.*s %.*s", i ? ", " : "", (int)left, a, (int)right, b);
    }
    return text;
}

Test(train, the_most_frequent_pair_first) {
    struct gpt2_tokenizer *tokenizer = train("abc\nabc\nabd\nabd\nabd", 1000, 2); /* ab 5, bd 3, bc 2 */
    cr_assert(tokenizer, "%s", error.text);
    cr_assert_str_eq(merges_of(tokenizer), "a b, ab d, ab c");
    cr_assert_eq(gpt2_tokenizer_size(tokenizer), 256 + 3 + 1);
    cr_assert_eq(gpt2_tokenizer_end_of_text(tokenizer), 259);
    gpt2_tokenizer_close(tokenizer);
}

Test(train, ties_go_to_the_smaller_ids) {
    struct gpt2_tokenizer *tokenizer = train("zy\nzy\nba\nba\nbc\nbc", 1000, 2);
    cr_assert_str_eq(merges_of(tokenizer), "b a, b c, z y");
    gpt2_tokenizer_close(tokenizer);
}

Test(train, overlaps_are_joined_from_the_left) {
    struct gpt2_tokenizer *tokenizer = train("aaaaa aaaaa", 259, 2);
    cr_assert(tokenizer, "%s", error.text);
    struct gpt2_ids ids = {0};
    cr_assert_str_eq(merges_of(tokenizer), "a a, aa a");
    cr_assert(gpt2_tokenizer_encode(tokenizer, "aaaaa", 5, false, &ids, &error));
    cr_assert(ids.count == 2 && ids.ids[0] == 256 && ids.ids[1] == 257);
    gpt2_ids_free(&ids);
    gpt2_tokenizer_close(tokenizer);
}

Test(train, documents_end_at_end_of_text) {
    struct gpt2_tokenizer *tokenizer = train("ab<|endoftext|>ab<|endoftext|><|endoftext|>", 1000, 2);
    cr_assert_str_eq(merges_of(tokenizer), "a b");
    gpt2_tokenizer_close(tokenizer);
}

Test(train, limits_are_kept) {
    struct gpt2_tokenizer *tokenizer = train("abc abc abc", 258, 2);
    cr_assert_str_eq(merges_of(tokenizer), "a b");
    gpt2_tokenizer_close(tokenizer);
    tokenizer = train("abc abc", 1000, 3);
    cr_assert(tokenizer && tokenizer->merge_count == 0);
    gpt2_tokenizer_close(tokenizer);
    tokenizer = train("", 257, 2);
    cr_assert(tokenizer && gpt2_tokenizer_size(tokenizer) == 257);
    gpt2_tokenizer_close(tokenizer);
    cr_assert(fails_with(train("abc", 256, 2), "it takes 257 or more"));
    cr_assert(fails_with(train("abc", 300, 0), "at least 0 times"));
}

Test(train, no_token_is_too_long_for_llm_c) {
    char blanks[2000];
    memset(blanks, ' ', sizeof blanks);
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(blanks, sizeof blanks, 1000, 1, &error);
    cr_assert(tokenizer, "%s", error.text);
    for (int id = 0; id < gpt2_tokenizer_size(tokenizer); id++) {
        size_t size;
        cr_assert(gpt2_tokenizer_token(tokenizer, id, &size) && size <= 255);
    }
    cr_assert(gpt2_tokenizer_write_llmc(tokenizer, at("t.bin"), &error), "%s", error.text);
    gpt2_tokenizer_close(tokenizer);
}

/* Invalid UTF-8 is learned too; the same text gives the same file. */
Test(train, is_deterministic) {
    enum { BYTES = 200000 };
    char *text = malloc(BYTES);
    for (int i = 0; i < BYTES; i++) {
        text[i] = mix((uint64_t)i) % 50 ? (char)("etaoin shrdlu\xc3\xa9\xff"[mix((uint64_t)i * 3) % 16]) : '\n';
    }
    for (int round = 0; round < 2; round++) {
        struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(text, BYTES, 1000, 2, &error);
        cr_assert(tokenizer && gpt2_tokenizer_size(tokenizer) == 1000, "%s", error.text);
        cr_assert_eq(mkdir(at(round ? "b" : "a"), 0777), 0);
        cr_assert(gpt2_tokenizer_write_hf(tokenizer, at(round ? "b" : "a"), &error), "%s", error.text);
        gpt2_tokenizer_close(tokenizer);
    }
    cr_assert(same_file("a/vocab.json", "b/vocab.json") && same_file("a/merges.txt", "b/merges.txt"));
    free(text);
}
