/* convert.c — gpt2 convert: writes a model and its tokenizer in the other format; gpt2 quantize: with its matrices in 8 bits.
 *
 * All files are written to a folder beside the destination and moved when the last one is complete. A conversion that fails
 * leaves no files, and existing ones stay. */
#define _GNU_SOURCE
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpt2/formats/calibrate.h"
#include "gpt2/formats/hf.h"
#include "gpt2/formats/llmc.h"
#include "gpt2/formats/quantize.h"
#include "program.h"

enum { MOST_FILES = 5, SETTINGS = 2 };
static const char *const hf_names[MOST_FILES] = {"vocab.json", "merges.txt", "tokenizer_config.json", "config.json",
                                                 "model.safetensors"};
static const char *const llmc_names[MOST_FILES] = {"tokenizer.bin", "model.bin", NULL, NULL, NULL};

/* Files of a Hugging Face folder that would count besides those. */
static const char *const others[] = {"tokenizer.json", "added_tokens.json", "special_tokens_map.json",
                                     "generation_config.json"};

struct conversion {
    const struct options *options;
    struct gpt2_weights weights;
    struct gpt2_tokenizer *tokenizer; /* NULL: none */
    enum gpt2_type type, from_type;
    enum gpt2_scheme scheme; /* GPT2_PLAIN: a conversion */
    enum gpt2_calibration_method method;
    struct gpt2_calibration calibration; /* with --calibrate */
    char *how;                           /* it was made, in JSON */
    bool to_llmc, is_new;                /* is_new: the folder does not exist yet */
    char *to;                            /* without a trailing / */
    char *staging;                       /* the temporary folder; NULL: not made */
    const char *const *names;            /* of its files, the model last */
    char *targets[MOST_FILES];
};

static bool is_there(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0;
}

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

/* ---- the source ---- */

static bool choose_type(struct conversion *c, struct gpt2_error *error) {
    const char *wanted = c->options->type != type_by_default ? c->options->type : NULL;
    c->from_type = gpt2_weights_view(&c->weights, GPT2_WTE, 0)->type;
    for (int t = 0; t < GPT2_TENSORS; t++) {
        int layers = gpt2_tensor_layers(&c->weights.config, (enum gpt2_tensor)t);
        for (int layer = 0; layer < layers; layer++) {
            enum gpt2_type type = gpt2_weights_view(&c->weights, (enum gpt2_tensor)t, layer)->type;
            if (type != c->from_type) { c->from_type = GPT2_F32; } /* mixed types: f32 holds them all */
        }
    }
    c->type = c->from_type;
    for (int type = GPT2_F32; wanted != NULL && type <= GPT2_BF16; type++) {
        c->type = (enum gpt2_type)type;
        if (strcasecmp(wanted, gpt2_type_name(c->type)) == 0) { wanted = NULL; }
    }
    if (wanted != NULL) { return gpt2_fail(error, "--type %s: a file holds f32, f16 or bf16", wanted); }
    if (c->to_llmc && c->type == GPT2_F16) {
        return gpt2_fail(error, "%s: llm.c has no F16: say --type f32 or --type bf16", c->to);
    }
    return true;
}

/* Of a model to quantize. Codes of codes would lose twice; a NaN or an infinity makes every logit one. */
static bool check_source(const struct conversion *c, struct gpt2_error *error) {
    if (c->scheme == GPT2_PLAIN) { return true; }
    if (c->weights.scheme != GPT2_PLAIN) {
        return gpt2_fail(error, "%s: it is in %s already: quantize the model that it was made of", c->options->from,
                         gpt2_scheme_name(c->weights.scheme));
    }
    return gpt2_weights_finite(&c->weights, error);
}

static bool open_tokenizer(struct conversion *c, struct gpt2_error *error) {
    const struct options *options = c->options;
    char *path = NULL;
    if (options->no_tokenizer) { return true; }
    if (!session_tokenizer_path(options->tokenizer, options->from, &path, error)) { return false; }
    if (path == NULL) { return true; }
    c->tokenizer = gpt2_tokenizer_open(path, error);
    free(path);
    return c->tokenizer != NULL &&
           gpt2_tokenizer_fits(c->tokenizer, c->weights.config.vocabulary, options->from, error);
}

/* ---- the destination ---- */

/* NAME.bin's tokenizer is NAME_tokenizer.bin. */
static bool name_targets(struct conversion *c, struct gpt2_error *error) {
    c->to = strdup(c->options->to);
    if (c->to == NULL) { return gpt2_fail(error, "out of memory"); }
    for (size_t length = strlen(c->to); length > 1 && c->to[length - 1] == '/';) { c->to[--length] = '\0'; }
    c->to_llmc = ends_with(c->to, ".bin");
    c->is_new = !is_there(c->to);
    c->names = c->to_llmc ? llmc_names : hf_names;
    bool named = true;
    if (c->to_llmc) {
        named = asprintf(&c->targets[0], "%.*s_tokenizer.bin", (int)strlen(c->to) - 4, c->to) > 0 &&
                (c->targets[1] = strdup(c->to)) != NULL;
    }
    for (int i = 0; named && !c->to_llmc && i < MOST_FILES; i++) {
        named = (c->targets[i] = gpt2_path(c->to, c->names[i])) != NULL;
    }
    return named || gpt2_fail(error, "out of memory");
}

static bool check_targets(const struct conversion *c, struct gpt2_error *error) {
    if (c->to_llmc && c->scheme != GPT2_PLAIN) {
        return gpt2_fail(error, "%s: llm.c's format has no weights in 8 bits: name a folder", c->to);
    }
    if (c->to_llmc && is_folder(c->to)) { return gpt2_fail(error, "%s: is a folder; a file is needed", c->to); }
    if (ends_with(c->to, ".safetensors")) {
        return gpt2_fail(error, "%s: Hugging Face's format is a folder with model.safetensors in it: name the folder",
                         c->to);
    }
    if (!c->to_llmc && !c->is_new && !is_folder(c->to)) {
        return gpt2_fail(error, "%s: not a folder; a name in llm.c's format ends in .bin", c->to);
    }
    for (size_t i = 0; !c->to_llmc && i < sizeof others / sizeof *others; i++) {
        char *path = gpt2_path(c->to, others[i]);
        bool there = path != NULL && is_there(path);
        free(path);
        if (there) {
            return gpt2_fail(error, "%s/%s: would be read together with the new files: remove it first", c->to,
                             others[i]);
        }
    }
    for (int i = 0; i < MOST_FILES && c->names[i] != NULL; i++) {
        if (is_there(c->targets[i]) && !c->options->force) {
            return gpt2_fail(error, "%s: is there already (--force replaces it)", c->targets[i]);
        }
    }
    return true;
}

/* ---- writing ---- */

static bool make_staging(struct conversion *c, struct gpt2_error *error) {
    char *staging = NULL;
    if (asprintf(&staging, "%s.part-%ld", c->to, (long)getpid()) < 0) { return gpt2_fail(error, "out of memory"); }
    if (mkdir(staging, 0777) != 0) {
        gpt2_fail(error, "%s: cannot be written: %s", c->to, strerror(errno));
        free(staging);
        return false;
    }
    c->staging = staging;
    return true;
}

static bool write_llmc(const struct conversion *c, const struct gpt2_source *source, struct gpt2_error *error) {
    char *tokenizer = gpt2_path(c->staging, c->names[0]), *model = gpt2_path(c->staging, c->names[1]);
    bool good = (tokenizer != NULL && model != NULL) || gpt2_fail(error, "out of memory");
    good = good && (c->tokenizer == NULL || gpt2_tokenizer_write_llmc(c->tokenizer, tokenizer, error)) &&
           gpt2_llmc_write(model, source, c->type, error);
    free(tokenizer);
    free(model);
    return good;
}

static bool write_hf(const struct conversion *c, const struct gpt2_source *source, struct gpt2_error *error) {
    int end_of_text = c->tokenizer != NULL ? gpt2_tokenizer_end_of_text(c->tokenizer) : -1;
    return (c->tokenizer == NULL || gpt2_tokenizer_write_hf(c->tokenizer, c->staging, error)) &&
           gpt2_hf_write(c->staging, source, c->type, end_of_text, error);
}

/* A writer's message names a temporary file. Puts the name of its target in its place. */
static void name_target(const struct conversion *c, struct gpt2_error *error) {
    for (int i = 0; i < MOST_FILES && c->names[i] != NULL; i++) {
        char *made = gpt2_path(c->staging, c->names[i]);
        size_t length = made != NULL ? strlen(made) : 0;
        if (length > 0 && strncmp(error->text, made, length) == 0) {
            gpt2_fail(error, "%s%s", c->targets[i], error->text + length);
        }
        free(made);
    }
}

/* A new folder is moved as a whole. Otherwise the files are moved one after the other, the model last. */
static bool move(struct conversion *c, struct gpt2_error *error) {
    if (!c->to_llmc && c->is_new && rename(c->staging, c->to) == 0) {
        free(c->staging);
        c->staging = NULL;
        return true;
    }
    for (int i = 0; i < MOST_FILES && c->names[i] != NULL; i++) {
        char *from = gpt2_path(c->staging, c->names[i]);
        if (from == NULL) { return gpt2_fail(error, "out of memory"); }
        bool made = is_there(from), moved = !made || rename(from, c->targets[i]) == 0;
        if (!made && !c->to_llmc && i == SETTINGS && c->tokenizer != NULL) {
            unlink(c->targets[i]);
        } /* of another one */
        free(from);
        if (!moved) { return gpt2_fail(error, "%s: cannot be written: %s", c->targets[i], strerror(errno)); }
    }
    return true;
}

static void drop_staging(struct conversion *c) {
    if (c->staging == NULL) { return; }
    for (int i = 0; i < MOST_FILES && c->names[i] != NULL; i++) {
        char *path = gpt2_path(c->staging, c->names[i]);
        if (path != NULL) { unlink(path); }
        free(path);
    }
    rmdir(c->staging);
    free(c->staging);
    c->staging = NULL;
}

static void summarize(const struct conversion *c) {
    struct stat status = {.st_size = 0};
    stat(c->targets[c->to_llmc ? 1 : MOST_FILES - 1], &status);
    const bool coded = c->weights.scheme != GPT2_PLAIN;
    printf("%s (%s) -> %s (%s of %s): %.1f M weights, %.1f MB, ", c->options->from,
           coded ? gpt2_scheme_name(c->weights.scheme) : gpt2_type_name(c->from_type), c->to,
           c->scheme != GPT2_PLAIN ? gpt2_scheme_name(c->scheme) : gpt2_type_name(c->type),
           c->to_llmc ? "llm.c" : "Hugging Face",
           (double)gpt2_config_weights(&c->weights.config, c->weights.config.vocabulary) / 1e6,
           (double)status.st_size / 1e6);
    if (c->tokenizer != NULL) {
        printf("a tokenizer of %d\n", gpt2_tokenizer_size(c->tokenizer));
    } else {
        printf("no tokenizer\n");
    }
}

/* With `scales` and `how`, activations are in 8 bits, too. */
static bool write_quantized(struct conversion *c, const struct gpt2_source *source, const float *scales,
                            const char *how, struct gpt2_error *error) {
    struct gpt2_quantizer quantizer;
    if (!gpt2_quantizer_open(&quantizer, source, c->scheme, error)) { return false; }
    quantizer.input_scales = scales;
    quantizer.calibration = how;
    const struct gpt2_source coded = gpt2_quantizer_source(&quantizer);
    bool written = write_hf(c, &coded, error);
    gpt2_quantizer_close(&quantizer);
    return written;
}

/* How the scales were made, as an object of config.json; NULL: out of memory. */
static char *describe_calibration(const struct conversion *c, int64_t tokens) {
    const char *slash = strrchr(c->options->calibrate, '/');
    cJSON *object = cJSON_CreateObject();
    const bool good = cJSON_AddStringToObject(object, "scales", "static, one for each input of a product") &&
                      cJSON_AddStringToObject(object, "method", gpt2_calibration_name(c->method)) &&
                      cJSON_AddStringToObject(object, "text", slash != NULL ? slash + 1 : c->options->calibrate) &&
                      cJSON_AddNumberToObject(object, "tokens", (double)tokens);
    char *text = good ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    return text;
}

/* c->calibration and c->how, from the model that is quantized. */
static bool take_magnitudes(struct conversion *c, const struct gpt2_source *source, struct gpt2_error *error) {
    const struct gpt2_config *config = &source->config;
    int64_t tokens;
    if (config->channels % 16 != 0) {
        return gpt2_fail(error, "--calibrate: products of 8 bits need channels that are a multiple of 16");
    }
    if (c->scheme == GPT2_FP8 && config->scale_by_layer) {
        return gpt2_fail(error, "--calibrate: products of fp8 need one scale for a matrix, and "
                                "scale_attn_by_inverse_layer_idx changes those of queries: take --scheme int8");
    }
    if (!gpt2_calibration_open(&c->calibration, config, error) ||
        !calibrate(&c->calibration, source, c->tokenizer, c->options, &tokens, error)) {
        return false;
    }
    c->how = describe_calibration(c, tokens);
    return c->how != NULL || gpt2_fail(error, "out of memory");
}

static bool write_calibrated(struct conversion *c, const struct gpt2_source *source, struct gpt2_error *error) {
    struct gpt2_smoother smoother = {.from = source};
    float *scales = malloc((size_t)source->config.layers * GPT2_PRODUCTS * sizeof *scales);
    bool good = scales != NULL || gpt2_fail(error, "out of memory");
    if (good && c->method == GPT2_SMOOTH) { good = gpt2_smoother_open(&smoother, source, &c->calibration, error); }
    if (good) {
        const struct gpt2_source smoothed = gpt2_smoother_source(&smoother);
        gpt2_calibration_scales(&c->calibration, c->method, c->scheme, scales);
        good = write_quantized(c, c->method == GPT2_SMOOTH ? &smoothed : source, scales, c->how, error);
    }
    gpt2_smoother_close(&smoother);
    free(scales);
    return good;
}

/* Writes `source`, or with a scheme its weights in 8 bits. */
static bool write_files(struct conversion *c, const struct gpt2_source *source, struct gpt2_error *error) {
    if (c->scheme == GPT2_PLAIN) { return (c->to_llmc ? write_llmc : write_hf)(c, source, error); }
    return c->options->calibrate != NULL ? write_calibrated(c, source, error)
                                         : write_quantized(c, source, NULL, NULL, error);
}

static bool choose_scheme(struct conversion *c, struct gpt2_error *error) {
    const char *wanted = c->options->scheme;
    if (c->scheme == GPT2_PLAIN) { return true; }
    if (wanted == NULL) { return gpt2_fail(error, "--scheme is missing: int8 or fp8"); }
    if (!gpt2_calibration_find(c->options->method, &c->method)) {
        return gpt2_fail(error, "--method %s: absmax, percentile or smooth", c->options->method);
    }
    const bool runs =
        c->method != GPT2_ABSMAX || c->options->threads > 0 || strcmp(c->options->kernels, "reference") != 0;
    if (runs && c->options->calibrate == NULL) {
        return gpt2_fail(error, "--method, --kernels and --threads: only with --calibrate, which runs the model");
    }
    return gpt2_scheme_find(wanted, &c->scheme) || gpt2_fail(error, "--scheme %s: int8 or fp8", wanted);
}

static bool convert(struct conversion *c, struct gpt2_error *error) {
    const char *command = c->scheme == GPT2_PLAIN ? "convert" : "quantize";
    if (c->options->from == NULL || c->options->to == NULL) {
        return gpt2_fail(error, "%s needs --from and --to: a model, and the destination", command);
    }
    if (!choose_scheme(c, error)) { return false; }
    if (!name_targets(c, error) || !check_targets(c, error) ||
        !gpt2_weights_open(&c->weights, c->options->from, error) || !check_source(c, error) || !choose_type(c, error) ||
        !open_tokenizer(c, error) || !make_staging(c, error)) {
        return false;
    }
    struct gpt2_source weights = gpt2_weights_source(&c->weights);
    weights.scheme = GPT2_PLAIN; /* a conversion decodes them */
    weights.read_codes = NULL;
    weights.input_scales = NULL;
    if (c->options->calibrate != NULL && !take_magnitudes(c, &weights, error)) { return false; }
    struct counted_source counted;
    struct progress progress;
    progress_begin(&progress, c->scheme == GPT2_PLAIN ? "converting" : "quantizing", "million weights",
                   progress_source_total(&weights.config), c->options->quiet);
    struct gpt2_source source = progress_source(&counted, &weights, &progress);
    bool written = write_files(c, &source, error);
    progress_end(&progress);
    if (!written) {
        name_target(c, error);
        return false;
    }
    return move(c, error);
}

static int run(const struct options *options, enum gpt2_scheme scheme, struct gpt2_error *error) {
    struct conversion c = {.options = options, .scheme = scheme};
    bool good = convert(&c, error);
    if (good) { summarize(&c); }
    drop_staging(&c);
    gpt2_tokenizer_close(c.tokenizer);
    gpt2_weights_close(&c.weights);
    gpt2_calibration_close(&c.calibration);
    free(c.how);
    for (int i = 0; i < MOST_FILES; i++) { free(c.targets[i]); }
    free(c.to);
    return good ? 0 : 2;
}

int command_convert(const struct options *options, struct gpt2_error *error) {
    return run(options, GPT2_PLAIN, error);
}

int command_quantize(const struct options *options, struct gpt2_error *error) {
    return run(options, GPT2_INT8, error); /* until choose_scheme */
}
