/* plant_outliers — FROM TO FACTOR CHANNEL...: a copy of a model with outliers, for lessons on quantization. In every layer it
 * multiplies these channels of both LayerNorms by the factor, and divides the columns of the next weight that read them. The
 * model computes the same function, to rounding: y = W LayerNorm(x). The copy is in F32. Exit status: 0, or 2 after an
 * error. */
#include <stdlib.h>
#include <string.h>

#include "common/version.h"
#include "gpt2/formats/hf.h"
#include "gpt2/tokenizer/tokenizer.h"

struct outliers {
    struct gpt2_source from;
    bool *planted; /* (C) */
    float factor;
};

/* A linear weight is (in, out) in the file that is written, so a channel is a row of it. */
static bool read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type, enum gpt2_layout layout,
                 void *out, struct gpt2_error *error) {
    const struct outliers *o = context;
    const bool grows = tensor == GPT2_LN1W || tensor == GPT2_LN1B || tensor == GPT2_LN2W || tensor == GPT2_LN2B;
    const bool shrinks = tensor == GPT2_QKVW || tensor == GPT2_FCW;
    if (type != GPT2_F32 || layout != GPT2_IN_OUT) { return gpt2_fail(error, "F32 alone, as Hugging Face has it"); }
    if (!o->from.read(o->from.context, tensor, layer, type, layout, out, error)) { return false; }
    if (!grows && !shrinks) { return true; }
    const int64_t each = grows ? 1 : gpt2_tensor_rows(&o->from.config, tensor);
    for (int64_t channel = 0; channel < o->from.config.channels; channel++) {
        float *values = (float *)out + channel * each;
        for (int64_t i = 0; o->planted[channel] && i < each; i++) {
            values[i] = grows ? values[i] * o->factor : values[i] / o->factor;
        }
    }
    return true;
}

static bool read_arguments(struct outliers *o, char **arguments, struct gpt2_error *error) {
    char *end;
    o->factor = strtof(*arguments, &end);
    if (end == *arguments || *end != '\0' || !(o->factor > 0.0f && o->factor < 1e6f)) {
        return gpt2_fail(error, "%s: the factor is a number between 0 and a million", *arguments);
    }
    while (*++arguments != NULL) {
        const long channel = strtol(*arguments, &end, 10);
        if (end == *arguments || *end != '\0' || channel < 0 || channel >= o->from.config.channels) {
            return gpt2_fail(error, "%s: a channel is a number from 0 to %d", *arguments, o->from.config.channels - 1);
        }
        o->planted[channel] = true;
    }
    return true;
}

static bool plant(char **arguments, struct gpt2_error *error) {
    struct gpt2_weights weights;
    struct outliers o = {.planted = NULL};
    if (!gpt2_weights_open(&weights, arguments[0], error)) { return false; }
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open(arguments[0], error);
    o.from = gpt2_weights_source(&weights);
    o.planted = calloc((size_t)weights.config.channels, sizeof *o.planted);
    struct gpt2_source source = {.config = weights.config, .read = read, .context = &o};
    bool good = tokenizer != NULL && (o.planted != NULL || gpt2_fail(error, "out of memory")) &&
                read_arguments(&o, arguments + 2, error) &&
                gpt2_hf_write(arguments[1], &source, GPT2_F32, gpt2_tokenizer_end_of_text(tokenizer), error) &&
                gpt2_tokenizer_write_hf(tokenizer, arguments[1], error);
    free(o.planted);
    gpt2_tokenizer_close(tokenizer);
    gpt2_weights_close(&weights);
    return good;
}

int main(int count, char **arguments) {
    struct gpt2_error error = {""};
    const char *first = count > 1 ? arguments[1] : "";
    if (strcmp(first, "-h") == 0 || strcmp(first, "--help") == 0) {
        puts("usage: plant_outliers FROM TO FACTOR CHANNEL...\n\n"
             "Writes a copy of a model that computes the same function with outliers: in each\n"
             "layer, channels of the LayerNorms times FACTOR, and the next weight's columns\n"
             "divided by it.\n\n  -h, --help    print this help\n  --version     print the version");
        return 0;
    }
    if (strcmp(first, "--version") == 0) { return puts("plant_outliers " COURSE_VERSION) < 0 ? 2 : 0; }
    bool good = (count >= 5 || gpt2_fail(&error, "it needs plant_outliers FROM TO FACTOR CHANNEL...")) &&
                plant(arguments + 1, &error);
    if (!good) { fprintf(stderr, "plant_outliers: %s\n", error.text); }
    return good ? 0 : 2;
}
