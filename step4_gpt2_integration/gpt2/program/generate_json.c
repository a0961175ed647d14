/* generate_json.c — a run of gpt2 generate as one JSON object (generate.h). */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

/* A JSON string of UTF-8 text, which may hold any character, also U+0000, which cJSON's own strings cannot. NULL: out of
 * memory. */
static char *json_string(const struct gpt2_text *text) {
    char *to = malloc(6 * text->size + 3), *at = to;
    if (to == NULL) { return NULL; }
    *at++ = '"';
    for (size_t i = 0; i < text->size; i++) {
        unsigned char byte = (unsigned char)text->bytes[i];
        if (byte == '"' || byte == '\\') {
            *at++ = '\\', *at++ = (char)byte;
        } else if (byte == '\n') {
            *at++ = '\\', *at++ = 'n';
        } else if (byte < 0x20 || byte == 0x7f) {
            at += snprintf(at, 7, "\\u%04x", byte);
        } else {
            *at++ = (char)byte;
        }
    }
    *at++ = '"', *at = '\0';
    return to;
}

/* Any bytes; invalid UTF-8 becomes U+FFFD. */
static bool add_text(cJSON *object, const char *name, const void *bytes, size_t size) {
    struct gpt2_stream stream = {.count = 0};
    struct gpt2_text text = {NULL, 0, 0};
    bool good = gpt2_stream_bytes(&stream, bytes, size, &text, NULL) && gpt2_stream_end(&stream, &text, NULL);
    char *string = good ? json_string(&text) : NULL;
    good = string != NULL && cJSON_AddRawToObject(object, name, string) != NULL;
    free(string);
    gpt2_text_free(&text);
    return good;
}

static bool add_ids(cJSON *object, const char *name, const int32_t *ids, size_t count) {
    cJSON *array = cJSON_CreateIntArray(ids, (int)count);
    if (array != NULL && cJSON_AddItemToObject(object, name, array)) { return true; }
    cJSON_Delete(array);
    return false;
}

static bool add_sequence(cJSON *array, const struct generation *g, int b) {
    static const char *const endings[] = {
        [BY_TOKENS] = "tokens", [BY_END_OF_TEXT] = "end_of_text", [BY_STOP] = "stop", [BY_CONTEXT] = "context"};
    const struct sequence *s = &g->sequences[b];
    const struct gpt2_text *prompt = &g->prompts.at[b];
    cJSON *object = cJSON_CreateObject();
    bool good = object != NULL && add_text(object, "prompt", prompt->bytes, prompt->size) &&
                add_ids(object, "prompt_tokens", s->ids.ids, s->prompt) &&
                add_text(object, "text", s->text.bytes, s->text.size) &&
                add_ids(object, "tokens", s->ids.ids + s->prompt, s->ids.count - s->prompt) &&
                cJSON_AddStringToObject(object, "ended_by", endings[s->ending]) != NULL &&
                (s->stop == NULL || add_text(object, "stop", s->stop, strlen(s->stop))) &&
                cJSON_AddItemToArray(array, object);
    if (!good) { cJSON_Delete(object); }
    return good;
}

bool generate_print_json(const struct generation *g, struct gpt2_error *error) {
    const struct options *options = g->options;
    cJSON *all = cJSON_CreateObject(), *sequences, *times;
    bool good = all != NULL && add_text(all, "model", options->model, strlen(options->model)) &&
                cJSON_AddStringToObject(all, "type", options->type) != NULL &&
                add_text(all, "kernels", options->kernels, strlen(options->kernels)) &&
                cJSON_AddStringToObject(all, "decode_form", form_name(g->decode_form)) != NULL &&
                cJSON_AddNumberToObject(all, "seed", (double)options->seed) != NULL &&
                (sequences = cJSON_AddArrayToObject(all, "sequences")) != NULL;
    for (int b = 0; good && b < g->B; b++) { good = add_sequence(sequences, g, b); }
    good = good && (times = cJSON_AddObjectToObject(all, "times")) != NULL &&
           cJSON_AddNumberToObject(times, "load_s", g->load_seconds) != NULL &&
           cJSON_AddNumberToObject(times, "prompts_s", g->prompt_seconds) != NULL &&
           cJSON_AddNumberToObject(times, "decode_s", g->decode_seconds) != NULL &&
           cJSON_AddNumberToObject(all, "device_bytes", (double)gpt2_model_bytes(g->session.model)) != NULL;
    char *text = good ? cJSON_PrintUnformatted(all) : NULL;
    cJSON_Delete(all);
    if (text == NULL) { return gpt2_fail(error, "out of memory for the JSON"); }
    bool printed = puts(text) >= 0 && fflush(stdout) == 0;
    cJSON_free(text);
    return printed || gpt2_fail(error, "the JSON cannot be written to standard output");
}
