/* Choosing the next token: limits, order, and frequencies that follow the probabilities. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "gpt2/program/sample.h"

TestSuite(sample, .timeout = 60);

enum { V = 6 };
static const float some[V] = {1.0f, 3.0f, 2.0f, 3.0f, -INFINITY, 0.0f};

static int choose(struct sampler *sampler, const float *from) {
    float logits[V];
    int room[V];
    memcpy(logits, from, sizeof logits);
    return sampler_choose(sampler, logits, NULL, 0, room, V);
}

/* The frequency of each token in many draws. */
static void draw_by(const struct sampling *by, double *share) {
    enum { DRAWS = 40000 };
    struct sampler sampler = sampler_make(by, 7, 0);
    memset(share, 0, V * sizeof *share);
    for (int i = 0; i < DRAWS; i++) { share[choose(&sampler, some)] += 1.0 / DRAWS; }
}

static void draw(double temperature, int top_k, double top_p, double *share) {
    draw_by(&(struct sampling){1.0, temperature, top_k, top_p, 0.0}, share);
}

static void expect(const double *share, int top, double temperature) {
    static const int order[V] = {1, 3, 2, 0, 5, 4};
    double wanted[V] = {0}, total = 0.0;
    for (int i = 0; i < top; i++) { total += exp((double)some[order[i]] / temperature); }
    for (int i = 0; i < top; i++) { wanted[order[i]] = exp((double)some[order[i]] / temperature) / total; }
    for (int v = 0; v < V; v++) {
        cr_assert(fabs(share[v] - wanted[v]) < 0.01, "%d: %g, not %g", v, share[v], wanted[v]);
        cr_assert(wanted[v] > 0.0 || share[v] == 0.0);
    }
}

Test(sample, greedy_takes_the_first_of_the_likeliest) {
    struct sampler sampler = sampler_make(&(struct sampling){1.0, 0.0, 0, 1.0, 0.0}, 1, 0);
    cr_assert_eq(choose(&sampler, some), 1);
    sampler = sampler_make(&(struct sampling){1.0, 2.0, 1, 1.0, 0.0}, 1, 0);
    for (int i = 0; i < 20; i++) { cr_assert_eq(choose(&sampler, some), 1); }
}

Test(sample, draws_follow_the_probabilities) {
    double share[V];
    draw(1.0, 0, 1.0, share);
    expect(share, V, 1.0);
    draw(0.5, 0, 1.0, share);
    expect(share, V, 0.5);
    draw(1.0, 100, 1.0, share);
    expect(share, V, 1.0);
}

Test(sample, top_k_and_top_p_cut) {
    double share[V]; /* probabilities: 0.40, 0.40, 0.15, 0.05, 0.02, 0 */
    draw(1.0, 3, 1.0, share);
    expect(share, 3, 1.0);
    draw(1.0, 0, 0.5, share);
    expect(share, 2, 1.0);
    draw(1.0, 0, 0.9, share);
    expect(share, 3, 1.0);
    draw(1.0, 0, 0.001, share);
    expect(share, 1, 1.0);
    draw(1.0, 3, 0.6, share); /* of the three: 0.42, 0.42, 0.16 */
    expect(share, 2, 1.0);
    draw(1.0, 5, 0.999, share);
    expect(share, 5, 1.0);
}

Test(sample, seeds_and_sequences) {
    const struct sampling plain = {1.0, 1.0, 0, 1.0, 0.0};
    int first[3][64];
    const uint64_t of[3][2] = {{1, 0}, {1, 1}, {2, 0}};
    for (int run = 0; run < 3; run++) {
        struct sampler sampler = sampler_make(&plain, of[run][0], of[run][1]);
        struct sampler again = sampler;
        for (int i = 0; i < 64; i++) {
            first[run][i] = choose(&sampler, some);
            cr_assert_eq(first[run][i], choose(&again, some));
        }
    }
    cr_assert_neq(memcmp(first[0], first[1], sizeof first[0]), 0);
    cr_assert_neq(memcmp(first[0], first[2], sizeof first[0]), 0);
}

Test(sample, nan_is_no_choice) {
    float logits[V] = {0.0f, NAN};
    struct sampler sampler = sampler_make(&(struct sampling){1.0, 1.0, 0, 1.0, 0.0}, 1, 0);
    cr_assert_eq(choose(&sampler, logits), -1);
}

/* ---- all processors together, against transformers' definitions in float64 ---- */

enum { WORDS = 40 };

/* Of a logit, as transformers' processors in their order: mask or not, and the probability at the end. */
static void reference(const struct sampling *by, const float *from, const int32_t *ids, size_t count, double *share) {
    double scores[WORDS], probability[WORDS], total = 0.0, top = -INFINITY;
    bool masked[WORDS] = {false};
    for (int v = 0; v < WORDS; v++) {
        bool seen = false;
        for (size_t i = 0; i < count; i++) { seen = seen || ids[i] == v; }
        double score = (double)from[v], penalty = by->repetition_penalty;
        scores[v] = (!seen ? score : score < 0.0 ? score * penalty : score / penalty) / by->temperature;
    }
    for (int v = 0; v < WORDS && by->top_k > 0; v++) { /* TopKLogitsWarper */
        int above = 0;
        for (int w = 0; w < WORDS; w++) { above += scores[w] > scores[v]; }
        masked[v] = above >= by->top_k;
    }
    for (int v = 0; v < WORDS; v++) {
        probability[v] = masked[v] ? 0.0 : exp(scores[v]);
        total += probability[v];
    }
    bool cut[WORDS];
    for (int v = 0; v < WORDS; v++) { /* TopPLogitsWarper: the cumulative sum from the least likely up */
        double up_to = 0.0;
        for (int w = 0; w < WORDS; w++) { up_to += probability[w] <= probability[v] ? probability[w] / total : 0.0; }
        cut[v] = by->top_p < 1.0 && up_to <= 1.0 - by->top_p;
    }
    for (int v = 0; v < WORDS; v++) {
        if (cut[v]) { probability[v] = 0.0; }
        top = fmax(top, probability[v]);
    }
    total = 0.0;
    for (int v = 0; v < WORDS; v++) { /* MinPLogitsWarper */
        if (probability[v] < by->min_p * top) { probability[v] = 0.0; }
        total += probability[v];
    }
    for (int v = 0; v < WORDS; v++) { share[v] = probability[v] / total; }
}

Test(sample, processors_are_those_of_transformers) {
    static const struct sampling ways[] = {
        {1.0, 1.0, 0, 1.0, 0.1},  {1.3, 1.0, 0, 1.0, 0.0},  {0.7, 0.9, 0, 1.0, 0.0},   {1.2, 1.4, 12, 0.8, 0.0},
        {1.0, 0.8, 20, 1.0, 0.3}, {1.0, 2.0, 0, 0.95, 0.2}, {1.5, 0.7, 30, 0.9, 0.05}, {1.0, 1.0, 0, 1.0, 1.0},
    };
    static const int32_t ids[] = {3, 17, 3, 20, 39, 3, 8};
    enum { DRAWS = 40000 };
    float from[WORDS];
    for (int v = 0; v < WORDS; v++) { from[v] = 2.5f * sinf(3.7f * (float)v) + 0.001f * (float)v; }
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        struct sampler sampler = sampler_make(&ways[way], 11, way);
        double wanted[WORDS], share[WORDS] = {0.0};
        reference(&ways[way], from, ids, sizeof ids / sizeof *ids, wanted);
        for (int i = 0; i < DRAWS; i++) {
            float logits[WORDS];
            int room[WORDS];
            memcpy(logits, from, sizeof logits);
            share[sampler_choose(&sampler, logits, ids, sizeof ids / sizeof *ids, room, WORDS)] += 1.0 / DRAWS;
        }
        for (int v = 0; v < WORDS; v++) {
            cr_assert(fabs(share[v] - wanted[v]) < 0.012, "way %zu, token %d: %g, not %g", way, v, share[v], wanted[v]);
            cr_assert((wanted[v] > 0.0) == (share[v] > 0.0) || wanted[v] < 1e-3, "way %zu, token %d: %g, not %g", way,
                      v, share[v], wanted[v]);
        }
    }
}

Test(sample, a_penalty_also_changes_the_likeliest) {
    const int32_t ids[] = {1, 1, 1};
    float logits[V];
    int room[V];
    struct sampler sampler = sampler_make(&(struct sampling){1.1, 0.0, 0, 1.0, 0.0}, 1, 0);
    memcpy(logits, some, sizeof logits);
    cr_assert_eq(sampler_choose(&sampler, logits, ids, 3, room, V), 3);
    cr_assert_eq(logits[1], 3.0f / 1.1f); /* once, though it occurs three times */
    float negative[V] = {-1.0f, -1.2f, -3.0f, -2.0f, -INFINITY, -2.0f};
    memcpy(logits, negative, sizeof logits);
    sampler = sampler_make(&(struct sampling){1.5, 0.0, 0, 1.0, 0.0}, 1, 0);
    cr_assert_eq(sampler_choose(&sampler, logits, (const int32_t[]){0}, 1, room, V), 1);
}
