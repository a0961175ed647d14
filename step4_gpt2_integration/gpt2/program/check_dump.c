/* check_dump.c — gpt2 check --against DUMP: the program compared with another implementation of the same weights.
 *
 * The dump is written by tools/hf/reference.py. It is a safetensors file with the other implementation's results in float64 and
 * in float32:
 *   tokens (N), lengths (B)             the tokens of B prompts, one prompt after the other
 *   float64.LAYER.STAGE (N, columns)    a hidden state; stages and layers are those of gpt2_observe, and "decoded logits"
 *   float32.LAYER.STAGE (N, columns)
 *   greedy (B, G)                       the tokens that it wrote after each prompt
 *   float64.loss, float32.loss (1)
 *
 * The prompts go through the model three times: in one padded batch, where every hidden state is compared; token by token through
 * the cache; and as the beginnings of greedy texts.
 *
 * The error of a stage is |ours - float64| / |float64| over all its rows, where | | is the length of a vector. It is compared
 * with the error of the other implementation's float32. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/formats/safetensors.h"
#include "program.h"

struct dump {
    struct safetensors file;
    int B, T;                  /* prompts, tokens of the longest prompt */
    int64_t N;                 /* tokens of all prompts */
    int G;                     /* tokens written after each prompt */
    int32_t *tokens;           /* (B, T), zeros past a prompt's end */
    int32_t *lengths;          /* (B) */
    int64_t *starts;           /* (B): the first of a prompt's rows in N */
    int32_t *greedy;           /* (B, G) */
    double loss, loss_float32; /* mean over the N - B predicted tokens; NaN: every prompt has one token */
};

/* ---- reading ---- */

static const struct safetensors_tensor *find(const struct dump *dump, const char *name, const char *type, int64_t rows,
                                             int64_t columns, struct gpt2_error *error) {
    const struct safetensors_tensor *tensor = safetensors_find(&dump->file, name);
    const char *path = dump->file.file.path;
    if (tensor == NULL) {
        gpt2_fail(error, "%s: there is no tensor '%s': not a dump of this model", path, name);
        return NULL;
    }
    bool fits = strcmp(tensor->type, type) == 0 && tensor->dimensions == (columns < 0 ? 1 : 2) &&
                (rows < 0 || tensor->shape[0] == rows) && (columns < 0 || tensor->shape[1] == columns);
    if (fits) { return tensor; }
    if (columns < 0) {
        gpt2_fail(error, "%s: '%s' has to be %s of (%lld)", path, name, type, (long long)rows);
    } else {
        gpt2_fail(error, "%s: '%s' has to be %s of (%lld, %lld): is it a dump of another model?", path, name, type,
                  (long long)rows, (long long)columns);
    }
    return NULL;
}

static bool read_prompts(struct dump *dump, const struct gpt2_config *config, struct gpt2_error *error) {
    const char *path = dump->file.file.path;
    const struct safetensors_tensor *tokens = find(dump, "tokens", "I32", -1, -1, error);
    const struct safetensors_tensor *lengths = tokens ? find(dump, "lengths", "I32", -1, -1, error) : NULL;
    if (lengths == NULL) { return false; }
    if (lengths->shape[0] < 1 || lengths->shape[0] > tokens->shape[0]) {
        return gpt2_fail(error, "%s: 'lengths' of %lld prompts and %lld 'tokens'", path, (long long)lengths->shape[0],
                         (long long)tokens->shape[0]);
    }
    dump->B = (int)lengths->shape[0];
    dump->N = tokens->shape[0];
    dump->lengths = malloc((size_t)dump->B * sizeof *dump->lengths);
    dump->starts = malloc((size_t)dump->B * sizeof *dump->starts);
    if (dump->lengths == NULL || dump->starts == NULL) { return gpt2_fail(error, "%s: out of memory", path); }
    memcpy(dump->lengths, lengths->bytes, (size_t)dump->B * sizeof *dump->lengths);
    int64_t total = 0;
    for (int b = 0; b < dump->B; b++) {
        int32_t length = dump->lengths[b];
        if (length < 1 || length > config->max_tokens) {
            return gpt2_fail(error, "%s: prompt %d has %d tokens; the model's context is %d", path, b + 1, length,
                             config->max_tokens);
        }
        dump->starts[b] = total;
        dump->T = length > dump->T ? length : dump->T;
        total += length;
    }
    if (total != dump->N) {
        return gpt2_fail(error, "%s: 'lengths' add up to %lld, and there are %lld 'tokens'", path, (long long)total,
                         (long long)dump->N);
    }
    dump->tokens = calloc((size_t)dump->B * (size_t)dump->T, sizeof *dump->tokens);
    if (dump->tokens == NULL) { return gpt2_fail(error, "%s: out of memory", path); }
    for (int b = 0; b < dump->B; b++) {
        memcpy(dump->tokens + (int64_t)b * dump->T, (const char *)tokens->bytes + dump->starts[b] * 4,
               (size_t)dump->lengths[b] * sizeof *dump->tokens);
    }
    for (int64_t i = 0; i < (int64_t)dump->B * dump->T; i++) {
        if (dump->tokens[i] < 0 || dump->tokens[i] >= config->vocabulary) {
            return gpt2_fail(error, "%s: token %d is outside the vocabulary of %d", path, dump->tokens[i],
                             config->vocabulary);
        }
    }
    return true;
}

static bool read_rest(struct dump *dump, const struct gpt2_config *config, struct gpt2_error *error) {
    const char *path = dump->file.file.path;
    const struct safetensors_tensor *greedy = safetensors_find(&dump->file, "greedy");
    const struct safetensors_tensor *exact = find(dump, "float64.loss", "F64", 1, -1, error);
    const struct safetensors_tensor *theirs = exact ? find(dump, "float32.loss", "F32", 1, -1, error) : NULL;
    if (theirs == NULL) { return false; }
    float loss;
    memcpy(&dump->loss, exact->bytes, sizeof dump->loss);
    memcpy(&loss, theirs->bytes, sizeof loss);
    dump->loss_float32 = (double)loss;
    if (dump->N == dump->B) { dump->loss = dump->loss_float32 = NAN; }

    int64_t most = config->max_tokens - dump->T; /* the model does not read the last written token */
    if (greedy == NULL || strcmp(greedy->type, "I32") != 0 || greedy->dimensions != 2 || greedy->shape[0] != dump->B ||
        greedy->shape[1] > most) {
        return gpt2_fail(error, "%s: 'greedy' has to be I32 of (%d, at most %lld)", path, dump->B, (long long)most);
    }
    dump->G = (int)greedy->shape[1];
    size_t bytes = (size_t)dump->B * (size_t)dump->G * sizeof *dump->greedy;
    dump->greedy = malloc(bytes + 1);
    if (dump->greedy == NULL) { return gpt2_fail(error, "%s: out of memory", path); }
    memcpy(dump->greedy, greedy->bytes, bytes);
    return true;
}

static void dump_close(struct dump *dump) {
    free(dump->tokens);
    free(dump->lengths);
    free(dump->starts);
    free(dump->greedy);
    safetensors_close(&dump->file);
    *dump = (struct dump){.B = 0};
}

/* config: of the model to compare. Refused: files that safetensors.h refuses; a missing tensor, or one of another shape or type;
 * lengths and ids outside the model's limits. */
static bool dump_open(struct dump *dump, const char *path, const struct gpt2_config *config, struct gpt2_error *error) {
    *dump = (struct dump){.B = 0};
    if (safetensors_open(&dump->file, path, error) && read_prompts(dump, config, error) &&
        read_rest(dump, config, error)) {
        return true;
    }
    dump_close(dump);
    return false;
}

/* ---- comparing ---- */

struct quantity {
    char stage[32];
    int layer;
    double ours, theirs; /* errors; for "greedy tokens" the equal ones and all; for "perplexity" the perplexities */
    double ratio, target;
    bool good, is_tensor;
    double off, their_off, size; /* sums of squares over the rows so far */
    int64_t rows;                /* so far, with padding */
};
struct comparison {
    const struct dump *dump;
    struct quantity *quantities; /* in the order of the passes */
    int count, room;
    double target; /* the largest allowed ratio of our error to the other one */
};

/* The quantity of that stage and layer, made if it is new. The pointer is valid until the next call. NULL: out of memory. */
static struct quantity *comparison_quantity(struct comparison *comparison, const char *stage, int layer,
                                            struct gpt2_error *error) {
    for (int i = comparison->count - 1; i >= 0; i--) {
        struct quantity *known = &comparison->quantities[i];
        if (known->layer == layer && strcmp(known->stage, stage) == 0) { return known; }
    }
    if (comparison->count == comparison->room) {
        int room = comparison->room > 0 ? 2 * comparison->room : 64;
        struct quantity *larger = realloc(comparison->quantities, (size_t)room * sizeof *larger);
        if (larger == NULL) {
            gpt2_fail(error, "out of memory");
            return NULL;
        }
        comparison->quantities = larger;
        comparison->room = room;
    }
    struct quantity *new = &comparison->quantities[comparison->count++];
    *new = (struct quantity){.layer = layer, .target = comparison->target};
    snprintf(new->stage, sizeof new->stage, "%s", stage);
    return new;
}

/* A stage with both tensors of the dump. */
struct trio {
    struct quantity *quantity;
    const char *exact, *theirs; /* (N, columns): doubles and floats, possibly unaligned */
};

static bool find_trio(struct comparison *comparison, const char *stage, int layer, int64_t columns, struct trio *trio,
                      struct gpt2_error *error) {
    char name[64];
    snprintf(name, sizeof name, "float64.%d.%s", layer, stage);
    const struct safetensors_tensor *exact = find(comparison->dump, name, "F64", comparison->dump->N, columns, error);
    if (exact == NULL) { return false; }
    snprintf(name, sizeof name, "float32.%d.%s", layer, stage);
    const struct safetensors_tensor *theirs = find(comparison->dump, name, "F32", comparison->dump->N, columns, error);
    if (theirs == NULL) { return false; }
    *trio = (struct trio){comparison_quantity(comparison, stage, layer, error), exact->bytes, theirs->bytes};
    if (trio->quantity != NULL) { trio->quantity->is_tensor = true; }
    return trio->quantity != NULL;
}

static void add_row(const struct trio *trio, int64_t row, const float *values, int64_t columns) {
    struct quantity *q = trio->quantity;
    for (int64_t c = 0; c < columns; c++) {
        double exact;
        float theirs;
        memcpy(&exact, trio->exact + (row * columns + c) * (int64_t)sizeof exact, sizeof exact);
        memcpy(&theirs, trio->theirs + (row * columns + c) * (int64_t)sizeof theirs, sizeof theirs);
        double off = (double)values[c] - exact, their_off = (double)theirs - exact;
        q->off += off * off;
        q->their_off += their_off * their_off;
        q->size += exact * exact;
    }
}

/* Adds `rows` rows of a stage, in the order of a batch (B, T). */
static bool comparison_add(struct comparison *comparison, const char *stage, int layer, const float *values,
                           int64_t rows, int64_t columns, struct gpt2_error *error) {
    const struct dump *dump = comparison->dump;
    struct trio trio;
    if (!find_trio(comparison, stage, layer, columns, &trio, error)) { return false; }
    for (int64_t i = 0; i < rows; i++) {
        int64_t row = trio.quantity->rows++, b = row / dump->T, t = row % dump->T;
        if (b < dump->B && t < dump->lengths[b]) { add_row(&trio, dump->starts[b] + t, values + i * columns, columns); }
    }
    return true;
}

/* Adds one row, that of the token at `position` of prompt b. */
static bool comparison_add_row(struct comparison *comparison, const char *stage, int layer, const float *values, int b,
                               int position, int64_t columns, struct gpt2_error *error) {
    struct trio trio;
    if (!find_trio(comparison, stage, layer, columns, &trio, error)) { return false; }
    add_row(&trio, comparison->dump->starts[b] + position, values, columns);
    return true;
}

/* Turns the sums into errors and verdicts. A tensor with missing rows is an error. */
static bool comparison_judge(struct comparison *comparison, struct gpt2_error *error) {
    const struct dump *dump = comparison->dump;
    for (int i = 0; i < comparison->count; i++) {
        struct quantity *q = &comparison->quantities[i];
        if (!q->is_tensor) { continue; }
        if (q->rows != 0 && q->rows != (int64_t)dump->B * dump->T) {
            return gpt2_fail(error, "'%s' of layer %d came with %lld rows of %lld", q->stage, q->layer,
                             (long long)q->rows, (long long)dump->B * dump->T);
        }
        double size = q->size > 0.0 ? q->size : 1.0; /* all zeros: the absolute error */
        q->ours = sqrt(q->off / size);
        q->theirs = sqrt(q->their_off / size);
        q->ratio = q->theirs > 0.0 ? q->ours / q->theirs : q->ours == 0.0 ? 1.0 : INFINITY;
        q->good = q->ratio <= q->target;
    }
    return true;
}

static void comparison_free(struct comparison *comparison) {
    free(comparison->quantities);
    *comparison = (struct comparison){.dump = NULL};
}

/* ---- the passes ---- */

struct check {
    struct session *session;
    struct dump dump;
    struct comparison comparison;
    struct gpt2_error *error;
    float *logits;            /* (B, T, V) */
    int32_t *next;            /* (B) */
    struct progress progress; /* in passes over a token of each prompt */
    int first_different;      /* the prompt, from 1, of the first greedy token that differs; 0: none */
    int different_at;
    bool failed;
};

static void take(void *context, const char *stage, int layer, const float *values, int64_t rows, int64_t columns) {
    struct check *check = context;
    if (check->failed) { return; }
    check->failed = !comparison_add(&check->comparison, stage, layer, values, rows, columns, check->error);
}

static bool whole_prompts(struct check *check) {
    const struct dump *dump = &check->dump;
    struct gpt2_model *model = check->session->model;
    gpt2_observe(model, take, check);
    progress_of_pass(&check->progress, model, 0.0, dump->T);
    bool good = gpt2_all_logits(model, dump->tokens, dump->lengths, dump->B, dump->T, check->logits, check->error);
    gpt2_observe(model, NULL, NULL);
    progress_pass_end(&check->progress, model);
    return good && !check->failed;
}

/* The prompts' tokens at a position; -1 where a prompt has ended. */
static void tokens_at(const struct dump *dump, int position, int32_t *next) {
    for (int b = 0; b < dump->B; b++) {
        next[b] = position < dump->lengths[b] ? dump->tokens[(int64_t)b * dump->T + position] : -1;
    }
}

static bool decoding(struct check *check) {
    const struct dump *dump = &check->dump;
    struct gpt2_model *model = check->session->model;
    const struct gpt2_config *config = gpt2_model_config(model);
    const int64_t V = config->vocabulary;
    for (int b = 0; b < dump->B; b++) { check->next[b] = 1; } /* used as lengths */
    int32_t *first = malloc((size_t)dump->B * sizeof *first);
    if (first == NULL) { return gpt2_fail(check->error, "out of memory"); }
    tokens_at(dump, 0, first);
    bool good = gpt2_prefill(model, first, check->next, dump->B, 1, check->error);
    free(first);
    for (int t = 0; good && t < dump->T; t++) {
        tokens_at(dump, t, check->next);
        progress_at(&check->progress, dump->T + t);
        good = (t == 0 || gpt2_decode(model, check->next, check->error)) &&
               gpt2_logits(model, check->logits, check->error);
        for (int b = 0; good && b < dump->B; b++) {
            if (check->next[b] < 0) { continue; }
            good = comparison_add_row(&check->comparison, "decoded logits", config->layers, check->logits + b * V, b, t,
                                      V, check->error);
        }
    }
    return good;
}

static int likeliest(const float *logits, int V) {
    int best = 0;
    for (int v = 1; v < V; v++) {
        if (logits[v] > logits[best]) { best = v; }
    }
    return best;
}

/* Counts the tokens before the first difference, over all prompts. A sequence rests after its first difference. */
static bool greedy(struct check *check) {
    const struct dump *dump = &check->dump;
    struct gpt2_model *model = check->session->model;
    const int V = gpt2_model_config(model)->vocabulary, layers = gpt2_model_config(model)->layers;
    int64_t same = 0, all = (int64_t)dump->B * dump->G;
    if (all == 0) { return true; }
    for (int b = 0; b < dump->B; b++) { check->next[b] = 0; }
    if (!gpt2_prefill(model, dump->tokens, dump->lengths, dump->B, dump->T, check->error)) { return false; }
    for (int i = 0; i < dump->G; i++) {
        progress_at(&check->progress, 3 * dump->T + i);
        if (i > 0 && !gpt2_decode(model, check->next, check->error)) { return false; }
        if (!gpt2_logits(model, check->logits, check->error)) { return false; }
        for (int b = 0; b < dump->B; b++) {
            if (check->next[b] < 0) { continue; }
            int wanted = dump->greedy[(int64_t)b * dump->G + i];
            bool equal = likeliest(check->logits + (int64_t)b * V, V) == wanted;
            if (!equal && check->first_different == 0) { check->first_different = b + 1, check->different_at = i + 1; }
            check->next[b] = equal ? wanted : -1;
            same += equal;
        }
    }
    struct quantity *q = comparison_quantity(&check->comparison, "greedy tokens", layers, check->error);
    if (q == NULL) { return false; }
    q->ours = (double)same, q->theirs = (double)all, q->ratio = (double)same / (double)all, q->target = 1.0;
    q->good = same == all;
    return true;
}

/* Equal to four digits. */
static bool perplexity(struct check *check) {
    const struct dump *dump = &check->dump;
    const size_t count = (size_t)dump->B * (size_t)dump->T;
    if (isnan(dump->loss)) { return true; }
    int32_t *targets = malloc(count * sizeof *targets);
    float *losses = malloc(count * sizeof *losses);
    bool good = (targets != NULL && losses != NULL) || gpt2_fail(check->error, "out of memory");
    for (int b = 0; good && b < dump->B; b++) {
        for (int t = 0; t < dump->T; t++) {
            int64_t at = (int64_t)b * dump->T + t;
            targets[at] = t + 1 < dump->lengths[b] ? dump->tokens[at + 1] : -1;
        }
    }
    good = good && gpt2_losses(check->session->model, dump->tokens, targets, dump->B, dump->T, losses, check->error);
    double loss = 0.0;
    for (size_t i = 0; good && i < count; i++) { loss += (double)losses[i] / (double)(dump->N - dump->B); }
    free(targets);
    free(losses);
    struct quantity *q = NULL;
    if (good) {
        q = comparison_quantity(&check->comparison, "perplexity", gpt2_model_config(check->session->model)->layers,
                                check->error);
    }
    if (q == NULL) { return false; }
    double off = fabs(loss - dump->loss), their_off = fabs(dump->loss_float32 - dump->loss);
    q->ours = exp(loss), q->theirs = exp(dump->loss_float32), q->target = 5e-5;
    q->ratio = their_off > 0.0 ? off / their_off : off == 0.0 ? 1.0 : INFINITY;
    q->good = fabs(exp(loss - dump->loss) - 1.0) <= q->target;
    return true;
}

/* ---- the report ---- */

static bool print(const struct check *check, const struct options *options) {
    const struct comparison *c = &check->comparison;
    bool same = true;
    printf("%-5s  %-26s  %12s  %14s  %6s\n", "layer", "stage", "error", "their float32", "ratio");
    for (int i = 0; i < c->count; i++) {
        const struct quantity *q = &c->quantities[i];
        bool counts = strcmp(q->stage, "greedy tokens") == 0, plain = counts || strcmp(q->stage, "perplexity") == 0;
        const char *mark = q->good ? "" : same ? "  <- the first that differs" : "  x";
        printf(plain ? "%5d  %-26s  %12.*f  %14.*f  %6.2f%s\n" : "%5d  %-26s  %12.*e  %14.*e  %6.2f%s\n", q->layer,
               q->stage,
               counts  ? 0
               : plain ? 4
                       : 2,
               q->ours,
               counts  ? 0
               : plain ? 4
                       : 2,
               q->theirs, q->ratio, mark);
        same = same && q->good;
    }
    if (check->first_different > 0) {
        printf("the greedy tokens after prompt %d differ from number %d on\n", check->first_different,
               check->different_at);
    }
    printf("%s against %s: %s, at most %.3g times their float32's error\n", options->kernels, options->against,
           same ? "the same" : "different", c->target);
    return same;
}

/* JSON has no NaN. */
static const char *number(double value, char *text, size_t size) {
    snprintf(text, size, isfinite(value) ? "%.9g" : "null", value);
    return text;
}

static bool write_lines(const struct comparison *c, const char *path, struct gpt2_error *error) {
    struct gpt2_output output;
    bool good = gpt2_output_begin(&output, path, error);
    for (int i = 0; good && i < c->count; i++) {
        const struct quantity *q = &c->quantities[i];
        char line[320], ours[32], theirs[32], ratio[32];
        int size =
            snprintf(line, sizeof line,
                     "{\"stage\": \"%s\", \"layer\": %d, \"ours\": %s, \"theirs\": %s, \"ratio\": %s, "
                     "\"target\": %.9g, \"good\": %s}\n",
                     q->stage, q->layer, number(q->ours, ours, sizeof ours), number(q->theirs, theirs, sizeof theirs),
                     number(q->ratio, ratio, sizeof ratio), q->target, q->good ? "true" : "false");
        good = gpt2_output_write(&output, line, (size_t)size, error);
    }
    good = good && gpt2_output_commit(&output, error);
    gpt2_output_abandon(&output);
    return good;
}

static bool compare(struct check *check, const struct options *options, bool *same) {
    const struct gpt2_config *config = &check->session->weights.config;
    const struct dump *dump = &check->dump;
    int context = dump->T + dump->G;
    check->comparison =
        (struct comparison){.dump = dump, .target = options->tolerance >= 0.0 ? options->tolerance : 2.0};
    check->logits = malloc((size_t)dump->B * (size_t)dump->T * (size_t)config->vocabulary * sizeof *check->logits);
    check->next = malloc((size_t)dump->B * sizeof *check->next);
    if (check->logits == NULL || check->next == NULL) { return gpt2_fail(check->error, "out of memory"); }
    if (!session_start(check->session, options, options->kernels, dump->B, dump->T, context, check->error)) {
        return false;
    }
    progress_begin(&check->progress, "check", "steps", 4.0 * dump->T + dump->G, options->quiet);
    bool good = whole_prompts(check) && decoding(check) && greedy(check) && perplexity(check) &&
                comparison_judge(&check->comparison, check->error);
    progress_end(&check->progress);
    if (!good) { return false; }
    *same = print(check, options);
    return options->json_file == NULL || write_lines(&check->comparison, options->json_file, check->error);
}

bool check_against_dump(struct session *session, const struct options *options, bool *same, struct gpt2_error *error) {
    struct check check = {.session = session, .error = error};
    bool good =
        dump_open(&check.dump, options->against, &session->weights.config, error) && compare(&check, options, same);
    comparison_free(&check.comparison);
    dump_close(&check.dump);
    free(check.logits);
    free(check.next);
    return good;
}
