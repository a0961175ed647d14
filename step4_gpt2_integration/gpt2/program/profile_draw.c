/* profile_draw.c — the stages of a pass as a graph for Graphviz, with bytes and microseconds. */
#include "profile.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gpt2/file.h"

enum { MOST_NODES = 32 };

/* What a stage has to move, in elements: N C of activations read, handed on, and put aside (into the cache, or copied); C C of
 * weights; B H T T of scores read and handed on. */
static const struct traffic {
    const char *stage;
    double in, out, aside, weights, scores_in, scores_out;
} traffic[] = {
    // clang-format off
    {"embedding",            2, 1, 0, 0, 0,   0},
    {"ln1",                  1, 1, 0, 0, 0,   0},
    {"ln2",                  1, 1, 0, 0, 0,   0},
    {"final layernorm",      1, 1, 0, 0, 0,   0},
    {"qkv",                  1, 3, 0, 3, 0,   0},
    {"attention scores",     5, 0, 3, 0, 0,   1},
    {"causal softmax",       0, 0, 0, 0, 0.5, 1},
    {"attention",            3, 1, 2, 0, 0,   0},
    {"attention projection", 1, 1, 0, 1, 0,   0},
    {"fc",                   1, 4, 0, 4, 0,   0},
    {"gelu",                 1, 4, 0, 4, 0,   0},
    {"mlp projection",       4, 1, 0, 4, 0,   0},
    {"logits",               1, 0, 0, 0, 0,   0},
    // clang-format on
};
/* The same where the stage has parts of its own before it: "attention scores", "fc". */
static const struct traffic after_parts[] = {{"attention", 1, 1, 0, 0, 1, 0}, {"gelu", 4, 4, 0, 0, 0, 0}};

struct node {
    const char *stage;
    bool adds, in_block, has_parts;  /* adds: the residual too */
    int times, blocks;               /* blocks: that had begun when it last ran */
    double microseconds, bytes, out; /* sums over all times */
};

struct graph {
    struct node nodes[MOST_NODES];
    int count;
    double microseconds;
};

static bool is_residual(const char *stage) {
    return strncmp(stage, "residual", 8) == 0;
}

static const struct traffic *find(const struct traffic *rows, size_t count, const char *stage) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].stage, stage) == 0) { return &rows[i]; }
    }
    return NULL;
}

static const struct traffic *traffic_of(const struct node *node) {
    const struct traffic *rest =
        node->has_parts ? find(after_parts, sizeof after_parts / sizeof *after_parts, node->stage) : NULL;
    return rest ? rest : find(traffic, sizeof traffic / sizeof *traffic, node->stage);
}

static struct node *node_of(struct graph *graph, const char *stage) {
    for (int i = 0; i < graph->count; i++) {
        if (strcmp(graph->nodes[i].stage, stage) == 0) { return &graph->nodes[i]; }
    }
    if (graph->count == MOST_NODES) { return NULL; }
    graph->nodes[graph->count] = (struct node){.stage = stage};
    return &graph->nodes[graph->count++];
}

/* One run of the stage more; prompts end with one row a sequence. */
static void add_traffic(struct node *node, const struct profile *profile, const struct gpt2_config *config, bool adds) {
    const struct traffic *t = traffic_of(node);
    if (t == NULL) { return; }
    bool at_end = strcmp(node->stage, "logits") == 0 || strcmp(node->stage, "final layernorm") == 0;
    double B = profile->B, T = at_end ? 1 : profile->T, C = config->channels, NC = B * T * C;
    double scores = B * config->heads * T * T;
    node->bytes +=
        (t->in + t->out + t->aside + 2 * adds) * NC + t->weights * C * C + (t->scores_in + t->scores_out) * scores;
    node->out += t->out * NC + t->scores_out * scores;
    if (strcmp(node->stage, "attention") == 0) { node->bytes += 2 * B * profile->cached * C; }
    if (strcmp(node->stage, "logits") == 0) { node->bytes += (C + B) * config->vocabulary; }
}

static void collect(struct graph *graph, const struct profile *profile, const struct gpt2_config *config) {
    const char *before = "";
    float residual = 0.0f;
    int blocks = 1;
    for (int i = 0; i < profile->count; i++) {
        const struct gpt2_interval *interval = &profile->intervals[i];
        bool adds = i > 0 && is_residual(profile->intervals[i - 1].stage);
        graph->microseconds += (double)interval->length;
        if (is_residual(interval->stage) && i + 1 < profile->count) { /* one kernel with the LayerNorm after it */
            residual = interval->length;
            continue;
        }
        struct node *node = node_of(graph, interval->stage);
        if (node == NULL) { continue; }
        node->has_parts = strcmp(before, "causal softmax") == 0 || strcmp(before, "fc") == 0;
        before = interval->stage;
        node->adds |= adds;
        node->in_block |= interval->layer >= 0 && interval->layer < config->layers;
        node->times++;
        node->microseconds += (double)interval->length + (double)(adds ? residual : 0.0f);
        /* Where the scores have no room for all sequences, a block's attention comes in parts. */
        if (node->blocks != blocks) { add_traffic(node, profile, config, adds); }
        node->blocks = blocks;
        blocks += strcmp(interval->stage, "qkv") == 0;
    }
    int last = graph->count - 1;
    while (last >= 0 && !graph->nodes[last].in_block) { last--; }
    for (int i = 1; i < last; i++) { /* parts of attention have no layer */
        graph->nodes[i].in_block |= graph->nodes[i - 1].in_block;
    }
}

/* ---- the text ---- */

struct text {
    struct gpt2_output output;
    struct gpt2_error *error;
    bool good;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text->good = text->good && gpt2_output_write(&text->output, line, (size_t)size, text->error);
}

static const char *size_text(char *to, size_t room, double bytes) {
    static const char *const units[] = {"kB", "MB", "GB"};
    static const double sizes[] = {1e3, 1e6, 1e9};
    int unit = (bytes >= 1e6) + (bytes >= 1e9);
    snprintf(to, room, "%.1f %s", bytes / sizes[unit], units[unit]);
    return to;
}

static void put_node(struct text *text, int graph, int i, const struct node *node, double total, int element) {
    char size[32];
    double us = node->microseconds / node->times, bytes = element * node->bytes / node->times;
    put(text, "    n%d_%d [label=\"%s%s\\n%.1f us, %s\\n%.3g GB/s\", fillcolor=\"0.08 %.2f 1.0\"];\n", graph, i,
        node->adds ? "residual + " : "", node->stage, us, size_text(size, sizeof size, bytes),
        us > 0.0 ? bytes / us / 1e3 : 0.0, sqrt(node->microseconds / (total > 0.0 ? total : 1.0)));
}

static void put_edges(struct text *text, int number, const struct graph *graph, int element) {
    int first = -1, last = -1, added = 0;
    char size[32];
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->in_block && first < 0) { first = i; }
        if (node->in_block) { last = i; }
        if (i + 1 < graph->count) {
            put(text, "    n%d_%d -> n%d_%d [label=\"%s\"];\n", number, i, number, i + 1,
                size_text(size, sizeof size, element * node->out / node->times));
        }
        if (node->adds) { /* from where the sum was made before */
            put(text, "    n%d_%d -> n%d_%d [style=dashed, constraint=false, label=\"residual\"];\n", number, added,
                number, i);
            added = i;
        }
    }
    if (first >= 0 && graph->nodes[last].times > 1) {
        put(text, "    n%d_%d -> n%d_%d [constraint=false, label=\"next block\"];\n", number, last, number, first);
    }
}

static void put_graph(struct text *text, int number, const struct profile *profile, const struct gpt2_config *config,
                      int element) {
    struct graph graph = {.count = 0};
    collect(&graph, profile, config);
    put(text, "  subgraph cluster_%d {\n    label=\"%s: %.1f us\"; color=white;\n", number, profile->title,
        graph.microseconds / profile->passes);
    for (int inside = 0; inside < 2; inside++) {
        if (inside) {
            put(text, "    subgraph cluster_%d_block { label=\"block, %d times\"; color=gray;\n", number,
                config->layers);
        }
        for (int i = 0; i < graph.count; i++) {
            if (graph.nodes[i].in_block == (inside == 1)) {
                put_node(text, number, i, &graph.nodes[i], graph.microseconds, element);
            }
        }
        if (inside) { put(text, "    }\n"); }
    }
    put_edges(text, number, &graph, element);
    put(text, "  }\n");
}

bool profile_draw(const struct profile *profiles, int count, const struct gpt2_config *config, int bytes,
                  const char *path, struct gpt2_error *error) {
    struct text text = {.error = error};
    text.good = gpt2_output_begin(&text.output, path, error);
    put(&text, "digraph gpt2 {\n  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=11];\n"
               "  edge [fontname=\"Helvetica\", fontsize=9];\n  fontname=\"Helvetica\";\n");
    for (int i = 0; i < count; i++) { put_graph(&text, i, &profiles[i], config, bytes); }
    put(&text, "}\n");
    text.good = text.good && gpt2_output_commit(&text.output, error);
    gpt2_output_abandon(&text.output);
    return text.good;
}
