#include "wire.h"

#include <errno.h>
#include <unistd.h>

#include "protocol.h"

void wire_read(void *data, size_t bytes) {
    for (char *p = (char *)data; bytes > 0;) {
        ssize_t n = read(PROTOCOL_FD, p, bytes);
        if (n < 0 && errno == EINTR) { continue; }
        if (n <= 0) { _exit(0); }
        p += n;
        bytes -= (size_t)n;
    }
}

void wire_write(const void *data, size_t bytes) {
    for (const char *p = (const char *)data; bytes > 0;) {
        ssize_t n = write(PROTOCOL_FD, p, bytes);
        if (n < 0 && errno == EINTR) { continue; }
        if (n <= 0) { _exit(0); }
        p += n;
        bytes -= (size_t)n;
    }
}
