/* gpt2 convert: a round trip gives the same bytes, existing files are kept, and a failure leaves no files. */
#define _GNU_SOURCE
#include "gpt2/program/tests/run.h"

#include <dirent.h>
#include <sys/resource.h>

TestSuite(convert, .init = begin, .fini = end, .timeout = 300);

static char *in(const char *name) {
    static char paths[4][128];
    static int last;
    char *path = paths[last++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void same(const char *a, const char *b) {
    struct gpt2_file x, y;
    cr_assert(gpt2_file_open(&x, in(a), &error) && gpt2_file_open(&y, in(b), &error), "%s", error.text);
    cr_assert(x.size == y.size && x.size > 0 && memcmp(x.bytes, y.bytes, x.size) == 0, "%s differs from %s", a, b);
    gpt2_file_close(&x);
    gpt2_file_close(&y);
}

static int entries(const char *name) {
    int count = 0;
    DIR *directory = opendir(in(name));
    cr_assert(directory);
    while (readdir(directory)) { count++; }
    closedir(directory);
    return count - 2;
}

static void fails(const char *arguments, const char *why) {
    int before = entries(".");
    cr_assert_eq(run(arguments), 2, "%s: %s", arguments, output);
    says(why);
    cr_assert(strchr(output, '\n') == output + strlen(output) - 1, "not one line: %s", output);
    cr_assert_eq(entries("."), before, "something is left after %s", arguments);
}

Test(convert, there_and_back_is_the_same_bytes) {
    succeeds("convert --from @ --to @/a.bin");
    says("(F32) -> ");
    says("(F32 of llm.c): ");
    says("a tokenizer of ");
    cr_assert(strchr(output, '\n') == output + strlen(output) - 1, "not one line: %s", output);
    succeeds("convert --from @/a.bin --to @/back/"); /* finds a_tokenizer.bin */
    same("model.safetensors", "back/model.safetensors");
    same("config.json", "back/config.json");
    same("vocab.json", "back/vocab.json");
    same("merges.txt", "back/merges.txt");
    cr_assert_eq(entries("back"), 4);
    succeeds("convert --from @/back --to @/again.bin");
    same("a.bin", "again.bin");
    same("a_tokenizer.bin", "again_tokenizer.bin");
}

static bool holds(const char *name, const char *part) {
    struct gpt2_file file;
    cr_assert(gpt2_file_open(&file, in(name), &error), "%s", error.text);
    bool found = memmem(file.bytes, file.size, part, strlen(part)) != NULL;
    gpt2_file_close(&file);
    return found;
}

/* A relative of GPT-2, with added tokens: nothing of it is lost in a folder, and llm.c's format has no place for it. */
Test(convert, a_relative_comes_back) {
    static const char settings[] = "{\"added_tokens_decoder\": {\"300\": {\"content\": \"<x>\", \"lstrip\": true}}}";
    struct gpt2_config relative = config;
    relative.activation = GPT2_GELU_ERF, relative.untied = relative.scale_by_layer = true;
    relative.stops = (struct gpt2_stops){.given = true, .count = 2, .ids = {7, 8}};
    struct gpt2_source source = tiny_source(&relative);
    cr_assert(gpt2_hf_write(folder, &source, GPT2_F32, 299, &error), "%s", error.text);
    write_text("tokenizer_config.json", settings, strlen(settings));
    succeeds("convert --from @ --to @/r");
    succeeds("convert --from @/r --to @/r2");
    same("model.safetensors", "r/model.safetensors");
    cr_assert(holds("r/config.json", "\"eos_token_id\": [7, 8]") &&
              holds("r/config.json", "\"activation_function\": \"gelu\""));
    cr_assert(holds("r/config.json", "\"tie_word_embeddings\": false,\n  \"scale_attn_by_inverse_layer_idx\": true"));
    same("r/config.json", "r2/config.json");
    same("r/tokenizer_config.json", "r2/tokenizer_config.json");
    fails("convert --from @ --to @/r.bin --no-tokenizer", "no place for the model's tie_word_embeddings false");
    write_text("r/tokenizer.json", "{}", 2);
    fails("convert --from @ --to @/r --force", "r/tokenizer.json: would be read together with the new files");
}

Test(convert, types) {
    succeeds("convert --from @ --to @/b.bin --type bf16");
    succeeds("convert --from @/b.bin --to @/b");
    says("(BF16) -> ");
    succeeds("convert --from @/b --to @/b2.bin");
    same("b.bin", "b2.bin");
    succeeds("convert --from @ --to @/h --type f16");
    succeeds("convert --from @/h --to @/h2");
    same("h/model.safetensors", "h2/model.safetensors");
    fails("convert --from @/h --to @/h.bin", "llm.c has no F16: say --type f32 or --type bf16");
    fails("convert --from @/h --to @/h3 --type tf32", "--type tf32: a file holds f32, f16 or bf16");
}

Test(convert, every_form_writes_the_same_text) {
    char first[4096];
    succeeds("generate --model @ --prompt 'the cat' --tokens 10 --quiet");
    strcpy(first, output);
    succeeds("convert --from @ --to @/new.bin");
    succeeds("generate --model @/new.bin --prompt 'the cat' --tokens 10 --quiet");
    cr_assert_str_eq(first, output);
    succeeds("convert --from @/new.bin --to @/new");
    succeeds("generate --model @/new --prompt 'the cat' --tokens 10 --quiet");
    cr_assert_str_eq(first, output);
}

Test(convert, what_is_there_stays_without_force) {
    succeeds("convert --from @ --to @/a.bin");
    fails("convert --from @ --to @/a.bin --type bf16", "_tokenizer.bin: is there already (--force replaces it)");
    fails("convert --from @ --to @/a.bin --no-tokenizer", "is there already");
    succeeds("convert --from @ --to @/a.bin --type bf16 --force");
    says("(BF16 of llm.c)");
    fails("convert --from @/a.bin --to @", "vocab.json: is there already");
    succeeds("convert --from @/a.bin --to @ --force"); /* other files in the folder stay */
    says("(BF16) -> ");
    same("text", "text");
    succeeds("convert --from @ --to @ --force --type f32"); /* onto itself */
    says("(BF16) -> ");
}

/* <|endoftext|> is not always the last token: Hugging Face's trainer puts it first. A config.json without eos_token_id. */
Test(convert, config_json_has_the_tokenizers_end_of_text) {
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open(folder, &error);
    cr_assert(tokenizer, "%s", error.text);
    int last = gpt2_tokenizer_end_of_text(tokenizer);
    gpt2_tokenizer_close(tokenizer);
    char exchange[320];
    snprintf(exchange, sizeof exchange,
             "--help >/dev/null; sed -i 's/\"!\": 0,/\"!\": %d,/; s/\"<|endoftext|>\": %d/\"<|endoftext|>\": 0/' "
             "@/vocab.json; sed -i '/eos_token_id/d; s/\\(\"bos_token_id\": [0-9]*\\),/\\1/' @/config.json",
             last, last);
    succeeds(exchange);
    succeeds("convert --from @ --to @/first");
    cr_assert(holds("first/config.json", "\"bos_token_id\": 0,\n  \"eos_token_id\": 0\n"));
}

Test(convert, without_a_tokenizer) {
    succeeds("convert --from @ --to @/a.bin --no-tokenizer");
    says("no tokenizer");
    cr_assert_neq(access(in("a_tokenizer.bin"), F_OK), 0);
    cr_assert_eq(mkdir(in("alone"), 0777), 0);
    cr_assert_eq(rename(in("a.bin"), in("alone/a.bin")), 0);
    cr_assert_eq(run("generate --model @/alone/a.bin --tokens 1"), 2);
    says("there is no tokenizer beside it");
    succeeds("convert --from @/alone/a.bin --to @/new");
    says("no tokenizer");
    cr_assert_eq(entries("new"), 2);
    succeeds("convert --from @/alone/a.bin --to @/with --tokenizer @");
    same("merges.txt", "with/merges.txt");
}

Test(convert, what_fails_leaves_nothing) {
    fails("convert --from @", "convert needs --from and --to");
    fails("convert --from @/absent --to @/x.bin", "absent");
    fails("convert --from @ --to @/absent/x.bin", "absent");
    fails("convert --from @ --to @/absent/x", "absent");
    fails("convert --from @ --to @/text", "not a folder; a name in llm.c's format ends in .bin");
    fails("convert --from @ --to @/x.bin --tokenizer @/absent", "absent");
    struct gpt2_config other = config;
    other.epsilon = 1e-6f;
    struct gpt2_source source = tiny_source(&other);
    cr_assert(gpt2_hf_write(in("epsilon"), &source, GPT2_F32, -1, &error), "%s", error.text);
    fails("convert --from @/epsilon --to @/x.bin",
          "/x.bin: a checkpoint of llm.c has a LayerNorm epsilon of 1e-5, this model has 1e-06");
    fails("convert --from @ --to @/new.safetensors", "new.safetensors: Hugging Face's format is a folder");
    cr_assert_eq(truncate(in("model.safetensors"), 5000), 0);
    fails("convert --from @ --to @/x.bin", "model.safetensors");
}

/* A tiny model with one infinite number, in the tensor that is the context. */
static bool read_spoiled(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                         enum gpt2_layout layout, void *out, struct gpt2_error *why) {
    const struct gpt2_source source = tiny_source(&config);
    const float infinite = INFINITY;
    if (!source.read(source.context, tensor, layer, type, layout, out, why)) { return false; }
    if (tensor == *(enum gpt2_tensor *)context && layer == gpt2_tensor_layers(&config, tensor) - 1) {
        gpt2_convert(out, type, &infinite, GPT2_F32, 1);
    }
    return true;
}

Test(convert, quantize_refuses_what_is_not_finite) {
    static const struct {
        enum gpt2_tensor tensor;
        const char *name;
    } spoiled[] = {{GPT2_WTE, "wte.weight"},          {GPT2_WPE, "wpe.weight"},
                   {GPT2_LN1W, "h.1.ln_1.weight"},    {GPT2_QKVB, "h.1.attn.c_attn.bias"},
                   {GPT2_FCW, "h.1.mlp.c_fc.weight"}, {GPT2_LNFB, "ln_f.bias"}};
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++) {
        enum gpt2_tensor tensor = spoiled[i].tensor;
        const struct gpt2_source source = {.config = config, .read = read_spoiled, .context = &tensor};
        char wanted[128];
        cr_assert(gpt2_hf_write(folder, &source, GPT2_F32, -1, &error), "%s", error.text);
        snprintf(wanted, sizeof wanted, "/model.safetensors: %s: 1 of its values are NaN or infinite: take another",
                 spoiled[i].name);
        fails("quantize --from @ --to @/q --scheme int8", wanted);
        fails("quantize --from @ --to @/q --scheme fp8 --calibrate @/text --force", wanted);
    }
}

Test(convert, what_does_not_fit_on_the_disk_leaves_nothing) {
    const struct rlimit limit = {.rlim_cur = 1 << 14, .rlim_max = RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fails("convert --from @ --to @/x", "/x/model.safetensors: cannot be written: File too large");
    fails("convert --from @ --to @/x.bin", "/x.bin: cannot be written: File too large");
}
