/* json_read.h — a small reader of JSON (RFC 8259): the text becomes a tree of values. What is read is strictly JSON, and at
 * most JSON_READ_DEPTH deep; strings are UTF-8 afterwards, with U+FFFD for what is none and for \u0000. */
#ifndef JSON_READ_H
#define JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

enum { JSON_READ_DEPTH = 64 };

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    const char *key;          /* inside an object */
    const char *text;         /* of a string */
    double number;            /* of a number */
    struct json_value *first; /* of an array or an object */
    struct json_value *next;  /* in the same array or object */
};

/* NULL: `error` says which line is no JSON, or that memory is short. json_free releases it. */
struct json_value *json_read(const char *text, size_t length, char *error, size_t error_size);
void json_free(struct json_value *value);

/* The object's value of that key; NULL: there is none, or this is no object. */
const struct json_value *json_get(const struct json_value *object, const char *key);

/* Its text; "" where there is no such string. */
const char *json_get_text(const struct json_value *object, const char *key);

/* Its number; 0 where there is no such number. */
double json_get_number(const struct json_value *object, const char *key);

/* Is it there, and true? */
bool json_is_true(const struct json_value *object, const char *key);

/* The first element of its array; NULL: it is empty, or there is none. */
const struct json_value *json_get_first(const struct json_value *object, const char *key);

#endif
