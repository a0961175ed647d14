/* json: what is written can be read back by another library, whatever it holds. */
#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../json.h"

TestSuite(json, .timeout = 20);

static char *text;
static size_t size;

static struct json start(void) {
    return (struct json){.file = open_memstream(&text, &size)};
}

static cJSON *finish(struct json *json) {
    fclose(json->file);
    cJSON *value = cJSON_ParseWithLength(text, size);
    cr_assert(value, "no JSON: %s", text);
    return value;
}

Test(json, values_of_all_types) {
    struct json json = start();
    json_begin_object(&json, NULL);
    json_string(&json, "text", "hello");
    json_string(&json, "none", NULL);
    json_number(&json, "number", 0.1);
    json_integer(&json, "integer", -9007199254740991LL);
    json_bool(&json, "yes", true);
    json_bool(&json, "no", false);
    json_end_object(&json);
    cJSON *value = finish(&json);
    cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(value, "text")), "hello");
    cr_assert(cJSON_IsNull(cJSON_GetObjectItem(value, "none")));
    cr_assert_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(value, "number")), 0.1);
    cr_assert_eq(cJSON_GetNumberValue(cJSON_GetObjectItem(value, "integer")), -9007199254740991.0);
    cr_assert(cJSON_IsTrue(cJSON_GetObjectItem(value, "yes")));
    cr_assert(cJSON_IsFalse(cJSON_GetObjectItem(value, "no")));
    cJSON_Delete(value);
    free(text);
}

Test(json, nesting_and_empty_containers) {
    struct json json = start();
    json_begin_object(&json, NULL);
    json_begin_array(&json, "empty");
    json_end_array(&json);
    json_begin_array(&json, "rows");
    for (int i = 0; i < 3; i++) {
        json_begin_object(&json, NULL);
        json_integer(&json, "i", i);
        json_begin_object(&json, "inner");
        json_end_object(&json);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_string(&json, "last", "x");
    json_end_object(&json);
    cJSON *value = finish(&json);
    cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(value, "empty")), 0);
    cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(value, "rows")), 3);
    cJSON_Delete(value);
    free(text);
}

Test(json, strings_survive_whatever_they_hold) {
    const char *const strings[] = {"a \"quoted\" \\ path", "two\nlines\ttab\r", "\001\x1f\x7f",
                                   "caf\xc3\xa9 \xe2\x82\xac", ""};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        struct json json = start();
        json_begin_object(&json, NULL);
        json_string(&json, "s", strings[i]);
        json_end_object(&json);
        cJSON *value = finish(&json);
        cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(value, "s")), strings[i]);
        cJSON_Delete(value);
        free(text);
    }
}

Test(json, bytes_that_are_no_utf8_are_replaced) {
    struct json json = start();
    json_begin_object(&json, NULL);
    json_string(&json, "s", "a\xff\xc3z\xe2\x82");
    json_end_object(&json);
    cJSON *value = finish(&json);
    cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(value, "s")), "a??z??");
    cJSON_Delete(value);
    free(text);
}

Test(json, nan_and_infinities_are_strings) {
    struct json json = start();
    json_begin_array(&json, NULL);
    json_number(&json, NULL, NAN);
    json_number(&json, NULL, INFINITY);
    json_number(&json, NULL, -INFINITY);
    json_end_array(&json);
    cJSON *value = finish(&json);
    cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetArrayItem(value, 0)), "NaN");
    cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetArrayItem(value, 1)), "Infinity");
    cr_assert_str_eq(cJSON_GetStringValue(cJSON_GetArrayItem(value, 2)), "-Infinity");
    cJSON_Delete(value);
    free(text);
}
