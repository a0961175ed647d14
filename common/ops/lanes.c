#include "lanes.h"

#include <math.h>
#include <string.h>

/* The lane whose value `lane` reads, in a step of `offset`. Past the warp's ends a lane reads its own. */
static int read_by(enum lane_mistake mistake, int lane, int offset) {
    switch (mistake) {
        case LANE_DOWN: return lane + offset < LANES_OF_WARP ? lane + offset : lane;
        case LANE_UP: return lane >= offset ? lane - offset : lane;
        default: return lane ^ offset;
    }
}

void lanes_reduce(enum lane_mistake mistake, bool maximum, double value[LANES_OF_WARP]) {
    int missing = mistake == LANE_NO_16 ? 16 : mistake == LANE_NO_2 ? 2 : mistake == LANE_NO_1 ? 1 : 0;
    for (int offset = LANES_OF_WARP / 2; offset > 0 && mistake != LANE_ALONE; offset /= 2) {
        if (offset == missing) { continue; }
        double before[LANES_OF_WARP];
        memcpy(before, value, sizeof before);
        for (int lane = 0; lane < LANES_OF_WARP; lane++) {
            double other = before[read_by(mistake, lane, offset)];
            double both = maximum ? fmax(before[lane], other) : before[lane] + other;
            value[lane] = mistake == LANE_REPLACED ? other : both;
        }
    }
}
