/* session.c — weights, tokenizer, kernel set and model, opened for a command. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "program.h"

double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool parse_type(struct session *session, const struct options *options, struct gpt2_error *error) {
    static const struct {
        const char *name;
        enum gpt2_type type;
    } types[] = {{"f32", GPT2_F32}, {"tf32", GPT2_F32}, {"f16", GPT2_F16}, {"bf16", GPT2_BF16}};
    if (options->type == NULL) { return session->type = GPT2_F32, true; }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(options->type, types[i].name) == 0) {
            session->type = types[i].type;
            return true;
        }
    }
    return gpt2_fail(error, "--type %s: f32, tf32, f16 or bf16", options->type);
}

/* The model's folder, also where a file in it was named. */
static bool open_tokenizer(struct session *session, const struct options *options, struct gpt2_error *error) {
    struct stat status;
    char *folder = NULL;
    const char *path = options->tokenizer;
    if (path == NULL) {
        folder = strdup(options->model);
        if (folder == NULL) { return gpt2_fail(error, "out of memory"); }
        if (stat(folder, &status) == 0 && !S_ISDIR(status.st_mode)) {
            char *slash = strrchr(folder, '/');
            strcpy(slash != NULL ? slash : folder, slash != NULL ? "" : ".");
        }
        path = folder;
    }
    session->tokenizer = gpt2_tokenizer_open(path, error);
    bool good = session->tokenizer != NULL &&
                gpt2_tokenizer_fits(session->tokenizer, session->weights.config.vocabulary, options->model, error);
    free(folder);
    return good;
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

bool session_start(struct session *session, const struct options *options, const char *kernels, int batch, int prompt,
                   int context, struct gpt2_error *error) {
    struct gpt2_source source = gpt2_weights_source(&session->weights);
    session->kernels = kernel_choice_open(kernels, error);
    if (session->kernels == NULL) { return false; }
    struct gpt2_model_options settings = {.type = session->type,
                                          .tf32 = options->type != NULL && strcmp(options->type, "tf32") == 0,
                                          .graph = !options->no_graph,
                                          .batch = batch,
                                          .prompt = prompt,
                                          .context = context,
                                          .kernels = kernel_choice_table(session->kernels)};
    session->model = gpt2_model_open(&source, &settings, error);
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
