/* device_output.c — printf in a kernel. The output is kept until the launch ends. Then it is written in the order of the
 * blocks, and within a block in the order of the calls, so that it is the same on every run.
 *
 * These functions replace printf, puts and putchar in the whole program (g++ turns some calls of printf into the other
 * two). On the host they behave as the C library's.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

enum { KEPT_BYTES = 64 << 20 }; /* limit for a kernel that prints endlessly: the output is then written early */

struct message {
    uint64_t block, number;
    size_t length;
    char *text;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct message *messages;
static size_t count, room, kept_bytes;

static int by_block(const void *left, const void *right) {
    const struct message *a = left, *b = right;
    if (a->block != b->block) { return a->block < b->block ? -1 : 1; }
    return a->number < b->number ? -1 : a->number > b->number;
}

static void write_all(void) {
    if (count == 0) { return; }
    qsort(messages, count, sizeof *messages, by_block);
    for (size_t i = 0; i < count; i++) {
        fwrite(messages[i].text, 1, messages[i].length, stdout);
        free(messages[i].text);
    }
    count = kept_bytes = 0;
}

void device_output_flush(void) {
    pthread_mutex_lock(&lock);
    write_all();
    pthread_mutex_unlock(&lock);
}

/* Takes ownership of `text`. */
static void keep(char *text, size_t length) {
    pthread_mutex_lock(&lock);
    if (count == room) {
        size_t larger = room == 0 ? 256 : 2 * room;
        struct message *moved = realloc(messages, larger * sizeof *moved);
        if (moved == NULL) {
            write_all();
        } else {
            messages = moved;
            room = larger;
        }
    }
    if (count < room) {
        messages[count] = (struct message){simt_self->block->linear, count, length, text};
        count++;
        kept_bytes += length;
        if (kept_bytes > KEPT_BYTES) { write_all(); }
    } else {
        free(text);
    }
    pthread_mutex_unlock(&lock);
}

int vprintf(const char *format, va_list arguments) {
    if (simt_self == NULL) { return vfprintf(stdout, format, arguments); }
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    if (length >= 0) { keep(text, (size_t)length); }
    return length;
}

int printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vprintf(format, arguments);
    va_end(arguments);
    return length;
}

static int put(const char *text, size_t length) {
    char *copy = malloc(length);
    if (copy == NULL) { return EOF; }
    memcpy(copy, text, length);
    keep(copy, length);
    return (int)length;
}

int puts(const char *line) {
    if (simt_self == NULL) { return fputs(line, stdout) == EOF || fputc('\n', stdout) == EOF ? EOF : 1; }
    size_t length = strlen(line);
    char *text = malloc(length + 1);
    if (text == NULL) { return EOF; }
    memcpy(text, line, length);
    text[length] = '\n';
    keep(text, length + 1);
    return 1;
}

int putchar(int character) {
    char one = (char)character;
    return simt_self == NULL ? fputc(character, stdout) : put(&one, 1) == EOF ? EOF : (unsigned char)one;
}
