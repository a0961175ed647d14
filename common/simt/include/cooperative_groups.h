/* cooperative_groups.h — groups of threads as objects: block, grid, tiles of a warp, lanes that are converged. */
#ifndef COOPERATIVE_GROUPS_H
#define COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"
#include "simt/group_warp.h"
#include "simt/groups.h"

#endif
