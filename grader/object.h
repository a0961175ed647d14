/* object.h — may an object file of the learner's be linked with the runner? By its sections and symbols.
 *
 * The compiler made it from untrusted text, so it may define what is its own, and refer only to what a lab needs. */
#ifndef OBJECT_H
#define OBJECT_H

#include <stdbool.h>
#include <stddef.h>

/* The names that the files which are linked with it define or refer to: the backend, the runner. object_names_free. */
struct object_names {
    char **name;
    size_t count, room;
};

/* Adds the names of an object file or an archive. False: it cannot be read. */
bool object_names_add(struct object_names *names, const char *path);
void object_names_free(struct object_names *names);

/* False: `why` says what the object may not have ("not allowed: ..."). `taken`: names that it may not define. `imports`: names of C++ functions of the
 * course that it may call besides, separated by blanks. */
bool object_allowed(const char *path, const struct object_names *taken, const char *imports, char *why, size_t size);

#endif
