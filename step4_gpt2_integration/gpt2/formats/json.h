/* json.h — cJSON, a little stricter: for files that come from anywhere. */
#ifndef GPT2_JSON_H
#define GPT2_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "gpt2/error.h"

/* Parse all of `text`, which must be one JSON object and nothing after it. NULL and a message ("FILE: invalid JSON at byte
 * 17") otherwise; also for NUL characters, which would cut a C string short. The caller frees it with cJSON_Delete. */
cJSON *gpt2_json_parse(const void *text, size_t size, const char *file, struct gpt2_error *error);

/* The same for a file, which may have at most `most` bytes. */
cJSON *gpt2_json_read(const char *path, size_t most, struct gpt2_error *error);

/* Is it a number without a fraction in 0..2^53, the integers that JSON carries exactly? */
bool gpt2_json_integer(const cJSON *item, int64_t *value);

#endif
