/* page.h — the frame of an HTML page: one file without script and without other files, for a phone and for the dark as well.
 * The class's index and a student's page share its style. */
#ifndef PAGE_H
#define PAGE_H

#include <stdio.h>

void page_begin(FILE *out, const char *title);
void page_end(FILE *out);

/* A horizontal bar of `value`, with a tick at `mark` (0: none), in a scale that ends at `most`; `label` is read aloud. */
void page_bar(FILE *out, const char *kind, double value, double mark, double most, const char *label);

#endif
