/* class_list.h — the files of a submission, which is a folder or an archive.
 *
 * Submissions are untrusted: links are not followed, names of an archive are never written, and sizes, numbers and times are
 * limited. */
#ifndef CLASS_LIST_H
#define CLASS_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* The names of a submission's regular files, relative to it. */
struct listing {
    const char *path;
    const char *archiver; /* NULL: a folder */
    char **name;
    int count;
    char *error; /* of error_size bytes: why one of these functions failed */
    size_t error_size;
};

/* Fills the listing, in which path, error and error_size are set. */
bool listing_open(struct listing *listing);
void listing_free(struct listing *listing);

/* The bytes of a file, for the caller to free. NULL: it cannot be read, or is larger than 1 MiB. */
char *listing_read(const struct listing *listing, const char *name, size_t *size);

/* Sets the error. Returns false. */
bool listing_fail(const struct listing *listing, const char *reason);

/* Is it an archive by its name? Then `stem` (NULL: not wanted), of `size` bytes, is the name without its ending. */
bool class_is_archive(const char *name, char *stem, size_t size);

/* The program that unpacks an archive of this name; NULL: it is not installed, and `error` says what to type. */
const char *class_archiver(const char *name, char *error, size_t error_size);

#endif
