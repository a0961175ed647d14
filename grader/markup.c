#include "markup.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/* U+0080 to U+009F, U+200E and U+200F, U+202A to U+202E, U+2066 to U+2069, U+FFFE and U+FFFF; or no UTF-8 at all. */
static bool is_replaced(const char *text, size_t length) {
    const unsigned char *byte = (const unsigned char *)text;
    if (length == 0) { return true; }
    if (length == 2) { return byte[0] == 0xc2 && byte[1] < 0xa0; }
    if (length != 3) { return false; }
    unsigned last = byte[2];
    if (byte[0] == 0xe2 && byte[1] == 0x80) { return last == 0x8e || last == 0x8f || (last >= 0xaa && last <= 0xae); }
    if (byte[0] == 0xe2 && byte[1] == 0x81) { return last >= 0xa6 && last <= 0xa9; }
    return byte[0] == 0xef && byte[1] == 0xbf && last >= 0xbe;
}

static void write_ascii(FILE *out, char c, bool in_attribute) {
    switch (c) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        case '\n':
        case '\t': fprintf(out, in_attribute ? "&#%d;" : "%c", c); break;
        default:
            if ((unsigned char)c < 0x20 || c == 0x7f) {
                fputs(UTF8_REPLACEMENT, out);
            } else {
                fputc(c, out);
            }
    }
}

static void write_text(FILE *out, const char *text, bool in_attribute) {
    while (*text) {
        size_t length = utf8_length(text);
        if (text[0] == '\r' && text[1] == '\n') {
            /* a line's end on Windows */
        } else if (length == 1) {
            write_ascii(out, *text, in_attribute);
        } else if (is_replaced(text, length)) {
            fputs(UTF8_REPLACEMENT, out);
        } else {
            fwrite(text, 1, length, out);
        }
        text += length ? length : 1;
    }
}

void markup_text(FILE *out, const char *text) {
    write_text(out, text, false);
}

void markup_attribute(FILE *out, const char *text) {
    write_text(out, text, true);
}

void markup_print(FILE *out, const char *format, ...) {
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) { return; }
    markup_text(out, text);
    free(text);
}
