/* The folder of a run: run.json, the folder as a model, --best, --patience, --tokens-per-step. */
#define _GNU_SOURCE
#include "train_program.h"

#include <time.h>

#include "gpt2/formats/json.h"

TestSuite(train_run, .init = begin, .fini = end, .timeout = 600);

/* Losses that fall, then rise. */
#define MEASURED LEARNER "--lr 1e-2 --val @/other --val-every 5 "

/* ---- run.json ---- */

static cJSON *run_of(const char *name) {
    char path[128];
    spell(path, sizeof path, name);
    cJSON *json = gpt2_json_read(path, 1 << 20, &error);
    cr_assert(json, "%s", error.text);
    return json;
}

/* An item by its path: "state.step", "calls.0.command.2". */
static const cJSON *item(const cJSON *at, const char *path) {
    char name[64];
    for (int length = 0; at != NULL && *path != '\0'; path += length + (path[length] == '.')) {
        length = (int)strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", length, path);
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(name)) : cJSON_GetObjectItemCaseSensitive(at, name);
    }
    return at;
}

static double number_of(const cJSON *json, const char *path) {
    const cJSON *found = item(json, path);
    cr_assert(cJSON_IsNumber(found), "no number %s", path);
    return found->valuedouble;
}

static const char *text_of(const cJSON *json, const char *path) {
    const char *found = cJSON_GetStringValue(item(json, path));
    cr_assert(found, "no text %s", path);
    return found;
}

Test(train_run, run_json_says_what_the_run_is) {
    struct tm utc = {0};
    succeeds(LEARNER "--out @/run --steps 4 --batch 2 --seed 7 --dropout 0.1 --val @/other --save-every 2");
    cJSON *json = run_of("@/run/run.json");
    cr_assert(strncmp(text_of(json, "program"), "gpt2 train ", 11) == 0);
    cr_assert(strptime(text_of(json, "begun"), "%Y-%m-%dT%H:%M:%SZ", &utc) && labs(timegm(&utc) - time(NULL)) < 600);
    cr_assert_str_eq(text_of(json, "model.from"), "random weights");
    cr_assert(number_of(json, "model.layers") == 2 && number_of(json, "model.heads") == 2);
    cr_assert(number_of(json, "model.channels") == 32 && number_of(json, "model.context") == 16);
    cr_assert(number_of(json, "model.vocabulary") == 300 && number_of(json, "seed") == 7);
    cr_assert_str_eq(text_of(json, "options.dropout"), "0.1");
    cr_assert_str_eq(text_of(json, "options.batch"), "2");
    cr_assert_str_eq(text_of(json, "options.clip"), "1"); /* by default */
    cr_assert_eq(number_of(json, "data.bytes"), sizeof text - 1);
    cr_assert_eq(number_of(json, "val.bytes"), sizeof other - 1);
    cr_assert_eq(number_of(json, "data.tokens"), 212);
    succeeds("LC_ALL=C grep -ao '\"data-hash\":\"[0-9a-f]*' @/run/latest/optimizer.safetensors");
    cr_assert(strstr(output, text_of(json, "data.tokens_hash")), "%s", output);
    cr_assert(strlen(text_of(json, "calls.0.device")) > 3 && number_of(json, "calls.0.from_step") == 0);
    cr_assert_str_eq(text_of(json, "calls.0.command.1"), "train");
    cr_assert_str_eq(text_of(json, "calls.0.command.2"), "--kernels");
    cr_assert_str_eq(text_of(json, "calls.0.folder"), getcwd(output, sizeof output));
    cr_assert_str_eq(text_of(json, "state.status"), "finished");
    cr_assert(number_of(json, "state.step") == 4 && number_of(json, "state.checkpoint") == 4);
    succeeds("tail -n 1 @/run/loss.csv | cut -d, -f2");
    cr_assert(fabs(strtod(output, NULL) - number_of(json, "state.loss")) < 1e-6, "%s", output);
    cr_assert(number_of(json, "state.best") == 4 && number_of(json, "state.best_loss") > 0.0);
    cJSON_Delete(json);
}

/* Each call is kept; the sizes and the beginning are those of the first one. */
Test(train_run, run_json_goes_on_with_the_run) {
    succeeds(LEARNER "--out @/run --steps 2 --batch 2");
    succeeds("LC_ALL=C sed -i 's/\"begun\":\t\"[^\"]*/\"begun\":\t\"2001-02-03T04:05:06Z/' @/run/run.json");
    succeeds(GPT2 " train --out @/run --resume --steps 3");
    cJSON *json = run_of("@/run/run.json");
    cr_assert_str_eq(text_of(json, "begun"), "2001-02-03T04:05:06Z");
    cr_assert_str_eq(text_of(json, "model.from"), "random weights");
    cr_assert_str_eq(text_of(json, "options.steps"), "3");
    cr_assert(cJSON_GetArraySize(item(json, "calls")) == 2 && number_of(json, "calls.1.from_step") == 2);
    cr_assert_str_eq(text_of(json, "calls.1.command.4"), "--resume");
    cJSON_Delete(json);
    succeeds("printf '{' > @/run/run.json; " GPT2 " train --out @/run --resume --steps 4"); /* it is no state */
    json = run_of("@/run/run.json");
    cr_assert(cJSON_GetArraySize(item(json, "calls")) == 1 && number_of(json, "state.step") == 4);
    cJSON_Delete(json);
}

Test(train_run, run_json_has_the_error_of_a_run_that_failed) {
    cr_assert_eq(run(LEARNER "--out @/run --steps 30 --lr 1000 --clip 0 --save-every 1"), 2);
    cJSON *json = run_of("@/run/run.json");
    cr_assert(strstr(text_of(json, "state.status"), "the gradients are not finite"), "%s",
              text_of(json, "state.status"));
    cr_assert(number_of(json, "state.checkpoint") >= 1 && number_of(json, "state.step") < 30);
    cJSON_Delete(json);
}

/* A refused call is no call, and an error while run.json is written is one line before the first step. */
Test(train_run, run_json_and_errors) {
    succeeds(LEARNER "--out @/run --steps 2 --batch 2 && cp @/run/run.json @/before");
    cr_assert_eq(run(GPT2 " train --out @/run --resume --batch 3"), 2);
    succeeds("cmp @/run/run.json @/before");
    cr_assert_eq(run("mkdir -p @/full/run.json; " LEARNER "--out @/full --steps 2 --batch 2"), 2);
    says("full/run.json: cannot be written: not a regular file");
    cr_assert(strstr(output, "step 1/2") == NULL, "%s", output);
}

/* What a kill while a file is replaced leaves goes with the next checkpoint. */
Test(train_run, leftovers_of_kills_go) {
    succeeds("mkdir @/run && cd @/run && touch run.json.part-1-0 loss.csv.part-22-0 loss.svg.part-3-1 "
             "samples.txt.part-4-0 notes.part-1-0");
    succeeds(LEARNER "--out @/run --steps 1 --batch 2");
    succeeds("ls @/run");
    cr_assert_str_eq(output, "latest\nlock\nloss.csv\nloss.svg\nnotes.part-1-0\nrun.json\nstep-00000001\n");
}

/* ---- the folder as a model, --best ---- */

static double eval_loss(const char *model) {
    char command[256];
    snprintf(command, sizeof command, GPT2 " eval %s --file @/other --context 16 --quiet", model);
    succeeds(command);
    return last_number("loss ");
}

Test(train_run, the_folder_is_a_model) {
    succeeds(MEASURED "--out @/run --steps 60");
    double latest = eval_loss("--model @/run/latest"), best = eval_loss("--model @/run/best");
    cr_assert(best < latest - 0.01, "%g, %g", best, latest);
    cr_assert_eq(eval_loss("--model @/run"), latest);
    cr_assert_eq(eval_loss("--model @/run --best"), best);
    succeeds(GPT2 " convert --from @/run --best --to @/copy");
    cr_assert_eq(eval_loss("--model @/copy"), best);
    succeeds(GPT2 " train --data @/text --model @/run --best --out @/on --steps 1 --lr 0 --val @/other");
    double measured = last_number("validation loss ");
    succeeds("cut -d, -f5 @/run/loss.csv | sort -g | grep . | sed -n 2p"); /* after the header's */
    cr_assert(fabs(measured - strtod(output, NULL)) < 2e-4, "%g, %s", measured, output);
}

Test(train_run, a_run_without_such_a_checkpoint) {
    succeeds(LEARNER "--out @/run --steps 1 --batch 2");
    cr_assert_eq(run(GPT2 " generate --model @/run --best --tokens 1"), 2);
    says("/run: the run in it has no best checkpoint; --val has one kept");
    cr_assert_eq(run(GPT2 " train --out @/run --resume --best"), 2);
    says("/run: there is no best checkpoint in it to go back to");
    cr_assert_eq(run(GPT2 " generate --model @/run/latest --best --tokens 1"), 2);
    says("/run/latest: --best needs the folder of a run");
    cr_assert_eq(run(GPT2 " eval --best --file @/text"), 2);
    says("--best needs --model");
    cr_assert_eq(run("mkdir @/new; echo '{}' > @/new/run.json; " GPT2 " generate --model @/new --tokens 1"), 2);
    says("/new: the run in it has no checkpoint yet");
}

/* Back at the best step, the run goes on as it did the first time. */
Test(train_run, resume_best_goes_back) {
    succeeds(MEASURED "--out @/run --steps 60");
    long best = (long)last_number("step ");
    cr_assert(best > 5 && best < 60, "%s", output);
    succeeds("cp -a @/run @/first && " GPT2 " train --out @/run --resume --best");
    char line[64];
    snprintf(line, sizeof line, "resuming after step %ld: ", best);
    says(line);
    succeeds(
        "cmp @/run/loss.csv @/first/loss.csv && cmp @/run/latest/model.safetensors @/first/latest/model.safetensors "
        "&& cmp @/run/best/optimizer.safetensors @/first/best/optimizer.safetensors");
    /* A call that is refused changes nothing. From the first step on `latest` is the best checkpoint, also where no other one
     * can be written. */
    succeeds("rm -rf @/run && cp -a @/first @/run");
    cr_assert_eq(run(GPT2 " train --out @/run --resume --best --sample-every 1 --sample-prompt \"$(cat @/text)\""), 2);
    succeeds("readlink @/run/latest");
    cr_assert_str_eq(output, "step-00000060\n");
    cr_assert_eq(run("ulimit -f 20; " GPT2 " train --out @/run --resume --best --save-every 1"), 2);
    says("cannot be written");
    succeeds("readlink @/run/latest");
    snprintf(line, sizeof line, "step-%08ld\n", best);
    cr_assert_str_eq(output, line);
    cr_assert_eq(eval_loss("--model @/run"), eval_loss("--model @/first --best"));
}

/* ---- --patience ---- */

Test(train_run, patience_ends_a_run_that_has_stalled) {
    succeeds(MEASURED "--out @/all --steps 60");
    long best = (long)last_number("step ");
    succeeds(MEASURED "--out @/run --steps 60 --patience 2");
    says("--patience 2: as many measurements had no lower validation loss");
    char line[64];
    snprintf(line, sizeof line, "step %ld/60 is in ", best + 10);
    says(line);
    succeeds("head -n $(wc -l < @/run/loss.csv) @/all/loss.csv | cmp - @/run/loss.csv");
    succeeds(GPT2 " train --out @/run --resume"); /* a resumed run remembers the measurements */
    cr_assert(strstr(output, "  validation loss ") == NULL, "%s", output);
    succeeds(GPT2 " train --out @/run --resume --patience 0");
    says("step 60/60 is in ");
    succeeds("cmp @/all/loss.csv @/run/loss.csv");
}

/* ---- --tokens-per-step ---- */

Test(train_run, tokens_per_step_determines_the_accumulation) {
    succeeds(LEARNER "--out @/a --steps 3 --batch 2 --tokens-per-step 96");
    succeeds(LEARNER "--out @/b --steps 3 --batch 2 --accumulate 3");
    succeeds("cmp @/a/loss.csv @/b/loss.csv && cmp @/a/latest/optimizer.safetensors @/b/latest/optimizer.safetensors");
    succeeds(GPT2 " train --out @/a --resume --tokens-per-step 96 --steps 4"); /* a loop repeats its options */
    cr_assert_eq(run(GPT2 " train --out @/a --resume --tokens-per-step 64"), 2);
    says("--tokens-per-step 64: the run in ");
    says("/a has 96; omit the option to continue it");
    succeeds(LEARNER "--out @/c --steps 1 --batch 2 --length 8 --tokens-per-step 16");
    static const struct {
        const char *arguments, *message;
    } cases[] = {
        {"--tokens-per-step 100", "a batch has 2 x 16 = 32 tokens; the nearest whole number of batches is 96 or 128"},
        {"--tokens-per-step 31", "the nearest whole number of batches is 32\n"},
        {"--tokens-per-step 64 --accumulate 2", "--tokens-per-step determines --accumulate: omit one of them"},
        {"--tokens-per-step 33554464", "1048577 batches of 32 tokens, and at most 1048576 are possible"},
        {"--tokens-per-step 0", "--tokens-per-step 0: a whole number from 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[512];
        snprintf(command, sizeof command, LEARNER "--out @/x --steps 1 --batch 2 %s", cases[i].arguments);
        cr_assert_eq(run(command), 2, "%s", output);
        says(cases[i].message);
    }
}
