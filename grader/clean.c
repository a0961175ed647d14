#include "clean.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character there, at least 1; its value, or UINT32_MAX if it is none. */
static size_t decode(const unsigned char *at, uint32_t *value) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *at < 0x80 ? 1 : *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : *at >= 0xc0 ? 2 : 0;
    *value = UINT32_MAX;
    if (length == 0 || *at > 0xf4) { return 1; }
    uint32_t bits = length == 1 ? *at : *at & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) { return 1; }
        bits = bits << 6 | (at[i] & 0x3f);
    }
    if (bits < least[length] || bits > 0x10ffff || (bits >= 0xd800 && bits < 0xe000)) { return 1; }
    *value = bits;
    return length;
}

static int is_text(uint32_t c) {
    if (c == '\n' || c == '\t') { return 1; }
    int control = c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == UINT32_MAX;
    int direction =
        c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    return !control && !direction;
}

char *clean_text(char *text) {
    for (unsigned char *at = (unsigned char *)text; *at;) {
        uint32_t c;
        size_t length = decode(at, &c);
        for (size_t i = 0; i < length && !is_text(c); i++) { at[i] = '?'; }
        at += length;
    }
    return text;
}
