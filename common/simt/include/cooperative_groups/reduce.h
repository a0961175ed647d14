/* cooperative_groups/reduce.h — reduce(group, value, operation). */
#ifndef COOPERATIVE_GROUPS_REDUCE_H
#define COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"
#include "../simt/group_reduce.h"

#endif
