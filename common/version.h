/* version.h — the version of the course, which its programs print for --version. */
#ifndef COMMON_VERSION_H
#define COMMON_VERSION_H

#define COURSE_VERSION "1.0.0-dev"

#endif
