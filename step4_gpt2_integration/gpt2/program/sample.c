/* sample.c — sampling with temperature, top-k and top-p (sample.h). */
#include "sample.h"

#include <math.h>
#include <stdbool.h>

#include "gpt2/formats/number.h"

/* splitmix64: every seed is valid. */
static uint64_t next_random(uint64_t *state) {
    uint64_t random = gpt2_mix(*state);
    *state += 0x9e3779b97f4a7c15u;
    return random;
}

struct sampler sampler_make(double temperature, int top_k, double top_p, uint64_t seed, uint64_t sequence) {
    struct sampler sampler = {temperature, top_p, top_k, seed};
    sampler.state = next_random(&sampler.state) ^ sequence * 0xd1342543de82ef95u;
    return sampler;
}

static int likeliest(const float *logits, int V) {
    int best = 0;
    for (int v = 1; v < V; v++) {
        if (logits[v] > logits[best]) { best = v; }
    }
    return best;
}

/* Larger logits first; of equal ones the smaller id, so that the order is unique. */
static bool before(const float *logits, int a, int b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

static void sift(const float *logits, int *heap, int count, int at) {
    for (;;) {
        int child = 2 * at + 1;
        if (child >= count) { return; }
        if (child + 1 < count && before(logits, heap[child + 1], heap[child])) { child++; }
        if (!before(logits, heap[child], heap[at])) { return; }
        int moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

int sampler_choose(struct sampler *sampler, float *logits, int *heap, int V) {
    for (int v = 0; v < V; v++) {
        if (isnan(logits[v])) { return -1; }
    }
    int best = likeliest(logits, V);
    if (sampler->temperature == 0.0) { return best; }

    /* Logits become weights; the likeliest token has 1. */
    double largest = (double)logits[best], total = 0.0;
    for (int v = 0; v < V; v++) {
        logits[v] = (float)exp(((double)logits[v] - largest) / sampler->temperature);
        heap[v] = v;
        total += (double)logits[v];
    }
    /* A heap gives the likeliest tokens in order, as many as both limits allow. */
    int limit = sampler->top_k > 0 && sampler->top_k < V ? sampler->top_k : V;
    double draw = (double)(next_random(&sampler->state) >> 11) * 0x1p-53;
    if (limit == V && sampler->top_p >= 1.0) { /* no limit: no order needed */
        double left = draw * total;
        for (int v = 0; v < V; v++) {
            left -= (double)logits[v];
            if (left < 0.0) { return v; }
        }
        return best;
    }
    for (int at = V / 2 - 1; at >= 0; at--) { sift(logits, heap, V, at); }
    double of_top_k = 0.0, kept = 0.0;
    int count = 0;
    for (int left = V; count < limit; count++) { /* each is moved to the end of the array */
        int first = heap[0];
        heap[0] = heap[--left];
        heap[left] = first;
        sift(logits, heap, left, 0);
        of_top_k += (double)logits[first];
        if (limit == V && of_top_k >= sampler->top_p * total) { /* top_p alone: these are enough */
            count++;
            break;
        }
    }
    int used = 0;
    while (used < count && (used == 0 || kept < sampler->top_p * (limit == V ? total : of_top_k))) {
        kept += (double)logits[heap[V - 1 - used++]];
    }
    double left = draw * kept;
    for (int i = 0; i < used; i++) {
        left -= (double)logits[heap[V - 1 - i]];
        if (left < 0.0) { return heap[V - 1 - i]; }
    }
    return best;
}
