/* safetensors: reading and writing, byte by byte, and one error for each inconsistency. */
#include "gpt2/formats/safetensors.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "gpt2/tests/scratch.h"

TestSuite(safetensors, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

static void put_file(const char *header, uint64_t length, size_t data) {
    size_t size = strlen(header);
    uint8_t *bytes = calloc(1, 8 + size + data + 1);
    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + 8, header, size);
    for (size_t i = 0; i < data; i++) { bytes[8 + size + i] = (uint8_t)i; }
    put("a.safetensors", bytes, 8 + size + data);
    free(bytes);
}

static bool opens(const char *header, size_t data) {
    struct safetensors safetensors;
    put_file(header, strlen(header), data);
    bool ok = safetensors_open(&safetensors, at("a.safetensors"), &error);
    safetensors_close(&safetensors);
    return ok;
}

#define FIRST  "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define SECOND "\"b\":{\"dtype\":\"U8\",\"shape\":[3,1],\"data_offsets\":[8,11]}"

Test(safetensors, gives_names_types_shapes_and_bytes) {
    struct safetensors safetensors;
    put_file("{" SECOND ",\"__metadata__\":{\"format\":\"pt\"}," FIRST "}  ",
             strlen("{" SECOND "," FIRST ",\"__metadata__\":{\"format\":\"pt\"}}  "), 11);
    cr_assert(safetensors_open(&safetensors, at("a.safetensors"), &error), "%s", error.text);
    cr_assert_eq(safetensors.count, 2);
    const struct safetensors_tensor *a = safetensors_find(&safetensors, "a"), *b = safetensors_find(&safetensors, "b");
    cr_assert(a == &safetensors.tensors[0] && b == &safetensors.tensors[1] && !safetensors_find(&safetensors, "c"));
    cr_assert(a->dimensions == 1 && a->shape[0] == 2 && strcmp(a->type, "F32") == 0 && ((uint8_t *)a->bytes)[7] == 7);
    cr_assert(b->dimensions == 2 && b->shape[0] == 3 && b->shape[1] == 1 && ((uint8_t *)b->bytes)[2] == 10);
    cr_assert_str_eq(safetensors_metadata(&safetensors, "format"), "pt");
    cr_assert_null(safetensors_metadata(&safetensors, "absent"));
    safetensors_close(&safetensors);
}

Test(safetensors, tensors_without_elements_and_scalars_are_fine) {
    cr_assert(opens("{}", 0), "%s", error.text);
    cr_assert(opens("{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4), "%s", error.text);
    cr_assert(opens("{\"a\":{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[8,8]}," /* at another's end */
                    "\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}",
                    8),
              "%s", error.text);
}

struct bad {
    char header[200];
    size_t data;
    char reason[60];
};

ParameterizedTestParameters(safetensors, refused) {
    static struct bad cases[] = {
        {"{" FIRST "," SECOND "}", 10, "b ends at byte 11 of the data, of which there are 10"},
        {"{" FIRST "," SECOND "}", 12, "1 bytes at its end belong to no tensor"},
        {"{" FIRST "}", 0, "a ends at byte 8"},
        {"{" SECOND "}", 11, "b: its bytes come after a hole"},
        {"{" FIRST ",\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[7,11]}}", 11, "b: its bytes overlap"},
        {"{" FIRST "," FIRST "}", 8, "the key \"a\" is there twice"},
        {"{" FIRST, 8, "invalid JSON at byte"},
        {"{" FIRST "} x", 8, "invalid JSON at byte"},
        {"["
         "]",
         0, "not an object"},
        {"", 0, "invalid JSON"},
        {"{\"a\\u0000\":1}", 0, "NUL"},
        {"{\"a\":1}", 0, "a: its entry is not dtype"},
        {"{\"a\":{}}", 0, "a: its entry is not dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
         "the key \"dtype\" is there twice"},
        {"{\"a\":{\"dtype\":\"F31\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "a: unknown type F31"},
        {"{\"a\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "a: its dtype is not a text"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
         "F16 takes 4 bytes, its offsets span 8"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,8]}}", 8, "takes 16 bytes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "a: a dimension is not a whole"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,6]}}", 6, "a: a dimension is not a whole"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[\"2\"],\"data_offsets\":[0,8]}}", 8, "a: a dimension is not a whole"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", 8, "a: its shape is not an array"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", 8, "more than 8 dim"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
         "shape is too large"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, "data_offsets are not a pair"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,8]}}", 8, "data_offsets are not a pair"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}", 8, "data_offsets are not a pair"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[1e300,1e301]}}", 8, "data_offsets are not a pair"},
        {"{\"__metadata__\":[]}", 0, "__metadata__ is not an object"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "__metadata__: a is not a text"},
    };
    return cr_make_param_array(struct bad, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct bad *bad, safetensors, refused) {
    cr_assert(fails_with(opens(bad->header, bad->data), bad->reason), "%s: %s", bad->header, error.text);
    cr_assert(strstr(error.text, "a.safetensors: "));
}

Test(safetensors, a_header_longer_than_the_file_is_refused) {
    struct safetensors safetensors;
    static const uint64_t lengths[] = {3, 1000, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        put_file("{}", lengths[i], 0);
        cr_assert(fails_with(safetensors_open(&safetensors, at("a.safetensors"), &error), "does not fit"), "%s",
                  error.text);
    }
    put("a.safetensors", "\2\0\0\0\0\0\0", 7);
    cr_assert(
        fails_with(safetensors_open(&safetensors, at("a.safetensors"), &error), "7 bytes are not a safetensors file"));
    put_file("{}", (uint64_t)SAFETENSORS_MOST_HEADER + 1, 0);
    cr_assert_eq(truncate(at("a.safetensors"), SAFETENSORS_MOST_HEADER * 2), 0);
    cr_assert(fails_with(safetensors_open(&safetensors, at("a.safetensors"), &error), "at most 16 MiB"));
}

Test(safetensors, what_is_nested_too_deeply_is_refused) {
    char deep[5000];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    deep[sizeof deep - 1] = '\0';
    cr_assert(fails_with(opens(deep, 0), "invalid JSON"));
}

Test(safetensors, what_is_written_is_read) {
    static const char *const metadata[] = {"format", "pt", "step", "12", NULL};
    struct safetensors_tensor tensors[] = {{.name = "m/\"x\"", .type = "F32", .dimensions = 2, .shape = {2, 3}},
                                           {.name = "step", .type = "I64", .dimensions = 0}};
    struct gpt2_output output;
    float numbers[6] = {1, 2, 3, 4, 5, 6};
    int64_t step = 12;
    cr_assert(safetensors_begin(&output, at("a.safetensors"), tensors, 2, metadata, &error), "%s", error.text);
    cr_assert(gpt2_output_write(&output, numbers, sizeof numbers, &error) &&
              gpt2_output_write(&output, &step, sizeof step, &error) && gpt2_output_commit(&output, &error));
    struct safetensors read;
    cr_assert(safetensors_open(&read, at("a.safetensors"), &error), "%s", error.text);
    const struct safetensors_tensor *x = safetensors_find(&read, "m/\"x\"");
    cr_assert(x && x->dimensions == 2 && memcmp(x->bytes, numbers, sizeof numbers) == 0);
    cr_assert_eq((uintptr_t)x->bytes % 8, 0);
    cr_assert_str_eq(safetensors_metadata(&read, "step"), "12");
    safetensors_close(&read);
}
