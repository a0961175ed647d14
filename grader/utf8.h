/* utf8.h — text that a learner's program printed, or that a file is called, may be no UTF-8. Every writer asks here. */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Bytes of the character at `text`, which ends in '\0': 1 to 4, or 0: they are no UTF-8 (an overlong form, a surrogate, a
 * value above U+10FFFF, an incomplete sequence). 1 for '\0'. */
size_t utf8_length(const char *text);

/* Writes the code point as 1 to 4 bytes and returns their number; what is no character becomes U+FFFD. */
size_t utf8_encode(unsigned long code, char bytes[4]);

#endif
