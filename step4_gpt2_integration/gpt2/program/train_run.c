/* train_run.c — run.json in the folder of a run (train_run.h). */
#define _GNU_SOURCE
#include "train_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/version.h"
#include "gpt2/file.h"
#include "gpt2/formats/json.h"

static const char program[] = "gpt2 train " COURSE_VERSION;

static bool add_time(cJSON *to, const char *name) {
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return cJSON_AddStringToObject(to, name, text) != NULL;
}

/* Any bytes; invalid UTF-8 becomes U+FFFD. */
static bool add_text(cJSON *to, const char *name, const char *bytes) {
    struct gpt2_stream stream = {.count = 0};
    struct gpt2_text text = {NULL, 0, 0};
    bool good = gpt2_stream_bytes(&stream, bytes, strlen(bytes), &text, NULL) && gpt2_stream_end(&stream, &text, NULL);
    cJSON *string = good ? cJSON_CreateString(text.size > 0 ? text.bytes : "") : NULL;
    gpt2_text_free(&text);
    good =
        string != NULL && (name != NULL ? cJSON_AddItemToObject(to, name, string) : cJSON_AddItemToArray(to, string));
    if (!good) { cJSON_Delete(string); }
    return good;
}

static bool add_number(cJSON *to, const char *name, double value) {
    return cJSON_AddNumberToObject(to, name, value) != NULL;
}

/* `from`: what an earlier run.json has; NULL for a new run. */
static bool add_model(cJSON *root, const struct train_options *options, const struct gpt2_config *config,
                      const cJSON *from) {
    const char *then = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(from, "from"));
    const char *now = options->model != NULL ? options->model : "random weights";
    cJSON *model = cJSON_AddObjectToObject(root, "model");
    return model != NULL && add_text(model, "from", then != NULL ? then : now) &&
           add_number(model, "layers", config->layers) && add_number(model, "heads", config->heads) &&
           add_number(model, "channels", config->channels) && add_number(model, "context", config->max_tokens) &&
           add_number(model, "vocabulary", config->vocabulary) &&
           add_number(model, "weights", (double)gpt2_config_weights(config, config->vocabulary));
}

static bool add_options(cJSON *root, const struct train_options *options) {
    const char *notes[2 * TRAIN_MOST_OPTIONS];
    int count = train_options_notes(options, notes);
    cJSON *to = cJSON_AddObjectToObject(root, "options");
    for (int i = 0; to != NULL && i < count; i += 2) {
        if (!add_text(to, notes[i], notes[i + 1])) { return false; }
    }
    return to != NULL && add_number(root, "seed", (double)options->seed);
}

static bool add_data(cJSON *root, const char *name, const char *path, const struct gpt2_data *data) {
    char hash[20];
    struct stat status;
    cJSON *to = cJSON_AddObjectToObject(root, name);
    snprintf(hash, sizeof hash, "%016" PRIx64, data->hash);
    return to != NULL && add_text(to, "path", path) &&
           (stat(path, &status) != 0 || add_number(to, "bytes", (double)status.st_size)) &&
           add_number(to, "tokens", (double)data->count) && add_text(to, "tokens_hash", hash);
}

/* calls: of an earlier run.json, which this takes over; NULL: none. */
static bool add_call(cJSON *root, cJSON *calls, int count, char **words, const char *device, long ranks, int64_t step) {
    cJSON *call = cJSON_CreateObject(), *command = call != NULL ? cJSON_AddArrayToObject(call, "command") : NULL;
    if (calls == NULL) { calls = cJSON_CreateArray(); }
    bool good = command != NULL && cJSON_AddItemToObject(root, "calls", calls) && cJSON_AddItemToArray(calls, call);
    if (!good) {
        cJSON_Delete(call);
        return false;
    }
    for (int i = -1; good && i < count; i++) { good = add_text(command, NULL, i < 0 ? "gpt2" : words[i]); }
    char *folder = getcwd(NULL, 0);
    good = good && (folder == NULL || add_text(call, "folder", folder)) && add_time(call, "at") &&
           cJSON_AddStringToObject(call, "program", program) != NULL &&
           cJSON_AddStringToObject(call, "device", device) != NULL &&
           (ranks == 1 || add_number(call, "ranks", (double)ranks)) && add_number(call, "from_step", (double)step);
    free(folder);
    return good;
}

bool train_run_open(struct train_run *run, const struct gpt2_out *out, const struct train_options *options, int count,
                    char **words, const struct gpt2_config *config, const struct gpt2_data *data,
                    const struct gpt2_data *val, const char *device, int64_t step, bool resumed,
                    struct gpt2_error *error) {
    *run = (struct train_run){gpt2_path(out->path, "run.json"), cJSON_CreateObject()};
    if (run->path == NULL || run->root == NULL) { return gpt2_fail(error, "out of memory"); }
    /* An unreadable file is not needed: the state of the run is its checkpoint. */
    cJSON *before = resumed && access(run->path, R_OK) == 0 ? gpt2_json_read(run->path, 1 << 24, NULL) : NULL;
    cJSON *root = run->root, *calls = cJSON_DetachItemFromObjectCaseSensitive(before, "calls");
    const char *begun = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(before, "begun"));
    if (calls != NULL && !cJSON_IsArray(calls)) {
        cJSON_Delete(calls);
        calls = NULL;
    }
    bool good = cJSON_AddStringToObject(root, "program", program) != NULL &&
                (begun != NULL ? cJSON_AddStringToObject(root, "begun", begun) != NULL : add_time(root, "begun")) &&
                add_model(root, options, config, cJSON_GetObjectItemCaseSensitive(before, "model")) &&
                add_options(root, options) && add_data(root, "data", options->data, data) &&
                (val == NULL || add_data(root, "val", options->val, val));
    if (good) {
        good = add_call(root, calls, count, words, device, options->ranks, step);
    } else {
        cJSON_Delete(calls);
    }
    cJSON_Delete(before);
    return good || gpt2_fail(error, "out of memory");
}

void train_run_close(struct train_run *run) {
    cJSON_Delete(run->root);
    free(run->path);
    *run = (struct train_run){NULL, NULL};
}

bool train_run_write(struct train_run *run, const struct train_state *s, struct gpt2_error *error) {
    cJSON_DeleteItemFromObjectCaseSensitive(run->root, "state");
    cJSON *state = cJSON_AddObjectToObject(run->root, "state");
    bool good = state != NULL && add_time(state, "at") && add_text(state, "status", s->status) &&
                add_number(state, "step", (double)s->step) && add_number(state, "steps", (double)s->steps) &&
                add_number(state, "checkpoint", (double)s->checkpoint) &&
                (!isfinite(s->loss) || add_number(state, "loss", s->loss)) &&
                (s->best == 0 || (add_number(state, "best", (double)s->best) &&
                                  (!isfinite(s->best_loss) || add_number(state, "best_loss", s->best_loss))));
    char *text = good ? cJSON_Print(run->root) : NULL;
    if (text == NULL) { return gpt2_fail(error, "out of memory"); }
    size_t size = strlen(text);
    text[size] = '\n'; /* in place of the NUL */
    good = gpt2_file_write(run->path, text, size + 1, error);
    cJSON_free(text);
    return good;
}
