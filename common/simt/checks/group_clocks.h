/* group_clocks.h — the clocks of a cell's group, lane by lane: only where lanes that synchronise by parts of the warp
 * read one word at different clocks. Kept per OS thread: only the warp that the group belongs to ever asks. */
#ifndef SIMT_GROUP_CLOCKS_H
#define SIMT_GROUP_CLOCKS_H

#include <stdint.h>

struct race_cell;

uint32_t *group_clocks(const struct race_cell *cell);      /* of a cell with GROUP_CLOCKS */
uint32_t *group_clocks_make(const struct race_cell *cell); /* the same, made when missing */
void group_clocks_clear(void);                             /* when a block ends */

#endif
