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
    return sampler_choose(sampler, logits, room, V);
}

/* The frequency of each token in many draws. */
static void draw(double temperature, int top_k, double top_p, double *share) {
    enum { DRAWS = 40000 };
    struct sampler sampler = sampler_make(temperature, top_k, top_p, 7, 0);
    memset(share, 0, V * sizeof *share);
    for (int i = 0; i < DRAWS; i++) { share[choose(&sampler, some)] += 1.0 / DRAWS; }
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
    struct sampler sampler = sampler_make(0.0, 0, 1.0, 1, 0);
    cr_assert_eq(choose(&sampler, some), 1);
    sampler = sampler_make(2.0, 1, 1.0, 1, 0);
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
    int first[3][64];
    const uint64_t of[3][2] = {{1, 0}, {1, 1}, {2, 0}};
    for (int run = 0; run < 3; run++) {
        struct sampler sampler = sampler_make(1.0, 0, 1.0, of[run][0], of[run][1]);
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
    struct sampler sampler = sampler_make(1.0, 0, 1.0, 1, 0);
    cr_assert_eq(choose(&sampler, logits), -1);
}
