/* class_conf.h — an instructor's file of points, for a class: --config FILE. docs/class-conf.md documents the format. */
#ifndef CLASS_CONF_H
#define CLASS_CONF_H

#include "grader.h"

struct class_conf {
    bool has_seed;
    uint64_t seed; /* of the secret shapes, the same for the whole class */
};

/* Reads the file and gives the labs its points. False: `error` names file, line, mistake and remedy, and the labs' points are
 * not to be used. */
bool class_conf_load(const char *path, struct step *steps, struct class_conf *conf, char *error, size_t error_size);

/* The same from memory; `path` stands in messages. */
bool class_conf_read(const char *path, const char *text, size_t length, struct step *steps, struct class_conf *conf,
                     char *error, size_t error_size);

#endif
