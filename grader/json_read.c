#include "json_read.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/* The text ends in '\0', so that no test below reads past its end. */
struct parser {
    const char *text, *at, *end;
    int depth;
    const char *problem;
};

static struct json_value *read_value(struct parser *parser);

static void *fail(struct parser *parser, const char *problem) {
    if (!parser->problem) { parser->problem = problem; }
    return NULL;
}

static void skip_blanks(struct parser *parser) {
    parser->at += strspn(parser->at, " \t\r\n");
}

static bool take(struct parser *parser, char c) {
    skip_blanks(parser);
    bool here = *parser->at == c && c;
    parser->at += here;
    return here;
}

/* ---- strings ---- */

/* Four hexadecimal digits; -1: they are none. */
static long read_hex(struct parser *parser) {
    char digits[5] = "";
    for (int i = 0; i < 4 && parser->at[i]; i++) { digits[i] = parser->at[i]; }
    if (strspn(digits, "0123456789abcdefABCDEF") != 4) { return -1; }
    parser->at += 4;
    return strtol(digits, NULL, 16);
}

/* After \u: one character, which two of them describe above U+FFFF. A half of such a pair is none. */
static bool read_code(struct parser *parser, char **to) {
    long code = read_hex(parser);
    if (code < 0) { return false; }
    const char *after = parser->at;
    if (code >= 0xd800 && code < 0xdc00 && after[0] == '\\' && after[1] == 'u') {
        parser->at += 2;
        long low = read_hex(parser);
        if (low < 0) { return false; }
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else {
            parser->at = after;
        }
    }
    *to += utf8_encode(code ? (unsigned long)code : 0xfffd, *to);
    return true;
}

static bool read_escape(struct parser *parser, char **to) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = *parser->at;
    if (!c) { return false; } /* the text ends here */
    parser->at++;
    if (c == 'u') { return read_code(parser, to); }
    const char *name = strchr(names, c);
    if (!name) { return false; }
    *(*to)++ = values[name - names];
    return true;
}

static char *read_string(struct parser *parser) {
    if (!take(parser, '"')) { return fail(parser, "a text in quotation marks is expected"); }
    size_t most = 0; /* characters up to the closing mark, each of which becomes at most the three bytes of U+FFFD */
    for (const char *c = parser->at; c < parser->end && *c != '"'; c++, most++) {
        if (*c == '\\' && c + 1 < parser->end) { c++, most++; }
    }
    char *text = malloc(3 * most + 1), *to = text;
    if (!text) { return fail(parser, "out of memory"); }
    while (parser->at < parser->end && *parser->at != '"') {
        size_t length = utf8_length(parser->at);
        if ((unsigned char)*parser->at < 0x20) {
            free(text);
            return fail(parser, "a control character stands in a text");
        }
        if (*parser->at == '\\') {
            parser->at++;
            if (read_escape(parser, &to)) { continue; }
            free(text);
            return fail(parser, "a backslash is followed by no escape of JSON");
        }
        memcpy(to, length ? parser->at : UTF8_REPLACEMENT, length ? length : 3);
        to += length ? length : 3;
        parser->at += length ? length : 1;
    }
    *to = '\0';
    if (take(parser, '"')) { return text; }
    free(text);
    return fail(parser, "a text has no closing quotation mark");
}

/* ---- numbers ---- */

static size_t digits(const char *at) {
    return strspn(at, "0123456789");
}

/* As RFC 8259 writes them: no sign +, no leading zero, no hexadecimal, no "nan". */
static bool read_number(struct parser *parser, double *number) {
    const char *at = parser->at + (*parser->at == '-');
    size_t whole = digits(at);
    if (whole == 0 || (at[0] == '0' && whole > 1)) { return false; }
    at += whole;
    if (*at == '.') {
        if (digits(at + 1) == 0) { return false; }
        at += 1 + digits(at + 1);
    }
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        if (digits(at) == 0) { return false; }
        at += digits(at);
    }
    *number = strtod(parser->at, NULL);
    parser->at = at;
    return isfinite(*number);
}

/* ---- containers ---- */

/* After the opening bracket: elements up to the closing one. */
static bool read_elements(struct parser *parser, struct json_value *container, char closing) {
    struct json_value **place = &container->first;
    if (take(parser, closing)) { return true; }
    do {
        char *key = NULL;
        if (container->kind == JSON_OBJECT) {
            key = read_string(parser);
            if (!key) { return false; }
            if (!take(parser, ':')) {
                free(key);
                return fail(parser, "a colon is missing after a key");
            }
        }
        struct json_value *element = read_value(parser);
        if (!element) {
            free(key);
            return false;
        }
        element->key = key;
        *place = element;
        place = &element->next;
    } while (take(parser, ','));
    return take(parser, closing) || fail(parser, "a comma or a closing bracket is missing");
}

static bool read_word(struct parser *parser, const char *word) {
    size_t length = strlen(word);
    if (strncmp(parser->at, word, length) != 0) { return false; }
    parser->at += length;
    return true;
}

static bool read_into(struct parser *parser, struct json_value *value) {
    char c = *parser->at;
    if (c == '"') {
        value->kind = JSON_STRING;
        value->text = read_string(parser);
        return value->text;
    }
    if (c == '{' || c == '[') {
        value->kind = c == '{' ? JSON_OBJECT : JSON_ARRAY;
        parser->at++;
        return read_elements(parser, value, c == '{' ? '}' : ']');
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        value->kind = JSON_NUMBER;
        return read_number(parser, &value->number) || fail(parser, "a number is malformed");
    }
    value->kind = c == 't' ? JSON_TRUE : c == 'f' ? JSON_FALSE : JSON_NULL;
    return read_word(parser, c == 't' ? "true" : c == 'f' ? "false" : "null") || fail(parser, "a value is expected");
}

static struct json_value *read_value(struct parser *parser) {
    skip_blanks(parser);
    if (parser->depth == JSON_READ_DEPTH) { return fail(parser, "it is nested too deeply"); }
    struct json_value *value = calloc(1, sizeof *value);
    if (!value) { return fail(parser, "out of memory"); }
    parser->depth++;
    bool ok = read_into(parser, value);
    parser->depth--;
    if (ok) { return value; }
    json_free(value);
    return NULL;
}

static int line_of(const struct parser *parser) {
    int line = 1;
    for (const char *c = parser->text; c < parser->at; c++) { line += *c == '\n'; }
    return line;
}

struct json_value *json_read(const char *text, size_t length, char *error, size_t error_size) {
    char *copy = malloc(length + 1);
    if (!copy) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    struct parser parser = {.text = copy, .at = copy, .end = copy + length};
    struct json_value *value = read_value(&parser);
    skip_blanks(&parser);
    if (value && parser.at < parser.end) {
        json_free(value);
        value = fail(&parser, "something follows the value");
    }
    if (!value) { snprintf(error, error_size, "line %d: %s", line_of(&parser), parser.problem); }
    free(copy);
    return value;
}

void json_free(struct json_value *value) {
    while (value) {
        struct json_value *next = value->next;
        json_free(value->first);
        free((void *)(uintptr_t)value->key);
        free((void *)(uintptr_t)value->text);
        free(value);
        value = next;
    }
}

/* ---- looking things up ---- */

const struct json_value *json_get(const struct json_value *object, const char *key) {
    if (!object || object->kind != JSON_OBJECT) { return NULL; }
    for (const struct json_value *value = object->first; value; value = value->next) {
        if (strcmp(value->key, key) == 0) { return value; }
    }
    return NULL;
}

const char *json_get_text(const struct json_value *object, const char *key) {
    const struct json_value *value = json_get(object, key);
    return value && value->kind == JSON_STRING ? value->text : "";
}

double json_get_number(const struct json_value *object, const char *key) {
    const struct json_value *value = json_get(object, key);
    return value && value->kind == JSON_NUMBER ? value->number : 0.0;
}

bool json_is_true(const struct json_value *object, const char *key) {
    const struct json_value *value = json_get(object, key);
    return value && value->kind == JSON_TRUE;
}

const struct json_value *json_get_first(const struct json_value *object, const char *key) {
    const struct json_value *value = json_get(object, key);
    return value && value->kind == JSON_ARRAY ? value->first : NULL;
}
