/* clean.h — text of a submission, made safe to print: compiler messages, output of kernels, names of files. */
#ifndef CLEAN_H
#define CLEAN_H

/* Replaces, in place, by '?' every byte that is no printable text: control characters but the ends of lines and tabs, what is no
 * UTF-8, and characters that control a terminal or the direction of text. Returns text. */
char *clean_text(char *text);

#endif
