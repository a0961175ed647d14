/* json_writer.c — JSON, piece by piece, to a file. */
#include "json_writer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void simt_json_flush(struct json_writer *out) {
    for (size_t done = 0; done < out->length;) {
        ssize_t wrote = out->seekable
                            ? pwrite(out->file, out->text + done, out->length - done, out->written + (off_t)done)
                            : write(out->file, out->text + done, out->length - done);
        if (wrote < 0 && errno != EINTR) break;
        if (wrote > 0) done += (size_t)wrote;
    }
    out->written += (off_t)out->length;
    out->length = 0;
}

static void put(struct json_writer *out, char c) {
    if (out->length == sizeof out->text) simt_json_flush(out);
    out->text[out->length++] = c;
}

void simt_json_raw(struct json_writer *out, const char *text) {
    while (*text) put(out, *text++);
}

void simt_json_digits(struct json_writer *out, uint64_t number) {
    char digits[24], *digit = digits + sizeof digits;
    *--digit = '\0';
    do {
        *--digit = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    simt_json_raw(out, digit);
}

void simt_json_hex(struct json_writer *out, uint64_t number, int digits) {
    for (int i = digits - 1; i >= 0; i--) put(out, "0123456789abcdef"[number >> (4 * i) & 15]);
}

/* The length of the UTF-8 sequence that starts here; 0 if it is not one. */
static int sequence_length(const unsigned char *c) {
    int length = *c < 0x80 ? 1 : *c >= 0xf0 ? 4 : *c >= 0xe0 ? 3 : 2;
    if (length == 1) return 1;
    if (*c < 0xc2 || *c > 0xf4) return 0;
    for (int i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    bool overlong = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xf0 && c[1] < 0x90);
    bool surrogate = *c == 0xed && c[1] >= 0xa0, too_large = *c == 0xf4 && c[1] >= 0x90;
    return overlong || surrogate || too_large ? 0 : length;
}

/* Bytes that are not UTF-8 become the replacement character. */
static void put_characters(struct json_writer *out, const char *text, size_t bytes) {
    const unsigned char *c = (const unsigned char *)text, *stop = c + bytes;
    while (c < stop) {
        int length = sequence_length(c);
        if (length == 0) {
            simt_json_raw(out, "\\ufffd");
            c++;
        } else if (*c == '"' || *c == '\\') {
            put(out, '\\');
            put(out, (char)*c++);
        } else if (*c < 0x20 || *c == 0x7f) {
            simt_json_raw(out, "\\u");
            simt_json_hex(out, *c++, 4);
        } else {
            for (int i = 0; i < length; i++) put(out, (char)*c++);
        }
    }
}

void simt_json_separate(struct json_writer *out, const char *with) {
    if (!out->first) put(out, ',');
    simt_json_raw(out, out->first && *with == ' ' ? "" : with);
    out->first = false;
}

void simt_json_key(struct json_writer *out, const char *name) {
    simt_json_separate(out, " ");
    put(out, '"');
    simt_json_raw(out, name);
    simt_json_raw(out, "\": ");
}

void simt_json_begin(struct json_writer *out, const char *name, char bracket) {
    if (name) simt_json_key(out, name);
    put(out, bracket);
    out->first = true;
}

void simt_json_end(struct json_writer *out, char bracket) {
    put(out, bracket);
    out->first = false;
}

void simt_json_characters(struct json_writer *out, const char *text, size_t bytes) {
    put(out, '"');
    put_characters(out, text, bytes);
    put(out, '"');
}

void simt_json_string(struct json_writer *out, const char *name, const char *text) {
    simt_json_key(out, name);
    simt_json_characters(out, text, strlen(text));
}

void simt_json_string_or_null(struct json_writer *out, const char *name, const char *text) {
    if (*text) {
        simt_json_string(out, name, text);
    } else {
        simt_json_key(out, name);
        simt_json_raw(out, "null");
    }
}

void simt_json_number(struct json_writer *out, const char *name, uint64_t value) {
    simt_json_key(out, name);
    simt_json_digits(out, value);
}
