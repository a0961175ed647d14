/* lab: descriptions are read strictly, never crash the reader, and those of the course are worth what they promise. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../options.h"
#include "../predict.h"
#include "../profile.h"
#include "labs.h"

TestSuite(lab, .timeout = 60);

static int points_of(const struct step *step, bool correctness) {
    int points = 0;
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        for (const struct check *check = exercise->checks; check->kind; check++) {
            if (check_is_correctness(check->kind) == correctness) { points += check->points; }
        }
    }
    return points;
}

/* ---- the course's own ---- */

Test(lab, a_lab_is_70_correctness_20_counted_10_predicted) {
    for (const struct step *step = all_labs(); step->name; step++) {
        cr_assert_eq(points_of(step, true), 70, "%s: %d", step->name, points_of(step, true));
        cr_assert_eq(points_of(step, false), 20, "%s: %d", step->name, points_of(step, false));
        cr_assert_eq(step->predictions.points, 10);
        cr_assert_eq(step->predictions.kind, CHECK_PREDICTION);
    }
}

Test(lab, exercises_name_ops_files_and_targets) {
    for (const struct step *step = all_labs(); step->name; step++) {
        cr_assert(strncmp(step->folder, step->name, strlen(step->name)) == 0);
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            cr_assert(op_find(exercise->op), "%s", exercise->op);
            cr_assert(strstr(exercise->file, ".cu"), "%s", exercise->file);
            char launcher[64];
            op_launcher_name(op_find(exercise->op), exercise->type, launcher, sizeof launcher);
            cr_assert_eq(exercise_find(step, launcher), exercise, "%s appears twice", launcher);
            cr_assert(op_find(exercise->op)->types >> exercise->type & 1, "%s", launcher);
            cr_assert_eq(exercise->traffic.sizes.type, exercise->type, "%s", launcher);
            cr_assert_eq(exercise->bands.sizes.type, exercise->type, "%s", launcher);
            if (op_is_on_matrices(op_find(exercise->op))) {
                const struct op_sizes *sizes = &exercise->bands.sizes;
                cr_assert_eq(sizes->N, sizes->B * sizes->H * sizes->T);
                cr_assert_eq(exercise->traffic.sizes.N / exercise->traffic.sizes.T, 1);
            }
            for (const struct check *check = exercise->checks; check->kind; check++) {
                cr_assert(!exercise->optional || check->points == 0, "track B carries no points");
                if (check->kind != CHECK_TRAFFIC) { continue; }
                for (int i = 1; i < MOST_TIERS && exercise->traffic.tiers.percent[i]; i++) {
                    cr_assert(exercise->traffic.tiers.limit[i] > exercise->traffic.tiers.limit[i - 1]);
                    cr_assert(exercise->traffic.tiers.percent[i] < exercise->traffic.tiers.percent[i - 1]);
                }
                cr_assert_eq(exercise->traffic.tiers.percent[0], 100);
            }
        }
    }
}

static void must_exist(const char *format, ...) {
    char path[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    cr_assert(access(path, R_OK) == 0, "there is no %s", path);
}

Test(lab, exercises_have_a_solution_a_skeleton_and_all_hints) {
    for (const struct step *step = all_labs(); step->name; step++) {
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            must_exist("%s/solution/%s", step->folder, exercise->file);
            must_exist("%s/skeleton/%s", step->folder, exercise->file);
            for (int level = 1; level <= HINT_LEVELS; level++) {
                must_exist("%s/hints/%s.%d.md", step->folder, exercise->op, level);
            }
        }
        for (const struct script *script = step->scripts; script->name; script++) {
            must_exist("%s/%s", step->folder, script->harness);
            must_exist("%s/solution/%s", step->folder, script->file);
            must_exist("%s/skeleton/%s", step->folder, script->file);
            for (int level = 1; level <= HINT_LEVELS; level++) {
                must_exist("%s/hints/%s.%d.md", step->folder, script->name, level);
            }
        }
    }
}

Test(lab, correctness_comes_before_performance) {
    for (const struct step *step = all_labs(); step->name; step++) {
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            bool performance = false;
            for (const struct check *check = exercise->checks; check->kind; check++) {
                cr_assert(!performance || !check_is_correctness(check->kind), "%s", exercise->op);
                performance = performance || !check_is_correctness(check->kind);
            }
        }
    }
}

Test(lab, lookups) {
    cr_assert_eq(lab("step1"), &all_labs()[0]);
    cr_assert_null(lab("step"));
    cr_assert_null(lab(""));
    cr_assert_eq(step_after(&all_labs()[0]), &all_labs()[1]);
    const struct step *last = all_labs();
    while (last[1].name) { last++; }
    cr_assert_null(step_after(last));
    cr_assert_null(exercise_find(&all_labs()[0], "nothing"));
    const struct step *fused = lab("step3");
    cr_assert_eq(exercise_find(fused, "causal_softmax_forward")->type, TYPE_F32);
    cr_assert_eq(exercise_find(fused, "causal_softmax_forward_bf16")->type, TYPE_BF16);
    cr_assert(exercise_is(exercise_find(fused, "causal_softmax_forward_bf16"), "causal_softmax_forward"));
    cr_assert_null(exercise_find(&all_labs()[0], "softmax_forward_bf16"));
}

Test(lab, only_the_labs_own_files_are_taken) {
    const struct step *step = lab("step2");
    cr_assert(step_owns_file(step, "softmax.cu"));
    cr_assert(step_owns_file(step, "reduce.cuh"));
    cr_assert(step_owns_file(step, PREDICTIONS_FILE));
    cr_assert(!step_owns_file(step, "Makefile"));
    cr_assert(!step_owns_file(step, "residual.cu"));
    cr_assert(!step_owns_file(step, "../softmax.cu"));
    cr_assert(step_owns_file(lab("step3"), "vec.cuh"));
    cr_assert(step_owns_file(lab("step3"), "residual_layernorm_backward.cu"));
}

Test(lab, questions_can_be_answered) {
    for (const struct step *step = all_labs(); step->name; step++) {
        cr_assert(predict_question_count(step) >= 3);
        for (int i = 0; i < predict_question_count(step); i++) {
            const struct question *question = &step->questions[i];
            cr_assert(question->low < question->high);
            cr_assert(question->counted != NULL || question->truth > 0.0, "%s has no answer", question->key);
            if (question->counted) { cr_assert(exercise_find(step, question->counted), "%s", question->counted); }
            if (question->truth > 0.0) {
                cr_assert(question->truth >= question->low && question->truth <= question->high);
            }
        }
    }
}

/* Every file that a program is linked with is some exercise's own, so that it is marked, checked and taken from a submission. */
Test(lab, parts_are_exercises) {
    int parts = 0;
    for (const struct step *step = all_labs(); step->name; step++) {
        for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
            for (int i = 0; i < EXERCISE_MAX_PARTS && exercise->parts[i]; i++, parts++) {
                cr_assert(step_owns_file(step, exercise->parts[i]), "%s", exercise->parts[i]);
            }
        }
    }
    cr_assert(parts > 0);
}

static double truth(const char *step, const char *key) {
    for (int i = 0; i < predict_question_count(lab(step)); i++) {
        const struct question *question = &lab(step)->questions[i];
        if (strcmp(question->key, key) == 0) { return question->truth; }
    }
    return 0.0;
}

/* Of the profile with these rows at so many times their floors; 0: naive. */
static double speedup(double softmax, double layernorm, double residual) {
    static const char *const names[] = {"softmax", "LayerNorm", "residual add"};
    double values[] = {softmax, layernorm, residual}, factors[PROFILE_ROWS] = {0};
    for (int i = 0; i < PROFILE_ROWS; i++) {
        for (int k = 0; k < 3; k++) {
            if (strcmp(profile[i].name, names[k]) == 0) { factors[i] = values[k]; }
        }
    }
    return profile_speedup(factors);
}

Test(lab, computed_answers_are_the_profiles) {
    cr_assert(fabs(truth("step1", "softmax_share") - speedup(1.0, 0.0, 0.0)) < 0.006);
    cr_assert(fabs(truth("step1", "all_share") - speedup(1.0, 1.0, 1.0)) < 0.006);
    cr_assert(fabs(truth("step2", "all_share") - speedup(1.5, 2.0, 0.0)) < 0.006);
    double products = 0.0;
    for (int i = 0; i < PROFILE_ROWS; i++) { products += profile[i].flops > 0.0 ? profile_ms(&profile[i], 1.0) : 0.0; }
    cr_assert(fabs(truth("step4", "all_share") - profile_naive_ms() / products) < 0.006);
    /* causal softmax moves 1.5 of softmax's 2; LayerNorm and residual add 2 + 3 apart, 4 as one */
    cr_assert(fabs(truth("step3", "all_share") - speedup(0.75, 1.0, 2.0 / 3.0)) < 0.006, "%g",
              speedup(0.75, 1.0, 2.0 / 3.0));
}

Test(lab, the_profile_is_gpt2_smalls) {
    /* 124M parameters: 2 operations each a token, attention's products beside them */
    double products = profile[0].flops / 1024.0 / 2.0;
    cr_assert(products > 123e6 && products < 125e6, "%g multiply-adds a token", products);
    cr_assert_eq(profile[2].launches, 12);
    cr_assert_eq(profile[3].launches, 25);
    cr_assert_eq(profile[4].launches, 24);
    cr_assert_eq(profile[2].floor_bytes, 12.0 * 12.0 * 1024.0 * 1024.0 * 8.0);
}

Test(lab, a_description_names_each_lab_once_in_order) {
    int number = 0;
    for (const struct step *step = all_labs(); step->name; step++) {
        cr_assert_gt(atoi(step->name + 4), number, "%s", step->name);
        number = atoi(step->name + 4);
    }
    cr_assert_geq(number, 4);
}

/* Lab 1 is read before lab 2: its texts do without the words that lab 2 explains. */
static void assert_says_none(const char *path) {
    static const char *const words[] = {"lane",          "lanes",     "shuffle", "coalesced", "__shfl_xor_sync",
                                        "__syncthreads", "__shared__"};
    static char text[1 << 17];
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s", path);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    cr_assert(length > 0 && length < sizeof text - 1, "%s", path);
    text[length] = '\0';
    for (char *word = strtok(text, " \t\n.,:;()<>*`'\"!?"); word; word = strtok(NULL, " \t\n.,:;()<>*`'\"!?")) {
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            cr_assert(strcasecmp(word, words[i]) != 0, "%s: %s", path, word);
        }
    }
}

Test(lab, lab_1_does_without_the_words_of_lab_2) {
    const struct step *step = lab("step1");
    char path[256];
    snprintf(path, sizeof path, "%s/README.md", step->folder);
    assert_says_none(path);
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        snprintf(path, sizeof path, "%s/skeleton/%s", step->folder, exercise->file);
        assert_says_none(path);
        snprintf(path, sizeof path, "common/ops/%s/contract.h", exercise->op);
        assert_says_none(path);
        for (int level = 1; level <= HINT_LEVELS; level++) {
            snprintf(path, sizeof path, "%s/hints/%s.%d.md", step->folder, exercise->op, level);
            assert_says_none(path);
        }
    }
}

/* ---- open problems ---- */

Test(lab, each_lab_has_an_open_problem_without_points) {
    for (const struct step *labs = all_labs(); labs->name; labs++) {
        struct step kept = *labs;
        const struct exercise *from = step_open(labs), *open = &kept.exercises[0];
        cr_assert(from, "%s", labs->name);
        cr_assert(step_keep_open(&kept));
        cr_assert_null(kept.exercises[1].op);
        cr_assert_null(kept.scripts[0].name);
        cr_assert(open->is_open && open->optional);
        cr_assert_str_eq(open->op, from->op);
        cr_assert_str_eq(open->title, from->open.title);
        cr_assert_eq(open->type, open->traffic.sizes.type);
        cr_assert(open->traffic.everything);
        cr_assert(exercise_check(open, CHECK_SECRET) && exercise_check(open, CHECK_TRAFFIC));
        for (const struct check *check = open->checks; check->kind; check++) { cr_assert_eq(check->points, 0); }
        cr_assert(!from->is_open && !from->traffic.everything); /* the lab itself is as it was */
    }
}

/* ---- reading ---- */

#define HEAD "title \"t\"\npredictions 10\n"
#define ROW  "exercise residual_forward file a.cu points shapes=1\n"

static struct step step;
static char error[512];

static bool read_lab(const char *text) {
    error[0] = '\0';
    return lab_read("step7_new", "step7_new/lab.conf", text, strlen(text), &step, error, sizeof error);
}

Test(lab, one_line_is_an_exercise) {
    cr_assert(read_lab(HEAD "exercise residual_forward file residual.cu optional\n"), "%s", error);
    const struct exercise *exercise = &step.exercises[0];
    cr_assert_str_eq(step.name, "step7");
    cr_assert_str_eq(step.folder, "step7_new");
    cr_assert_str_eq(exercise->op, "residual_forward");
    cr_assert_str_eq(exercise->title, "residual forward");
    cr_assert_str_eq(exercise->file, "residual.cu");
    cr_assert_eq(exercise->type, TYPE_F32);
    cr_assert(exercise->optional);
    for (int i = 0; i < 4; i++) { cr_assert_eq(exercise->checks[i].kind, CHECK_SHAPES + i); }
    cr_assert_eq(exercise->checks[4].kind, 0);
    cr_assert_null(step.exercises[1].op);
    lab_free(&step);
}

Test(lab, an_open_problem_is_one_line) {
    cr_assert(read_lab(HEAD "exercise softmax_forward file a.cu points shapes=1\n"
                            "    open sectors 1.05 N=4 C=100 \"one read\"\n"),
              "%s", error);
    const struct open_problem *open = &step.exercises[0].open;
    cr_assert_str_eq(open->title, "one read");
    cr_assert_eq(open->goal.unit, TRAFFIC_SECTORS);
    cr_assert_eq(open->goal.tiers.limit[0], 1.05);
    cr_assert_eq(open->goal.sizes.C, 100);
    lab_free(&step);
}

Test(lab, an_open_problem_is_complete_and_alone) {
    static const struct {
        const char *setting, *reason;
    } wrong[] = {
        {"open", "open needs a unit"},
        {"open bytes", "bytes needs a goal"},
        {"open words 1.5 N=4 C=8 \"t\"", "in bytes or in sectors"},
        {"open bytes 0.5 N=4 C=8 \"t\"", "'0.5' is no goal"},
        {"open bytes 1.5 N=4 C=8", "open needs a title"},
        {"open bytes 1.5 N=4 \"t\"", "the size C of residual_forward is missing"},
        {"open bytes 1.5 N=4 T=8 \"t\"", "'T=8' is no size"},
        {"open bytes 1.5 N=4 C=8 \"a title that is too long for its column\"", "open needs a title"},
    };
    char text[512];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, HEAD "exercise residual_forward file a.cu points shapes=1 %s\n", wrong[i].setting);
        cr_assert(!read_lab(text), "%s", wrong[i].setting);
        cr_assert(strstr(error, wrong[i].reason), "%s: %s", wrong[i].setting, error);
    }
    cr_assert(!read_lab(HEAD "exercise residual_forward file a.cu points shapes=1 open bytes 1.5 N=4 C=8 \"t\"\n"
                             "exercise softmax_forward file b.cu points shapes=1 open bytes 1.5 N=4 C=8 \"u\"\n"));
    cr_assert(strstr(error, "one open problem"), "%s", error);
}

Test(lab, further_types_start_from_the_first) {
    cr_assert(read_lab(HEAD "exercise residual_layernorm_forward f32 file a.cu includes a.cuh sub/b.cuh # a comment\n"
                            "    title \"fused, {type}\" points shapes=5 traffic=2\n"
                            "    counted N=8 C=16 eps=0.5\n"
                            "    traffic bytes 1.5=100% 2=50%\n"
                            "\n"
                            "exercise residual_layernorm_forward bf16 f16 points shapes=1\n"),
              "%s", error);
    const struct exercise *second = &step.exercises[1], *third = &step.exercises[2];
    cr_assert_str_eq(step.exercises[0].title, "fused, fp32");
    cr_assert_str_eq(second->title, "fused, bf16");
    cr_assert_str_eq(third->title, "fused, fp16");
    cr_assert_str_eq(third->includes[1], "sub/b.cuh");
    cr_assert_eq(third->type, TYPE_F16);
    cr_assert_eq(third->traffic.sizes.type, TYPE_F16);
    cr_assert_eq(third->traffic.sizes.C, 16);
    cr_assert_eq(third->traffic.sizes.eps, 0.5f);
    cr_assert_eq(exercise_check(&step.exercises[0], CHECK_TRAFFIC)->points, 2);
    cr_assert_null(exercise_check(second, CHECK_TRAFFIC), "points are given anew");
    cr_assert(step_owns_file(&step, "sub/b.cuh"));
    lab_free(&step);
}

Test(lab, types_of_one_line_are_told_apart_by_their_titles) {
    cr_assert(read_lab(HEAD "exercise softmax_forward f32 bf16 file softmax.cu optional"), "%s", error);
    cr_assert_str_eq(step.exercises[0].title, "softmax forward, fp32");
    cr_assert_str_eq(step.exercises[1].title, "softmax forward, bf16");
    lab_free(&step);
}

Test(lab, a_text_may_be_long) {
    cr_assert(read_lab(HEAD ROW "question k unit x range 1 2 answer 1.5\n    ask \"one # \"\n\t\"two\"\r\n"), "%s",
              error);
    cr_assert_str_eq(step.questions[0].text, "one #  two");
    lab_free(&step);
}

/* Each mistake gives one error that names its line and says what to do. */
Test(lab, mistakes) {
    static const struct {
        const char *text, *says;
    } mistakes[] = {
        {"", ":1: the lab has no title"},
        {"title \"t\"\n" ROW, "predictions POINTS is missing"},
        {HEAD, "the lab has no exercise"},
        {"titel \"t\"\n", ":1: unknown word 'titel': a line begins with title"},
        {"title t\n", ":1: title needs a text in quotation marks"},
        {"title \"t\n", ":1: a quotation mark is missing"},
        {"title \"t\" and\n", "'and' follows the text of title"},
        {HEAD "title \"u\"\n", ":3: the lab has two titles"},
        {HEAD "predictions 10\n", ":3: predictions is given twice"},
        {"predictions ten\n", "'ten': points are whole numbers"},
        {"predictions\n", "predictions needs its points"},
        {"predictions 10 20\n", ":1: '20' follows a complete statement"},
        {"predictions 10\001\n", ":1: character 1 is no text"},
        {HEAD "  exercise residual_forward\n", ":3: 'exercise' follows a complete statement"},
        {HEAD "exercise\n", ":3: exercise needs the name of an op"},
        {HEAD "exercise residual\n", ":3: there is no op 'residual'"},
        {HEAD "exercise residual_forward f16 file a.cu optional\n", ":3: residual_forward has no launcher for f16"},
        {HEAD "exercise residual_forward f64 file a.cu optional\n", ":3: unknown word 'f64' in an exercise"},
        {HEAD "exercise softmax_forward f32 f32 file a.cu optional\n", "softmax_forward is given twice in f32"},
        {HEAD "exercise residual_forward optional\n", "residual_forward needs the learner's file"},
        {HEAD "exercise residual_forward file a.c optional\n", "'a.c' is neither a .cu file"},
        {HEAD "exercise residual_forward file ../a.cu optional\n", "'../a.cu' is neither a .cu file"},
        {HEAD "exercise residual_forward file /a.cu optional\n", "'/a.cu' is neither a .cu file"},
        {HEAD "exercise residual_forward file sub/a.cu optional\n", "is in no sub-folder"},
        {HEAD "exercise residual_forward file a.cu b.cu optional\n", "unknown word 'b.cu' in an exercise"},
        {HEAD "exercise residual_forward file a.cu includes a/../b.h optional\n", "'a/../b.h' is neither a .cuh file"},
        {HEAD "exercise residual_forward file a.cu includes b.cuh optionl\n", "'optionl' is neither a .cuh file"},
        {HEAD "exercise residual_forward file a.cu includes optional\n", "includes needs the name of a file"},
        {HEAD "exercise residual_forward file a.cu file b.cu optional\n", "file is given twice in an exercise"},
        {HEAD "exercise residual_forward file a.cu\n    poinst shapes=3\n", ":4: unknown word 'poinst' in an exercise"},
        {HEAD "exercise residual_forward file a.cu\n", ":3: residual_forward has no points"},
        {HEAD "exercise residual_forward file a.cu points shape=3\n", "'shape=3': points are written as"},
        {HEAD "exercise residual_forward file a.cu points shapes=3.5\n", "points are whole numbers"},
        {HEAD "exercise residual_forward file a.cu points\n", "points needs a check"},
        {HEAD "exercise residual_forward file a.cu points shapes=3 optional\n", "is optional, so it has no points"},
        {HEAD "exercise residual_forward file a.cu points traffic=3\n", "points for traffic, but no such target"},
        {HEAD ROW "    counted N=8 C=8\n    traffic bytes 1=100%\n",
         ":3: residual_forward describes traffic without points"},
        {HEAD ROW "    counted N=8\n", ":4: the size C of residual_forward is missing"},
        {HEAD ROW "    counted N=8 T=3\n", "'T=3' is no size of residual_forward"},
        {HEAD ROW "    counted N=0 C=3\n", "'N=0' is no size of residual_forward"},
        {HEAD ROW "    counted N=8 N=8\n", "'N=8' is no size of residual_forward"},
        {HEAD ROW "    counted N=99999999999 C=3\n", "is no size of residual_forward"},
        {HEAD ROW "    counted N=8 C=8 eps=0.5\n", "'eps=0.5' is no size of residual_forward"},
        {HEAD "exercise causal_softmax_forward file a.cu optional counted B=9999 H=9999 T=9999 scale=1\n", "too large"},
        {HEAD ROW "    traffic words 1=100%\n", "traffic is in bytes or in sectors"},
        {HEAD ROW "    traffic bytes\n", "the first tier of traffic gives 100%"},
        {HEAD ROW "    traffic bytes 1=90%\n", "the first tier of traffic gives 100%"},
        {HEAD ROW "    traffic bytes 1=100% 2\n", "'2': a tier is written as"},
        {HEAD ROW "    traffic bytes \"kernel 1\" 1=100%\n", "'kernel 1': a tier is written as"},
        {HEAD ROW "    traffic bytes 0=100%\n", "limits rise from tier to tier"},
        {HEAD ROW "    barriers 0=100% 0=50%\n", "limits rise from tier to tier"},
        {HEAD ROW "    barriers 1.5=100%\n", "barriers are whole numbers"},
        {HEAD "exercise residual_forward file a.cu points shapes=1 barriers=1\n",
         "no such target: add a line barriers, and one"},
        {HEAD ROW "    traffic bytes 2=100% 1=50%\n", "limits rise"},
        {HEAD ROW "    traffic bytes 1=100% 2=100%\n", "limits rise"},
        {HEAD ROW "    traffic bytes 1=100% 2=50% 3=30% 4=10%\n", "at most 3 tiers"},
        {HEAD ROW "    launches 1.5=100%\n", "launches are whole numbers"},
        {HEAD ROW "    parallelism warps=3\n", "needs both warps= and chain="},
        {HEAD ROW "    parallelism warps=3 long\n", "'long': parallelism is written as"},
        {HEAD ROW "    speed N=8 C=8 pass=0.5 good=0.4 speed_of_light=0.9\n", "each above the one before"},
        {HEAD ROW "    speed N=8 C=8 pass=half good=0.4 speed_of_light=0.9\n", "'pass=half': a band is a fraction"},
        {HEAD ROW "    rate program=p row=r\n", "rate needs program="},
        {HEAD ROW "    rate lines=3\n", "'lines=3': rate knows"},
        {HEAD ROW "    title \"a title that is longer than its column\"\n", "must have 1 to 30 characters"},
        {HEAD ROW "    title \"\"\n", "must have 1 to 30 characters"},
        {HEAD ROW "    linked_with b.cu\n", ":3: residual_forward is linked with b.cu"},
        {HEAD ROW ROW, ":4: residual_forward is given twice in f32"},
        {HEAD ROW "question\n", ":4: question needs a key"},
        {HEAD ROW "question K\n", "'K' is no key"},
        {HEAD ROW "question k unit x range 1 2 answer 1\n", "needs a unit, a range and ask"},
        {HEAD ROW "question k unit x range 2 1 answer 1 ask \"?\"\n", "LOW HIGH"},
        {HEAD ROW "question k unit x range 1 2 answer 3 ask \"?\"\n", "the answer of k is outside its range"},
        {HEAD ROW "question k unit x range 1 2 answer -3 ask \"?\"\n", "an answer is above 0"},
        {HEAD ROW "question k unit x range 1 2 answer 0x2 ask \"?\"\n", "'0x2' after answer is no number"},
        {HEAD ROW "question k unit x range 1 2 ask \"?\"\n", "needs either its answer"},
        {HEAD ROW "question k unit x range 1 2 counted nothing ask \"?\"\n",
         ":4: the question k is counted in 'nothing'"},
        {HEAD ROW "question k unit x range 1 2 answer 1 ask \"?\"\nquestion k\n", ":5: there are two questions k"},
        {HEAD ROW "script Debug title \"t\" file a.py harness b.py\n", ":4: 'Debug' is no name of a script"},
        {HEAD ROW "script a title \"t\" file a.py\n",
         ":4: the script a needs a title, the learner's file and its harness"},
        {HEAD ROW "script a title \"t\" file a.cu harness b.py\n", ":4: 'a.cu' is neither a .py file of this lab"},
        {HEAD ROW "script a title \"t\" file a.py harness ../b.py\n", ":4: '../b.py' is neither a .py file"},
        {HEAD ROW "script a title \"t\" file a.py harness b.py\nscript a\n", ":5: there are two scripts a"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        cr_assert(!read_lab(mistakes[i].text), "'%s' was read", mistakes[i].text);
        cr_assert_eq(strncmp(error, "step7_new/lab.conf:", 19), 0, "%s", error);
        cr_assert(strstr(error, mistakes[i].says), "'%s', not '%s', for\n%s", error, mistakes[i].says,
                  mistakes[i].text);
        cr_assert_null(step.memory);
    }
}

Test(lab, there_is_room_for_a_limited_number) {
    static char text[1 << 14];
    strcpy(text, HEAD ROW);
    for (int i = 0; i < STEP_MAX_QUESTIONS; i++) {
        sprintf(text + strlen(text), "question k%d unit x range 1 2 answer 1 ask \"?\"\n", i);
    }
    cr_assert(!read_lab(text));
    cr_assert(strstr(error, "asks at most"), "%s", error);
    strcpy(text, HEAD "exercise softmax_forward file a.cu optional includes");
    for (int i = 0; i <= EXERCISE_MAX_INCLUDES; i++) { sprintf(text + strlen(text), " h%d.cuh", i); }
    cr_assert(!read_lab(text));
    cr_assert(strstr(error, "includes takes at most"), "%s", error);
}

Test(lab, a_course_without_labs_says_so) {
    cr_assert_null(labs_load("/nowhere", error, sizeof error));
    cr_assert(strstr(error, "there is no lab in /nowhere"), "%s", error);
}

/* ---- damaged descriptions ---- */

static unsigned random_state = 1;

static unsigned draw(unsigned below) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

static size_t load(const struct step *of, char *text, size_t size) {
    char path[256];
    snprintf(path, sizeof path, "%s/" LAB_FILE, of->folder);
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s", path);
    size_t length = fread(text, 1, size, file);
    fclose(file);
    return length;
}

/* Changes a byte, or cuts, doubles or moves a stretch. Returns the new length. */
static size_t mutate(char *text, size_t length) {
    static const char alphabet[] = " \n\t\"#=%.,/0123456789eNCx\377";
    size_t at = draw((unsigned)length), part = 1 + draw(60), from = draw((unsigned)length);
    if (part > length - at) { part = length - at; }
    if (part > length - from) { part = length - from; }
    switch (draw(4)) {
        case 0: text[at] = alphabet[draw(sizeof alphabet)]; return length; /* its '\0' too */
        case 1: memmove(text + at, text + at + part, length - at - part); return length - part;
        case 2: memmove(text + at, text + from, part); return length;
        default: memmove(text + at + part, text + at, length - at); return length + part;
    }
}

Test(lab, damaged_descriptions_are_read_or_refused) {
    static char original[1 << 14], text[1 << 15];
    int refused = 0, runs = 0;
    for (const struct step *of = all_labs(); of->name; of++) {
        size_t whole = load(of, original, sizeof original);
        for (int i = 0; i < 3000; i++, runs++) {
            size_t length = whole;
            memcpy(text, original, whole);
            for (unsigned changes = 1 + draw(4); changes > 0; changes--) { length = mutate(text, length); }
            error[0] = '\0';
            if (lab_read(of->folder, "lab.conf", text, length, &step, error, sizeof error)) {
                lab_free(&step);
                continue;
            }
            refused++;
            int line = 0;
            cr_assert_eq(sscanf(error, "lab.conf:%d: ", &line), 1, "%s", error);
            cr_assert(line >= 1 && line < 500, "%s", error);
        }
    }
    cr_assert_gt(refused, runs / 3, "%d of %d", refused, runs);
}
