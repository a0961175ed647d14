/* options.c — the options of all commands but train, in one table (arguments.h). Also names of models, types and forms. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

const char type_by_default[] = "f32";

#define MODELS       "generate eval check bench profile"
#define FIELD(field) offsetof(struct options, field)

enum role { PLAIN, PROMPT_FILE };

/* An option whose meaning differs between commands has a row for each meaning. */
static const struct argument table[] = {
    {"--model", MODELS, "PATH", NULL,
     "the model: a folder of Hugging Face's, its .safetensors, a checkpoint of llm.c, the folder of a run of gpt2 "
     "train, or tiny, which comes with the course",
     ARGUMENT_TEXT, FIELD(model), 0, 0, PLAIN},
    {"--from", "convert quantize", "PATH", NULL, "the model to read: a path, or tiny", ARGUMENT_TEXT, FIELD(from), 0, 0,
     PLAIN},
    {"--best", MODELS " convert quantize", NULL, NULL,
     "of the folder of a run: its checkpoint with the lowest loss on --val, in place of the latest", ARGUMENT_SWITCH,
     FIELD(best), 0, 0, PLAIN},
    {"--to", "convert", "PATH", NULL, "where to: NAME.bin for llm.c's format, else a folder of Hugging Face's",
     ARGUMENT_TEXT, FIELD(to), 0, 0, PLAIN},
    {"--to", "quantize", "PATH", NULL, "the folder to write", ARGUMENT_TEXT, FIELD(to), 0, 0, PLAIN},
    {"--scheme", "quantize", "SCHEME", NULL,
     "int8: whole numbers; fp8: floats of 8 bits (e4m3); each with a scale for every output channel", ARGUMENT_TEXT,
     FIELD(scheme), 0, 0, PLAIN},
    {"--calibrate", "quantize", "FILE", NULL,
     "activations of prompts in 8 bits, too, with scales from what the model computes for this text", ARGUMENT_TEXT,
     FIELD(calibrate), 0, 0, PLAIN},
    {"--method", "quantize", "METHOD", "absmax",
     "with --calibrate: a scale from the largest magnitude (absmax), from that of 99.99 % of the values (percentile), "
     "or "
     "after evening out channels (smooth)",
     ARGUMENT_TEXT, FIELD(method), 0, 0, PLAIN},
    {"--prompt", "generate", "TEXT", NULL,
     "the text to continue; - reads it from standard input; may be given many times", ARGUMENT_TEXTS, FIELD(prompts), 0,
     0, PLAIN},
    {"--prompt-file", "generate", "FILE", NULL, "a file with a text to continue; may be given many times",
     ARGUMENT_TEXTS, FIELD(prompts), 0, 0, PROMPT_FILE},
    {"--prompt", "check", "TEXT", NULL, "the text for the comparison (a sentence of English)", ARGUMENT_TEXTS,
     FIELD(prompts), 0, 0, PLAIN},
    {"--file", "eval", "FILE", NULL, "predict a text, or a file of tokens in llm.c's format", ARGUMENT_TEXT,
     FIELD(file), 0, 0, PLAIN},
    {"--losses", "eval", "FILE", NULL, "with --file: also write the loss of each token to FILE, one a line",
     ARGUMENT_TEXT, FIELD(losses), 0, 0, PLAIN},
    {"--choices", "eval", "FILE", NULL,
     "choose among endings: lines {\"ctx\": ..., \"endings\": [...], \"label\": 0}, as HellaSwag has them",
     ARGUMENT_TEXT, FIELD(choices), 0, 0, PLAIN},
    {"--last-word", "eval", "FILE", NULL, "predict the last word of each line {\"text\": ...}, as LAMBADA has them",
     ARGUMENT_TEXT, FIELD(last_word), 0, 0, PLAIN},
    {"--tokens", "generate", "N", "64", "how many tokens to write at most", ARGUMENT_INT, FIELD(tokens), 1, 1 << 20,
     PLAIN},
    {"--tokens", "bench profile", "N", "64", "how many decoding steps to measure", ARGUMENT_INT, FIELD(tokens), 1,
     1 << 20, PLAIN},
    {"--stop", "generate", "TEXT", NULL,
     "end where the model writes this text, without printing it; may be given many times", ARGUMENT_TEXTS, FIELD(stops),
     0, 0, PLAIN},
    {"--no-stop", "generate", NULL, NULL, "continue after an end of text", ARGUMENT_SWITCH, FIELD(no_stop), 0, 0,
     PLAIN},
    {"--context-shift", "generate", NULL, NULL, "when the context is full, drop its oldest half and continue",
     ARGUMENT_SWITCH, FIELD(context_shift), 0, 0, PLAIN},
    {"--temperature", "generate bench", "X", "0",
     "draw from the probabilities of the logits divided by X; 0: take the likeliest token", ARGUMENT_REAL,
     FIELD(temperature), 0, 100, PLAIN},
    {"--top-k", "generate bench", "K", "0", "draw among the K likeliest tokens; 0: among all", ARGUMENT_INT,
     FIELD(top_k), 0, INT_MAX, PLAIN},
    {"--top-p", "generate bench", "P", "1", "draw among the fewest likeliest tokens with a total probability of P",
     ARGUMENT_REAL_ABOVE, FIELD(top_p), 0, 1, PLAIN},
    {"--min-p", "generate bench", "P", "0",
     "draw among the tokens with at least P times the probability of the likeliest", ARGUMENT_REAL, FIELD(min_p), 0, 1,
     PLAIN},
    {"--repetition-penalty", "generate", "X", "1",
     "divide the positive logits of the tokens in the context by X, and multiply the negative ones", ARGUMENT_REAL,
     FIELD(repetition_penalty), 1e-3, 1e3, PLAIN},
    {"--seed", "generate", "N", "1", "random seed of the draws", ARGUMENT_LONG, FIELD(seed), 0, 9e15, PLAIN},
    {"--seed", "bench", "N", "1", "random seed of the synthetic weights, and of draws", ARGUMENT_LONG, FIELD(seed), 0,
     9e15, PLAIN},
    {"--context", "eval", "T", NULL, "tokens in a window (default: the model's context)", ARGUMENT_INT, FIELD(context),
     1, 1 << 20, PLAIN},
    {"--stride", "eval", "N", NULL,
     "let windows overlap: each begins N tokens after the one before it, and only its new tokens count", ARGUMENT_INT,
     FIELD(stride), 1, 1 << 20, PLAIN},
    {"--context", "profile", "T", NULL, "tokens of the prompt (default: what the model's context has room for)",
     ARGUMENT_INT, FIELD(context), 1, 1 << 20, PLAIN},
    {"--batch", "eval", "B", "1", "how many windows or examples to compute at once", ARGUMENT_INT, FIELD(batch), 1,
     1 << 12, PLAIN},
    {"--batch", "profile", "B", "1", "how many sequences to compute at once", ARGUMENT_INT, FIELD(batch), 1, 1 << 12,
     PLAIN},
    {"--sizes", "bench", "LIST", "124M,355M,774M,1558M", "sizes of synthetic weights, without --model", ARGUMENT_TEXT,
     FIELD(sizes), 0, 0, PLAIN},
    {"--scheme", "bench", "SCHEME", NULL, "keep the matrices of synthetic weights in 8 bits: int8 or fp8",
     ARGUMENT_TEXT, FIELD(scheme), 0, 0, PLAIN},
    {"--activations", "bench", NULL, NULL, "with --scheme: activations of prompts in 8 bits, too", ARGUMENT_SWITCH,
     FIELD(activations), 0, 0, PLAIN},
    {"--types", "bench", "LIST", "bf16,f32", "of f32, tf32, f16 and bf16", ARGUMENT_TEXT, FIELD(types), 0, 0, PLAIN},
    {"--batch", "bench", "LIST", "1,4,8,16,32", "how many sequences to compute at once", ARGUMENT_TEXT, FIELD(batches),
     0, 0, PLAIN},
    {"--lengths", "bench", "LIST", "128,256,512,1024", "lengths of prompts; 0: no prompts", ARGUMENT_TEXT,
     FIELD(lengths), 0, 0, PLAIN},
    {"--positions", "bench", "LIST", "short,1000", "first positions of decoding; short is 64; 0: no decoding",
     ARGUMENT_TEXT, FIELD(positions), 0, 0, PLAIN},
    {"--seconds", "bench", "X", "1", "measure each cell at least so long", ARGUMENT_REAL, FIELD(seconds), 0, 600,
     PLAIN},
    {"--against", "check", "SET", "float64",
     "compare with another kernel set, with float64 (plain loops on the host), or with a dump NAME.safetensors",
     ARGUMENT_TEXT, FIELD(against), 0, 0, PLAIN},
    {"--tolerance", "check", "X", NULL,
     "the largest relative difference of a row (default: by type); with a dump, the largest ratio of errors (default: "
     "2)",
     ARGUMENT_REAL, FIELD(tolerance), 0, 1e9, PLAIN},
    {"--tokenizer", "generate eval check profile convert quantize", "PATH", NULL,
     "a folder or file with the tokenizer (default: beside the model)", ARGUMENT_TEXT, FIELD(tokenizer), 0, 0, PLAIN},
    {"--no-tokenizer", "convert quantize", NULL, NULL, "write the weights alone", ARGUMENT_SWITCH, FIELD(no_tokenizer),
     0, 0, PLAIN},
    {"--type", "generate eval check profile", "TYPE", "f32", "compute in f32, tf32, f16 or bf16", ARGUMENT_TEXT,
     FIELD(type), 0, 0, PLAIN},
    {"--type", "convert", "TYPE", NULL, "write f32, f16 or bf16 (default: the type of the file)", ARGUMENT_TEXT,
     FIELD(type), 0, 0, PLAIN},
    {"--type", "quantize", "TYPE", NULL,
     "write biases and LayerNorms as f32, f16 or bf16 (default: the type of the file)", ARGUMENT_TEXT, FIELD(type), 0,
     0, PLAIN},
    {"--kernels", MODELS " quantize", "SET", "reference",
     "the kernel set: naive, reference, lab or a path; SET,op=SET,... takes single ops from another", ARGUMENT_TEXT,
     FIELD(kernels), 0, 0, PLAIN},
    {"--attention", MODELS, "FORM", "auto", "attention of prompts: taught, fused, rows or auto", ARGUMENT_TEXT,
     FIELD(attention), 0, 0, PLAIN},
    {"--decode", MODELS, "FORM", "auto", "decoding steps: taught, fused, rows, persistent or auto", ARGUMENT_TEXT,
     FIELD(decode), 0, 0, PLAIN},
    {"--no-graph", MODELS, NULL, NULL, "launch each kernel by itself, without a CUDA graph", ARGUMENT_SWITCH,
     FIELD(no_graph), 0, 0, PLAIN},
    {"--threads", MODELS " quantize", "N", NULL,
     "processor threads of the CPU backend (default: one for each processor)", ARGUMENT_INT, FIELD(threads), 1, 256,
     PLAIN},
    {"--gpus", "generate bench", "N", "1",
     "divide the model among N GPUs of this machine, a process each; N divides its number of heads", ARGUMENT_LONG,
     FIELD(gpus), 1, 1 << 10, PLAIN},
    {"--rank-timeout", "generate bench", "S", "60",
     "seconds that a rank waits for another, after the first step; 0: no limit", ARGUMENT_REAL, FIELD(rank_timeout), 0,
     1e6, PLAIN},
    {"--json", "generate", NULL, NULL, "print tokens, text and times as one JSON object, instead of the text",
     ARGUMENT_SWITCH, FIELD(json), 0, 0, PLAIN},
    {"--json", "bench", "FILE", NULL, "also write each line as a JSON object to FILE", ARGUMENT_TEXT, FIELD(json_file),
     0, 0, PLAIN},
    {"--json", "check", "FILE", NULL, "with a dump: also write each line as a JSON object to FILE", ARGUMENT_TEXT,
     FIELD(json_file), 0, 0, PLAIN},
    {"--trace", "profile", "FILE", NULL, "also write every interval as a Chrome trace (chrome://tracing, Perfetto)",
     ARGUMENT_TEXT, FIELD(trace), 0, 0, PLAIN},
    {"--dot", "profile", "FILE", NULL, "also draw the passes, with bytes and times, for Graphviz", ARGUMENT_TEXT,
     FIELD(dot), 0, 0, PLAIN},
    {"--force", "convert quantize", NULL, NULL, "replace existing files", ARGUMENT_SWITCH, FIELD(force), 0, 0, PLAIN},
    {"--quiet", MODELS " convert quantize", NULL, NULL, "print the result alone: no times, notes or progress",
     ARGUMENT_SWITCH, FIELD(quiet), 0, 0, PLAIN},
};

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

const char *form_name(enum gpt2_form form) {
    static const char *const names[] = {[GPT2_TAUGHT] = "taught",
                                        [GPT2_FUSED] = "fused",
                                        [GPT2_AUTO] = "auto",
                                        [GPT2_ROWS] = "rows",
                                        [GPT2_PERSISTENT] = "persistent"};
    return names[form];
}

struct arguments arguments_of(const char *command) {
    return (struct arguments){table, sizeof table / sizeof *table, command};
}

static bool take(void *context, int row, const char *text, struct gpt2_error *error) {
    struct options *options = context;
    if (!argument_store(options, &table[row], text, error)) { return false; }
    if (table[row].role == PROMPT_FILE) { options->prompt_is_file[options->prompts.count - 1] = true; }
    return true;
}

enum arguments_result options_parse(struct options *options, int count, char **words, struct gpt2_error *error) {
    const struct arguments arguments = arguments_of(words[0]);
    *options = (struct options){.type = type_by_default, .word_count = count, .words = words};
    options->tolerance = -1.0; /* the default of the command */
    if (!arguments_store_usual(&arguments, options, error)) { return ARGUMENTS_WRONG; }
    enum arguments_result result = arguments_parse(&arguments, count, words, take, options, error);
    options->model = model_path(options->model);
    options->from = model_path(options->from);
    options->tokenizer = model_path(options->tokenizer);
    if (result != ARGUMENTS_TAKEN) { return result; }
    const bool converts = strcmp(arguments.command, "convert") == 0 || strcmp(arguments.command, "quantize") == 0;
    return run_checkpoint(converts ? &options->from : &options->model, converts ? "--from" : "--model", options->best,
                          error)
               ? ARGUMENTS_TAKEN
               : ARGUMENTS_WRONG;
}
