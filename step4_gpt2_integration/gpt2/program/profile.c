/* profile.c — gpt2 profile: the time of each stage, in a pass over prompts and in decoding, as a table, a trace and a drawing.
 *
 * The time of a stage is that between the end of the stage before and its own end. On the CPU backend these are seconds of this
 * machine: they are meaningful for matrix products, and say nothing about a kernel on a GPU. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/file.h"
#include "program.h"

enum { MOST_STAGES = 32 };

struct profile {
    struct gpt2_interval *intervals;
    int count, room;
    const char *title;
    int passes;    /* in the intervals */
    int B, T;      /* sequences, and tokens of each in a pass: 1 in decoding */
    double cached; /* the mean number of a sequence's keys in the cache before a pass */
};

/* ---- the table and the trace ---- */

struct share {
    const char *stage;
    int times;
    double microseconds;
};

/* A residual add and the LayerNorm after it are one kernel, so here they are one stage. */
static const char *stage_of(const struct profile *profile, int i) {
    static const char fused[] = "residual + layernorm";
    const char *stage = profile->intervals[i].stage;
    bool follows = i > 0 && strncmp(profile->intervals[i - 1].stage, "residual", 8) == 0;
    if (follows || strncmp(stage, "residual", 8) == 0) { return fused; }
    return strcmp(stage, "ln1") == 0 ? "layernorm" : stage;
}

static int by_time(const void *a, const void *b) {
    double x = ((const struct share *)a)->microseconds, y = ((const struct share *)b)->microseconds;
    return (x < y) - (x > y);
}

static void print_table(const struct profile *profile) {
    const int passes = profile->passes;
    struct share shares[MOST_STAGES];
    int count = 0;
    double total = 0.0;
    for (int i = 0; i < profile->count; i++) {
        const char *stage = stage_of(profile, i);
        int at = 0;
        while (at < count && strcmp(shares[at].stage, stage) != 0) { at++; }
        if (at == MOST_STAGES) { continue; }
        if (at == count) { shares[count++] = (struct share){stage, 0, 0.0}; }
        shares[at].times +=
            i == 0 || stage != stage_of(profile, i - 1); /* the two names of a fused kernel count once */
        shares[at].microseconds += (double)profile->intervals[i].length;
        total += (double)profile->intervals[i].length;
    }
    qsort(shares, (size_t)count, sizeof *shares, by_time);
    printf("%s: %.1f us\n  %-24s %6s %12s %7s\n", profile->title, total / passes, "stage", "times", "us", "share");
    for (int i = 0; i < count; i++) {
        printf("  %-24s %6d %12.1f %6.1f%%\n", shares[i].stage, shares[i].times / passes,
               shares[i].microseconds / passes, 100.0 * shares[i].microseconds / total);
    }
}

static bool write_trace(const struct profile *profiles, const char *path, struct gpt2_error *error) {
    static const char *const names[] = {"prompt", "decoding"};
    struct gpt2_output output;
    char line[256];
    bool good = gpt2_output_begin(&output, path, error) && gpt2_output_write(&output, "[\n", 2, error);
    for (int p = 0; p < 2; p++) {
        for (int i = 0; good && i < profiles[p].count; i++) {
            const struct gpt2_interval *interval = &profiles[p].intervals[i];
            int size =
                snprintf(line, sizeof line,
                         "%s{\"name\": \"%s\", \"cat\": \"%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.3f, "
                         "\"dur\": %.3f, \"args\": {\"layer\": %d}}",
                         p + i > 0 ? ",\n" : "", stage_of(&profiles[p], i), names[p], p + 1, (double)interval->begin,
                         (double)interval->length, interval->layer);
            good = gpt2_output_write(&output, line, (size_t)size, error);
        }
    }
    good = good && gpt2_output_write(&output, "\n]\n", 3, error) && gpt2_output_commit(&output, error);
    gpt2_output_abandon(&output);
    return good;
}

/* ---- the drawing: the stages of a pass as a graph for Graphviz ---- */

/* The traffic of a stage. in, out, aside: activations read, passed on, and written to the cache or copied, in N C elements.
 * weights: in C C elements. scores_in, scores_out: scores read and passed on, in B H T T elements. */
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
/* The rest of a stage whose parts ("attention scores", "fc") are stages of their own. */
static const struct traffic after_parts[] = {{"attention", 1, 1, 0, 0, 1, 0}, {"gelu", 4, 4, 0, 0, 0, 0}};

struct node {
    const char *stage;
    bool adds, in_block, has_parts;  /* adds: with the residual add */
    int times, blocks;               /* blocks: the number of blocks begun when it last ran */
    double microseconds, bytes, out; /* sums over all times */
};

struct graph {
    struct node nodes[MOST_STAGES];
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
    if (graph->count == MOST_STAGES) { return NULL; }
    graph->nodes[graph->count] = (struct node){.stage = stage};
    return &graph->nodes[graph->count++];
}

/* Adds one run of the stage, which computed that many rows. */
static void add_traffic(struct node *node, const struct profile *profile, const struct gpt2_config *config, double rows,
                        bool adds) {
    const struct traffic *t = traffic_of(node);
    if (t == NULL) { return; }
    double C = config->channels, NC = rows * C, scores = rows * config->heads * profile->T;
    node->bytes +=
        (t->in + t->out + t->aside + 2 * adds) * NC + t->weights * C * C + (t->scores_in + t->scores_out) * scores;
    node->out += t->out * NC + t->scores_out * scores;
    if (strcmp(node->stage, "attention") == 0) { node->bytes += 2 * rows * profile->cached * C; }
    if (strcmp(node->stage, "logits") == 0) { node->bytes += (C + rows) * config->vocabulary; }
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
        /* A block's attention runs several times where the scores of all sequences do not fit in memory. */
        const double rows = interval->rows > 0 ? (double)interval->rows : (double)profile->B * profile->T;
        if (node->blocks != blocks) { add_traffic(node, profile, config, rows, adds); }
        node->blocks = blocks;
        blocks += strcmp(interval->stage, "qkv") == 0;
    }
    int last = graph->count - 1;
    while (last >= 0 && !graph->nodes[last].in_block) { last--; }
    for (int i = 1; i < last; i++) { /* the parts of attention have no layer */
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
        if (node->adds) { /* from the stage of the last residual add */
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

/* Writes a digraph for Graphviz. A node for each stage, in the order of the launches, has its microseconds, the bytes that must
 * be read and written once, and their quotient as GB/s. A darker node has a larger share of the time. All blocks are drawn as
 * one, with means. bytes: of an element. */
static bool draw(const struct profile *profiles, int count, const struct gpt2_config *config, int bytes,
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

/* ---- the command ---- */

/* Runs an untimed pass first, in which the libraries choose their algorithms. *timed: the form of the steps. */
static bool measure(struct gpt2_model *model, const struct options *options, int T, struct profile *profiles,
                    enum gpt2_form *timed, struct gpt2_error *error) {
    int B = options->batch;
    int32_t *tokens = malloc((size_t)B * (size_t)T * sizeof *tokens), *lengths = malloc((size_t)B * sizeof *lengths);
    bool good = (tokens != NULL && lengths != NULL) || gpt2_fail(error, "out of memory");
    for (int i = 0; good && i < B * T; i++) { tokens[i] = i % gpt2_model_config(model)->vocabulary; }
    for (int b = 0; good && b < B; b++) { lengths[b] = T; }
    good = good && gpt2_prefill(model, tokens, lengths, B, T, error) && gpt2_time_begin(model, error) &&
           gpt2_prefill(model, tokens, lengths, B, T, error) &&
           gpt2_time_end(model, profiles[0].intervals, profiles[0].room, &profiles[0].count, error) &&
           gpt2_decode(model, tokens, error) && gpt2_time_begin(model, error);
    *timed = gpt2_model_decode_form(model, B);
    for (int i = 0; good && i < options->tokens; i++) { good = gpt2_decode(model, tokens, error); }
    good = good && gpt2_time_end(model, profiles[1].intervals, profiles[1].room, &profiles[1].count, error);
    free(tokens);
    free(lengths);
    return good;
}

static bool run(struct session *session, const struct options *options, struct profile *profiles,
                struct gpt2_error *error) {
    const struct gpt2_config *config = &session->weights.config;
    int extra = options->tokens + 1; /* the first decoding step is not timed */
    int T = options->context > 0 ? options->context : config->max_tokens - extra;
    if (T < 1 || T + extra > config->max_tokens) {
        return gpt2_fail(error, "%s: its context of %d has no room for a prompt of %d and %d decoding steps (--tokens)",
                         options->model, config->max_tokens, T < 1 ? 1 : T, extra);
    }
    for (int p = 0; p < 2; p++) {
        profiles[p].room = (config->layers + 2) * 16 * (p == 0 ? options->batch : options->tokens);
        profiles[p].intervals = calloc((size_t)profiles[p].room, sizeof *profiles[p].intervals);
        if (profiles[p].intervals == NULL) { return gpt2_fail(error, "out of memory"); }
    }
    if (session->weights.scheme != GPT2_PLAIN) {
        return gpt2_fail(error, "%s: profile counts the bytes of plain weights: gpt2 convert decodes the model",
                         options->model);
    }
    enum gpt2_form timed;
    if (!session_start(session, options, options->kernels, options->batch, T, T + extra, error) ||
        !measure(session->model, options, T, profiles, &timed, error)) {
        return false;
    }
    enum gpt2_form form = gpt2_model_decode_form(session->model, options->batch);
    char prompts[96], steps[96];
    snprintf(prompts, sizeof prompts, "%d prompt%s of %d tokens", options->batch, options->batch > 1 ? "s" : "", T);
    snprintf(steps, sizeof steps, "a decoding step from position %d, mean of %d", T + 1, options->tokens);
    profiles[0].title = prompts, profiles[0].passes = 1, profiles[0].B = options->batch, profiles[0].T = T;
    profiles[1].title = steps, profiles[1].passes = options->tokens, profiles[1].B = options->batch, profiles[1].T = 1;
    profiles[1].cached = T + 1 + (options->tokens - 1) / 2.0;
    for (int p = 0; p < 2; p++) { print_table(&profiles[p]); }
    if (timed != form) {
        printf("\nSteps of the form %s have no stages that could be timed: these are of the form %s.\n",
               form_name(form), form_name(timed));
    }
    int bytes = gpt2_type_bytes(session->type);
    return (options->trace == NULL || write_trace(profiles, options->trace, error)) &&
           (options->dot == NULL || draw(profiles, 2, config, bytes, options->dot, error));
}

int command_profile(const struct options *options, struct gpt2_error *error) {
    struct session session;
    struct profile profiles[2] = {{.count = 0}, {.count = 0}};
    if (!session_open(&session, options, error)) { return 2; }
    bool good = run(&session, options, profiles, error);
    free(profiles[0].intervals);
    free(profiles[1].intervals);
    session_close(&session);
    return good ? 0 : 2;
}
