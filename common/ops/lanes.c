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
    int first = mistake == LANE_NO_16 ? LANES_OF_WARP / 4 : LANES_OF_WARP / 2;
    int last = mistake == LANE_NO_1 ? 2 : 1;
    for (int offset = first; offset >= last && mistake != LANE_ALONE; offset /= 2) {
        double before[LANES_OF_WARP];
        memcpy(before, value, sizeof before);
        for (int lane = 0; lane < LANES_OF_WARP; lane++) {
            double other = before[read_by(mistake, lane, offset)];
            double both = maximum ? fmax(before[lane], other) : before[lane] + other;
            value[lane] = mistake == LANE_REPLACED ? other : both;
        }
    }
}
