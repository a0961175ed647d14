/* json.h — a small writer of JSON (RFC 8259): objects, arrays, strings, numbers; it cannot write anything malformed as
 * long as begins and ends match. NaN and infinities, which JSON lacks, become the strings "NaN", "Infinity", "-Infinity".
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdio.h>

enum { JSON_MAX_DEPTH = 16 };

struct json {
    FILE *file;
    int depth;
    bool not_first[JSON_MAX_DEPTH];
};

/* `key` is NULL inside arrays and for the outermost value. */
void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);
void json_string(struct json *json, const char *key, const char *value); /* NULL: null */
void json_number(struct json *json, const char *key, double value);
void json_integer(struct json *json, const char *key, long long value);
void json_bool(struct json *json, const char *key, bool value);

#endif
