/* json: single objects only; integers that a double represents exactly. */
#include "gpt2/formats/json.h"

#include "gpt2/tests/scratch.h"

TestSuite(gpt2_json, .init = scratch_make, .fini = scratch_remove, .timeout = 30);

static bool parses(const char *text, size_t size) {
    char *exact = malloc(size ? size : 1); /* not NUL-terminated */
    memcpy(exact, text, size);
    cJSON *root = gpt2_json_parse(exact, size, "f", &error);
    bool ok = root != NULL;
    cJSON_Delete(root);
    free(exact);
    return ok;
}

Test(gpt2_json, one_object) {
    cr_assert(parses("{}", 2) && parses(" {\"a\": [1, {}]} \r\n\t", 19));
    cr_assert(parses("{\"a\":\"\\\\u0000\"}", 15), "an escaped backslash, then text: %s", error.text);
}

Test(gpt2_json, anything_else_is_refused) {
    static const char *const texts[] = {"",         "{",         "}",       "{}{}",       "{} x",
                                        "{\"a\":}", "{\"a\" 1}", "{'a':1}", "{\"a\":1,}", "nul"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cr_assert(fails_with(parses(texts[i], strlen(texts[i])), "f: invalid JSON"), "%s: %s", texts[i], error.text);
    }
    cr_assert(fails_with(parses("[]", 2), "not an object") && fails_with(parses("7", 1), "not an object"));
    cr_assert(fails_with(parses("{}\0", 3), "NUL") && fails_with(parses("{\"\\u0000\":1}", 12), "NUL"));
}

Test(gpt2_json, integers) {
    static const struct {
        const char *text;
        int64_t value; /* -1: none */
    } numbers[] = {{"0", 0},       {"7", 7},      {"9007199254740992", 9007199254740992},
                   {"1e3", 1000},  {"-0", 0},     {"-1", -1},
                   {"1.5", -1},    {"1e16", -1},  {"1e999", -1},
                   {"-1e999", -1}, {"\"7\"", -1}, {"true", -1},
                   {"null", -1}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int64_t value = -1;
        cJSON *item = cJSON_Parse(numbers[i].text);
        cr_assert_eq(gpt2_json_integer(item, &value), numbers[i].value >= 0, "%s", numbers[i].text);
        cr_assert(numbers[i].value < 0 || value == numbers[i].value, "%s", numbers[i].text);
        cJSON_Delete(item);
    }
    cr_assert_not(gpt2_json_integer(NULL, &(int64_t){0}));
}

Test(gpt2_json, files_have_a_limit) {
    put_text("a.json", "{\"a\":1}");
    cJSON *root = gpt2_json_read(at("a.json"), 7, &error);
    cr_assert(root, "%s", error.text);
    cJSON_Delete(root);
    cr_assert(fails_with(gpt2_json_read(at("a.json"), 6, &error), "a.json: 7 bytes, more than the 6"), "%s",
              error.text);
}
