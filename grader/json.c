#include "json.h"

#include <math.h>

#include "utf8.h"

static void indent(struct json *json) {
    fputc('\n', json->file);
    for (int i = 0; i < json->depth; i++) { fputs("  ", json->file); }
}

static void quoted(FILE *file, const char *text) {
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\') {
            fprintf(file, "\\%c", *c);
        } else if (*c == '\n') {
            fputs("\\n", file);
        } else if (*c < 0x20 || *c == 0x7f) {
            fprintf(file, "\\u%04x", *c);
        } else {
            size_t length = utf8_length((const char *)c);
            if (length == 0) {
                fputc('?', file); /* a learner's output may be no UTF-8 */
                continue;
            }
            fwrite(c, 1, length, file);
            c += length - 1;
        }
    }
    fputc('"', file);
}

static void start(struct json *json, const char *key) {
    if (json->depth > 0) {
        if (json->not_first[json->depth]) { fputc(',', json->file); }
        json->not_first[json->depth] = true;
        indent(json);
    }
    if (key) {
        quoted(json->file, key);
        fputs(": ", json->file);
    }
}

static void begin(struct json *json, const char *key, char bracket) {
    start(json, key);
    fputc(bracket, json->file);
    if (json->depth + 1 < JSON_MAX_DEPTH) { json->depth++; }
    json->not_first[json->depth] = false;
}

static void end(struct json *json, char bracket) {
    bool empty = !json->not_first[json->depth];
    if (json->depth > 0) { json->depth--; }
    if (!empty) { indent(json); }
    fputc(bracket, json->file);
    if (json->depth == 0) { fputc('\n', json->file); }
}

void json_begin_object(struct json *json, const char *key) {
    begin(json, key, '{');
}
void json_end_object(struct json *json) {
    end(json, '}');
}
void json_begin_array(struct json *json, const char *key) {
    begin(json, key, '[');
}
void json_end_array(struct json *json) {
    end(json, ']');
}

void json_string(struct json *json, const char *key, const char *value) {
    start(json, key);
    if (value) {
        quoted(json->file, value);
    } else {
        fputs("null", json->file);
    }
}

void json_number(struct json *json, const char *key, double value) {
    if (isfinite(value)) {
        start(json, key);
        fprintf(json->file, "%.17g", value);
    } else {
        json_string(json, key, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    }
}

void json_integer(struct json *json, const char *key, long long value) {
    start(json, key);
    fprintf(json->file, "%lld", value);
}

void json_bool(struct json *json, const char *key, bool value) {
    start(json, key);
    fputs(value ? "true" : "false", json->file);
}
