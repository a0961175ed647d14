/* gpt2 train, run as a learner runs it: it learns, it goes on after any kill with the same bits, it refuses what is wrong. */
#define _GNU_SOURCE
#include "gpt2/formats/hf.h"
#include "gpt2/formats/safetensors.h"
#include "gpt2/formats/tokens.h"
#include "gpt2/model/tests/tiny.h"
#include "gpt2/tokenizer/tokenizer.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64];
static struct gpt2_error error;
static char output[1 << 18];

static const char text[] =
    "In the beginning God created the heaven and the earth. And the earth was without form, and void; and darkness was "
    "upon the face of the deep. And the Spirit of God moved upon the face of the waters. And God said, Let there be "
    "light: and there was light. And God saw the light, that it was good: and God divided the light from the darkness. "
    "And God called the light Day, and the darkness he called Night. And the evening and the morning were the first "
    "day.";

static void write_text(const char *name, const char *what, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert(gpt2_file_write(path, what, size, &error), "%s", error.text);
}

static void begin(void) {
    char path[128];
    strcpy(folder, "/tmp/gpt2.XXXXXX");
    cr_assert(mkdtemp(folder));
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(text, strlen(text), 300, 2, &error);
    struct gpt2_ids ids = {NULL, 0, 0};
    cr_assert(tokenizer, "%s", error.text);
    snprintf(path, sizeof path, "%s/tok", folder);
    mkdir(path, 0777);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, path, &error), "%s", error.text);
    cr_assert(gpt2_tokenizer_encode(tokenizer, text, strlen(text), true, &ids, &error));
    snprintf(path, sizeof path, "%s/text.bin", folder);
    cr_assert(gpt2_tokens_write(path, ids.ids, (int64_t)ids.count, &error), "%s", error.text);
    write_text("text", text, strlen(text));
    write_text("short", text, 6);
    gpt2_ids_free(&ids);
    gpt2_tokenizer_close(tokenizer);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}
static void end(void) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
TestSuite(train_program, .init = begin, .fini = end, .timeout = 600);

#define SIZES   "--tokenizer @/tok --layers 2 --heads 2 --channels 32 --context 16 "
#define LEARNER GPT2 " train --kernels naive --data @/text " SIZES

/* @ in a command is the folder. */
static void spell(char *to, size_t size, const char *command) {
    size_t used = 0;
    for (; *command != '\0'; command++) {
        used += (size_t)snprintf(to + used, size - used, *command == '@' ? "%s" : "%.1s",
                                 *command == '@' ? folder : command);
    }
}

/* What it says is in `output`. Its exit status. */
static int run(const char *command) {
    char spelled[4096];
    spell(spelled, sizeof spelled - 8, command);
    strcat(spelled, " 2>&1");
    FILE *pipe = popen(spelled, "r");
    cr_assert(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    int status = pclose(pipe);
    cr_assert(WIFEXITED(status), "a signal ended: %s", spelled);
    return WEXITSTATUS(status);
}

#define succeeds(command) cr_assert_eq(run(command), 0, "%s", output)
#define says(part)        cr_assert(strstr(output, part), "no '%s' in: %s", part, output)

/* The number after `name` in the last line that has it. */
static double last_number(const char *name) {
    const char *at = NULL;
    for (const char *next = output; (next = strstr(next, name)) != NULL; next++) { at = next; }
    cr_assert(at, "no '%s' in: %s", name, output);
    return strtod(at + strlen(name), NULL);
}

static void *contents(const char *name, size_t *size) {
    char path[256];
    struct gpt2_file file;
    spell(path, sizeof path, name);
    cr_assert(gpt2_file_open(&file, path, &error), "%s", error.text);
    void *bytes = malloc(file.size + 1);
    memcpy(bytes, file.bytes, file.size);
    *size = file.size;
    gpt2_file_close(&file);
    return bytes;
}

static bool same_files(const char *a, const char *b) {
    size_t a_size, b_size;
    void *a_bytes = contents(a, &a_size), *b_bytes = contents(b, &b_size);
    bool same = a_size == b_size && memcmp(a_bytes, b_bytes, a_size) == 0;
    free(a_bytes), free(b_bytes);
    return same;
}

/* ---- it learns ---- */

/* Whoever has the gradients wrong, or no attention, cannot say what comes next: the words are the same, their order decides. */
Test(train_program, overfits_and_the_checkpoint_writes_the_text) {
    succeeds(LEARNER "--out @/run --steps 100 --batch 8 --lr 1e-2 --warmup 10 --weight-decay 0 --val @/text.bin");
    double loss = last_number("validation loss ");
    cr_assert(loss < 0.1, "%s", output);
    cr_assert(last_number("lr ") == 1e-3, "%s", output);
    succeeds(GPT2 " eval --model @/run/latest --file @/text --context 16 --quiet");
    cr_assert(last_number("loss ") < loss + 0.3, "%s", output); /* its last tokens fill no window: never learned */
    succeeds(GPT2 " generate --model @/run/latest --prompt 'In the' --tokens 8 --quiet");
    says("In the beginning God");
    succeeds(LEARNER "--out @/more --steps 1 --batch 8 --length 16 --lr 1e-9 --seed 3"); /* untrained, for comparison */
    cr_assert(fabs(last_number("loss ") - log(300.0)) < 0.2, "%s", output);
    succeeds(GPT2
             " train --kernels naive --data @/text.bin --model @/run/latest --out @/on --steps 1 --lr 0 --val @/text");
    cr_assert(fabs(last_number("validation loss ") - loss) < 1e-4, "%s", output);
}

/* ---- it goes on ---- */

static long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* True: it ended by itself, well. False: it was killed after so many microseconds. */
static bool run_for(const char *command, long limit) {
    char spelled[4096] = "exec ";
    spell(spelled + 5, sizeof spelled - 5, command);
    pid_t child = fork();
    if (child == 0) {
        int nothing = open("/dev/null", O_WRONLY);
        dup2(nothing, STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", spelled, (char *)NULL);
        _exit(127);
    }
    long until = now_us() + limit;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (now_us() >= until) { kill(child, SIGKILL); }
        usleep(200);
    }
    cr_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "status %d of %s", WEXITSTATUS(status), spelled);
    return WIFEXITED(status);
}

/* After a kill there is nothing, or a whole checkpoint. */
static void expect_whole(void) {
    char path[128];
    struct gpt2_weights weights;
    struct safetensors optimizer;
    spell(path, sizeof path, "@/cut/latest");
    if (access(path, F_OK) != 0) { return; }
    cr_assert(gpt2_weights_open(&weights, path, &error), "%s", error.text);
    gpt2_weights_close(&weights);
    strcat(path, "/optimizer.safetensors");
    cr_assert(safetensors_open(&optimizer, path, &error), "%s", error.text);
    safetensors_close(&optimizer);
}

static void check_resume(const char *options, uint64_t seed) {
    char whole[512], cut[512];
    snprintf(whole, sizeof whole, LEARNER "--steps 20 --save-every 1 --batch 3 --warmup 3 --lr 3e-3 %s --out @/whole",
             options);
    snprintf(cut, sizeof cut,
             LEARNER "--steps 20 --save-every 1 --batch 3 --warmup 3 --lr 3e-3 %s --out @/cut --resume", options);
    long began = now_us();
    succeeds(whole);
    long took = now_us() - began;
    int kills = 0;
    bool done = false;
    while (!done && kills < 200) {
        long limit = kills < 12 ? (long)(mix(seed + (uint64_t)kills) % (uint64_t)(took / 4)) : 9 * took;
        done = run_for(cut, limit);
        kills += !done;
        expect_whole();
    }
    cr_assert(done && kills >= 2, "%d kills", kills);
    cr_assert(same_files("@/whole/latest/model.safetensors", "@/cut/latest/model.safetensors"), "after %d kills",
              kills);
    cr_assert(same_files("@/whole/latest/optimizer.safetensors", "@/cut/latest/optimizer.safetensors"));
}
Test(train_program, a_killed_run_ends_with_the_same_bytes) {
    check_resume("", 1);
}

Test(train_program, also_in_bf16_with_accumulation_and_recomputation) {
    check_resume("--type bf16 --accumulate 2 --recompute --length 9", 2);
}

/* The same run with another batch would be another run; with recomputation it is the same. */
Test(train_program, resuming_keeps_what_decides_on_the_numbers) {
    succeeds(LEARNER "--out @/run --steps 4 --batch 2 --save-every 2");
    succeeds(LEARNER "--out @/again --steps 4 --batch 2 --recompute");
    cr_assert(same_files("@/run/latest/model.safetensors", "@/again/latest/model.safetensors"));
    cr_assert_eq(run("flock @/run/lock " LEARNER "--out @/run --resume"), 2);
    says("another run is writing there");
    cr_assert_eq(run(LEARNER "--out @/run --steps 4"), 2);
    says("there is a run in it; --resume");
    cr_assert_eq(run(LEARNER "--out @/run --resume --batch 3"), 2);
    says("--batch 3: the run in ");
    says("has 2");
    succeeds(GPT2 " train --out @/run --resume --val @/text");
    says("after step 4");
    write_text("text", text + 1, strlen(text) - 1);
    cr_assert_eq(run(GPT2 " train --out @/run --resume"), 2);
    says("its tokens are not those that the run");
}

/* ---- it refuses ---- */

Test(train_program, a_full_disk_leaves_the_checkpoint_before) {
    succeeds(LEARNER "--out @/run --steps 6 --batch 2 --save-every 3");
    cr_assert_eq(run("trap '' XFSZ; ulimit -f 20; " LEARNER "--out @/full --steps 2 --batch 2 --save-every 1"), 2);
    says("cannot be written");
    cr_assert_eq(run("ls @/full/latest @/full/step-* 2>/dev/null"), 2, "%s", output);
    char name[256];
    spell(name, sizeof name, "@/run/latest");
    char *latest = realpath(name, NULL);
    cr_assert(latest && strcmp(latest + strlen(latest) - 13, "step-00000006") == 0, "%s", latest);
    free(latest);
}

Test(train_program, bad_input_is_one_line_and_status_2) {
    static const struct {
        const char *arguments, *message;
    } cases[] = {
        {"", "--out is missing"},
        {"--out @/x", "--data is missing"},
        {"--out @/x --data @/text", "--steps is missing"},
        {"--out @/x --data @/text --steps 0", "--steps 0: a number from 1"},
        {"--out @/x --data @/text --steps 3x", "--steps 3x: a number from 1"},
        {"--out @/x --data @/text --steps 3 --lr", "--lr needs a value"},
        {"--out @/x --data @/text --steps 3 --fast", "there is no option '--fast'"},
        {"--out @/x --data @/text --steps 3", "--model is missing; or"},
        {"--out @/x --data @/text --steps 3 --layers 1 --heads 1 --channels 8 --context 8", "--tokenizer is missing"},
        {"--out @/x --data @/text --steps 3 " SIZES "--heads 3", "--heads 3 does not divide --channels 32"},
        {"--out @/x --data @/text --steps 3 " SIZES "--model @/m", "--model has its sizes"},
        {"--out @/x --data @/text --steps 3 " SIZES "--type f16", "--type f16: small gradients would vanish"},
        {"--out @/x --data @/text --steps 3 " SIZES "--type f8", "--type f8: f32, tf32 or bf16"},
        {"--out @/x --data @/text --steps 3 " SIZES "--warmup 4", "--warmup 4 is more than --steps 3"},
        {"--out @/x --data @/text --steps 3 " SIZES "--min-lr 1", "--min-lr 1 is more than --lr"},
        {"--out @/x --data @/text --steps 3 " SIZES "--length 17", "the model's context is 16"},
        {"--out @/x --data @/short --steps 3 " SIZES, "tokens, where a window of --length 16 needs 17"},
        {"--out @/x --data @/absent --steps 3 " SIZES, "absent"},
        {"--out @/x --data @/text --val @/short --steps 3 " SIZES, "tokens, where a window"},
        {"--out @/x --data @/text --steps 3 " SIZES "--kernels none", "no such kernel set"},
        {"--out @/x --data @/text --steps 3 --model @/absent", "absent"},
        {"--out @/text --data @/text --steps 3 " SIZES, "text"},
        {"--out @/x --data @/text --steps 3 --batch 1 --length 8 --model @/tok", "config.json"},
        {"--out @/x --data @/text --steps 3 --lr 1e30 " SIZES, "--lr 1e30: a number from"},
        {"--out @/x --data @/text --steps 30 --lr 1000 --clip 0 " SIZES, "are not finite"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[1024];
        snprintf(command, sizeof command, GPT2 " train %s >/dev/null", cases[i].arguments);
        spell(output, sizeof output, command);
        strcpy(command, output);
        char *stop = strstr(command, " >/dev/null");
        strcpy(stop, " 2>&1 >/dev/null; exit $?");
        FILE *pipe = popen(command, "r");
        output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
        cr_assert_eq(WEXITSTATUS(pclose(pipe)), 2, "%s: %s", cases[i].arguments, output);
        says(cases[i].message);
        cr_assert(strchr(output, '\n') == output + strlen(output) - 1, "not one line: %s", output);
    }
    /* A vocabulary that is not the tokenizer's; a token file with ids outside it. */
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(text, strlen(text), 270, 2, &error);
    char path[128];
    spell(path, sizeof path, "@/small");
    mkdir(path, 0777);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, path, &error));
    gpt2_tokenizer_close(tokenizer);
#define SMALL GPT2 " train --layers 1 --heads 1 --channels 8 --context 8 --steps 1 --tokenizer @/small "
    cr_assert_eq(run(SMALL "--data @/text.bin --out @/y"), 2);
    says("outside the vocabulary of 270");
    succeeds(SMALL "--data @/text --out @/z");
    cr_assert_eq(run(GPT2 " train --data @/text --steps 1 --out @/y --model @/z/latest --tokenizer @/tok"), 2);
    says("270");
}
