/* json.h — cJSON with stricter checks, for untrusted files. */
#ifndef GPT2_JSON_H
#define GPT2_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "gpt2/error.h"

/* Parses `text`, which must be exactly one JSON object. NULL and a message ("FILE: invalid JSON at byte 17") otherwise; also
 * for NUL characters, which would end a C string early, and for an object with a key twice. The caller frees it with
 * cJSON_Delete. */
cJSON *gpt2_json_parse(const void *text, size_t size, const char *file, struct gpt2_error *error);

/* The same for a file of at most `most` bytes. */
cJSON *gpt2_json_read(const char *path, size_t most, struct gpt2_error *error);

/* Is it a whole number in 0..2^53, which JSON represents exactly? */
bool gpt2_json_integer(const cJSON *item, int64_t *value);

#endif
