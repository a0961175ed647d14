/* cooperative_groups/scan.h — inclusive_scan and exclusive_scan of a group. */
#ifndef COOPERATIVE_GROUPS_SCAN_H
#define COOPERATIVE_GROUPS_SCAN_H

#include "../cooperative_groups.h"
#include "../simt/group_reduce.h"

#endif
