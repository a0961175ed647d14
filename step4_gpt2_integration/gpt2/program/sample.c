/* sample.c — sampling with a repetition penalty, temperature, top-k, top-p and min-p (sample.h). */
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

struct sampler sampler_make(const struct sampling *by, uint64_t seed, uint64_t sequence) {
    struct sampler sampler = {*by, seed};
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

/* Once for each token, however often it occurs. marks: scratch of V. */
static void penalise(float penalty, float *logits, const int32_t *ids, size_t count, int *marks, int V) {
    for (int v = 0; v < V; v++) { marks[v] = 0; }
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= V || marks[ids[i]]++ > 0) { continue; }
        float *logit = &logits[ids[i]];
        *logit = *logit < 0.0f ? *logit * penalty : *logit / penalty;
    }
}

/* From unordered weights. */
static int draw_among_all(const float *weights, double draw, double least, int V, int best) {
    double total = 0.0;
    for (int v = 0; v < V; v++) { total += (double)weights[v] >= least ? (double)weights[v] : 0.0; }
    double left = draw * total;
    for (int v = 0; v < V; v++) {
        left -= (double)weights[v] >= least ? (double)weights[v] : 0.0;
        if (left < 0.0) { return v; }
    }
    return best;
}

int sampler_choose(struct sampler *sampler, float *logits, const int32_t *ids, size_t count, int *heap, int V) {
    const struct sampling *by = &sampler->by;
    for (int v = 0; v < V; v++) {
        if (isnan(logits[v])) { return -1; }
    }
    if (by->repetition_penalty != 1.0) { penalise((float)by->repetition_penalty, logits, ids, count, heap, V); }
    int best = likeliest(logits, V);
    if (by->temperature == 0.0) { return best; }

    /* Logits become weights; the likeliest token has 1. */
    double largest = (double)logits[best], total = 0.0;
    for (int v = 0; v < V; v++) {
        logits[v] = (float)exp(((double)logits[v] - largest) / by->temperature);
        heap[v] = v;
        total += (double)logits[v];
    }
    int limit = by->top_k > 0 && by->top_k < V ? by->top_k : V;
    double draw = (double)(next_random(&sampler->state) >> 11) * 0x1p-53;
    if (limit == V && by->top_p >= 1.0) { return draw_among_all(logits, draw, by->min_p, V, best); }

    /* A heap gives the likeliest tokens in order, as many as the limits allow. */
    for (int at = V / 2 - 1; at >= 0; at--) { sift(logits, heap, V, at); }
    double of_top_k = 0.0, kept = 0.0;
    int ordered = 0;
    for (int left = V; ordered < limit; ordered++) { /* each is moved to the end of the array */
        int first = heap[0];
        heap[0] = heap[--left];
        heap[left] = first;
        sift(logits, heap, left, 0);
        of_top_k += (double)logits[first];
        if (limit == V && of_top_k >= by->top_p * total) { /* top_p alone: these are enough */
            ordered++;
            break;
        }
    }
    int used = 0;
    while (used < ordered && (used == 0 || kept < by->top_p * (limit == V ? total : of_top_k))) {
        if (used > 0 && (double)logits[heap[V - 1 - used]] < by->min_p) { break; }
        kept += (double)logits[heap[V - 1 - used++]];
    }
    double left = draw * kept;
    for (int i = 0; i < used; i++) {
        left -= (double)logits[heap[V - 1 - i]];
        if (left < 0.0) { return heap[V - 1 - i]; }
    }
    return best;
}
