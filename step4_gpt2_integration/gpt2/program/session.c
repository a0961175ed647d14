/* session.c — opens weights, tokenizer, kernel set and model for a command (program.h). */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

static bool parse_type(struct session *session, const struct options *options, struct gpt2_error *error) {
    const struct type_name *type = type_named(options->type);
    if (type == NULL) { return gpt2_fail(error, "--type %s: f32, tf32, f16 or bf16", options->type); }
    session->type = type->type;
    return true;
}

bool parse_form(enum gpt2_form *form, enum gpt2_form last, const char *option, const char *text,
                struct gpt2_error *error) {
    for (enum gpt2_form each = GPT2_TAUGHT; each <= last; each++) {
        if (strcmp(text, form_name(each)) == 0) {
            *form = each;
            return true;
        }
    }
    static const char *const choices[] = {[GPT2_AUTO] = "auto, taught or fused",
                                          [GPT2_ROWS] = "auto, taught, fused or rows",
                                          [GPT2_PERSISTENT] = "auto, taught, fused, rows or persistent"};
    return gpt2_fail(error, "%s %s: %s", option, text, choices[last]);
}

bool model_settings(struct gpt2_model_options *settings, const struct options *options,
                    const struct kernel_table *kernels, struct gpt2_error *error) {
    settings->graph = !options->no_graph;
    settings->kernels = kernels;
    if (options->threads > 0 && !gpt2_device_threads(options->threads, error)) { return false; }
    return parse_form(&settings->attention, GPT2_ROWS, "--attention", options->attention, error) &&
           parse_form(&settings->decode, GPT2_PERSISTENT, "--decode", options->decode, error);
}

enum gpt2_scheme scheme_on_device(const struct gpt2_weights *weights, const struct options *options) {
    struct gpt2_device_info device;
    bool is_cpu = gpt2_device_ask(&device, NULL) && device.is_cpu;
    const bool decodes = is_cpu && strcmp(options->decode, "auto") == 0 && weights->input_scales == NULL;
    return decodes ? GPT2_PLAIN : weights->scheme;
}

bool sampling_of(struct gpt2_sampling *by, const struct options *options, struct gpt2_error *error) {
    *by = (struct gpt2_sampling){.repetition_penalty = options->repetition_penalty,
                                 .temperature = options->temperature,
                                 .top_k = options->top_k,
                                 .top_p = options->top_p,
                                 .min_p = options->min_p};
    const bool limits = options->top_k > 0 || options->top_p < 1.0 || options->min_p > 0.0;
    return options->temperature > 0.0 || !limits ||
           gpt2_fail(error, "--top-k, --top-p and --min-p need a --temperature: without one the likeliest token is "
                            "taken");
}

/* folder/name, or for a NULL folder name, if the file exists; else NULL. */
static char *present(const char *folder, const char *name, bool *no_memory) {
    char *path = folder != NULL ? gpt2_path(folder, name) : strdup(name);
    *no_memory = *no_memory || path == NULL;
    if (path == NULL || access(path, R_OK) == 0) { return path; }
    free(path);
    return NULL;
}

/* The tokenizer that `convert` writes beside NAME.bin: NAME_tokenizer.bin. */
static char *own_tokenizer(const char *model, bool *no_memory) {
    size_t length = strlen(model);
    char *name = NULL;
    if (length < 4 || strcmp(model + length - 4, ".bin") != 0) { return NULL; }
    if (asprintf(&name, "%.*s_tokenizer.bin", (int)length - 4, model) < 0) { return *no_memory = true, NULL; }
    char *path = present(NULL, name, no_memory);
    free(name);
    return path;
}

bool session_tokenizer_path(const char *given, const char *model, char **path, struct gpt2_error *error) {
    struct stat status;
    bool no_memory = false;
    char *folder = strdup(model);
    *path = NULL;
    if (folder == NULL) { return gpt2_fail(error, "out of memory"); }
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)) {
        char *slash = strrchr(folder, '/');
        strcpy(slash != NULL ? slash + (slash == folder) : folder, slash != NULL ? "" : ".");
    }
    if (given != NULL) {
        *path = strdup(given);
        no_memory = *path == NULL;
    } else if ((*path = own_tokenizer(model, &no_memory)) == NULL) {
        static const char *const files[] = {"vocab.json", "tokenizer.json"};
        for (int i = 0; i < 2 && *path == NULL; i++) {
            *path = present(folder, files[i], &no_memory);
            if (*path != NULL) { *strrchr(*path, '/') = '\0'; } /* the folder has all its files */
        }
        if (*path == NULL) { *path = present(folder, "gpt2_tokenizer.bin", &no_memory); }
    }
    free(folder);
    return !no_memory || gpt2_fail(error, "out of memory");
}

struct gpt2_tokenizer *session_tokenizer_open(const char *given, const char *model, struct gpt2_error *error) {
    char *path;
    if (!session_tokenizer_path(given, model, &path, error)) { return NULL; }
    if (path == NULL) {
        gpt2_fail(error,
                  "%s: there is no tokenizer beside it (vocab.json and merges.txt, tokenizer.json, or one of llm.c): "
                  "name one by --tokenizer",
                  model);
        return NULL;
    }
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open(path, error);
    free(path);
    return tokenizer;
}

static bool open_tokenizer(struct session *session, const struct options *options, struct gpt2_error *error) {
    session->tokenizer = session_tokenizer_open(options->tokenizer, options->model, error);
    return session->tokenizer != NULL &&
           gpt2_tokenizer_fits(session->tokenizer, session->weights.config.vocabulary, options->model, error);
}

bool session_open(struct session *session, const struct options *options, struct gpt2_error *error) {
    *session = (struct session){.tokenizer = NULL};
    if (options->model == NULL) { return gpt2_fail(error, "--model is missing: the folder or file with the weights"); }
    if (parse_type(session, options, error) && gpt2_weights_open(&session->weights, options->model, error) &&
        open_tokenizer(session, options, error)) {
        return true;
    }
    session_close(session);
    return false;
}

bool session_ends_at(const struct session *session, int token) {
    const struct gpt2_stops *stops = &session->weights.config.stops;
    if (!stops->given) { return token == gpt2_tokenizer_end_of_text(session->tokenizer); }
    for (int i = 0; i < stops->count; i++) {
        if (stops->ids[i] == token) { return true; }
    }
    return false;
}

int session_end_token(const struct session *session) {
    const struct gpt2_config *config = &session->weights.config;
    if (!config->stops.given) {
        int end = gpt2_tokenizer_end_of_text(session->tokenizer);
        return end < config->vocabulary ? end : -1;
    }
    for (int i = 0; i < config->stops.count; i++) {
        if (config->stops.ids[i] >= 0 && config->stops.ids[i] < config->vocabulary) { return config->stops.ids[i]; }
    }
    return -1;
}

void note_activation(const struct gpt2_config *config, const struct kernel_choice *kernels) {
    const char *name = kernel_choice_table(kernels)->name;
    if (config->activation == GPT2_GELU_TANH || strcmp(name, "reference") == 0 || strcmp(name, "naive") == 0) {
        return;
    }
    fprintf(stderr,
            "gpt2: note: the kernel set %s has no %s, the model's activation: the program's own kernel computes it\n",
            name, gpt2_activation_name(config->activation));
}

bool session_start(struct session *session, const struct options *options, const char *kernels, int batch, int prompt,
                   int context, struct gpt2_error *error) {
    struct gpt2_source weights = gpt2_weights_source(&session->weights);
    struct counted_source counted;
    struct progress progress;
    session->kernels = kernel_choice_open(kernels, error);
    if (session->kernels == NULL) { return false; }
    struct gpt2_model_options settings = {.type = session->type,
                                          .scheme = scheme_on_device(&session->weights, options),
                                          .activations = session->weights.input_scales != NULL,
                                          .tf32 = strcmp(options->type, "tf32") == 0,
                                          .batch = batch,
                                          .prompt = prompt,
                                          .context = context,
                                          .division = session->division};
    if (!model_settings(&settings, options, kernel_choice_table(session->kernels), error)) { return false; }
    if (!options->quiet) { note_activation(&session->weights.config, session->kernels); }
    progress_begin(&progress, "loading", "million weights", progress_source_total(&weights.config), options->quiet);
    struct gpt2_source source = progress_source(&counted, &weights, &progress);
    session->model = gpt2_model_open(&source, &settings, error);
    progress_end(&progress);
    return session->model != NULL;
}

void session_stop(struct session *session) {
    gpt2_model_close(session->model);
    kernel_choice_close(session->kernels);
    session->model = NULL;
    session->kernels = NULL;
}

void session_close(struct session *session) {
    session_stop(session);
    gpt2_tokenizer_close(session->tokenizer);
    gpt2_weights_close(&session->weights);
}
