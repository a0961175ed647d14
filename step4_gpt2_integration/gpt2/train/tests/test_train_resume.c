/* A run of gpt2 train that is killed at any moment can be resumed and ends with the same bytes. */
#define _GNU_SOURCE
#include "train_program.h"

#include "gpt2/formats/safetensors.h"
#include "gpt2/model/model.h"
#include "gpt2/train/checkpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

TestSuite(train_resume, .init = begin, .fini = end, .timeout = 600);

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

static long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* True: it ended with status 0. False: it was killed after that many microseconds. */
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

/* After a kill there is no checkpoint or a complete one. */
static void expect_whole(const char *name) {
    char path[128];
    struct gpt2_weights weights;
    struct safetensors optimizer;
    spell(path, sizeof path, name);
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
    /* The machine may have been busy at first, and is no longer: then the limits are too long. */
    for (long limits = took / 4; kills < 2 && limits > 0; limits /= 2) {
        succeeds("rm -rf @/cut");
        for (kills = 0, done = false; !done && kills < 200; kills += !done) {
            done = run_for(cut, kills < 12 ? (long)(mix(seed + (uint64_t)kills) % (uint64_t)limits) : 9 * took);
            expect_whole("@/cut/latest");
            expect_whole("@/cut/best");
        }
    }
    cr_assert(done && kills >= 2, "%d kills", kills);
    cr_assert(same_files("@/whole/latest/model.safetensors", "@/cut/latest/model.safetensors"), "after %d kills",
              kills);
    cr_assert(same_files("@/whole/latest/optimizer.safetensors", "@/cut/latest/optimizer.safetensors"));
    cr_assert(same_files("@/whole/loss.csv", "@/cut/loss.csv"));
    cr_assert(same_files("@/whole/loss.svg", "@/cut/loss.svg"));
    if (strstr(options, "--sample") != NULL) { cr_assert(same_files("@/whole/samples.txt", "@/cut/samples.txt")); }
    succeeds(
        "cd @/whole && ls -d *-* && readlink latest best >../links; cd @/cut && readlink latest best | cmp ../links");
    if (strstr(options, "--val") == NULL) { return; }
    cr_assert(same_files("@/whole/best/model.safetensors", "@/cut/best/model.safetensors"));
    cr_assert(same_files("@/whole/best/optimizer.safetensors", "@/cut/best/optimizer.safetensors"));
}

Test(train_resume, a_killed_run_ends_with_the_same_bytes) {
    check_resume("", 1);
}

Test(train_resume, also_in_bf16_with_accumulation_and_recomputation) {
    check_resume("--type bf16 --accumulate 2 --recompute --length 9", 2);
}

Test(train_resume, also_with_the_best_checkpoint) {
    check_resume("--val @/other --val-every 1 --lr 3e-2", 4);
}

Test(train_resume, also_with_dropout_and_samples) {
    check_resume("--dropout 0.2 --accumulate 2 --sample-every 1 --sample-tokens 6 --sample-prompt And", 5);
}

Test(train_resume, also_with_fused_attention) {
    if (run(LEARNER "--type bf16 --attention fused --steps 1 --batch 1 --out @/can") != 0) {
        says("attention cannot be fused"); /* an older GPU */
        return;
    }
    check_resume("--type bf16 --attention fused --dropout 0.1", 3);
}

/* Resuming with another batch is refused; with recomputation the bits are the same. */
Test(train_resume, resuming_keeps_what_decides_on_the_numbers) {
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
    cr_assert_eq(run(LEARNER "--out @/run --resume --attention taught"), 2);
    says("--attention taught: the run in ");
    says("has auto");
    cr_assert_eq(run(LEARNER "--out @/run --resume --dropout 0.1"), 2);
    says("--dropout 0.1: the run in ");
    says("has 0; omit the option to continue it");
    cr_assert_eq(run(LEARNER "--out @/run --resume --layers 3"), 2);
    says("--layers 3: the run in ");
    says("has 2");
    succeeds(GPT2 " train --out @/run --resume --val @/text");
    says("after step 4");
    succeeds("mv @/text @/moved");
    cr_assert_eq(run(GPT2 " train --out @/run --resume"), 2);
    says("text: No such file");
    succeeds(GPT2 " train --out @/run --resume --data @/moved --val @/moved");
    says("after step 4");
    write_text("text", text + 1, strlen(text) - 1);
    cr_assert_eq(run(GPT2 " train --out @/run --resume"), 2);
    says("its tokens are not those that the run");
}

/* The first 4 steps are those of the shorter run, the rest has the longer run's learning rate. */
Test(train_resume, another_number_of_steps_extends_a_run) {
    char first[4096], path[128];
    succeeds(LEARNER "--out @/run --steps 4 --batch 2 --lr 1e-2");
    succeeds("cat @/run/loss.csv");
    strcpy(first, output);
    cr_assert_eq(run(GPT2 " train --out @/run --resume --steps 3"), 2);
    says("--steps 3: the run in ");
    says("has done 4");
    succeeds(GPT2 " train --out @/run --resume --steps 7");
    says("the run was planned for 4 steps: from here on its learning rate is that of 7 steps");
    says("step 7/7 is in ");
    succeeds("cat @/run/loss.csv");
    cr_assert_eq(strncmp(output, first, strlen(first)), 0, "%s, not %s", output, first);
    double rate;
    const char *row = strstr(output, "\n5,");
    cr_assert(row && sscanf(row, "\n5,%*f,%lf", &rate) == 1);
    cr_assert(fabs(rate / (1e-3 + 0.5 * (1.0 + cos(3.14159265358979 * 5 / 7)) * 9e-3) - 1.0) < 1e-6, "%g", rate);
    succeeds(GPT2 " train --out @/run --resume"); /* the new number is stored */
    says("step 7/7 is in ");
    spell(path, sizeof path, "@/run/loss.svg");
    cr_assert_eq(access(path, R_OK), 0);
    succeeds("mv @/run/loss.csv @/elsewhere && " GPT2 " train --out @/run --resume --steps 8 && cat @/run/loss.csv");
    says("step,loss,lr,norm,val_loss\n8,");
}

Test(train_resume, losses_are_in_a_table_and_a_curve) {
    succeeds(LEARNER "--out @/run --steps 5 --batch 2 --val @/other --val-every 2");
    succeeds("cut -d, -f1,5 @/run/loss.csv");
    int step, rows = 0, measured = 0;
    double loss;
    for (char *line = strtok(output, "\n"); line != NULL; line = strtok(NULL, "\n"), rows++) {
        int fields = sscanf(line, "%d,%lf", &step, &loss);
        cr_assert(rows == 0 ? fields == 0 : step == rows && fields == 1 + (step % 2 == 0 || step == 5), "%s", line);
        measured += fields == 2;
    }
    cr_assert(rows == 6 && measured == 3);
    succeeds("grep -c '<polyline' @/run/loss.svg && grep -o 'points=.*' @/run/loss.svg | head -1 | wc -w");
    cr_assert_str_eq(output, "2\n5\n"); /* two curves, five points */
}

/* A disk of 300 kB, where the system lets a user mount one. */
Test(train_resume, a_disk_that_is_too_small_is_refused_before_the_first_step) {
    static const char mounted[] = "mkdir -p @/disk && unshare -rm sh -c 'mount -t tmpfs -o size=%s none @/disk && %s'";
    char command[1024];
    snprintf(command, sizeof command, mounted, "300k", "true");
    if (run(command) != 0) { cr_skip("no mounts here"); }
    snprintf(command, sizeof command, mounted, "300k", LEARNER "--out @/disk/run --steps 4 --batch 2");
    cr_assert_eq(run(command), 2, "%s", output);
    says("/disk/run: 1 checkpoint needs 0.");
    says(" MB, and its disk has 0.");
    cr_assert(!strstr(output, "step 1/4"), "%s", output);
    snprintf(command, sizeof command, mounted, "900k", LEARNER "--out @/disk/run --steps 4 --batch 2");
    succeeds(command);
    snprintf(command, sizeof command, mounted, "900k", LEARNER "--out @/disk/run --steps 4 --batch 2 --save-every 1");
    cr_assert_eq(run(command), 2, "%s", output);
    says("/disk/run: 2 checkpoints need 1.");
    snprintf(command, sizeof command, mounted, "1800k",
             LEARNER
             "--out @/disk/run --steps 4 --batch 2 --save-every 2 && dd if=/dev/zero of=@/disk/fill bs=1k count=900 "
             "2>/dev/null; " LEARNER "--out @/disk/run --resume --steps 6");
    cr_assert_eq(run(command), 2, "%s", output);
    says("/disk/run: 1 checkpoint needs 0.");
}

Test(train_resume, a_full_disk_leaves_the_checkpoint_before) {
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

/* Losses on different files are not comparable. Where the best checkpoint was removed, the next one is the best. */
Test(train_resume, the_best_of_another_file_is_replaced) {
    static const char back[] = "LC_ALL=C sed -i 's/\"step\":\"4\"/\"step\":\"2\"/' @/run/latest/optimizer.safetensors";
    succeeds(LEARNER "--out @/run --steps 4 --batch 2 --val @/text --val-every 1");
    says("step 4, of the lowest validation loss");
    succeeds("ln -sfn step-00000003 @/run/best"); /* killed between the two links */
    succeeds(GPT2 " train --out @/run --resume");
    succeeds("readlink @/run/best");
    cr_assert_str_eq(output, "step-00000004\n");
    succeeds(back);
    succeeds(GPT2 " train --out @/run --resume --val-every 2");
    cr_assert(strstr(output, "replaces") == NULL, "%s", output);
    succeeds(back);
    succeeds(GPT2 " train --out @/run --resume --val @/other --val-every 1");
    says("run/best was measured on other data: the next measurement replaces it");
    says("step 3/4  validation loss");
    says("lowest so far");
    succeeds(back);
    succeeds("cd @/run && cp -rL latest step-00000003 && ln -sfn step-00000003 latest && rm -r step-00000004");
    succeeds(GPT2 " train --out @/run --resume --val-every 2");
    says("lowest so far\nstep 4/4 is in ");
    succeeds("readlink @/run/best");
    cr_assert_str_eq(output, "step-00000004\n");
}

/* scp -r, for example, copies links as folders. */
Test(train_resume, a_copy_that_followed_links_goes_on) {
    succeeds(LEARNER "--out @/run --steps 4 --batch 2 --val @/text --val-every 2");
    succeeds("cp -rL @/run @/copy && mkdir @/copy/latest.part && ln -s step-00000004 @/copy/best.part");
    succeeds(GPT2 " train --out @/copy --resume");
    says("resuming after step 4");
    succeeds("LC_ALL=C sed -i 's/\"step\":\"4\"/\"step\":\"3\"/' @/copy/latest/optimizer.safetensors");
    succeeds(GPT2 " train --out @/copy --resume");
    says("resuming after step 3");
    succeeds("cd @/copy && ls && readlink best latest");
    cr_assert_str_eq(output,
                     "best\nlatest\nlock\nloss.csv\nloss.svg\nrun.json\nstep-00000004\nstep-00000004\nstep-00000004\n");
}

/* An unreadable folder must not be taken for an empty one and overwritten. */
Test(train_resume, what_cannot_be_read_is_not_nothing) {
    char path[128], *latest;
    spell(path, sizeof path, "@/text");
    struct gpt2_out not_a_folder = {.path = path}, empty = {.path = folder};
    cr_assert(!gpt2_out_find(&not_a_folder, "latest", &latest, &error));
    cr_assert(strstr(error.text, "text/latest: cannot be read: Not a directory"), "%s", error.text);
    cr_assert(gpt2_out_find(&empty, "latest", &latest, &error) && latest == NULL);
}

/* Without a checkpoint --resume starts a run. A broken checkpoint is an error and is not changed. */
Test(train_resume, no_checkpoint_and_a_broken_one) {
    succeeds(LEARNER "--out @/run --steps 2 --batch 2 --resume");
    says("from step 0");
    cr_assert_eq(run("truncate -s -1 @/run/latest/optimizer.safetensors; " GPT2 " train --out @/run --resume"), 2);
    says("optimizer.safetensors");
    cr_assert_eq(run("rm @/run/latest/optimizer.safetensors; " GPT2 " train --out @/run --resume"), 2);
    says("optimizer.safetensors: No such file");
    cr_assert_eq(run("rm -r @/run/step-*; " GPT2 " train --out @/run --resume"), 2);
    says("No such file");
}

/* The list of algorithms of an older gpt2 had another name, and lacked those of attention. */
Test(train_resume, without_the_algorithms_it_goes_on_and_says_so) {
    succeeds(LEARNER "--out @/run --steps 2 --batch 2");
    succeeds(GPT2 " train --out @/run --resume");
    cr_assert(strstr(output, "rounded differently") == NULL, "%s", output);
    succeeds("LC_ALL=C sed -i 's/matmul-algorithms/older-algorithms-/' @/run/latest/optimizer.safetensors");
    succeeds(GPT2 " train --out @/run --resume");
    says("the checkpoint is from another device, library or version of gpt2: the run continues, rounded differently");
}

/* OpenBLAS adds in another order on other processors. */
Test(train_resume, on_another_processor_it_goes_on_and_says_so) {
    struct gpt2_device_info device;
    cr_assert(gpt2_device_ask(&device, &error), "%s", error.text);
    if (!device.is_cpu) { return; }
    succeeds("OPENBLAS_CORETYPE=Nehalem " LEARNER "--out @/run --steps 2 --batch 2");
    succeeds("OPENBLAS_CORETYPE=Nehalem " GPT2 " train --out @/run --resume");
    cr_assert(strstr(output, "rounded differently") == NULL, "%s", output);
    succeeds("OPENBLAS_CORETYPE=Prescott " GPT2 " train --out @/run --resume");
    says("the checkpoint is from another device, library or version of gpt2: the run continues, rounded differently");
}

/* The next checkpoint removes leftovers of killed runs, and no other files. */
Test(train_resume, leftovers_go) {
    succeeds("mkdir -p @/run/step-00000001.part @/run/step-00000007 @/run/step-mine; touch @/run/step-00000007/x "
             "@/run/notes");
    succeeds(LEARNER "--out @/run --steps 2 --batch 2");
    succeeds("cd @/run && ls");
    cr_assert_str_eq(output, "latest\nlock\nloss.csv\nloss.svg\nnotes\nrun.json\nstep-00000002\nstep-mine\n");
}
