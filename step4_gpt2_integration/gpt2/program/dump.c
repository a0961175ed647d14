/* dump.c — see dump.h. */
#include "dump.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

    int64_t most = config->max_tokens - dump->T; /* the last one written is not read again */
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

bool dump_open(struct dump *dump, const char *path, const struct gpt2_config *config, struct gpt2_error *error) {
    *dump = (struct dump){.B = 0};
    if (safetensors_open(&dump->file, path, error) && read_prompts(dump, config, error) &&
        read_rest(dump, config, error)) {
        return true;
    }
    dump_close(dump);
    return false;
}

void dump_close(struct dump *dump) {
    free(dump->tokens);
    free(dump->lengths);
    free(dump->starts);
    free(dump->greedy);
    safetensors_close(&dump->file);
    *dump = (struct dump){.B = 0};
}

/* ---- comparing ---- */

struct quantity *comparison_quantity(struct comparison *comparison, const char *stage, int layer,
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

/* A stage with the other's two tensors. */
struct trio {
    struct quantity *quantity;
    const char *exact, *theirs; /* (N, columns) of doubles and floats, which may be unaligned */
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

bool comparison_add(struct comparison *comparison, const char *stage, int layer, const float *values, int64_t rows,
                    int64_t columns, struct gpt2_error *error) {
    const struct dump *dump = comparison->dump;
    struct trio trio;
    if (!find_trio(comparison, stage, layer, columns, &trio, error)) { return false; }
    for (int64_t i = 0; i < rows; i++) {
        int64_t row = trio.quantity->rows++, b = row / dump->T, t = row % dump->T;
        if (b < dump->B && t < dump->lengths[b]) { add_row(&trio, dump->starts[b] + t, values + i * columns, columns); }
    }
    return true;
}

bool comparison_add_row(struct comparison *comparison, const char *stage, int layer, const float *values, int b,
                        int position, int64_t columns, struct gpt2_error *error) {
    struct trio trio;
    if (!find_trio(comparison, stage, layer, columns, &trio, error)) { return false; }
    add_row(&trio, comparison->dump->starts[b] + position, values, columns);
    return true;
}

bool comparison_judge(struct comparison *comparison, struct gpt2_error *error) {
    const struct dump *dump = comparison->dump;
    for (int i = 0; i < comparison->count; i++) {
        struct quantity *q = &comparison->quantities[i];
        if (!q->is_tensor) { continue; }
        if (q->rows != 0 && q->rows != (int64_t)dump->B * dump->T) {
            return gpt2_fail(error, "'%s' of layer %d came with %lld rows of %lld", q->stage, q->layer,
                             (long long)q->rows, (long long)dump->B * dump->T);
        }
        double size = q->size > 0.0 ? q->size : 1.0; /* all zeros: the difference itself */
        q->ours = sqrt(q->off / size);
        q->theirs = sqrt(q->their_off / size);
        q->ratio = q->theirs > 0.0 ? q->ours / q->theirs : q->ours == 0.0 ? 1.0 : INFINITY;
        q->good = q->ratio <= q->target;
    }
    return true;
}

void comparison_free(struct comparison *comparison) {
    free(comparison->quantities);
    *comparison = (struct comparison){.dump = NULL};
}
