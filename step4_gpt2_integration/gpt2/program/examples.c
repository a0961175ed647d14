/* examples.c — see examples.h. */
#include "examples.h"

#include <stdlib.h>
#include <string.h>

#include "gpt2/file.h"
#include "gpt2/formats/json.h"

static bool is_blank(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (strchr(" \t\r", text[i]) == NULL || text[i] == '\0') { return false; }
    }
    return true;
}

static bool read_lines(const struct gpt2_file *file, example_reader *read, void *context, struct gpt2_error *error) {
    const char *at = (const char *)file->bytes, *end = at + file->size;
    int examples = 0;
    for (int number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((newline != NULL ? newline : end) - at);
        if (!is_blank(at, size)) {
            char where[300];
            snprintf(where, sizeof where, "%.250s, line %d", file->path, number);
            cJSON *object = gpt2_json_parse(at, size, where, error);
            bool good = object != NULL && read(context, object, where, error);
            cJSON_Delete(object);
            if (!good) { return false; }
            examples++;
        }
        at += size + 1;
    }
    return examples > 0 || gpt2_fail(error, "%s: there is no example in it", file->path);
}

bool examples_read(const char *path, example_reader *read, void *context, struct gpt2_error *error) {
    struct gpt2_file file;
    if (!gpt2_file_open(&file, path, error)) { return false; }
    bool good = read_lines(&file, read, context, error);
    gpt2_file_close(&file);
    return good;
}

const char *example_text(const cJSON *object, const char *name, const char *where, struct gpt2_error *error) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    if (text != NULL && text[0] != '\0') { return text; }
    gpt2_fail(error, "%s: \"%s\" is %s", where, name, text != NULL ? "empty" : "missing, or no text");
    return NULL;
}

/* ---- sequences ---- */

void scored_sequences_free(struct scored_sequences *all) {
    gpt2_ids_free(&all->ids);
    free(all->at);
    *all = (struct scored_sequences){.count = 0};
}

static struct scored_sequence *append(struct scored_sequences *all, struct gpt2_error *error) {
    if (all->count == all->room) {
        int room = all->room > 0 ? 2 * all->room : 256;
        struct scored_sequence *larger = realloc(all->at, (size_t)room * sizeof *larger);
        if (larger == NULL) {
            gpt2_fail(error, "out of memory");
            return NULL;
        }
        all->at = larger;
        all->room = room;
    }
    return &all->at[all->count++];
}

bool scored_sequences_add(struct scored_sequences *all, struct session *session, const char *beginning, size_t size,
                          const char *end, const char *where, struct gpt2_error *error) {
    static const char document[] = "<|endoftext|>";
    const size_t most = (size_t)session->weights.config.max_tokens + 1; /* the last token is not read */
    size_t first = all->ids.count;
    if (size == 0) { beginning = document, size = strlen(document); }
    if (!gpt2_tokenizer_encode(session->tokenizer, beginning, size, true, &all->ids, error)) { return false; }
    size_t middle = all->ids.count;
    if (!gpt2_tokenizer_encode(session->tokenizer, end, strlen(end), true, &all->ids, error)) { return false; }
    size_t scored = all->ids.count - middle;
    if (scored + 1 > most) {
        return gpt2_fail(error, "%s: %zu tokens to be predicted, and the model's context is %zu", where, scored,
                         most - 1);
    }
    if (all->ids.count - first > most) { first = all->ids.count - most; }
    struct scored_sequence *sequence = append(all, error);
    if (sequence == NULL) { return false; }
    *sequence = (struct scored_sequence){.first = first, .count = (int)(all->ids.count - first), .scored = (int)scored};
    all->longest = sequence->count > all->longest ? sequence->count : all->longest;
    return true;
}
