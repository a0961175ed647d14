/* cooperative_groups/memcpy_async.h — a collective copy of a group, which completes at the group's wait(). */
#ifndef COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"
#include "../simt/group_copy.h"

#endif
