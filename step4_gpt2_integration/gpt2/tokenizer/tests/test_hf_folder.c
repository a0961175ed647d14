/* hf_folder: which file of a folder counts, and added tokens with their flags. The expectations are what AutoTokenizer of
 * transformers 5.17 gives; folders.py compares with it on random folders, where Python has it. */
#include <criterion/criterion.h>

#include "gpt2/tests/scratch.h"
#include "gpt2/tokenizer/internal.h"

static const char lesson[] = "the cat sat on the mat. the cats sat on the mats. the cat sat. 1999 1999\n\n\n\n";
static struct gpt2_tokenizer *plain;

static void learn(void) {
    scratch_make();
    plain = gpt2_tokenizer_train(lesson, strlen(lesson), 290, 2, &error);
    cr_assert(plain, "%s", error.text);
    cr_assert_eq(mkdir(at("f"), 0777), 0);
    cr_assert(gpt2_tokenizer_write_hf(plain, at("f"), &error), "%s", error.text);
    put_text("f/config.json", "{\"model_type\": \"gpt2\"}");
}

static void forget(void) {
    gpt2_tokenizer_close(plain);
    scratch_remove();
}

TestSuite(hf_folder, .init = learn, .fini = forget, .timeout = 60);

static struct gpt2_tokenizer *open_it(void) {
    return gpt2_tokenizer_open(at("f"), &error);
}

/* expected: pieces with / between them. A piece "#k" is the token number V + k, V the size of the learned vocabulary, "#-1" is
 * <|endoftext|>; another one is ordinary text, encoded alone. */
static void check_with(struct gpt2_tokenizer *tokenizer, const char *text, bool special, const char *expected) {
    struct gpt2_ids got = {0}, wanted = {0};
    for (const char *at_piece = expected; *at_piece;) {
        size_t size = strcspn(at_piece, "/");
        if (*at_piece == '#') {
            int32_t id = gpt2_tokenizer_size(plain) + atoi(at_piece + 1);
            cr_assert(grow(&wanted.ids, &wanted.room, wanted.count + 1, sizeof id));
            wanted.ids[wanted.count++] = id;
        } else {
            cr_assert(gpt2_tokenizer_encode(plain, at_piece, size, false, &wanted, &error));
        }
        at_piece += size + (at_piece[size] == '/');
    }
    cr_assert(gpt2_tokenizer_encode(tokenizer, text, strlen(text), special, &got, &error), "%s", error.text);
    bool same =
        got.count == wanted.count && (got.count == 0 || memcmp(got.ids, wanted.ids, got.count * sizeof *got.ids) == 0);
    char list[400] = "";
    for (size_t i = 0; i < got.count && i < 20; i++) {
        snprintf(list + strlen(list), sizeof list - strlen(list), "%d ", got.ids[i] - gpt2_tokenizer_size(plain));
    }
    cr_assert(same, "%s: not %s but %s", text, expected, list);
    gpt2_ids_free(&got);
    gpt2_ids_free(&wanted);
}

static void check(const char *text, const char *expected) {
    struct gpt2_tokenizer *tokenizer = open_it();
    cr_assert(tokenizer, "%s", error.text);
    check_with(tokenizer, text, true, expected);
    gpt2_tokenizer_close(tokenizer);
}

static void refuses(const char *file, const char *text, const char *reason) {
    put_text(file, text);
    cr_assert(fails_with(open_it(), reason), "%s: %s", text, error.text);
    cr_assert(strstr(error.text, file), "%s", error.text);
    remove(at(file));
}

#define DECODER(tokens) "{\"added_tokens_decoder\": {" tokens "}}"

/* tokenizer.json with the learned vocabulary and without merges. added: the list of added tokens. */
static void put_json(const char *added, const char *prefix) {
    size_t size;
    char *vocabulary = (char *)get("f/vocab.json", &size);
    FILE *file = fopen(at("f/tokenizer.json"), "w");
    fprintf(
        file,
        "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"normalizer\":null,\"added_tokens\":[%s],"
        "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":%s,\"trim_offsets\":true,\"use_regex\":true},"
        "\"post_processor\":null,\"decoder\":null,\"model\":{\"type\":\"BPE\",\"vocab\":%s,\"merges\":[]}}",
        added, prefix, vocabulary);
    fclose(file);
    free(vocabulary);
}

#define ADDED(id, text, flags) "{\"id\":" id ",\"content\":\"" text "\"," flags "}"
#define USUAL                  "\"special\":true,\"normalized\":false,\"lstrip\":false,\"rstrip\":false,\"single_word\":false"

/* ---- which file counts ---- */

Test(hf_folder, a_vocabulary_and_merges_are_enough) {
    check("the cat<|endoftext|>sat", "the cat/#-1/sat");
    check("<pad> the", "<pad> the");
    remove(at("f/config.json"));
    check("the cat<|endoftext|>sat", "the cat/#-1/sat");
}

/* Without merges every byte is a token: which shows where the vocabulary is from. */
Test(hf_folder, tokenizer_json_counts_before_vocab_json) {
    put_json(ADDED("290", "<pad>", USUAL), "false");
    check("the<pad>", "t/h/e/#0");
    put_text("f/tokenizer_config.json", "{\"tokenizer_file\": \"/nowhere/tokenizer.json\"}"); /* ignored */
    check("the<pad>", "t/h/e/#0");
}

/* GPT2Tokenizer is built anew: only its own add_prefix_space counts. */
Test(hf_folder, the_class_decides_what_is_taken_of_tokenizer_json) {
    put_json("", "true");
    check("a", "a");
    put_text("f/tokenizer_config.json", "{\"add_prefix_space\": true}");
    check("a", " /a");
    put_text("f/tokenizer_config.json",
             "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"add_prefix_space\": false}");
    check("a", " /a");
    remove(at("f/tokenizer.json"));
    cr_assert(fails_with(open_it(), "without tokenizer.json this tokenizer_class is not supported"), "%s", error.text);
}

Test(hf_folder, added_tokens_decoder_counts_before_the_older_files) {
    put_text("f/added_tokens.json", "{\"<a>\": 290}");
    put_text("f/special_tokens_map.json", "{\"pad_token\": \"<b>\"}");
    check("x<a><b><c>", "x/#0/#1/<c>");
    put_text("f/tokenizer_config.json", DECODER("\"290\": {\"content\": \"<c>\"}"));
    check("x<a><b><c>", "x<a><b>/#0");
    put_json(ADDED("290", "<d>", USUAL), "false");
    check("<c><d>", "#0/<d>");
    remove(at("f/tokenizer_config.json"));
    check("<a><b><d>", "<a>/#1/#0"); /* tokenizer.json has the id of <a> */
}

/* In the order of their ids, but numbered from the end of the vocabulary. */
Test(hf_folder, ids_follow_the_vocabulary) {
    put_text("f/tokenizer_config.json", DECODER("\"999\": {\"content\": \"<y>\"}, \"500\": {\"content\": \"<x>\"}"));
    check("<y><x>", "#1/#0");
    put_text("f/tokenizer_config.json",
             "{\"pad_token\": \"<p>\", \"mask_token\": \"<m>\", \"image_token\": \"<i>\", \"bos_token\": \"<b>\","
             "\"additional_special_tokens\": [\"<e>\"]}");
    check("<b><p><m><i><e><|endoftext|>", "#0/#1/#2/#3/#4/#-1");
}

/* A token that is in the vocabulary keeps its id; its spelling there counts, not its bytes. */
Test(hf_folder, a_spelling_of_the_vocabulary_is_its_token) {
    put_text("f/tokenizer_config.json",
             DECODER("\"290\": {\"content\": \"\xc4\xa0the\"}, \"291\": {\"content\": \" the\"}"));
    struct gpt2_tokenizer *tokenizer = open_it();
    char expected[32];
    cr_assert(tokenizer, "%s", error.text);
    snprintf(expected, sizeof expected, "x/#%d/#0", gpt2_tokenizer_find(plain, " the", 4) - gpt2_tokenizer_size(plain));
    check_with(tokenizer, "x\xc4\xa0the the", true, expected);
    gpt2_tokenizer_close(tokenizer);
}

/* <|endoftext|> is a token by GPT2Tokenizer's defaults for three roles, and ordinary text where these are others. */
Test(hf_folder, end_of_text_is_added_by_default) {
    put_text("f/tokenizer_config.json", "{\"bos_token\": \"<s>\", \"eos_token\": \"<s>\", \"unk_token\": null}");
    check("<s><|endoftext|>", "#0/<|endoftext|>");
    struct gpt2_tokenizer *tokenizer = open_it();
    cr_assert_eq(gpt2_tokenizer_end_of_text(tokenizer), -1);
    gpt2_tokenizer_close(tokenizer);
}

/* Where no file has it, transformers adds it after the vocabulary. No model ends its texts with it. */
Test(hf_folder, an_end_of_text_that_no_file_has_is_no_end) {
    size_t size;
    char *vocabulary = (char *)get("f/vocab.json", &size);
    memcpy(strstr(vocabulary, "endoftext"), "endofline", 9);
    put("f/vocab.json", vocabulary, size);
    free(vocabulary);
    check("<|endoftext|>", "#0");
    struct gpt2_tokenizer *tokenizer = open_it();
    cr_assert_eq(gpt2_tokenizer_end_of_text(tokenizer), -1);
    gpt2_tokenizer_close(tokenizer);
    put_text("f/tokenizer_config.json", DECODER("\"290\": {\"content\": \"<|endoftext|>\"}"));
    tokenizer = open_it();
    cr_assert_eq(gpt2_tokenizer_end_of_text(tokenizer), gpt2_tokenizer_size(plain));
    gpt2_tokenizer_close(tokenizer);
}

/* ---- added tokens in a text ---- */

Test(hf_folder, of_added_tokens_the_leftmost_then_the_longest_counts) {
    put_text(
        "f/tokenizer_config.json",
        DECODER("\"290\": {\"content\": \"ab\"}, \"291\": {\"content\": \"abab\"}, \"292\": {\"content\": \"babx\"}"));
    check("ababx", "#1/x");
    check("xbabx", "x/#2");
    check("aab", "a/#0");
    check("ababab", "#1/#0");
}

/* Those that are not normalized are found first, wherever they are. */
Test(hf_folder, normalized_tokens_are_found_last) {
    put_text("f/tokenizer_config.json", DECODER("\"290\": {\"content\": \"aXXb\", \"normalized\": true},"
                                                "\"291\": {\"content\": \"XX\", \"normalized\": false}"));
    check("aXXb", "a/#1/b");
}

Test(hf_folder, white_space_beside_a_token_belongs_to_it) {
    put_text("f/tokenizer_config.json", DECODER("\"290\": {\"content\": \"<l>\", \"lstrip\": true},"
                                                "\"291\": {\"content\": \"<r>\", \"rstrip\": true}"));
    check("the \n\xc2\xa0<l> cat", "the/#0/ cat");
    check("the <r> \t\xe3\x80\x80 cat ", "the /#1/cat ");
    check("<r>  <l>x", "#1/#0/x");
    check("<r> ", "#1");
}

Test(hf_folder, a_prefix_blank_is_for_every_piece) {
    put_text("f/tokenizer_config.json", "{\"add_prefix_space\": true, \"pad_token\": \"<p>\"}");
    check("the<p>cat<p> sat", " the/#0/ cat/#0/ sat");
    check("\nthe", " \nthe");
    check("", "");
}

Test(hf_folder, special_tokens_can_be_ordinary_text) {
    put_text("f/tokenizer_config.json", DECODER("\"290\": {\"content\": \"<x>\", \"special\": true},"
                                                "\"291\": {\"content\": \"<y>\", \"special\": false}"));
    struct gpt2_tokenizer *tokenizer = open_it();
    cr_assert(tokenizer, "%s", error.text);
    check_with(tokenizer, "<x><y>", true, "#0/#1");
    check_with(tokenizer, "<x><y>", false, "<x>/#1");
    gpt2_tokenizer_close(tokenizer);
}

/* ---- writing ---- */

Test(hf_folder, added_tokens_come_back) {
    static const char text[] = "the <l>cat<n> x<|endoftext|>";
    put_text("f/tokenizer_config.json",
             "{\"add_prefix_space\": true, \"added_tokens_decoder\": {\"290\": {\"content\": \"<l>\", "
             "\"lstrip\": true, \"special\": true}, \"291\": {\"content\": \"<n>\", \"rstrip\": true}}}");
    struct gpt2_tokenizer *tokenizer = open_it();
    cr_assert(tokenizer, "%s", error.text);
    check_with(tokenizer, text, true, " the/#0/ cat/#1/ x/#-1");
    cr_assert_eq(mkdir(at("again"), 0777), 0);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, at("again"), &error), "%s", error.text);
    cr_assert(fails_with(gpt2_tokenizer_write_llmc(tokenizer, at("t.bin"), &error), "no added tokens but"), "%s",
              error.text);
    gpt2_tokenizer_close(tokenizer);
    tokenizer = gpt2_tokenizer_open(at("again"), &error);
    cr_assert(tokenizer, "%s", error.text);
    check_with(tokenizer, text, true, " the/#0/ cat/#1/ x/#-1");
    check_with(tokenizer, "<l><n>", false, " <l>/#1");
    gpt2_tokenizer_close(tokenizer);
}

/* A token that the model lacks does not keep the folder from fitting it: a text with it is refused. */
Test(hf_folder, a_model_may_lack_added_tokens) {
    put_text("f/tokenizer_config.json", "{\"pad_token\": \"<p>\"}");
    struct gpt2_tokenizer *tokenizer = open_it();
    int V = gpt2_tokenizer_size(plain);
    cr_assert_eq(gpt2_tokenizer_size(tokenizer), V + 1);
    cr_assert(gpt2_tokenizer_fits(tokenizer, V, "m", &error) && gpt2_tokenizer_fits(tokenizer, V + 1, "m", &error));
    cr_assert(fails_with(gpt2_tokenizer_fits(tokenizer, V - 1, "m", &error), "m: its vocabulary is"));
    gpt2_tokenizer_close(tokenizer);
}

/* ---- what cannot be honoured ---- */

Test(hf_folder, what_cannot_be_honoured_is_refused) {
    static const char file[] = "f/tokenizer_config.json", map[] = "f/special_tokens_map.json";
    refuses(file, DECODER("\"290\": {\"content\": \"<x>\", \"single_word\": true}"), "single_word");
    refuses(file, DECODER("\"290\": {\"content\": \"<x>\", \"lstrip\": 1}"), "neither true nor false");
    refuses(file, DECODER("\"290\": \"<x>\""), "not an object");
    refuses(file, DECODER("\"29x\": {\"content\": \"<x>\"}"), "not a token's number");
    refuses(file, DECODER("\"290\": {\"special\": true}"), "a token without its text");
    refuses(file, "{\"added_tokens_decoder\": null}", "added_tokens_decoder is no object");
    refuses(file, "{\"split_special_tokens\": true}", "\"split_special_tokens\"");
    refuses(file, "{\"add_bos_token\": true}", "\"add_bos_token\"");
    refuses(file, "{\"add_eos_token\": true}", "\"add_eos_token\"");
    refuses(file, "{\"add_prefix_space\": null}", "add_prefix_space");
    refuses(file, "{\"bos_token\": {\"content\": \"<x>\"}}", "neither a text nor an AddedToken: \"bos_token\"");
    refuses(file, "{\"bos_token\": 7}", "neither a text nor an AddedToken: \"bos_token\"");
    refuses(file, "{\"extra_special_tokens\": \"<x>\"}", "extra_special_tokens is no list");
    refuses(file, "{\"tokenizer_class\": \"RobertaTokenizer\"}", "\"RobertaTokenizer\"");
    refuses(file, "{\"auto_map\": {\"AutoTokenizer\": [\"a.B\", null]}}", "\"auto_map\"");
    refuses(file, "{\"vocab\": {\"a\": 0}}", "\"vocab\"");
    refuses(file, "[]", "not an object");
    refuses(map, "{\"split_special_tokens\": true}", "it is no special token");
    refuses("f/added_tokens.json", "{\"<x>\": \"290\"}", "no whole number");
    refuses("f/config.json", "{\"tokenizer_class\": \"BertTokenizer\"}", "\"BertTokenizer\"");
}

Test(hf_folder, a_post_processor_that_adds_tokens_is_refused) {
    static const char file[] = "f/tokenizer.json";
    static const struct {
        const char *processor, *reason;
    } cases[] = {
        {"{\"type\":\"ByteLevel\"}", NULL},
        {"{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\"}}]}", NULL},
        {"{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\"}}]}", "adds tokens"},
        {"{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{}},{\"SpecialToken\":{}}]}", "adds tokens"},
        {"{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"}]}", NULL},
        {"{\"type\":\"Sequence\",\"processors\":[{\"type\":\"RobertaProcessing\"}]}", "adds tokens"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size;
        put_json("", "false");
        char *text = (char *)get(file, &size), *found = strstr(text, "\"post_processor\":null");
        FILE *out = fopen(at(file), "w");
        fprintf(out, "%.*s\"post_processor\":%s%s", (int)(found - text), text, cases[i].processor, found + 21);
        fclose(out);
        free(text);
        struct gpt2_tokenizer *tokenizer = open_it();
        if (cases[i].reason) {
            cr_assert(!tokenizer && strstr(error.text, cases[i].reason), "%s: %s", cases[i].processor, error.text);
        } else {
            cr_assert(tokenizer, "%s: %s", cases[i].processor, error.text);
        }
        gpt2_tokenizer_close(tokenizer);
    }
}
