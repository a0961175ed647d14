/* cooperative_groups/memcpy_async.h — a group copies together: done at once here, complete for all after wait(). */
#ifndef COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"
#include "../simt/group_copy.h"

#endif
