/* gpt2 check --against a dump: equal results, differences, and refused dumps. The dump is made from the reference's float64; its
 * float32 is the same with an error of 1e-6. */
#define _GNU_SOURCE
#include "gpt2/formats/safetensors.h"
#include "gpt2/program/tests/run.h"

#include <cjson/cJSON.h>

TestSuite(check_dump, .init = begin, .fini = end, .timeout = 300);

enum { B = 3, N = 11 + 1 + 6, G = 12, MOST_TENSORS = 64, V = 300 };
static const int32_t lengths[B] = {11, 1, 6};
static int32_t tokens[N], greedy[B][G];

static struct {
    struct safetensors_tensor tensors[MOST_TENSORS];
    char names[MOST_TENSORS][64];
    void *bytes[MOST_TENSORS];
    int count;
} dump;

/* Takes ownership of the bytes. columns < 0: one dimension. */
static void add(const char *name, const char *type, int64_t rows, int64_t columns, void *bytes) {
    int at = dump.count++;
    cr_assert_lt(at, (int)MOST_TENSORS);
    snprintf(dump.names[at], sizeof dump.names[at], "%s", name);
    dump.bytes[at] = bytes;
    dump.tensors[at] = (struct safetensors_tensor){
        .name = dump.names[at], .type = type, .dimensions = columns < 0 ? 1 : 2, .shape = {rows, columns}};
}

static void *find(const char *name) {
    for (int i = 0; i < dump.count; i++) {
        if (strcmp(dump.names[i], name) == 0) { return dump.bytes[i]; }
    }
    cr_assert(false, "%s", name);
    return NULL;
}

static void *copy_of(const void *bytes, size_t size) {
    return memcpy(malloc(size), bytes, size);
}

static void add_pair(const char *stage, int64_t rows, int64_t columns, double *exact) {
    int64_t count = rows * (columns < 0 ? 1 : columns);
    char name[64];
    float *theirs = malloc((size_t)count * sizeof *theirs);
    for (int64_t i = 0; i < count; i++) { theirs[i] = (float)(exact[i] * (1.0 + 1e-6 * (double)uniform((uint64_t)i))); }
    snprintf(name, sizeof name, "float64.%s", stage);
    add(name, "F64", rows, columns, exact);
    snprintf(name, sizeof name, "float32.%s", stage);
    add(name, "F32", rows, columns, theirs);
}

static int likeliest(const double *logits) {
    int best = 0;
    for (int v = 1; v < V; v++) { best = logits[v] > logits[best] ? v : best; }
    return best;
}

static void write_greedily(const struct gpt2_source *source, const int32_t *prompt, int length, int32_t *out) {
    int32_t ids[48];
    memcpy(ids, prompt, (size_t)length * sizeof *ids);
    for (int i = 0; i < G; i++) {
        struct states states = {.count = 0};
        cr_assert(gpt2_reference(source, ids, length + i, states_of_reference, &states, &error));
        out[i] = ids[length + i] = likeliest(states.at[states.count - 1].values + (length + i - 1) * V);
        states_free(&states);
    }
}

/* As tools/hf/reference.py writes it. */
static void make_dump(void) {
    struct gpt2_source source = tiny_source(&config);
    double *all[MOST_STATES] = {NULL}, loss = 0.0;
    struct states states = {.count = 0};
    tiny_tokens(tokens, N, V, 5);
    dump.count = 0;
    for (int b = 0, first = 0; b < B; first += lengths[b++]) {
        states.count = 0;
        cr_assert(gpt2_reference(&source, tokens + first, lengths[b], states_of_reference, &states, &error));
        for (int i = 0; i < states.count; i++) {
            const struct state *s = &states.at[i];
            if (b == 0) { all[i] = malloc((size_t)(N * s->columns) * sizeof *all[i]); }
            memcpy(all[i] + first * s->columns, s->values, (size_t)(s->rows * s->columns) * sizeof *all[i]);
        }
        const double *logits = states.at[states.count - 1].values;
        for (int t = 0; t + 1 < lengths[b]; t++) {
            double sum = 0.0;
            for (int v = 0; v < V; v++) { sum += exp(logits[t * V + v]); }
            loss += (log(sum) - logits[t * V + tokens[first + t + 1]]) / (N - B);
        }
        write_greedily(&source, tokens + first, lengths[b], greedy[b]);
    }
    add("tokens", "I32", N, -1, copy_of(tokens, sizeof tokens));
    add("lengths", "I32", B, -1, copy_of(lengths, sizeof lengths));
    add("greedy", "I32", B, G, copy_of(greedy, sizeof greedy));
    add_pair("loss", 1, -1, copy_of(&loss, sizeof loss));
    int last = states.count - 1;
    add_pair("2.decoded logits", N, V, copy_of(all[last], N * V * sizeof(double)));
    for (int i = 0; i <= last; i++) {
        char name[64];
        snprintf(name, sizeof name, "%d.%s", states.at[i].layer, states.at[i].stage);
        add_pair(name, N, states.at[i].columns, all[i]);
    }
}

static void write_dump(void) {
    char path[128];
    struct gpt2_output file;
    snprintf(path, sizeof path, "%s/dump.safetensors", folder);
    cr_assert(safetensors_begin(&file, path, dump.tensors, dump.count, NULL, &error), "%s", error.text);
    for (int i = 0; i < dump.count; i++) {
        cr_assert(gpt2_output_write(&file, dump.bytes[i], dump.tensors[i].end - dump.tensors[i].begin, &error));
    }
    cr_assert(gpt2_output_commit(&file, &error));
}

/* Checks the beginning of the line with the mark. */
static void first_is(const char *wanted) {
    const char *mark = strstr(output, "<- the first that differs");
    cr_assert(mark, "%s", output);
    while (mark > output && mark[-1] != '\n') { mark--; }
    cr_assert(strncmp(mark, wanted, strlen(wanted)) == 0, "not '%s': %s", wanted, output);
}

Test(check_dump, the_same) {
    make_dump();
    write_dump();
    static const char *const ways[] = {"", "--kernels naive", "--no-graph"};
    for (int i = 0; i < 3; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "check --model @ --against @/dump.safetensors --json @/lines %s",
                 ways[i]);
        succeeds(arguments);
        says("dump.safetensors: the same, at most 2 times");
        says("greedy tokens                         36              36");
    }
    char path[128], line[512];
    int count = 0;
    snprintf(path, sizeof path, "%s/lines", folder);
    FILE *file = fopen(path, "r");
    cr_assert(file);
    for (; fgets(line, sizeof line, file); count++) {
        cJSON *object = cJSON_Parse(line);
        cr_assert(object, "%s", line);
        cr_assert(cJSON_IsTrue(cJSON_GetObjectItem(object, "good")), "%s", line);
        cJSON_Delete(object);
    }
    fclose(file);
    cr_assert_eq(count, 1 + 2 * 9 + 2 + 1 + 2); /* embedding, blocks, the end, decoded logits, greedy and perplexity */
}

Test(check_dump, what_differs_is_named) {
    make_dump();
    write_dump();
    cr_assert_eq(run("check --model @ --against @/dump.safetensors --kernels wrong"), 1, "%s", output);
    first_is("    0  gelu ");
    says(": different");
    cr_assert_eq(run("check --model @ --against @/dump.safetensors --tolerance 1e-4"), 1, "%s", output);

    double *logits = find("float64.2.decoded logits");
    float *theirs = find("float32.2.decoded logits");
    logits[12 * V + 7] += 0.01, theirs[12 * V + 7] += 0.01f; /* the first token of the last prompt */
    write_dump();
    cr_assert_eq(run("check --model @ --against @/dump.safetensors"), 1, "%s", output);
    first_is("    2  decoded logits ");
    logits[12 * V + 7] -= 0.01, theirs[12 * V + 7] -= 0.01f;

    int32_t *written = find("greedy");
    written[2 * G + 4] ^= 1;
    write_dump();
    cr_assert_eq(run("check --model @ --against @/dump.safetensors"), 1, "%s", output);
    first_is("    2  greedy tokens ");
    says("the greedy tokens after prompt 3 differ from number 5 on");
    written[2 * G + 4] ^= 1;

    *(double *)find("float64.loss") *= 1.001;
    write_dump();
    cr_assert_eq(run("check --model @ --against @/dump.safetensors"), 1, "%s", output);
    first_is("    2  perplexity ");
}

static void refused(const char *why) {
    write_dump();
    cr_assert_eq(run("check --model @ --against @/dump.safetensors"), 2, "%s", output);
    says(why);
    cr_assert(strchr(output, '\n') == output + strlen(output) - 1, "not one line: %s", output);
}

Test(check_dump, broken_dumps_are_one_line) {
    make_dump();
    int32_t *ids = find("tokens"), *counts = find("lengths");
    ids[3] = V;
    refused("token 300 is outside the vocabulary of 300");
    ids[3] = 3;
    counts[0] = 49;
    refused("prompt 1 has 49 tokens; the model's context is 48");
    counts[0] = 10;
    refused("'lengths' add up to 17, and there are 18 'tokens'");
    counts[0] = 11;
    dump.tensors[4].type = "I32"; /* float32.loss */
    refused("'float32.loss' has to be F32");
    dump.tensors[4].type = "F32";
    dump.tensors[5].shape[1] = V / 2; /* float64.2.decoded logits */
    refused("'float64.2.decoded logits' has to be F64 of (18, 300): is it a dump of another model?");
    dump.tensors[5].shape[1] = V;
    dump.count--; /* float32.2.logits */
    refused("there is no tensor 'float32.2.logits'");
    cr_assert_eq(run("check --model @ --against @/none.safetensors"), 2);
    says("none.safetensors");
}
