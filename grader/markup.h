/* markup.h — text inside XML and HTML. Whatever the text holds, the document stays well-formed: marks of the markup are escaped
 * (so `]]>` and `<script>` are text), and U+FFFD stands for what is no UTF-8, for control characters, and for characters that
 * change the direction of the text around them. */
#ifndef MARKUP_H
#define MARKUP_H

#include <stdio.h>

/* Text of an element. */
void markup_text(FILE *out, const char *text);

/* The value of an attribute in double quotes; line breaks and tabs survive. */
void markup_attribute(FILE *out, const char *text);

/* Text of an element, printed as printf does and then escaped. */
void markup_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
