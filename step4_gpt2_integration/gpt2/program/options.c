/* options.c — the options of all commands but train, in one table that parses, checks and lists them. Also names of types. */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

const char type_by_default[] = "f32";

enum kind { TEXT, INTEGER, LONG, REAL, SWITCH, PROMPT };

#define MODELS "generate eval check bench profile"

static const struct option {
    const char *name, *commands, *value, *what;
    enum kind kind;
    size_t offset;
    double least, most;
} table[] = {
    {"--model", MODELS, "PATH",
     "a folder of Hugging Face's, its .safetensors, a checkpoint of llm.c, or tiny: the course's own model", TEXT,
     offsetof(struct options, model), 0, 0},
    {"--tokenizer", "generate eval check profile convert", "PATH",
     "a folder or file with the tokenizer (else: in the model's folder)", TEXT, offsetof(struct options, tokenizer), 0,
     0},
    {"--prompt", "generate check", "TEXT", "the text to continue; may be given many times (check: once)", PROMPT, 0, 0,
     0},
    {"--tokens", "generate bench profile", "N", "number of tokens to write; profile, bench: of decoding steps (64)",
     INTEGER, offsetof(struct options, tokens), 1, 1 << 20},
    {"--temperature", "generate", "X", "0: always the likeliest token (0); else the logits are divided by it", REAL,
     offsetof(struct options, temperature), 0, 100},
    {"--top-k", "generate", "K", "choose among the K likeliest tokens (0: among all)", INTEGER,
     offsetof(struct options, top_k), 0, INT_MAX},
    {"--top-p", "generate", "P", "choose among the likeliest tokens with a total probability of P (1)", REAL,
     offsetof(struct options, top_p), 0, 1},
    {"--seed", "generate bench", "N", "random seed of the choices; bench: of the synthetic weights (1)", LONG,
     offsetof(struct options, seed), 0, 9e15},
    {"--no-stop", "generate", NULL, "continue after <|endoftext|>", SWITCH, offsetof(struct options, no_stop), 0, 0},
    {"--file", "eval", "PATH", "eval: a text, or tokens in llm.c's format", TEXT, offsetof(struct options, file), 0, 0},
    {"--choices", "eval", "FILE", "eval: lines {\"ctx\": ..., \"endings\": [...], \"label\": 0}, as HellaSwag has them",
     TEXT, offsetof(struct options, choices), 0, 0},
    {"--last-word", "eval", "FILE", "eval: lines {\"text\": ...} whose last word is predicted, as LAMBADA has them",
     TEXT, offsetof(struct options, last_word), 0, 0},
    {"--context", "eval profile", "T", "eval: tokens in a window; profile: of the prompt (else: the model's context)",
     INTEGER, offsetof(struct options, context), 1, 1 << 20},
    {"--batch", "eval bench profile", "B",
     "eval: windows or sequences at once; profile: sequences (1); bench: a list (1,4,8,16,32)", TEXT,
     offsetof(struct options, batches), 0, 0},
    {"--kernels", MODELS, "SET", "naive, reference, lab, a path; and SET,op=SET,... for single ops (reference)", TEXT,
     offsetof(struct options, kernels), 0, 0},
    {"--against", "check", "SET",
     "check: another set, float64 (plain loops on the host), or a dump.safetensors (float64)", TEXT,
     offsetof(struct options, against), 0, 0},
    {"--tolerance", "check", "X", "check: relative difference of a row (by type); with a dump: ratio of the errors (2)",
     REAL, offsetof(struct options, tolerance), 0, 1e9},
    {"--type", "generate eval check profile convert", "TYPE", "f32, tf32, f16 or bf16 (f32; convert: the file's)", TEXT,
     offsetof(struct options, type), 0, 0},
    {"--from", "convert", "PATH", "convert: the model, as for --model", TEXT, offsetof(struct options, from), 0, 0},
    {"--to", "convert", "PATH", "convert: NAME.bin for llm.c's format, else a folder of Hugging Face's", TEXT,
     offsetof(struct options, to), 0, 0},
    {"--force", "convert", NULL, "convert: replace existing files", SWITCH, offsetof(struct options, force), 0, 0},
    {"--no-tokenizer", "convert", NULL, "convert: the weights alone", SWITCH, offsetof(struct options, no_tokenizer), 0,
     0},
    {"--no-graph", MODELS, NULL, "launch each kernel by itself, without a CUDA graph", SWITCH,
     offsetof(struct options, no_graph), 0, 0},
    {"--attention", MODELS, "FORM", "attention of prompts: taught, fused, or auto (auto)", TEXT,
     offsetof(struct options, attention), 0, 0},
    {"--decode", MODELS, "FORM", "decoding steps: taught, fused, persistent, or auto (auto)", TEXT,
     offsetof(struct options, decode), 0, 0},
    {"--sizes", "bench", "LIST", "bench: sizes of synthetic weights, without --model (124M,355M,774M,1558M)", TEXT,
     offsetof(struct options, sizes), 0, 0},
    {"--lengths", "bench", "LIST", "bench: lengths of prompts; 0: no prompts (128,256,512,1024)", TEXT,
     offsetof(struct options, lengths), 0, 0},
    {"--positions", "bench", "LIST", "bench: first positions of decoding; short is 64; 0: no decoding (short,1000)",
     TEXT, offsetof(struct options, positions), 0, 0},
    {"--types", "bench", "LIST", "bench: f32, tf32, f16, bf16 (bf16,f32)", TEXT, offsetof(struct options, types), 0, 0},
    {"--seconds", "bench", "X", "bench: the least time of measuring a cell (1)", REAL,
     offsetof(struct options, seconds), 0, 600},
    {"--json", "check bench", "FILE", "bench, check against a dump: also write each line as JSON", TEXT,
     offsetof(struct options, json), 0, 0},
    {"--trace", "profile", "FILE", "profile: also write every interval as a Chrome trace (chrome://tracing, Perfetto)",
     TEXT, offsetof(struct options, trace), 0, 0},
    {"--dot", "profile", "FILE", "profile: also draw the passes, with bytes and us, for Graphviz (dot -Tsvg FILE)",
     TEXT, offsetof(struct options, dot), 0, 0},
    {"--quiet", MODELS " convert", NULL, "do not print times at the end", SWITCH, offsetof(struct options, quiet), 0,
     0},
};
enum { OPTIONS = sizeof table / sizeof *table };

const char *model_path(const char *given) {
    static const struct { const char *name, *path; } shipped[] = {{"tiny", GPT2_DIR "/tiny"}};
    if (given == NULL || access(given, F_OK) == 0) { return given; }
    const char *slash = strrchr(given, '/');
    bool below_gpt2 = slash != NULL && slash - given >= 4 && memcmp(slash - 4, "gpt2", 4) == 0 &&
                      (slash - given == 4 || slash[-5] == '/');
    if (slash != NULL && !below_gpt2) { return given; }
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++) {
        if (strcmp(slash != NULL ? slash + 1 : given, shipped[i].name) == 0) { return shipped[i].path; }
    }
    return given;
}

const struct type_name *type_named(const char *name) {
    static const struct type_name types[] = {
        {"f32", GPT2_F32, false}, {"tf32", GPT2_F32, true}, {"f16", GPT2_F16, false}, {"bf16", GPT2_BF16, false}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(name, types[i].name) == 0) { return &types[i]; }
    }
    return NULL;
}

void options_print(FILE *to, const char *command) {
    for (int i = 0; i < OPTIONS; i++) {
        if (command != NULL && strstr(table[i].commands, command) == NULL) { continue; }
        char left[64];
        snprintf(left, sizeof left, "%s %s", table[i].name, table[i].value ? table[i].value : "");
        fprintf(to, "  %-18s %s\n", left, table[i].what);
    }
}

static bool number(const struct option *option, const char *text, double *value, struct gpt2_error *error) {
    char *end;
    errno = 0;
    *value = option->kind == REAL ? strtod(text, &end) : (double)strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || !(*value >= option->least && *value <= option->most)) {
        return gpt2_fail(error, "%s %s: a number from %.16g to %.16g is needed", option->name, text, option->least,
                         option->most);
    }
    return true;
}

static bool take(struct options *options, const struct option *option, const char *text, struct gpt2_error *error) {
    void *place = (char *)options + option->offset;
    double value;
    switch (option->kind) {
        case TEXT: *(const char **)place = text; return true;
        case SWITCH: *(bool *)place = true; return true;
        case PROMPT:
            if (options->prompt_count == MOST_PROMPTS) {
                return gpt2_fail(error, "more than %d prompts", (int)MOST_PROMPTS);
            }
            options->prompts[options->prompt_count++] = text;
            return true;
        case INTEGER:
        case LONG:
        case REAL: break;
    }
    if (!number(option, text, &value, error)) { return false; }
    if (option->kind == INTEGER) { *(int *)place = (int)value; }
    if (option->kind == LONG) { *(long *)place = (long)value; }
    if (option->kind == REAL) { *(double *)place = value; }
    return true;
}

bool options_complete(struct options *options, bool is_bench, struct gpt2_error *error) {
    static const struct option batch = {.name = "--batch", .kind = INTEGER, .least = 1, .most = 1 << 12};
    double value = 1.0;
    if (is_bench) {
        if (options->batches == NULL) { options->batches = "1,4,8,16,32"; }
        return true;
    }
    if (options->batches != NULL && !number(&batch, options->batches, &value, error)) { return false; }
    options->batch = (int)value;
    return true;
}

bool options_parse(struct options *options, const char *command, int count, char **arguments,
                   struct gpt2_error *error) {
    *options = (struct options){.tokens = 64,
                                .top_p = 1.0,
                                .seed = 1,
                                .batch = 1,
                                .tolerance = -1.0, /* the default of the command */
                                .kernels = "reference",
                                .against = "float64",
                                .type = type_by_default,
                                .attention = "auto",
                                .decode = "auto",
                                .sizes = "124M,355M,774M,1558M",
                                .types = "bf16,f32",
                                .lengths = "128,256,512,1024",
                                .positions = "short,1000",
                                .seconds = 1.0};
    for (int i = 0; i < count; i++) {
        int at = 0;
        while (at < OPTIONS && strcmp(table[at].name, arguments[i]) != 0) { at++; }
        if (at == OPTIONS || strstr(table[at].commands, command) == NULL) {
            return gpt2_fail(error, "%s has no option '%s' (gpt2 %s --help lists them)", command, arguments[i],
                             command);
        }
        bool has_value = table[at].kind != SWITCH;
        if (has_value && i + 1 == count) {
            return gpt2_fail(error, "%s needs a value: %s", table[at].name, table[at].value);
        }
        if (table[at].kind == TEXT && arguments[i + 1][0] == '\0') {
            return gpt2_fail(error, "%s is empty: %s", table[at].name, table[at].value);
        }
        if (!take(options, &table[at], arguments[i + has_value], error)) { return false; }
        i += has_value;
    }
    options->model = model_path(options->model);
    options->from = model_path(options->from);
    options->tokenizer = model_path(options->tokenizer);
    return true;
}
