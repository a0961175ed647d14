/* class_store.h — what a class's marking leaves in OUT/. A file appears there whole or not at all, whenever the marking is
 * killed.
 *
 *   results/NAME.json   the report of a submission, with `student`, `status` and `key` (docs/grader-json.md)
 *   pages/NAME.html     the same for the student; index.html, results.csv: the class
 *   seed                of the secret shapes, if none was given
 *   .work/, .lock       of the marking that runs
 */
#ifndef CLASS_STORE_H
#define CLASS_STORE_H

#include <stdio.h>

#include "json_read.h"
#include "paths.h"

enum { CLASS_NAME_BYTES = 256, CLASS_SLUG_BYTES = 80 };

struct submission {
    char path[PATHS_BYTES];
    char student[CLASS_NAME_BYTES]; /* the folder's or the archive's name, whatever bytes it has */
    char slug[CLASS_SLUG_BYTES];    /* of its files in OUT/: letters, digits, - and _ */
    struct json_value *result;      /* the stored report; NULL: none yet */
};

/* A file is written and then replaced in one step. store_begin returns NULL with errno. */
struct store_file {
    char path[PATHS_BYTES], temporary[PATHS_BYTES + 8];
    FILE *file;
};
FILE *store_begin(struct store_file *store, const char *path);
bool store_end(struct store_file *store);

/* A name for files that is the student's as far as that is safe, and unlike that of any other student. */
void store_slug(const char *student, char slug[CLASS_SLUG_BYTES]);

/* Reads OUT/results/SLUG.json. NULL: there is none, or it is no report. */
struct json_value *store_load(const char *out, const struct submission *submission);

/* Writes it: the report, which is a JSON object, with the student, the status and the key in front. */
bool store_save(const char *out, const struct submission *submission, const char *status, const char *key,
                const char *report, size_t size);

/* "marked", "broken" (the submission) or "error" (of the grader). */
const char *store_status(const struct submission *submission);

/* pages/SLUG.html; results.csv and index.html. False: errno. */
struct step;
bool class_show_page(const char *out, const struct submission *submission);
bool class_show_csv(const char *out, const struct step *step, const struct submission *submissions, int count);
bool class_show_index(const char *out, const struct step *step, const struct submission *submissions, int count);

#endif
