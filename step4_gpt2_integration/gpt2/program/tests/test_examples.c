/* gpt2 eval --choices and --last-word: compared with float64 on generated files; broken lines. */
#define _GNU_SOURCE
#include "gpt2/program/tests/run.h"

enum { V = 300, QUESTIONS = 24, ENDINGS = 3 };
static struct gpt2_tokenizer *tokenizer;

/* A model whose blocks do nothing, so the likeliest token repeats the last one. */
static bool copying_read(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                         enum gpt2_layout layout, void *out, struct gpt2_error *problem) {
    cr_assert_eq(type, GPT2_F32);
    bool good = tiny_read(context, tensor, layer, type, layout, out, problem);
    float *values = out;
    for (int64_t i = 0; i < gpt2_tensor_elements(&config, tensor); i++) {
        if (tensor == GPT2_LN1W || tensor == GPT2_LN2W || tensor == GPT2_LNFW) {
            values[i] = 1.0f;
        } else if (tensor == GPT2_WPE) {
            values[i] *= 0.1f;
        } else if (tensor != GPT2_WTE) {
            values[i] = 0.0f;
        }
    }
    return good;
}

static struct gpt2_source copying_source(void) {
    struct gpt2_source source = tiny_source(&config);
    source.read = copying_read;
    return source;
}

static void begin_examples(void) {
    char path[128];
    begin();
    tokenizer = gpt2_tokenizer_open(folder, &error);
    cr_assert(tokenizer, "%s", error.text);
    struct gpt2_source source = copying_source();
    snprintf(path, sizeof path, "%s/copying", folder);
    cr_assert(gpt2_hf_write(path, &source, GPT2_F32, -1, &error), "%s", error.text);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, path, &error), "%s", error.text);
}
static void end_examples(void) {
    gpt2_tokenizer_close(tokenizer);
    end();
}
TestSuite(examples, .init = begin_examples, .fini = end_examples, .timeout = 300);

/* log p of `end` after `beginning` in float64, with the last 48 tokens of both as context; are its tokens the likeliest? */
static double reference(const struct gpt2_source *source, const char *beginning, const char *end_, bool *likeliest) {
    struct gpt2_ids ids = {NULL, 0, 0};
    struct states states = {.count = 0};
    cr_assert(gpt2_tokenizer_encode(tokenizer, beginning, strlen(beginning), true, &ids, &error));
    size_t middle = ids.count;
    cr_assert(gpt2_tokenizer_encode(tokenizer, end_, strlen(end_), true, &ids, &error));
    size_t first = ids.count > 49 ? ids.count - 49 : 0;
    cr_assert(
        gpt2_reference(source, ids.ids + first, (int)(ids.count - 1 - first), states_of_reference, &states, &error));
    double sum = 0.0;
    *likeliest = true;
    for (size_t i = middle; i < ids.count; i++) {
        const double *logits = states.at[states.count - 1].values + (i - 1 - first) * V;
        double total = 0.0;
        int best = 0;
        for (int v = 0; v < V; v++) {
            total += exp(logits[v]);
            best = logits[v] > logits[best] ? v : best;
        }
        sum += logits[ids.ids[i]] - log(total);
        *likeliest = *likeliest && best == ids.ids[i];
    }
    states_free(&states);
    gpt2_ids_free(&ids);
    return sum;
}

static FILE *create(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    return file;
}

static const char *word(uint64_t i) {
    static const char *const words[] = {"the", "cat",   "dog", "mat",     "sun", "sat",
                                        "on",  "there", "is",  "nothing", "new", "é"};
    return words[mix(i) % 12];
}
static void words(char *to, int count, uint64_t seed) {
    to[0] = '\0';
    for (int i = 0; i < count; i++) {
        if (i > 0) { strcat(to, " "); }
        strcat(to, word(seed << 16 | (uint64_t)i));
    }
}

static int best_of(const double *scores, const double *over) {
    int best = 0;
    for (int i = 1; i < ENDINGS; i++) {
        if (scores[i] / over[i] > scores[best] / over[best]) { best = i; }
    }
    return best;
}

/* Labels are the likeliest ending, the likeliest over its length, and one that is neither, in turn. */
Test(examples, choices_beside_float64) {
    struct gpt2_source source = tiny_source(&config);
    FILE *file = create("choices");
    int right = 0, right_normalised = 0, differ = 0;
    for (int q = 0; q < QUESTIONS; q++) {
        char context[1024], after[ENDINGS][200]; /* a space, and the ending */
        double scores[ENDINGS], characters[ENDINGS];
        static const double ones[ENDINGS] = {1.0, 1.0, 1.0};
        words(context, q == 5 ? 70 : 1 + q % 5, (uint64_t)q); /* 5: longer than the context */
        for (int e = 0; e < ENDINGS; e++) {
            bool likeliest;
            after[e][0] = ' ';
            words(after[e] + 1, 1 + (e + q) % 4, (uint64_t)(1000 + ENDINGS * q + e));
            scores[e] = reference(&source, context, after[e], &likeliest);
            characters[e] = 0.0;
            for (const char *c = after[e] + 1; *c; c++) { characters[e] += ((unsigned char)*c & 0xc0) != 0x80; }
        }
        int best = best_of(scores, ones), best_normalised = best_of(scores, characters);
        int label = q % 3 == 0 ? best : q % 3 == 1 ? best_normalised : (best + 1) % ENDINGS;
        right += label == best;
        right_normalised += label == best_normalised;
        differ += best != best_normalised;
        fprintf(file, "{\"ctx\": \"%s\", \"endings\": [\"%s\", \"%s\", \"%s\"], \"label\": %s%d%s}\n%s", context,
                after[0] + 1, after[1] + 1, after[2] + 1, q % 2 ? "\"" : "", label, q % 2 ? "\"" : "",
                q == 3 ? "\n" : "");
    }
    fclose(file);
    cr_assert(right > 0 && right < QUESTIONS && differ > 0 && right != right_normalised, "%d %d %d", right,
              right_normalised, differ);
    char wanted[128];
    snprintf(wanted, sizeof wanted, "examples %d  acc %.4f  acc_norm %.4f\n", QUESTIONS, (double)right / QUESTIONS,
             (double)right_normalised / QUESTIONS);
    static const char *const ways[] = {"", "--batch 5", "--batch 1000 --kernels naive"};
    for (int i = 0; i < 3; i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "eval --model @ --choices @/choices --quiet %s", ways[i]);
        succeeds(arguments);
        cr_assert_str_eq(output, wanted);
    }
    succeeds("eval --model @ --choices @/choices");
    says("endings/s");
}

Test(examples, last_words_beside_float64) {
    static const char *const passages[] = {"the cat the", "the cat sat sat", "on the the",
                                           "sun sun",     "a dog dog",       "the é é"};
    enum { PASSAGES = sizeof passages / sizeof *passages };
    struct gpt2_source source = copying_source();
    FILE *file = create("passages");
    int right = 0, count = 0;
    double loss = 0.0;
    for (int i = 0; i < PASSAGES + 12; i++, count++) {
        char text_[1024], beginning[1024];
        if (i < PASSAGES) {
            strcpy(text_, passages[i]);
        } else {
            words(text_, i == PASSAGES ? 70 : 2 + i % 7, (uint64_t)i); /* the first is longer than the context */
        }
        bool likeliest;
        const char *blank = strrchr(text_, ' ');
        snprintf(beginning, sizeof beginning, "%.*s", (int)(blank - text_), text_);
        loss -= reference(&source, beginning, blank, &likeliest);
        right += likeliest;
        fprintf(file, "{\"text\": \"%s%s\"}\n", text_, i == 2 ? " \\n" : "");
    }
    fclose(file);
    cr_assert(right > 1 && right < count, "%d of %d", right, count);
    static const char *const ways[] = {"", "--batch 4", "--batch 64 --kernels naive --no-graph"};
    for (int i = 0; i < 3; i++) {
        char arguments[128];
        int examples;
        double accuracy, perplexity;
        snprintf(arguments, sizeof arguments, "eval --model @/copying --last-word @/passages --quiet %s", ways[i]);
        succeeds(arguments);
        cr_assert_eq(sscanf(output, "examples %d acc %lf perplexity %lf", &examples, &accuracy, &perplexity), 3);
        cr_assert(examples == count && fabs(accuracy - (double)right / count) < 1e-4, "%d of %d: %s", right, count,
                  output);
        cr_assert(fabs(perplexity / exp(loss / count) - 1.0) < 1e-4, "%g: %s", exp(loss / count), output);
    }
}

Test(examples, broken_lines_are_named) {
    static const struct {
        const char *line, *message;
    } choices[] = {
        {"{\"ctx\": \"the\", \"endings\": [\"a\", \"b\"]", "line 3: invalid JSON"},
        {"[1, 2]", "line 3: "},
        {"{\"endings\": [\"a\", \"b\"], \"label\": 0}", "line 3: \"ctx\" is missing, or no text"},
        {"{\"ctx\": \"\", \"endings\": [\"a\", \"b\"], \"label\": 0}", "line 3: \"ctx\" is empty"},
        {"{\"ctx\": \"the\", \"endings\": [\"a\"], \"label\": 0}", "line 3: \"endings\" has to be an array of two"},
        {"{\"ctx\": \"the\", \"endings\": \"ab\", \"label\": 0}", "line 3: \"endings\" has to be an array of two"},
        {"{\"ctx\": \"the\", \"endings\": [\"a\", 2], \"label\": 0}", "line 3: an ending is empty, or no text"},
        {"{\"ctx\": \"the\", \"endings\": [\"a\", \"b\"], \"label\": 2}",
         "line 3: \"label\" has to be a number from 0 to 1"},
        {"{\"ctx\": \"the\", \"endings\": [\"a\", \"b\"], \"label\": -1}", "line 3: \"label\" has to be"},
        {"{\"ctx\": \"the\", \"endings\": [\"a\", \"b\"]}", "line 3: \"label\" has to be"},
        {"{\"ctx\": \"the\", \"endings\": [\"a\", \"b\"], \"label\": \"1x\"}", "line 3: \"label\" has to be"},
    };
    static const struct {
        const char *line, *message;
    } passages[] = {
        {"{\"text\": 3}", "line 3: \"text\" is missing, or no text"},
        {"{\"text\": \"alone\"}", "line 3: \"text\" has no two words"},
        {"{\"text\": \" alone \"}", "line 3: \"text\" has no two words"},
        {"{\"text\": \"a b\"} x", "line 3: invalid JSON"},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        FILE *file = create("choices");
        fprintf(file, "{\"ctx\": \"the\", \"endings\": [\"cat\", \"dog\"], \"label\": 1}\n\n%s\n", choices[i].line);
        fclose(file);
        cr_assert_eq(run("eval --model @ --choices @/choices"), 2, "%s: %s", choices[i].line, output);
        says(choices[i].message);
        cr_assert(strchr(output, '\n') == output + strlen(output) - 1, "not one line: %s", output);
    }
    for (size_t i = 0; i < sizeof passages / sizeof *passages; i++) {
        FILE *file = create("passages");
        fprintf(file, "{\"text\": \"the cat\"}\r\n  \r\n%s\n", passages[i].line);
        fclose(file);
        cr_assert_eq(run("eval --model @ --last-word @/passages"), 2, "%s: %s", passages[i].line, output);
        says(passages[i].message);
    }
}

Test(examples, other_bad_input) {
    fclose(create("empty"));
    cr_assert_eq(run("eval --model @ --choices @/empty"), 2);
    says("there is no example in it");
    cr_assert_eq(run("eval --model @ --choices @/empty --last-word @/empty"), 2);
    says("eval needs --file, --choices or --last-word, and one of them");
    cr_assert_eq(run("eval --model @ --last-word @/absent"), 2);
    says("absent");
    FILE *file = create("long");
    fprintf(file, "{\"text\": \"the ");
    for (int i = 0; i < 60; i++) { fprintf(file, "x!"); }
    fprintf(file, "\"}\n");
    fclose(file);
    cr_assert_eq(run("eval --model @ --last-word @/long"), 2);
    says("line 1: ");
    says("tokens to be predicted, and the model's context is 48");
}
