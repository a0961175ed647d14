/* json_writer.h — writes JSON to a file, also in a signal handler: it allocates nothing and calls only write() and pwrite(). */
#ifndef SIMT_JSON_WRITER_H
#define SIMT_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct json_writer {
    int file;
    bool seekable; /* a regular file, written from its start on */
    bool first;    /* the next value is the first of its object or array */
    char text[4096];
    size_t length;
    off_t written;
};

void simt_json_flush(struct json_writer *out);

/* Text as it is; digits of a number. */
void simt_json_raw(struct json_writer *out, const char *text);
void simt_json_digits(struct json_writer *out, uint64_t number);
void simt_json_hex(struct json_writer *out, uint64_t number, int digits);

/* A comma, unless the value is the first, and what separates the values: a space, or a line's end and an indentation. */
void simt_json_separate(struct json_writer *out, const char *with);
void simt_json_key(struct json_writer *out, const char *name);

/* `name` is NULL in an array and for the outermost value. */
void simt_json_begin(struct json_writer *out, const char *name, char bracket);
void simt_json_end(struct json_writer *out, char bracket);
void simt_json_string(struct json_writer *out, const char *name, const char *text);
void simt_json_string_or_null(struct json_writer *out, const char *name, const char *text); /* null: empty */
void simt_json_number(struct json_writer *out, const char *name, uint64_t value);

/* A quoted string. Bytes that are not UTF-8 become the replacement character. */
void simt_json_characters(struct json_writer *out, const char *text, size_t bytes);

#endif
