/* The program gpt2 generate: prompts from everywhere, stops, the context's end, JSON. */
#define _GNU_SOURCE
#include "gpt2/program/tests/run.h"

#include <cjson/cJSON.h>

TestSuite(texts, .init = begin, .fini = end, .timeout = 300);

/* Runs `generate --json ARGUMENTS`. The caller deletes the object. */
static cJSON *run_json(const char *arguments) {
    char command[2048];
    snprintf(command, sizeof command, "generate --model @ --json --quiet %s", arguments);
    succeeds(command);
    cJSON *json = cJSON_ParseWithOpts(output, NULL, false);
    cr_assert(json, "%s: %s", arguments, output);
    return json;
}

static const cJSON *sequence(const cJSON *json, int b) {
    return cJSON_GetArrayItem(cJSON_GetObjectItem(json, "sequences"), b);
}

static const char *text_of(const cJSON *json, int b, const char *name) {
    const char *string = cJSON_GetStringValue(cJSON_GetObjectItem(sequence(json, b), name));
    cr_assert(string, "no %s", name);
    return string;
}

static int ids_of(const cJSON *json, int b, const char *name, int32_t *ids) {
    const cJSON *array = cJSON_GetObjectItem(sequence(json, b), name), *item;
    int count = 0;
    cr_assert(cJSON_IsArray(array));
    cJSON_ArrayForEach(item, array) {
        ids[count++] = item->valueint;
    }
    return count;
}

/* ---- prompts ---- */

Test(texts, prompts_come_from_the_command_line_a_file_or_standard_input) {
    static const char *const ways[] = {
        "--prompt-file @/prompt", "--prompt-file=@/prompt", "--prompt - <@/prompt",
        "--prompt=- <@/exact",    "--prompt-file @/exact",  "--prompt-file /dev/stdin <@/exact",
    };
    char first[4096];
    write_text("exact", "the cat\nsat", 11);
    write_text("prompt", "the cat\nsat\n", 12); /* one newline at the end is the file's, not the prompt's */
    succeeds("generate --model @ --prompt 'the cat\nsat' --tokens 9 --quiet");
    strcpy(first, output);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "generate --model @ --tokens 9 --quiet %s", ways[i]);
        succeeds(arguments);
        cr_assert_str_eq(output, first, "%s", ways[i]);
    }
    write_text("two", "the cat\n\n", 9);
    cJSON *json = run_json("--prompt a --prompt-file @/two --prompt - --prompt '' --tokens 1 <@/exact");
    cr_assert_str_eq(text_of(json, 0, "prompt"), "a");
    cr_assert_str_eq(text_of(json, 1, "prompt"), "the cat\n");
    cr_assert_str_eq(text_of(json, 2, "prompt"), "the cat\nsat");
    cr_assert_str_eq(text_of(json, 3, "prompt"), "");
    cJSON_Delete(json);
}

Test(texts, several_prompts_are_printed_as_one_is) {
    static const char *const prompts[] = {"'the cat'", "''", "\"$(printf '\\303\\244\\377x\\342\\202')\"", "sun"};
    char alone[4][4096], together[512] = "generate --model @ --tokens 12 --no-stop --quiet", *at = output;
    for (int i = 0; i < 4; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "generate --model @ --tokens 12 --no-stop --quiet --prompt %s",
                 prompts[i]);
        succeeds(arguments);
        strcpy(alone[i], output);
        strcat(strcat(together, " --prompt "), prompts[i]);
    }
    cr_assert(strstr(alone[2], "\xc3\xa4\xef\xbf\xbdx"), "%s", alone[2]);
    succeeds(together);
    for (int i = 0; i < 4; i++) {
        char wanted[4200];
        snprintf(wanted, sizeof wanted, "--- %d ---\n%s", i + 1, alone[i]);
        cr_assert_eq(strncmp(at, wanted, strlen(wanted)), 0, "%s, not %s", at, wanted);
        at += strlen(wanted);
    }
    cr_assert_eq(*at, '\0');
}

Test(texts, figures_follow_the_text_on_a_line_of_their_own) {
    static const char *const ways[] = {"", "--prompt sun --prompt the", "--json", "--stop zzzz", "--temperature 1"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "generate --model @ --prompt 'the cat' --tokens 9 %s", ways[i]);
        succeeds(arguments); /* both streams are one pipe */
        const char *figures = strstr(output, "weights 0.");
        cr_assert(figures && figures > output && figures[-1] == '\n', "%s: %s", ways[i], output);
        cr_assert(strchr(figures, '\n') == output + strlen(output) - 1, "%s: %s", ways[i], output);
    }
}

/* ---- stops ---- */

/* The first stops that occur in the greedy text, at every place of it. */
Test(texts, a_stop_ends_the_text_before_it) {
    succeeds("generate --model @ --prompt the --tokens 20 --no-stop --quiet");
    char whole[4096], arguments[512];
    strcpy(whole, output);
    const char *text_begins = whole + 3;
    size_t length = strcspn(text_begins, "\xef'\\\n"); /* what a shell and UTF-8 leave alone */
    cr_assert(length > 6, "%s", whole);
    for (size_t at = 0; at + 4 <= length; at += 3) {
        char stop[8];
        snprintf(stop, sizeof stop, "%.4s", text_begins + at);
        size_t found = (size_t)(strstr(text_begins, stop) - whole);
        snprintf(arguments, sizeof arguments,
                 "generate --model @ --prompt the --tokens 20 --no-stop --quiet --stop '%s' --stop=%s", stop, "zzzz");
        succeeds(arguments);
        cr_assert(strncmp(output, whole, found) == 0 && strcmp(output + found, "\n") == 0, "stop '%s' of %s: %s", stop,
                  whole, output);
        snprintf(arguments, sizeof arguments,
                 "--prompt the --tokens 20 --no-stop --temperature 0.01 --top-k 1 --stop '%s'", stop);
        cJSON *json = run_json(arguments);
        cr_assert(strncmp(text_of(json, 0, "text"), text_begins, found - 3) == 0 &&
                      strlen(text_of(json, 0, "text")) == found - 3,
                  "%s", output);
        cr_assert_str_eq(text_of(json, 0, "ended_by"), "stop");
        cr_assert_str_eq(text_of(json, 0, "stop"), stop);
        cJSON_Delete(json);
    }
    succeeds("generate --model @ --prompt the --tokens 20 --no-stop --quiet --stop the --stop 'the '");
    cr_assert_eq(strncmp(output, "the", 3), 0, "a stop is not looked for in the prompt: %s", output);
}

Test(texts, a_stop_s_beginning_at_the_end_is_printed) {
    succeeds("generate --model @ --prompt the --tokens 8 --no-stop --quiet");
    char whole[4096], arguments[512];
    strcpy(whole, output);
    size_t length = strlen(whole) - 1;
    cr_assert(length > 3 && (unsigned char)whole[length - 1] < 0x80, "%s", whole);
    snprintf(arguments, sizeof arguments,
             "generate --model @ --prompt the --tokens 8 --no-stop --quiet --stop '%c never'", whole[length - 1]);
    succeeds(arguments);
    cr_assert_str_eq(output, whole);
}

/* ---- the end of the context ---- */

Test(texts, a_full_context_says_so) {
    succeeds("generate --model @ --prompt the --tokens 1000 --no-stop");
    says("\ngpt2: note: the context of 48 tokens is full after 47 of 1000 new ones; --context-shift continues\n");
    succeeds("generate --model @ --prompt the --tokens 47 --no-stop");
    cr_assert(!strstr(output, "note"), "%s", output);
    succeeds("generate --model @ --prompt the --prompt sun --tokens 1000 --no-stop");
    says("gpt2: note: prompt 2: the context of 48 tokens is full");
    cJSON *json = run_json("--prompt the --tokens 1000 --no-stop");
    cr_assert_str_eq(text_of(json, 0, "ended_by"), "context");
    cJSON_Delete(json);
    json = run_json("--prompt the --tokens 5 --no-stop");
    cr_assert_str_eq(text_of(json, 0, "ended_by"), "tokens");
    cJSON_Delete(json);
}

/* Greedy in float64: a full context of 48 loses its first 24 tokens, and the rest is a new prompt. */
static void expect_shifted(int32_t *ids, int prompt, int count, int choices) {
    struct gpt2_source source = tiny_source(&config);
    int first = 0;
    for (int i = prompt; i < count; i++) {
        struct states states = {.count = 0};
        if (i - first == config.max_tokens) { first += config.max_tokens / 2; }
        cr_assert(gpt2_reference(&source, ids + first, i - first, states_of_reference, &states, &error));
        const double *logits = states.at[states.count - 1].values + (int64_t)(i - first - 1) * config.vocabulary;
        int best = 0;
        for (int v = 1; v < choices; v++) { best = logits[v] > logits[best] ? v : best; }
        cr_assert_eq(ids[i], best, "token %d of the text", i);
        states_free(&states);
    }
}

Test(texts, a_shifted_context_is_a_fresh_run_on_the_kept_tokens) {
    static const char *const ways[] = {"", "--repetition-penalty 1.0 --temperature 0.001 --top-k 1",
                                       "--prompt sun --prompt 'the cat sat on the mat and the dog'"};
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open(folder, &error);
    for (int i = 0; i < 3; i++) {
        char arguments[256];
        int32_t ids[256];
        snprintf(arguments, sizeof arguments, "--context-shift --prompt the --tokens 120 --no-stop %s", ways[i]);
        cJSON *json = run_json(arguments);
        for (int b = 0; b < (i == 2 ? 3 : 1); b++) {
            int prompt = ids_of(json, b, "prompt_tokens", ids), written = ids_of(json, b, "tokens", ids + prompt);
            cr_assert_eq(written, 120);
            cr_assert_str_eq(text_of(json, b, "ended_by"), "tokens");
            expect_shifted(ids, prompt, prompt + written, gpt2_tokenizer_size(tokenizer));
        }
        cJSON_Delete(json);
    }
    gpt2_tokenizer_close(tokenizer);
    static const char full[] = "111111111111111111111111111111111111111111111111"; /* 48 tokens */
    char arguments[256];
    snprintf(arguments, sizeof arguments, "generate --model @ --context-shift --prompt %s --tokens 3 --no-stop", full);
    succeeds(arguments);
    says(" 3 tokens, ");
}

/* ---- JSON ---- */

Test(texts, json_is_valid_for_any_bytes) {
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open(folder, &error);
    static const char bytes[] = "\"\\\0\x01\x7f\xff\xe2\x82 \xf0\x9f\x98\x80\n\t</script>\xed\xa0\x80";
    write_text("bytes", bytes, sizeof bytes - 1);
    static const char *const ways[] = {"--prompt-file @/bytes", "--prompt-file @/bytes --prompt sun",
                                       "--temperature 5 --prompt a --seed 3", "--temperature 9 --seed 4"};
    for (int i = 0; i < 4; i++) {
        char arguments[256];
        int32_t ids[256];
        snprintf(arguments, sizeof arguments, "--tokens 40 --no-stop %s | python3 -c '%s'", ways[i],
                 "import json, sys; json.dump(json.loads(sys.stdin.buffer.read().decode()), sys.stdout)");
        cJSON *json = run_json(i < 2 || system("python3 -c ''") != 0 ? ways[i] : arguments);
        struct gpt2_text wanted = {NULL, 0, 0};
        struct gpt2_stream stream = {.count = 0};
        int written = ids_of(json, 0, "tokens", ids);
        for (int t = 0; t < written; t++) { gpt2_stream_push(&stream, tokenizer, ids[t], &wanted, &error); }
        gpt2_stream_end(&stream, &wanted, &error);
        const char *got = text_of(json, 0, "text"); /* cJSON's strings end at U+0000 */
        cr_assert_eq(strncmp(got, wanted.bytes, strlen(got)), 0, "%s, not %s", got, wanted.bytes);
        cr_assert(strlen(got) == wanted.size || wanted.bytes[strlen(got)] == '\0');
        const cJSON *times = cJSON_GetObjectItem(json, "times");
        static const char *const names[] = {"load_s", "prompts_s", "decode_s"};
        for (int n = 0; n < 3; n++) { cr_assert(cJSON_GetObjectItem(times, names[n])->valuedouble > 0.0); }
        cr_assert(cJSON_GetObjectItem(json, "device_bytes")->valuedouble > 0.0);
        gpt2_text_free(&wanted);
        cJSON_Delete(json);
    }
    gpt2_tokenizer_close(tokenizer);
    succeeds("generate --model @ --json --prompt-file @/bytes --tokens 1 --quiet");
    says("\"prompt\":\"\\\"\\\\\\u0000\\u0001\\u007f\xef\xbf\xbd");
    says("\xf0\x9f\x98\x80\\n\\u0009</script>\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* ---- the form of decoding that ran ---- */

Test(texts, the_form_that_ran_is_named) {
    static const struct {
        const char *options, *form;
    } runs[] = {
        {"--prompt sun", "rows"}, /* of auto, on the CPU backend */
        {"--prompt sun --decode taught", "taught"},
        {"--prompt sun --decode fused", "fused"},
        {"--prompt sun --decode persistent", "persistent"},
        {"--prompt sun --prompt cat --decode persistent", "fused"}, /* for one sequence alone */
        {"--prompt sun --temperature 1 --decode persistent", "persistent"},
        {"--prompt sun --temperature 1", "rows"},
        {"--prompt sun --temperature 1 --decode taught", "taught"},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "--tokens 2 %s", runs[i].options);
        cJSON *json = run_json(arguments);
        cr_assert_str_eq(cJSON_GetObjectItem(json, "decode_form")->valuestring, runs[i].form, "%s", arguments);
        cJSON_Delete(json);
        snprintf(arguments, sizeof arguments, "generate --model @ --tokens 2 %s 2>&1", runs[i].options);
        succeeds(arguments);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "tokens/s decoding (%s)", runs[i].form);
        says(wanted);
    }
    succeeds("bench --model @ --types f32 --batch 1,2 --lengths 0 --positions 8 --tokens 2 --seconds 0 "
             "--decode persistent");
    says("persistent");
    says("fused");
}

/* ---- choices ---- */

Test(texts, a_penalty_avoids_what_was_there) {
    int32_t ids[128];
    bool seen[300] = {false};
    cJSON *json = run_json("--prompt the --tokens 40 --no-stop --repetition-penalty 1000");
    int prompt = ids_of(json, 0, "prompt_tokens", ids), all = prompt + ids_of(json, 0, "tokens", ids + prompt);
    for (int i = 0; i < all; i++) {
        cr_assert(!seen[ids[i]], "token %d is there again", ids[i]);
        seen[ids[i]] = true;
    }
    cJSON_Delete(json);
    char greedy[4096];
    succeeds("generate --model @ --prompt the --tokens 20 --no-stop --quiet");
    strcpy(greedy, output);
    succeeds("generate --model @ --prompt the --tokens 20 --no-stop --quiet --temperature 2 --min-p 1");
    cr_assert_str_eq(output, greedy); /* only the likeliest has its own probability */
}

Test(texts, threads) {
    if (strstr(GPT2, "/cpu/") == NULL) {
        cr_assert_eq(run("generate --model @ --threads 1"), 2);
        says("--threads 1: for the CPU backend");
        return;
    }
    char first[4096];
    succeeds("generate --model @ --prompt the --tokens 9 --quiet --threads 1");
    strcpy(first, output);
    succeeds("generate --model @ --prompt the --tokens 9 --quiet --threads=3");
    cr_assert_str_eq(output, first);
}
