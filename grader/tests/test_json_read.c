/* json_read: what json.c writes is read back, other JSON too, and nothing that is no JSON. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../json.h"
#include "../json_read.h"
#include "../utf8.h"

TestSuite(json_read, .timeout = 20);

static char error[128];

static struct json_value *read_text(const char *text) {
    error[0] = '\0';
    return json_read(text, strlen(text), error, sizeof error);
}

Test(json_read, values_of_all_types) {
    struct json_value *value = read_text(
        " {\"text\": \"a\\n\\\"b\\\\\", \"none\": null, \"yes\": true, \"no\": false, \"list\": [1, -2.5e3, []]} ");
    cr_assert(value, "%s", error);
    cr_assert_str_eq(json_get_text(value, "text"), "a\n\"b\\");
    cr_assert_eq(json_get(value, "none")->kind, JSON_NULL);
    cr_assert(json_is_true(value, "yes"));
    cr_assert(!json_is_true(value, "no"));
    const struct json_value *first = json_get_first(value, "list");
    cr_assert_eq(first->number, 1.0);
    cr_assert_eq(first->next->number, -2500.0);
    cr_assert_null(first->next->next->first);
    json_free(value);
}

Test(json_read, what_is_not_there_is_empty) {
    struct json_value *value = read_text("{\"number\": 3, \"text\": \"t\"}");
    cr_assert(value, "%s", error);
    cr_assert_str_eq(json_get_text(value, "number"), "");
    cr_assert_str_eq(json_get_text(value, "absent"), "");
    cr_assert_eq(json_get_number(value, "text"), 0.0);
    cr_assert_null(json_get_first(value, "number"));
    cr_assert_null(json_get(NULL, "absent"));
    json_free(value);
}

Test(json_read, escapes_become_utf8) {
    struct json_value *value =
        read_text("[\"\\u00e9\\u20ac\\ud83d\\ude00\", \"\\ud83d\", \"\\udc00x\", \"\\u0000\", \"\\ud83d\\u0041\"]");
    cr_assert(value, "%s", error);
    const char *const expected[] = {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xef\xbf\xbd", "\xef\xbf\xbdx",
                                    "\xef\xbf\xbd",
                                    "\xef\xbf\xbd"
                                    "A"};
    const struct json_value *element = value->first;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++, element = element->next) {
        cr_assert_str_eq(element->text, expected[i]);
    }
    json_free(value);
}

Test(json_read, bytes_that_are_no_utf8_are_replaced) {
    struct json_value *value = read_text("[\"a\xff\xc0\xaf\xed\xa0\x80z\"]");
    cr_assert(value, "%s", error);
    for (const char *c = value->first->text; *c; c += utf8_length(c)) {
        cr_assert(utf8_length(c) > 0, "%s", value->first->text);
    }
    json_free(value);
}

Test(json_read, what_is_no_json_is_refused_with_its_line) {
    static const char *const wrong[] = {"",
                                        "{",
                                        "[1,]",
                                        "{\"a\" 1}",
                                        "{a: 1}",
                                        "[01]",
                                        "[+1]",
                                        "[1.]",
                                        "[.5]",
                                        "[1e]",
                                        "[nan]",
                                        "[Infinity]",
                                        "[\"\\x\"]",
                                        "[\"\\u12\"]",
                                        "[\"",
                                        "[\"\\",
                                        "[\"a\nb\"]",
                                        "tru",
                                        "[] []",
                                        "{\"a\"}",
                                        "[1e999]",
                                        "'a'",
                                        "[\"\\ud83d\\u12\"]",
                                        "{\"a\":1,}",
                                        "[1 2]",
                                        "nul",
                                        "-",
                                        "\"\\u",
                                        "[0x10]"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct json_value *value = read_text(wrong[i]);
        cr_assert_null(value, "'%s' was read", wrong[i]);
        cr_assert(strncmp(error, "line ", 5) == 0, "'%s': '%s'", wrong[i], error);
    }
    cr_assert_null(read_text("{\n\"a\": 1\n\"b\": 2}"));
    cr_assert(strstr(error, "line 3"), "%s", error);
    cr_assert_null(json_read("[1]\0", 4, error, sizeof error));
}

Test(json_read, deep_nesting_is_refused) {
    char deep[2 * JSON_READ_DEPTH + 3];
    memset(deep, '[', JSON_READ_DEPTH);
    memset(deep + JSON_READ_DEPTH, ']', JSON_READ_DEPTH);
    deep[2 * JSON_READ_DEPTH] = '\0';
    struct json_value *value = read_text(deep);
    cr_assert(value, "%s", error);
    json_free(value);
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    cr_assert_null(read_text(deep));
}

/* Bytes of which many mean something to a writer or a reader. */
static char hostile_byte(void) {
    static const char telling[] =
        "\"\\\n\r\t<>&'{}[],:]]>\x01\x1b\x7f\x80\xbf\xc0\xc3\xe2\x82\xac\xed\xa0\xef\xbf\xbe\xf0\x9f\xf5\xff";
    return rand() % 4 ? telling[(size_t)rand() % (sizeof telling - 1)] : (char)('a' + rand() % 26);
}

Test(json_read, whatever_is_written_is_read_back) {
    srand(1);
    for (int run = 0; run < 3000; run++) {
        char text[65], *written = NULL;
        size_t size, length = (size_t)rand() % 64;
        for (size_t i = 0; i < length; i++) { text[i] = hostile_byte(); }
        text[length] = '\0';
        struct json json = {.file = open_memstream(&written, &size)};
        json_begin_object(&json, NULL);
        json_string(&json, text, text);
        json_end_object(&json);
        fclose(json.file);
        struct json_value *value = json_read(written, size, error, sizeof error);
        cr_assert(value, "%s: %s", error, written);
        bool is_utf8 = true;
        for (const char *c = text; *c && is_utf8; c += utf8_length(c)) { is_utf8 = utf8_length(c) > 0; }
        if (is_utf8) { cr_assert_str_eq(value->first->text, text); }
        cr_assert_str_eq(value->first->key, value->first->text);
        json_free(value);
        free(written);
    }
}

Test(json_read, no_damaged_text_breaks_it) {
    static const char whole[] = "{\"a\": [1.5e-3, \"\\u20ac\\n\", {\"b\": null}], \"c\": true}";
    srand(2);
    int refused = 0;
    for (int run = 0; run < 20000; run++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        for (int i = rand() % 3; i >= 0; i--) { text[(size_t)rand() % (sizeof whole - 1)] = hostile_byte(); }
        struct json_value *value = json_read(text, (size_t)rand() % sizeof whole, error, sizeof error);
        refused += !value;
        json_free(value);
    }
    cr_assert(refused > 10000, "%d refused", refused);
}
