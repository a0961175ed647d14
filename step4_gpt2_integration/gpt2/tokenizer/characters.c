/* characters.c — the characters of vocab.json that represent bytes; UTF-8. */
#include <string.h>

#include "gpt2/tokenizer/internal.h"

enum { SHIFTED = 68, CHARACTERS = 256 + SHIFTED };

/* Printable bytes represent themselves; the other 68 are mapped in order to U+0100 and up, so that no token contains white
 * space. */
static bool is_printable(int byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

int character_of_byte(int byte) {
    if (is_printable(byte)) { return byte; }
    if (byte <= ' ') { return 256 + byte; }             /* 0..32 */
    if (byte <= 0xa0) { return 256 + 33 + byte - 127; } /* 127..160 */
    return 256 + 33 + 34;                               /* 173, the soft hyphen */
}

int byte_of_character(uint32_t character) {
    if (character < 256) { return is_printable((int)character) ? (int)character : -1; }
    if (character <= 256 + ' ') { return (int)character - 256; }
    if (character < 256 + 33 + 34) { return (int)character - 256 - 33 + 127; }
    return character == 256 + 33 + 34 ? 0xad : -1;
}

int64_t bytes_of_spelling(const char *spelling, size_t size, uint8_t *bytes) {
    const uint8_t *at = (const uint8_t *)spelling, *end = at + size;
    int64_t count = 0;
    while (at < end) {
        int length = utf8_sequence(at, (size_t)(end - at));
        if (length < 1 || length > 2) { return -1; } /* the characters of bytes have at most two bytes */
        int byte = byte_of_character(length == 1 ? *at : (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu));
        if (byte < 0) { return -1; }
        bytes[count++] = (uint8_t)byte;
        at += length;
    }
    return count;
}

size_t spell_bytes(const uint8_t *bytes, size_t size, char *spelling) {
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        int character = character_of_byte(bytes[i]);
        if (character < 0x80) {
            spelling[length++] = (char)character;
        } else {
            spelling[length++] = (char)(0xc0 | character >> 6);
            spelling[length++] = (char)(0x80 | (character & 0x3f));
        }
    }
    return length;
}

/* The first byte determines the length and, for four values, a narrower range of the second byte, which excludes overlong forms,
 * surrogates, and code points past U+10FFFF. */
int utf8_sequence(const uint8_t *bytes, size_t size) {
    uint8_t first = bytes[0], low = 0x80, high = 0xbf;
    int length;
    if (first < 0x80) { return 1; }
    if (first < 0xc2 || first > 0xf4) { return -1; }
    if (first < 0xe0) {
        length = 2;
    } else if (first < 0xf0) {
        length = 3;
        if (first == 0xe0) { low = 0xa0; }
        if (first == 0xed) { high = 0x9f; }
    } else {
        length = 4;
        if (first == 0xf0) { low = 0x90; }
        if (first == 0xf4) { high = 0x8f; }
    }
    for (int i = 1; i < length; i++) {
        if ((size_t)i == size) { return 0; }
        if (bytes[i] < low || bytes[i] > high) { return -i; }
        low = 0x80, high = 0xbf;
    }
    return length;
}

size_t utf8_valid(const uint8_t *bytes, size_t size) {
    size_t at = 0;
    while (at < size) {
        uint64_t eight;
        if (size - at >= sizeof eight) { /* eight ASCII characters at a time */
            memcpy(&eight, bytes + at, sizeof eight);
            if ((eight & 0x8080808080808080u) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        int length = utf8_sequence(bytes + at, size - at);
        if (length <= 0) { break; }
        at += (size_t)length;
    }
    return at;
}
