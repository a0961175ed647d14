/* wire.h — the child's end of the socket to the grader (descriptor 3): reads and writes of whole structs.
 *
 * If the grader has ended or has another version, no job can be done, so a failure ends the process.
 */
#ifndef WIRE_H
#define WIRE_H

#include <stddef.h>

void wire_read(void *data, size_t bytes);
void wire_write(const void *data, size_t bytes);

#endif
