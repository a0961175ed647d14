/* out_of_memory: every allocation of the library fails once; each failure is one message and no crash.
 *
 * Linked with --wrap for malloc and the like (module.mk), so that the library calls the functions here; cJSON uses its hooks.
 */
#include <cjson/cJSON.h>

#include "gpt2/formats/hf.h"
#include "gpt2/formats/llmc.h"
#include "gpt2/tests/scratch.h"
#include "gpt2/tokenizer/tokenizer.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

static int until_failure; /* allocations that still succeed; below 0: all */

static bool fails_now(void) {
    return until_failure >= 0 && until_failure-- == 0;
}
void *__wrap_malloc(size_t size) {
    return fails_now() ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
    return fails_now() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size) {
    return fails_now() ? NULL : __real_realloc(old, size);
}
char *__wrap_strdup(const char *text) {
    return fails_now() ? NULL : __real_strdup(text);
}

static const char text[] = "the cat's \"mat\", the cats' mats; na\xc3\xafve \xff the the cat 12 12";
static const struct gpt2_config config = {
    .max_tokens = 2, .vocabulary = 5, .padded_vocabulary = 8, .layers = 2, .heads = 1, .channels = 2, .epsilon = 1e-5f};

static bool open_and_convert(const char *name, bool to_hf) {
    struct gpt2_weights weights;
    if (!gpt2_weights_open(&weights, at(name), &error)) { return false; }
    struct gpt2_source source = gpt2_weights_source(&weights);
    bool ok = to_hf ? gpt2_hf_write(at("out"), &source, GPT2_F32, -1, &error)
                    : gpt2_llmc_write(at("out.bin"), &source, GPT2_F32, &error);
    gpt2_weights_close(&weights);
    return ok;
}
static bool from_hf(void) {
    return open_and_convert("hf", false);
}
static bool from_llmc(void) {
    return open_and_convert("m.bin", true);
}

static bool use(struct gpt2_tokenizer *tokenizer, bool plain) {
    struct gpt2_ids ids = {0};
    struct gpt2_text back = {0};
    struct gpt2_stream stream = {0};
    bool ok = tokenizer && gpt2_tokenizer_encode(tokenizer, text, strlen(text), true, &ids, &error) &&
              gpt2_tokenizer_decode(tokenizer, ids.ids, ids.count, &back, &error);
    for (size_t i = 0; ok && i < ids.count; i++) {
        ok = gpt2_stream_push(&stream, tokenizer, ids.ids[i], &back, &error);
    }
    ok = ok && gpt2_stream_end(&stream, &back, &error) && gpt2_tokenizer_write_hf(tokenizer, at("out"), &error) &&
         (!plain || gpt2_tokenizer_write_llmc(tokenizer, at("out.bin"), &error));
    gpt2_ids_free(&ids);
    gpt2_text_free(&back);
    gpt2_tokenizer_close(tokenizer);
    return ok;
}
static bool tokenizer_from_hf(void) {
    return use(gpt2_tokenizer_open(at("hf"), &error), true);
}
static bool tokenizer_from_llmc(void) {
    return use(gpt2_tokenizer_open(at("t.bin"), &error), true);
}
static bool tokenizer_from_text(void) {
    return use(gpt2_tokenizer_train(text, strlen(text), 270, 2, &error), true);
}

static bool tokenizer_from_settings(void) {
    return use(gpt2_tokenizer_open(at("s"), &error), false);
}

/* A folder with every file that names added tokens. */
static void make_settings(const struct gpt2_tokenizer *tokenizer) {
    cr_assert_eq(mkdir(at("s"), 0777), 0);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, at("s"), &error), "%s", error.text);
    put_text("s/config.json", "{\"model_type\": \"gpt2\"}");
    put_text("s/tokenizer_config.json",
             "{\"add_prefix_space\": true, \"image_token\": \"<i>\", \"additional_special_tokens\": [\"<e>\"]}");
    put_text("s/special_tokens_map.json",
             "{\"pad_token\": {\"content\": \"mat\", \"lstrip\": true}, \"bos_token\": \"<s>\"}");
    put_text("s/added_tokens.json", "{\"cat\": 270, \"<s>\": 271}");
}

static void make_files(void) {
    cJSON_Hooks hooks = {.malloc_fn = __wrap_malloc, .free_fn = free};
    until_failure = -1;
    cJSON_InitHooks(&hooks);
    scratch_make();
    struct gpt2_source source = seeded_source(&config);
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(text, strlen(text), 270, 2, &error);
    cr_assert(tokenizer && gpt2_hf_write(at("hf"), &source, GPT2_F32, -1, &error), "%s", error.text);
    cr_assert(gpt2_llmc_write(at("m.bin"), &source, GPT2_F32, &error), "%s", error.text);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, at("hf"), &error), "%s", error.text);
    cr_assert(gpt2_tokenizer_write_llmc(tokenizer, at("t.bin"), &error), "%s", error.text);
    make_settings(tokenizer);
    cr_assert_eq(mkdir(at("out"), 0777), 0);
    gpt2_tokenizer_close(tokenizer);
}

TestSuite(out_of_memory, .init = make_files, .fini = scratch_remove, .timeout = 120);

/* Fails the first allocation, then the second, ... until a run has none left to fail and succeeds. */
static void check(bool (*run)(void), int least) {
    int failures = 0;
    for (bool done = false; !done; failures++) {
        error.text[0] = '\0';
        until_failure = failures;
        bool ok = run();
        done = until_failure >= 0; /* none failed */
        until_failure = -1;
        cr_assert(ok == done && (ok || error.text[0]), "allocation %d: %s", failures, error.text);
    }
    cr_assert_geq(failures, least, "%d", failures);
}

Test(out_of_memory, loading_and_writing_weights) {
    check(from_hf, 100);
    check(from_llmc, 100);
}

Test(out_of_memory, tokenizers) {
    check(tokenizer_from_hf, 100);
    check(tokenizer_from_settings, 100);
    check(tokenizer_from_llmc, 30);
    check(tokenizer_from_text, 50);
}
