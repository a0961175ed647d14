#include "utf8.h"

#include <string.h>

/* The least and the greatest second byte after this first one (RFC 3629); the bytes after it are 80 to bf. */
static int sequence(unsigned char first, unsigned char *least, unsigned char *greatest) {
    *least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    *greatest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

size_t utf8_length(const char *text) {
    const unsigned char *byte = (const unsigned char *)text;
    unsigned char least, greatest;
    int length = sequence(byte[0], &least, &greatest);
    for (int i = 1; i < length; i++) {
        if (byte[i] < least || byte[i] > greatest) { return 0; }
        least = 0x80;
        greatest = 0xbf;
    }
    return (size_t)length;
}

size_t utf8_encode(unsigned long code, char bytes[4]) {
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) { code = 0xfffd; }
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6) { bytes[i] = (char)(0x80 | (code & 0x3f)); }
    bytes[0] = (char)((length == 2 ? 0xc0 : length == 3 ? 0xe0 : 0xf0) | code);
    return length;
}
