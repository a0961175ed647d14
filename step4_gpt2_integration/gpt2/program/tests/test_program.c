/* The program gpt2: generate, eval of a text, check, profile, bench. */
#define _GNU_SOURCE
#include "gpt2/formats/llmc.h"
#include "gpt2/program/tests/run.h"

#include <cjson/cJSON.h>

TestSuite(program, .init = begin, .fini = end, .timeout = 300);

/* The prompt "the cat" and 12 more tokens, each the likeliest one in float64. The caller frees them. */
static struct gpt2_ids reference_tokens(struct gpt2_tokenizer *tokenizer) {
    struct gpt2_source source = tiny_source(&config);
    struct gpt2_ids ids = {NULL, 0, 0};
    cr_assert(gpt2_tokenizer_encode(tokenizer, "the cat", 7, false, &ids, &error));
    ids.ids = realloc(ids.ids, 64 * sizeof *ids.ids);
    int choices = gpt2_tokenizer_size(tokenizer);
    for (int i = 0; i < 12; i++) {
        struct states states = {.count = 0};
        cr_assert(gpt2_reference(&source, ids.ids, (int)ids.count, states_of_reference, &states, &error));
        const double *logits = states.at[states.count - 1].values + (int64_t)(ids.count - 1) * config.vocabulary;
        int best = 0;
        for (int v = 1; v < choices; v++) { best = logits[v] > logits[best] ? v : best; }
        ids.ids[ids.count++] = best;
        states_free(&states);
    }
    return ids;
}

Test(program, generates_the_references_greedy_tokens) {
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open(folder, &error);
    struct gpt2_text wanted = {NULL, 0, 0};
    struct gpt2_ids ids = reference_tokens(tokenizer);
    struct gpt2_stream stream = {.count = 0};
    for (size_t i = 0; i < ids.count; i++) { gpt2_stream_push(&stream, tokenizer, ids.ids[i], &wanted, &error); }
    gpt2_stream_end(&stream, &wanted, &error);
    static const char *const ways[] = {"", "--kernels naive", "--no-graph",
                                       "--kernels naive,causal_softmax_forward=reference"};
    for (int i = 0; i < 4; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "generate --model @ --prompt 'the cat' --tokens 12 --no-stop --quiet %s",
                 ways[i]);
        succeeds(arguments);
        cr_assert(strlen(output) == wanted.size + 1 && memcmp(output, wanted.bytes, wanted.size) == 0, "%s: %s, not %s",
                  ways[i], output, wanted.bytes);
    }
    gpt2_ids_free(&ids);
    gpt2_text_free(&wanted);
    gpt2_tokenizer_close(tokenizer);
}

/* The greedy text ends before the first token that eos_token_id names, also in a list, for one prompt and for several. */
Test(program, ends_at_the_models_end_tokens) {
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open(folder, &error);
    struct gpt2_ids ids = reference_tokens(tokenizer);
    size_t end = ids.count - 12;
    while (ids.ids[end] != ids.ids[ids.count - 6]) { end++; } /* its first place among the new ones */
    cr_assert(end > ids.count - 12 && end < ids.count - 1);
    for (int way = 0; way < 4; way++) {
        char json[128];
        struct gpt2_text wanted = {NULL, 0, 0};
        struct gpt2_stream stream = {.count = 0};
        for (size_t i = 0; i < end; i++) { gpt2_stream_push(&stream, tokenizer, ids.ids[i], &wanted, &error); }
        gpt2_stream_end(&stream, &wanted, &error);
        snprintf(json, sizeof json, way % 2 ? "{\"eos_token_id\": [-1, 299, %d]}" : "{\"eos_token_id\": %d}",
                 ids.ids[end]);
        write_text("generation_config.json", json, strlen(json));
        succeeds(way < 2 ? "generate --model @ --prompt 'the cat' --tokens 12 --quiet"
                         : "generate --model @ --prompt 'the cat' --tokens 12 --quiet --temperature 1 --top-k 1");
        cr_assert(strlen(output) == wanted.size + 1 && memcmp(output, wanted.bytes, wanted.size) == 0, "%d: %s, not %s",
                  way, output, wanted.bytes);
        succeeds("generate --model @ --prompt 'the cat' --tokens 12 --no-stop --quiet");
        cr_assert(strlen(output) > wanted.size + 1, "%s", output);
        gpt2_text_free(&wanted);
    }
    gpt2_ids_free(&ids);
    gpt2_tokenizer_close(tokenizer);
}

/* A set that is none of the two built-in ones is told that it lacks the model's activation. */
Test(program, a_kernel_set_without_the_activation_is_told_so) {
    struct gpt2_config relative = config;
    relative.activation = GPT2_RELU;
    struct gpt2_source source = tiny_source(&relative);
    cr_assert(gpt2_hf_write(folder, &source, GPT2_F32, 299, &error), "%s", error.text);
    succeeds("check --model @ --prompt 'the cat sat' --kernels naive --quiet");
    cr_assert(strstr(output, "note") == NULL, "%s", output);
    succeeds("check --model @ --prompt 'the cat sat' --kernels naive,layernorm_forward=reference");
    says("note: the kernel set mixed has no relu, the model's activation: the program's own kernel computes it");
}

Test(program, prompts_together_give_what_each_gives_alone) {
    static const char *const prompts[] = {"the cat sat on the mat", "sun", "and the dog"};
    char alone[3][4096];
    for (int i = 0; i < 3; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "generate --model @ --prompt '%s' --tokens 9 --quiet", prompts[i]);
        succeeds(arguments);
        strcpy(alone[i], output);
    }
    succeeds(
        "generate --model @ --prompt 'the cat sat on the mat' --prompt sun --prompt 'and the dog' --tokens 9 --quiet");
    for (int i = 0; i < 3; i++) { says(alone[i]); }
}

Test(program, seeds) {
    char first[4096];
    succeeds("generate --model @ --prompt the --temperature 1.5 --top-k 50 --top-p 0.95 --seed 3 --tokens 20 --quiet");
    strcpy(first, output);
    succeeds("generate --model @ --prompt the --temperature 1.5 --top-k 50 --top-p 0.95 --seed 3 --tokens 20 --quiet");
    cr_assert_str_eq(first, output);
    succeeds("generate --model @ --prompt the --temperature 1.5 --top-k 50 --top-p 0.95 --seed 4 --tokens 20 --quiet");
    cr_assert_str_neq(first, output);
}

Test(program, the_smallest_temperature_takes_the_likeliest_token) {
    char likeliest[4096];
    succeeds("generate --model @ --prompt the --tokens 20 --quiet");
    strcpy(likeliest, output);
    succeeds("generate --model @ --prompt the --temperature 1e-320 --min-p 1e-320 --tokens 20 --quiet");
    cr_assert_str_eq(likeliest, output);
}

Test(program, figures_the_empty_prompt_and_a_full_context) {
    succeeds("generate --model @ --tokens 1000 --no-stop"); /* the context has 48 */
    says(" 47 tokens, ");
    says("tokens/s");
    succeeds("generate --model @ --prompt '' --tokens 1 --no-stop");
    says(" 1 token, ");
}

Test(program, a_prompt_that_fills_the_context_is_written_as_it_is) {
    static const char full[] = "111111111111111111111111111111111111111111111111"; /* 48 tokens: no merge has a digit */
    static const char *const temperatures[] = {"0", "0.8"};
    char arguments[256], wanted[128];
    snprintf(wanted, sizeof wanted, "%s\n", full);
    for (int i = 0; i < 2; i++) {
        snprintf(arguments, sizeof arguments, "generate --model @ --prompt %s --temperature %s --quiet", full,
                 temperatures[i]);
        succeeds(arguments);
        cr_assert_str_eq(output, wanted);
        snprintf(arguments, sizeof arguments,
                 "generate --model @ --prompt %s --prompt sun --tokens 4 --no-stop --temperature %s", full,
                 temperatures[i]);
        succeeds(arguments);
        says(wanted);
        says(" 4 tokens, ");
    }
}

static int text_tokens;

/* The summed loss, in float64, of the text's tokens `first` to `end` - 1, predicted in a window that begins with token `begin`.
 * An `end` past the text is cut. */
static double loss_of_window(int begin, int end, int first) {
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open(folder, &error);
    struct gpt2_source source = tiny_source(&config);
    struct gpt2_ids ids = {NULL, 0, 0};
    struct states states = {.count = 0};
    double sum = 0.0;
    cr_assert(gpt2_tokenizer_encode(tokenizer, text, strlen(text), true, &ids, &error));
    text_tokens = (int)ids.count;
    end = end < text_tokens ? end : text_tokens;
    cr_assert(gpt2_reference(&source, ids.ids + begin, end - 1 - begin, states_of_reference, &states, &error));
    for (int i = first; i < end; i++) {
        const double *logits = states.at[states.count - 1].values + (int64_t)(i - 1 - begin) * config.vocabulary;
        double total = 0.0;
        for (int v = 0; v < config.vocabulary; v++) { total += exp(logits[v]); }
        sum += log(total) - logits[ids.ids[i]];
    }
    states_free(&states);
    gpt2_ids_free(&ids);
    gpt2_tokenizer_close(tokenizer);
    return sum;
}

Test(program, perplexity) {
    char first[4096];
    succeeds("eval --model @ --file @/text --context 16 --kernels naive --quiet");
    strcpy(first, output);
    succeeds("eval --model @ --file @/text --context 16 --batch 3 --quiet");
    double loss, perplexity, loss_naive, perplexity_naive;
    long long tokens, tokens_naive;
    cr_assert_eq(sscanf(first, "tokens %lld loss %lf perplexity %lf", &tokens_naive, &loss_naive, &perplexity_naive),
                 3);
    cr_assert_eq(sscanf(output, "tokens %lld loss %lf perplexity %lf", &tokens, &loss, &perplexity), 3);
    cr_assert(tokens == tokens_naive && fabs(loss - loss_naive) < 1e-5 && fabs(perplexity / exp(loss) - 1.0) < 1e-4);
    double total = 0.0;
    for (int from = 0; from < tokens; from += 16) { total += loss_of_window(from, from + 17, from + 1); }
    cr_assert(fabs(total / (double)tokens - loss) < 1e-5, "%g, not %g", loss, total / (double)tokens);
}

/* Hugging Face's "Perplexity of fixed-length models", in float64. */
Test(program, perplexity_of_overlapping_windows) {
    static const int contexts[] = {48, 16, 16, 16, 16, 7, 2}, strides[] = {24, 8, 16, 1, 5, 3, 1};
    loss_of_window(0, 2, 1); /* counts the tokens */
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        double sum = 0.0, weighted = 0.0, weights = 0.0, loss, perplexity, recipe, bits = 0.0;
        long long predicted = 0, tokens;
        int last = 0;
        for (int begin = 0; last < text_tokens; begin += strides[i]) {
            int end = begin + contexts[i] < text_tokens ? begin + contexts[i] : text_tokens;
            int own = end - last, first = end - own > begin ? end - own : begin + 1;
            double of_window = end > first ? loss_of_window(begin, end, first) : 0.0;
            sum += of_window;
            predicted += end - first;
            if (end > first) { weighted += of_window / (end - first) * (own - 1); }
            weights += own - 1;
            last = end;
        }
        for (int batch = 1; batch < 5; batch += 3) {
            char arguments[200];
            snprintf(arguments, sizeof arguments,
                     "eval --model @ --file @/text --context %d --stride %d --batch %d --quiet", contexts[i],
                     strides[i], batch);
            succeeds(arguments);
            char *of_recipe = strstr(output, "Hugging Face's recipe ");
            cr_assert(of_recipe && sscanf(of_recipe, "Hugging Face's recipe %lf", &recipe) == 1, "%s", output);
            cr_assert_eq(
                sscanf(output, "tokens %lld loss %lf perplexity %lf bits/byte %lf", &tokens, &loss, &perplexity, &bits),
                strides[i] < contexts[i] ? 4 : 3, "%s", output);
            cr_assert(tokens == predicted && fabs(loss - sum / (double)predicted) < 1e-5, "%s: %s, not %g of %lld",
                      arguments, output, sum / (double)predicted, predicted);
            cr_assert(fabs(recipe / exp(weighted / weights) - 1.0) < 2e-5, "%s: %s, not %g", arguments, output,
                      exp(weighted / weights));
            cr_assert(strides[i] == contexts[i] || predicted == text_tokens - 1);
        }
    }
}

Test(program, a_text_of_few_windows_needs_no_room_for_more) {
    succeeds("eval --model @ --file @/text --context 16");
    double few = atof(strstr(output, "windows of 16, ") + strlen("windows of 16, "));
    succeeds("eval --model @ --file @/text --context 16 --batch 4096");
    double many = atof(strstr(output, "windows of 16, ") + strlen("windows of 16, "));
    cr_assert(few > 0.0 && many < 2.0 * few, "%g MB, and %g MB for a batch of 4096", few, many);
}

Test(program, check_takes_a_tolerance_of_zero) {
    succeeds("check --model @ --kernels naive --against naive --tolerance 0");
    says("the same, tolerance 0.00e+00");
    cr_assert_eq(run("check --model @ --kernels naive --against reference --tolerance 0"), 1, "%s", output);
}

Test(program, check_says_where_other_steps_ran_than_those_asked_for) {
    succeeds("check --model @ --prompt 'the cat sat' --decode persistent");
    says("decoding ran in the form taught: the steps of the form persistent have no stages");
    succeeds("check --model @ --prompt 'the cat sat' --decode taught");
    cr_assert(strstr(output, "decoding ran") == NULL, "%s", output);
}

Test(program, check_names_the_first_that_differs) {
    succeeds("check --model @ --prompt 'the cat sat on the mat'");
    says("reference against float64: the same");
    succeeds("check --model @ --kernels naive --against reference");
    says("naive against reference: the same");
    succeeds("check --model @ --type bf16");
    cr_assert_eq(run("check --model @ --kernels naive,bias_gelu_forward=wrong --against naive"), 1, "%s", output);
    cr_assert_eq(run("check --model @ --kernels wrong --against naive"), 1, "%s", output); /* the rest: reference's */
    const char *mark = strstr(output, "<- the first that differs");
    cr_assert(mark, "%s", output);
    while (mark > output && mark[-1] != '\n') { mark--; }
    cr_assert(strncmp(mark, "    0  gelu ", 12) == 0, "%s", output);
}

Test(program, check_covers_decoding) {
    succeeds("check --model @ --prompt the"); /* a token: nothing is decoded */
    cr_assert_eq(run("check --model @ --kernels naive,layernorm_forward=wrong"), 1, "%s", output);
    says("naive,layernorm_forward=wrong against float64: different in decoding only");
    const char *mark = strstr(output, "<- the first that differs, in decoding only");
    cr_assert(mark, "%s", output);
    while (mark > output && mark[-1] != '\n') { mark--; }
    cr_assert(strncmp(mark, "    0  ln1 ", 11) == 0, "%s", output);
}

Test(program, profile) {
    succeeds(
        "profile --model @ --context 20 --tokens 5 --batch 2 --trace @/trace.json --attention taught --decode taught");
    says("2 prompts of 20 tokens: ");
    says("a decoding step from position 21, mean of 5: ");
    says("residual + layernorm ");
    says("qkv ");
    char path[128];
    snprintf(path, sizeof path, "%s/trace.json", folder);
    FILE *file = fopen(path, "r");
    cr_assert(file);
    char *trace = calloc(1, 1 << 20);
    cr_assert(fread(trace, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    cJSON *events = cJSON_Parse(trace);
    /* embedding, 10 a block, 2 at the end; in prompts 2 more a block; 5 decoding steps */
    cr_assert_eq(cJSON_GetArraySize(events), (1 + 2 * 12 + 2) + 5 * (1 + 2 * 10 + 2));
    for (cJSON *event = events->child; event; event = event->next) {
        cr_assert(cJSON_GetObjectItem(event, "dur")->valuedouble >= 0.0);
    }
    cJSON_Delete(events);
    free(trace);
    cr_assert_eq(run("profile --model @ --context 45 --tokens 5"), 2);
    says("its context of 48 has no room for a prompt of 45 and 6 decoding steps");
}

/* B = 2 sequences of T = 20 tokens: a product of N = 40 rows reads N C and 3 C C and writes 3 N C; decoding has N = 2. */
Test(program, profile_says_which_steps_it_times) {
    succeeds("profile --model @ --context 20 --tokens 5 --decode fused");
    cr_assert(!strstr(output, "of the form"));
    succeeds("profile --model @ --context 20 --tokens 5 --decode persistent");
    says("Steps of the form persistent have no stages that could be timed: these are of the form fused.");
}

Test(program, profile_draws_the_passes) {
    succeeds("profile --model @ --context 20 --tokens 5 --batch 2 --dot @/pass.dot --attention taught --decode fused");
    char path[128], text[1 << 14] = "", wanted[64];
    snprintf(path, sizeof path, "%s/pass.dot", folder);
    FILE *file = fopen(path, "r");
    cr_assert(file && fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    const double C = config.channels;
    for (int N = 40; N >= 2; N -= 38) {
        snprintf(wanted, sizeof wanted, ", %.1f kB\\n", 4 * (4 * N * C + 3 * C * C) / 1e3);
        const char *node = strstr(N == 40 ? text : strstr(text, "cluster_1"), "[label=\"qkv\\n");
        cr_assert(node && strstr(node, wanted) && strstr(node, wanted) < strchr(node, ']'), "%s in:\n%s", wanted, text);
    }
    cr_assert(strstr(text, "label=\"2 prompts of 20 tokens: ") && strstr(text, "label=\"block, 2 times\""), "%s", text);
    cr_assert(strstr(text, "causal softmax") && !strstr(strstr(text, "cluster_1"), "causal softmax"), "%s", text);
    cr_assert(strstr(text, "label=\"next block\"") && strstr(text, "label=\"residual + final layernorm"), "%s", text);
    if (system("command -v dot >/dev/null") == 0) {
        char command[300];
        snprintf(command, sizeof command, "dot -Tsvg %s -o %s.svg", path, path);
        cr_assert_eq(system(command), 0);
    }
    cr_assert_eq(run("profile --model @ --context 20 --tokens 5 --dot @/no/such/folder"), 2);
}

Test(program, a_checkpoint_of_llmc) {
    struct gpt2_source source = tiny_source(&config);
    char path[128];
    snprintf(path, sizeof path, "%s/model.bin", folder);
    cr_assert(gpt2_llmc_write(path, &source, GPT2_F32, &error), "%s", error.text);
    char from_folder[4096];
    succeeds("generate --model @ --prompt sun --tokens 10 --quiet");
    strcpy(from_folder, output);
    succeeds("generate --model @/model.bin --prompt sun --tokens 10 --quiet");
    cr_assert_str_eq(from_folder, output);
}

Test(program, bench) {
    succeeds(
        "bench --model @ --batch 1,2 --types f32,bf16 --lengths 5,40 --positions 4,47,48 --tokens 6 --seconds 0.01 "
        "--json @/bench.json");
    if (strstr(GPT2, "/cpu/")) { says("CPU backend: wall time of this machine"); }
    says("not measured: 48 tokens and one more: the context is 48");
    char path[128], line[2048];
    int lines = 0, measured = 0;
    snprintf(path, sizeof path, "%s/bench.json", folder);
    FILE *file = fopen(path, "r");
    for (; file && fgets(line, sizeof line, file) != NULL; lines++) {
        cJSON *json = cJSON_Parse(line);
        const cJSON *rate = cJSON_GetObjectItem(json, "tokens_per_s");
        cr_assert(json && (rate == NULL || rate->valuedouble > 0.0), "%s", line);
        measured += rate != NULL;
        cJSON_Delete(json);
    }
    cr_assert(lines == 20 && measured == 16, "%d lines, %d measured", lines, measured);
    cr_assert_eq(run("bench --sizes 1558M --types f32 --batch 4096 --lengths 0 --positions 1000 --seconds 0"), 0);
    says("not measured: it needs ");
    cr_assert(run("bench --attention quick") == 2 && strstr(output, "--attention quick: auto, taught, fused or rows"));
    cr_assert_eq(run("profile --model @ --batch 1,2"), 2);
    says("--batch 1,2: a whole number from 1 to 4096 is needed");
}

/* The activations of the rows in @/bench.json, in order: "int8 f32 ". */
static void check_activations(const char *arguments, const char *wanted) {
    char command[512], path[128], line[2048], found[256] = "";
    snprintf(command, sizeof command, "bench --model @/coded --types f32 --tokens 2 --seconds 0 --json @/bench.json %s",
             arguments);
    succeeds(command);
    snprintf(path, sizeof path, "%s/bench.json", folder);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file) != NULL) {
        cJSON *json = cJSON_Parse(line);
        const cJSON *activations = cJSON_GetObjectItem(json, "activations");
        cr_assert(json, "%s", line);
        strcat(found, activations != NULL ? activations->valuestring : "none");
        strcat(found, " ");
        cJSON_Delete(json);
    }
    fclose(file);
    cr_assert_str_eq(found, wanted, "%s", arguments);
}

/* docs/eight-bits.md: fused steps multiply codes by activations of the type, as far as their kernel takes the batch. */
Test(program, bench_says_which_activations_ran) {
    succeeds("quantize --from @ --to @/coded --scheme int8 --calibrate @/text --quiet");
    check_activations("--batch 1,8,9 --lengths 5 --positions 4", "int8 f32 int8 f32 int8 int8 ");
    check_activations("--batch 1 --lengths 5 --positions 4 --no-graph", "int8 f32 ");
    check_activations("--batch 9 --lengths 5 --positions 4 --attention taught --decode taught", "f32 f32 ");
    check_activations("--batch 1 --lengths 0 --positions 4,48 --decode rows", "int8 none ");
    struct gpt2_config wide = config;
    wide.layers = 1, wide.heads = 65, wide.channels = 1040; /* 8 rows and a LayerNorm's weights: above 40 KB */
    const struct gpt2_source source = tiny_source(&wide);
    cr_assert(gpt2_hf_write(folder, &source, GPT2_F32, -1, &error), "%s", error.text);
    succeeds("quantize --from @ --to @/coded --scheme int8 --calibrate @/text --quiet --force");
    check_activations("--batch 7,8 --lengths 0 --positions 4", "f32 int8 ");
}

Test(program, forms_write_the_same_text) {
    char taught[4096];
    succeeds("generate --model @ --prompt 'the cat' --tokens 30 --no-stop --quiet --attention taught --decode taught");
    strcpy(taught, output);
    succeeds("generate --model @ --prompt 'the cat' --tokens 30 --no-stop --quiet --attention fused --decode fused");
    cr_assert_str_eq(output, taught);
    succeeds("generate --model @ --prompt 'the cat' --tokens 30 --no-stop --quiet --attention rows --decode fused");
    cr_assert_str_eq(output, taught);
    succeeds("generate --model @ --prompt 'the cat' --tokens 30 --no-stop --quiet --attention taught --decode rows");
    cr_assert_str_eq(output, taught);
    cr_assert_eq(run("bench --decode columns"), 2);
    says("--decode columns: auto, taught, fused, rows or persistent");
    cr_assert_eq(run("train --data @ --out @/run --steps 1 --attention rows"), 2);
    says("--attention rows: auto, taught or fused");
}

Test(program, the_shipped_model_is_called_by_its_name) {
    static const char *const names[] = {"tiny", "gpt2/tiny", "../gpt2/tiny", "course/gpt2/tiny",
                                        "step4_gpt2_integration/gpt2/tiny"};
    static char first[sizeof output];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "generate --model %s --prompt 'In the' --tokens 3 --quiet", names[i]);
        succeeds(arguments);
        cr_assert(strstr(output, "In the") == output, "%s: %s", names[i], output);
        if (i == 0) { strcpy(first, output); }
        cr_assert_str_eq(output, first, "%s", names[i]);
    }
    succeeds("convert --from tiny --to @/other --quiet");
    cr_assert_eq(run("--help >@/help; cd @ && echo {} >tiny && " GPT2 " generate --model tiny"), 2);
    says("gpt2: tiny:"); /* a file of that name comes first */
    static const char *const others[] = {"small", "gpt2/small", "models/tiny", "mygpt2/tiny", "tiny/", "/tiny"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "generate --model %s", others[i]);
        cr_assert_eq(run(arguments), 2, "%s: %s", others[i], output);
        says(others[i]);
    }
}

Test(program, a_program_older_than_its_files_says_so) {
    char command[1024];
    snprintf(command, sizeof command,
             "program=$(realpath %s) && cd %s && cp $program copy && touch -d '1 hour ago' copy && touch decode.cu && "
             "touch -d '1 day ago' block.cu && ls $PWD/*.cu >copy.sources && ./copy check --model none 2>&1",
             GPT2, folder);
    FILE *said = popen(command, "r");
    cr_assert(said);
    output[fread(output, 1, sizeof output - 1, said)] = '\0';
    pclose(said);
    says("gpt2: note: decode.cu is newer than copy");
    cr_assert(!strstr(output, "block.cu"), "%s", output);
}

/* ---- progress ---- */

/* On a terminal, which script makes, a line is redrawn and erased; elsewhere, or with --quiet, there is none. */
Test(program, long_work_shows_itself_on_a_terminal) {
    enum { COPIES = 400 }; /* more than half a second */
    static char longer[COPIES * sizeof text];
    for (int i = 0; i < COPIES; i++) { memcpy(longer + (size_t)i * (sizeof text - 1), text, sizeof text - 1); }
    write_text("longer", longer, COPIES * (sizeof text - 1));
    if (run("--version >/dev/null; script -qec true /dev/null >/dev/null") != 0) { cr_skip("no script(1)"); }
    static const char eval[] = GPT2 " eval --model @ --file @/longer --kernels naive";
    char command[512];
    snprintf(command, sizeof command, "TERM=xterm script -qec '%s' /dev/null", eval);
    cr_assert_eq(run_command(command), 0, "%s", output);
    char *last = NULL;
    for (char *at = output; (at = strstr(at, "\r\033[K")) != NULL; at++) { last = at; }
    says("predicting: ");
    says(" windows, ");
    says(" left");
    cr_assert(last && strncmp(last, "\r\033[Ktokens ", strlen("\r\033[Ktokens ")) == 0, "it is erased: %s", output);
    static const char *const silent[] = {"TERM=xterm script -qec '%s --quiet' /dev/null",
                                         "TERM=dumb script -qec '%s' /dev/null", "%s"};
    for (int i = 0; i < 3; i++) {
        snprintf(command, sizeof command, silent[i], eval);
        cr_assert_eq(run_command(command), 0, "%s", output);
        cr_assert(strstr(output, "tokens ") == output && !strstr(output, "left"), "%s: %s", command, output);
    }
}
