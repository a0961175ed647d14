/* random_model — FOLDER TEXT: writes a small GPT-2 of seeded random numbers, with a vocabulary learned from the text. Its
 * output is meaningless but the same on every machine, for examples that need a model without training. Exit status: 0, or 2
 * after an error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/version.h"
#include "gpt2/formats/hf.h"
#include "gpt2/tokenizer/tokenizer.h"

static const struct gpt2_config config = {.max_tokens = 128,
                                          .vocabulary = 512,
                                          .padded_vocabulary = 512,
                                          .layers = 2,
                                          .heads = 4,
                                          .channels = 64,
                                          .epsilon = 1e-5f};

static float uniform(uint64_t number) { /* in -1..1 */
    return (float)((int)(gpt2_mix(number) >> 40) - (1 << 23)) / (float)(1 << 23);
}

static bool read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                 void *out, struct gpt2_error *error) {
    (void)context, (void)layout; /* the layout of random numbers does not matter */
    if (type != GPT2_F32) { return gpt2_fail(error, "F32 alone"); }
    float *values = out, size = sqrtf(3.0f / (float)gpt2_tensor_columns(&config, tensor));
    bool is_embedding = tensor == GPT2_WTE || tensor == GPT2_WPE, is_matrix = gpt2_tensor_is_linear(tensor);
    bool is_scale = tensor == GPT2_LN1W || tensor == GPT2_LN2W || tensor == GPT2_LNFW;
    for (int64_t i = 0; i < gpt2_tensor_elements(&config, tensor); i++) {
        float u = uniform((uint64_t)tensor << 56 | (uint64_t)layer << 40 | (uint64_t)i);
        bool prints =
            tensor != GPT2_WTE || i / config.channels < 94 || i / config.channels > 255; /* other bytes are unlikely */
        values[i] = !prints        ? 0.0f
                    : is_embedding ? 0.3f * u * size
                    : is_matrix    ? 2.0f * u * size
                    : is_scale     ? 1.0f + 0.3f * u
                                   : 0.2f * u;
    }
    return true;
}

int main(int count, char **arguments) {
    struct gpt2_error error = {""};
    struct gpt2_source source = {.config = config, .read = read};
    struct gpt2_file text = {NULL, 0, NULL};
    struct gpt2_tokenizer *tokenizer = NULL;
    const char *first = count > 1 ? arguments[1] : "";
    if (strcmp(first, "-h") == 0 || strcmp(first, "--help") == 0) {
        puts("usage: random_model FOLDER TEXT\n\n"
             "Writes a small GPT-2 of seeded random numbers to FOLDER, with a vocabulary learned\n"
             "from the file TEXT.\n\n  -h, --help    print this help\n  --version     print the version");
        return 0;
    }
    if (strcmp(first, "--version") == 0) { return puts("random_model " COURSE_VERSION) < 0 ? 2 : 0; }
    bool good = (count == 3 || gpt2_fail(&error, "it needs a folder and a text: random_model FOLDER TEXT")) &&
                gpt2_file_open(&text, arguments[2], &error) &&
                (tokenizer = gpt2_tokenizer_train(text.bytes, text.size, config.vocabulary, 2, &error)) &&
                gpt2_hf_write(arguments[1], &source, GPT2_F32, gpt2_tokenizer_end_of_text(tokenizer), &error) &&
                gpt2_tokenizer_write_hf(tokenizer, arguments[1], &error);
    gpt2_tokenizer_close(tokenizer);
    gpt2_file_close(&text);
    if (!good) { fprintf(stderr, "random_model: %s\n", error.text); }
    return good ? 0 : 2;
}
