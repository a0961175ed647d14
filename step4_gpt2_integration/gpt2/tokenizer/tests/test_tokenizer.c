/* tokenizer: text to ids and back, with a small vocabulary that is learned here. */
#include "gpt2/tokenizer/tokenizer.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "gpt2/tests/scratch.h"
#include "gpt2/tokenizer/internal.h"

static const char lesson[] =
    "the cat sat on the mat. the cats sat on the mats, and it's said that they've sat there.\n"
    "I'll say it again: the cat's mat isn't the dog's mat, and we're all sure you'd know. Then, in 1999 and 2024,\n"
    "na\xc3\xafve caf\xc3\xa9s sold cr\xc3\xa8me br\xc3\xbbl\xc3\xa9"
    "e; \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e too. \xf0\x9f\x98\x80\xf0\x9f\x98\x80\n"
    "    for (int i = 0; i < 10; i++) {\n        sum += a[i];\n    }\n\n\n";

enum { VOCABULARY = 350 };
static struct gpt2_tokenizer *tokenizer;

static void learn(void) {
    scratch_make();
    char text[8 * sizeof lesson] = "";
    for (int i = 0; i < 8; i++) { strcat(text, lesson); }
    tokenizer = gpt2_tokenizer_train(text, strlen(text), VOCABULARY, 2, &error);
    cr_assert(tokenizer, "%s", error.text);
}

static void forget(void) {
    gpt2_tokenizer_close(tokenizer);
    scratch_remove();
}

TestSuite(tokenizer, .init = learn, .fini = forget, .timeout = 120);

/* The pre-tokens of a text with | between them. */
static bool show(void *context, const uint8_t *pretoken, size_t size, struct gpt2_error *problem) {
    char *text = context;
    (void)problem;
    if (*text) { strcat(text, "|"); }
    strncat(text, (const char *)pretoken, size);
    return true;
}

struct cut {
    char text[60], pretokenizer[80];
};

ParameterizedTestParameters(tokenizer, cuts_like_gpt2) {
    static struct cut cases[] = {
        {"Hello world", "Hello| world"},
        {"it's we've I'll they're I'm you'd don't", "it|'s| we|'ve| I|'ll| they|'re| I|'m| you|'d| don|'t"},
        {"IT'S 'sad 'Sad", "IT|'|S| '|sad| '|Sad"}, /* contractions are lower case, and not after a space */
        {"a1b22 333", "a|1|b|22| 333"},
        {"x=y+1;", "x|=|y|+|1|;"},
        {" ... wow!!", " ...| wow|!!"},
        {"a  b", "a| | b"},
        {"a   ", "a|   "},
        {"a \n\n b", "a| \n\n| b"},
        {"a\n\tb", "a|\n|\t|b"},
        {"\t\tb", "\t|\t|b"},
        {"caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac", "caf\xc3\xa9| \xe6\x97\xa5\xe6\x9c\xac"},
        {"\xc2\xbd\xd9\xa3\xe2\x85\xab", "\xc2\xbd\xd9\xa3\xe2\x85\xab"}, /* a half, Arabic 3, Roman 12: numbers */
        {"e\xcc\x81"
         "a",
         "e|\xcc\x81|a"}, /* a combining accent is not a letter */
        {"a\xc2\xa0\xe3\x80\x80"
         "b",
         "a|\xc2\xa0|\xe3\x80\x80|b"}, /* white space other than ' ' stands alone */
        {"a\xe1\xa0\x8e"
         "b",
         "a|\xe1\xa0\x8e|b"},               /* U+180E is not white space: */
        {" \xe1\xa0\x8e", " \xe1\xa0\x8e"}, /* a space belongs to it */
        {"a\xc2\x85\xe2\x80\xa8"
         "b",
         "a|\xc2\x85|\xe2\x80\xa8|b"},
        {"a\x1c\x1f"
         "b",
         "a|\x1c\x1f|b"}, /* separators that are not white space */
        {"a\xff\xfe"
         "b \xc3",
         "a|\xff\xfe|b| |\xc3"}, /* invalid UTF-8: pre-tokens of their own */
        {"", ""},
    };
    return cr_make_param_array(struct cut, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct cut *cut, tokenizer, cuts_like_gpt2) {
    for (int compiled = 0; compiled < 2; compiled++) {
        char text[300] = "";
        struct pretokenizer *pretokenizer = pretokenizer_new(compiled, &error);
        cr_assert(pretokenizer, "%s", error.text);
        cr_assert(each_pretoken(pretokenizer, (uint8_t *)cut->text, strlen(cut->text), show, text, &error), "%s",
                  error.text);
        cr_assert_str_eq(text, cut->pretokenizer);
        pretokenizer_free(pretokenizer);
    }
}

Test(tokenizer, bytes_have_their_characters) {
    static const struct {
        int byte, character;
    } known[] = {{0, 0x100},    {' ', 0x120}, {'\n', 0x10a}, {'!', '!'},    {'~', '~'},   {0x7f, 0x121},
                 {0xa0, 0x142}, {0xa1, 0xa1}, {0xac, 0xac},  {0xad, 0x143}, {0xae, 0xae}, {0xff, 0xff}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        cr_assert_eq(character_of_byte(known[i].byte), known[i].character, "%d", known[i].byte);
    }
    int characters = 0;
    for (uint32_t character = 0; character < 70000; character++) {
        int byte = byte_of_character(character);
        cr_assert(byte < 0 || character_of_byte(byte) == (int)character, "%u", character);
        characters += byte >= 0;
    }
    cr_assert_eq(characters, 256);
}

/* ---- encoding ---- */

static struct gpt2_ids ids;

static void encode(const void *text, size_t size, bool special) {
    ids.count = 0;
    cr_assert(gpt2_tokenizer_encode(tokenizer, text, size, special, &ids, &error), "%s", error.text);
}

static void check_identity(const void *text, size_t size) {
    struct gpt2_text back = {0};
    encode(text, size, false);
    cr_assert(gpt2_tokenizer_decode(tokenizer, ids.ids, ids.count, &back, &error), "%s", error.text);
    cr_assert(back.size == size && memcmp(back.bytes ? back.bytes : "", text, size) == 0, "%zu bytes", size);
    gpt2_text_free(&back);
}

Test(tokenizer, learned_words_are_one_token) {
    encode(" the", 4, false);
    cr_assert_eq(ids.count, 1);
    encode(lesson, strlen(lesson), false);
    cr_assert_lt(ids.count, strlen(lesson) / 2);
    encode("", 0, false);
    cr_assert_eq(ids.count, 0);
    gpt2_ids_free(&ids);
}

Test(tokenizer, special_only_when_asked) {
    static const char text[] = "the<|endoftext|> cat<|endoftext|><|endoftext";
    int end = gpt2_tokenizer_end_of_text(tokenizer), found = 0;
    cr_assert_eq(end, VOCABULARY - 1);
    encode(text, strlen(text), true);
    for (size_t i = 0; i < ids.count; i++) { found += ids.ids[i] == end; }
    cr_assert_eq(found, 2);
    encode(text, strlen(text), false);
    for (size_t i = 0; i < ids.count; i++) { cr_assert_neq(ids.ids[i], end); }
    check_identity(text, strlen(text));
    gpt2_ids_free(&ids);
}

static uint64_t state;
static uint32_t next(uint32_t below) {
    return mix(state++) % below;
}

/* Any bytes: pure noise, noise with UTF-8 in it, every single byte and every pair of bytes. */
Test(tokenizer, decode_undoes_encode_on_every_byte_string) {
    uint8_t text[300];
    for (uint32_t pair = 0; pair < 65536; pair++) {
        text[0] = (uint8_t)pair, text[1] = (uint8_t)(pair >> 8);
        check_identity(text, 1 + (pair > 255));
    }
    for (int round = 0; round < 20000; round++) {
        size_t size = next(100), from = next(sizeof lesson - 40);
        for (size_t i = 0; i < size; i++) { text[i] = (uint8_t)next(round % 2 ? 256 : 128); }
        for (uint32_t copies = next(3); copies > 0 && size > 40; copies--) {
            memcpy(text + next((uint32_t)size - 40), lesson + from, 1 + next(39));
        }
        check_identity(text, size);
    }
    gpt2_ids_free(&ids);
}

/* Words of a megabyte of each class, and white space that backtracks over all of it: linear time. */
Test(tokenizer, long_words) {
    static const char *const units[] = {"a",    "at",       "1", " ", "\n", "!", "\xe3\x80\x80", "\xe6\x97\xa5",
                                        "\xff", "\xcc\x81", "'s"};
    enum { BYTES = 1 << 20 };
    char *text = malloc(BYTES + 8);
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        size_t length = strlen(units[u]), size = 0;
        for (; size + length <= BYTES; size += length) { memcpy(text + size, units[u], length); }
        text[size++] = 'x';
        check_identity(text, size);
    }
    free(text);
    gpt2_ids_free(&ids);
}

/* Both ways of merging give the same ids, for lengths around and above the limit between them. */
Test(tokenizer, scan_and_heap_agree) {
    struct gpt2_ids scanned = {0}, heaped = {0};
    for (int round = 0; round < 20000; round++) {
        uint8_t pretoken[200];
        size_t size = 1 + next(round % 10 ? 60 : 200);
        for (size_t i = 0; i < size; i++) {
            pretoken[i] = round % 3 ? (uint8_t)lesson[next(sizeof lesson - 1)] : (uint8_t) "aaat"[next(4)];
        }
        scanned.count = heaped.count = 0;
        cr_assert(merge_by_scan(tokenizer, pretoken, size, &scanned, &error));
        cr_assert(merge_by_heap(tokenizer, pretoken, size, &heaped, &error));
        cr_assert(scanned.count == heaped.count &&
                  memcmp(scanned.ids, heaped.ids, scanned.count * sizeof *scanned.ids) == 0);
    }
    gpt2_ids_free(&scanned);
    gpt2_ids_free(&heaped);
}

/* ---- decoding ---- */

Test(tokenizer, ids_that_do_not_exist_are_refused) {
    static const int32_t bad[] = {5, VOCABULARY}, negative[] = {-1};
    struct gpt2_text text = {0};
    cr_assert(
        fails_with(gpt2_tokenizer_decode(tokenizer, bad, 2, &text, &error), "no token has the id 350; there are 350"));
    cr_assert(fails_with(gpt2_tokenizer_decode(tokenizer, negative, 1, &text, &error), "no token has the id -1"));
    cr_assert_eq(text.size, 0);
    gpt2_text_free(&text);
}

struct broken {
    char bytes[16], text[40];
};

/* The results of Python's bytes.decode(errors="replace"). */
ParameterizedTestParameters(tokenizer, streams) {
    static struct broken cases[] = {
        {"plain", "plain"},
        {"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80", "\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80"},
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xc3"
         "b",
         "\xef\xbf\xbd"
         "b"},
        {"\xe6\x97"
         "b",
         "\xef\xbf\xbd"
         "b"},
        {"\xf0\x9f\x98"
         "b",
         "\xef\xbf\xbd"
         "b"},
        {"\xf0\x9f\xc3\xa9", "\xef\xbf\xbd\xc3\xa9"},
        {"\xc3\xc3\xa9", "\xef\xbf\xbd\xc3\xa9"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"end\xf0\x9f\x98", "end\xef\xbf\xbd"},
    };
    return cr_make_param_array(struct broken, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct broken *one, tokenizer, streams) {
    struct gpt2_stream stream = {0};
    struct gpt2_text text = {0};
    for (const char *byte = one->bytes; *byte; byte++) {
        int id = gpt2_tokenizer_find(tokenizer, byte, 1);
        cr_assert(gpt2_stream_push(&stream, tokenizer, id, &text, &error), "%s", error.text);
        cr_assert(text.size == utf8_valid((uint8_t *)text.bytes, text.size), "broken after %td", byte - one->bytes);
    }
    cr_assert(gpt2_stream_end(&stream, &text, &error));
    cr_assert_str_eq(text.bytes, one->text);
    gpt2_text_free(&text);
}

/* Random tokens: the stream has complete characters only, and on valid text equals decode. */
Test(tokenizer, streaming_never_breaks_a_character) {
    struct gpt2_text text = {0}, all = {0};
    struct gpt2_stream stream = {0};
    for (int i = 0; i < 20000; i++) {
        text.size = 0;
        cr_assert(gpt2_stream_push(&stream, tokenizer, (int)next(VOCABULARY), &text, &error));
        cr_assert(text.size == 0 || text.size == utf8_valid((uint8_t *)text.bytes, text.size));
        cr_assert(stream.count >= 0 && stream.count < 4);
    }
    cr_assert(gpt2_stream_end(&stream, &text, &error));
    encode(lesson, strlen(lesson), false);
    for (size_t i = 0; i < ids.count; i++) {
        cr_assert(gpt2_stream_push(&stream, tokenizer, ids.ids[i], &all, &error));
    }
    cr_assert_str_eq(all.bytes, lesson);
    gpt2_text_free(&text);
    gpt2_text_free(&all);
    gpt2_ids_free(&ids);
}

Test(tokenizer, has_to_fit_the_model) {
    cr_assert(gpt2_tokenizer_fits(tokenizer, 350, "m", &error) && gpt2_tokenizer_fits(tokenizer, 384, "m", &error));
    cr_assert(fails_with(gpt2_tokenizer_fits(tokenizer, 349, "m", &error), "m: its vocabulary is 349"));
    cr_assert(fails_with(gpt2_tokenizer_fits(tokenizer, 385, "m", &error), "has 350 tokens"));
}
