/* program.h — the program gpt2: options, what its commands share, and the commands.
 *
 * Exit status: 0; 1 when `check` finds a difference; 2 after one line that says why not.
 */
#ifndef GPT2_PROGRAM_H
#define GPT2_PROGRAM_H

#include "gpt2/kernels/load.h"
#include "gpt2/model/model.h"
#include "gpt2/tokenizer/tokenizer.h"

enum { MOST_PROMPTS = 64 };

struct options {
    const char *model, *tokenizer, *kernels, *against, *file, *type, *trace, *dot, *attention, *decode;
    const char *from, *to, *choices, *last_word, *json;
    const char *sizes, *batches, *lengths, *types, *positions; /* bench: lists; batches is --batch as given */
    const char *prompts[MOST_PROMPTS];
    int prompt_count;
    int tokens, context, batch, top_k;
    double temperature, top_p, tolerance, seconds;
    long seed;
    bool tf32, no_graph, no_stop, no_tokenizer, force, quiet;
};

extern const char type_by_default[]; /* options.type where --type was not given */

/* From the arguments after the command. False: the error says what is wrong, also of an option that is another command's. */
bool options_parse(struct options *options, const char *command, int count, char **arguments, struct gpt2_error *error);
/* What depends on the command: bench takes a list of batches, the others one number. */
bool options_complete(struct options *options, bool is_bench, struct gpt2_error *error);
/* The path of a model or of its tokenizer: what was given where there is such a file, else the path of the model that ships
 * with the course under that name (tiny, also typed as gpt2/tiny), else what was given. */
const char *model_path(const char *given);
void options_print(FILE *to,
                   const char *command); /* the list for --help: of one command, or, where that is NULL, of all */

/* ---- what every command opens ---- */

struct type_name {
    const char *name;
    enum gpt2_type type;
    bool tf32;
};
const struct type_name *type_named(const char *name); /* f32, tf32, f16, bf16; NULL for another */

bool parse_form(enum gpt2_form *form, const char *option, const char *text, struct gpt2_error *error);

/* The options that the model has whatever the command: kernels, graph, forms. False: an unknown form. */
bool model_settings(struct gpt2_model_options *settings, const struct options *options,
                    const struct kernel_table *kernels, struct gpt2_error *error);

struct session {
    struct gpt2_weights weights;
    struct gpt2_tokenizer *tokenizer;
    struct kernel_choice *kernels;
    struct gpt2_model *model;
    enum gpt2_type type;
};

/* Weights and tokenizer, which belong together; then the model, for what the command knows by then. */
bool session_open(struct session *session, const struct options *options, struct gpt2_error *error);
bool session_start(struct session *session, const struct options *options, const char *kernels, int batch, int prompt,
                   int context, struct gpt2_error *error);
void session_stop(struct session *session); /* the model and its kernels; weights and tokenizer stay */
void session_close(struct session *session);

/* Where the tokenizer of a model lies, in a new string: `given` if there is one; NAME_tokenizer.bin beside NAME.bin; the model's
 * folder, if it has vocab.json or tokenizer.json; gpt2_tokenizer.bin there. NULL: none of them is there. False: out of memory. */
bool session_tokenizer_path(const char *given, const char *model, char **path, struct gpt2_error *error);

double seconds(void);

/* ---- the commands: an exit status; 2 with the error filled ---- */

int command_generate(const struct options *options, struct gpt2_error *error);
int command_eval(const struct options *options, struct gpt2_error *error);
int command_check(const struct options *options, struct gpt2_error *error);
int command_bench(const struct options *options, struct gpt2_error *error);
int command_profile(const struct options *options, struct gpt2_error *error);
int command_convert(const struct options *options, struct gpt2_error *error);

/* ---- parts of the commands ---- */

/* check: the session's model beside a dump (dump.h). *same: within the target. */
bool check_against_dump(struct session *session, const struct options *options, bool *same, struct gpt2_error *error);

/* eval: the files of examples (examples.h). Each prints its line. */
bool eval_choices(struct session *session, const struct options *options, struct gpt2_error *error);
bool eval_last_word(struct session *session, const struct options *options, struct gpt2_error *error);

#endif
