/* program.h — the program gpt2: options, functions that its commands share, and the commands.
 *
 * Exit status: 0; 1 when `check` finds a difference; 2 after an error, which is one line.
 */
#ifndef GPT2_PROGRAM_H
#define GPT2_PROGRAM_H

#include "gpt2/kernels/load.h"
#include "gpt2/model/model.h"
#include "gpt2/program/arguments.h"
#include "gpt2/program/progress.h"
#include "gpt2/tokenizer/tokenizer.h"

enum { MOST_PROMPTS = MOST_TEXTS };

struct options {
    const char *model, *tokenizer, *kernels, *against, *file, *type, *trace, *dot, *attention, *decode;
    const char *from, *to, *choices, *last_word, *json_file, *scheme, *calibrate, *method, *losses;
    const char *sizes, *batches, *lengths, *types, *positions; /* bench: lists */
    struct text_list prompts, stops;
    bool prompt_is_file[MOST_PROMPTS]; /* the prompt is a file's name */
    int tokens, context, stride, batch, top_k, threads;
    double temperature, top_p, min_p, repetition_penalty, tolerance, seconds, rank_timeout;
    long seed, gpus;
    int word_count; /* of the command line, from the command on */
    char **words;
    bool best, tf32, no_graph, no_stop, no_tokenizer, force, quiet, json, context_shift, activations;
};

extern const char type_by_default[]; /* options.type where --type was not given */

/* The options of a command, for arguments.h. */
struct arguments arguments_of(const char *command);

/* words[0] is the command. */
enum arguments_result options_parse(struct options *options, int count, char **words, struct gpt2_error *error);
/* The path of a model or of its tokenizer: what was given where there is such a file, else the path of the model that ships
 * with the course under that name (tiny, also typed as gpt2/tiny), else what was given. */
const char *model_path(const char *given);

/* Where *path is the folder of a run of gpt2 train: replaces it by that of the run's latest checkpoint, or of its best one. Any
 * other path stays. False: the run has no such checkpoint; `best` and no run. option: that names the path, for the message. The
 * new path is valid until the next call. */
bool run_checkpoint(const char **path, const char *option, bool best, struct gpt2_error *error);

/* ---- shared by the commands ---- */

struct type_name {
    const char *name;
    enum gpt2_type type;
    bool tf32;
};
const struct type_name *type_named(const char *name); /* f32, tf32, f16, bf16; NULL for another */

const char *form_name(enum gpt2_form form); /* as options name it */

/* Accepts the forms up to `last`: GPT2_AUTO, GPT2_ROWS or GPT2_PERSISTENT. */
bool parse_form(enum gpt2_form *form, enum gpt2_form last, const char *option, const char *text,
                struct gpt2_error *error);

/* The options of the model: kernels, graph, forms; and --threads. False: an unknown form, or threads on a GPU. */
bool model_settings(struct gpt2_model_options *settings, const struct options *options,
                    const struct kernel_table *kernels, struct gpt2_error *error);

/* The scheme in which the matrices of weights or of a source are on the device. On the CPU backend GPT2_PLAIN, unless --decode
 * names a form or activations are in 8 bits, too: codes save bytes, and there decoding them takes longer than reading the
 * bytes. */
enum gpt2_scheme scheme_on_device(const struct gpt2_weights *weights, const struct options *options);

/* --temperature and the limits of draws. False: limits without a temperature. */
bool sampling_of(struct gpt2_sampling *by, const struct options *options, struct gpt2_error *error);

struct session {
    struct gpt2_weights weights;
    struct gpt2_tokenizer *tokenizer;
    struct kernel_choice *kernels;
    struct gpt2_model *model;
    enum gpt2_type type;
    const struct gpt2_division *division; /* of the model, to be set between open and start; NULL: none */
};

/* session_open opens weights and tokenizer. session_start makes the model, when the command knows its sizes. */
bool session_open(struct session *session, const struct options *options, struct gpt2_error *error);
bool session_start(struct session *session, const struct options *options, const char *kernels, int batch, int prompt,
                   int context, struct gpt2_error *error);
void session_stop(struct session *session); /* closes the model and its kernels; weights and tokenizer stay open */
void session_close(struct session *session);

/* The labs teach GPT-2's GELU alone. Tells on standard error that a learner's set lacks the model's activation
 * (model/activation.cuh). */
void note_activation(const struct gpt2_config *config, const struct kernel_choice *kernels);

/* Does this token end a text? By the model's eos_token_id; where it names none, <|endoftext|> does. session_end_token: the
 * first of these that the model can choose, -1: none. */
bool session_ends_at(const struct session *session, int token);
int session_end_token(const struct session *session);

/* *path: the tokenizer of a model, in a new string. In this order: `given`; NAME_tokenizer.bin beside NAME.bin; the model's
 * folder, if it has vocab.json or tokenizer.json; gpt2_tokenizer.bin in it. NULL: there is none. False: out of memory. */
bool session_tokenizer_path(const char *given, const char *model, char **path, struct gpt2_error *error);

/* This tokenizer; where there is none, an error. */
struct gpt2_tokenizer *session_tokenizer_open(const char *given, const char *model, struct gpt2_error *error);

/* Prints a note for each file of the learner that is newer than what was built from it (stale.c). */
void note_stale_program(void);

/* ---- the commands. They return an exit status; 2 with the error filled ---- */

int command_generate(const struct options *options, struct gpt2_error *error);
int command_eval(const struct options *options, struct gpt2_error *error);
int command_check(const struct options *options, struct gpt2_error *error);
int command_bench(const struct options *options, struct gpt2_error *error);
int command_profile(const struct options *options, struct gpt2_error *error);
int command_convert(const struct options *options, struct gpt2_error *error);
int command_quantize(const struct options *options, struct gpt2_error *error);

/* ---- parts of the commands ---- */

/* quantize: the magnitudes of a plain model's activations for a text (calibrate.c). calibration: open. */
struct gpt2_calibration;
bool calibrate(struct gpt2_calibration *calibration, const struct gpt2_source *source, struct gpt2_tokenizer *tokenizer,
               const struct options *options, int64_t *tokens, struct gpt2_error *error);

/* check: compares the session's model with a dump (check_dump.c). *same: within the target. */
bool check_against_dump(struct session *session, const struct options *options, bool *same, struct gpt2_error *error);

/* eval: evaluates a file of examples (eval_examples.c) and prints one line. */
bool eval_choices(struct session *session, const struct options *options, struct gpt2_error *error);
bool eval_last_word(struct session *session, const struct options *options, struct gpt2_error *error);

#endif
