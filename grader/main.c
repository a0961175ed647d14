/* main.c — ./grader: from the command line to one action. Errors are printed here and nowhere else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "batch.h"
#include "case_id.h"
#include "class_conf.h"
#include "clean.h"
#include "common/version.h"
#include "grade.h"
#include "hint.h"
#include "janitor.h"
#include "lab.h"
#include "options.h"
#include "paths.h"
#include "plan.h"
#include "progress.h"
#include "report.h"
#include "script.h"
#include "watch.h"

struct session {
    struct options options;
    const struct step *steps;
    struct grade_request request;
    struct test_case test; /* of --case */
    char launcher[64];     /* that it calls */
    char course[PATHS_BYTES], clean[PATHS_BYTES], out[PATHS_BYTES];
    char error[2048];
};

static enum exit_code complain(enum exit_code code, const char *message) {
    char text[2048]; /* it may name a file of a submission */
    snprintf(text, sizeof text, "%s", message);
    fprintf(stderr, "grader: %s\n", clean_text(text));
    return code;
}

static uint64_t fresh_seed(void) {
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed) { seed = (uint64_t)getpid(); }
    return seed % 1000000000; /* short enough to type */
}

/* Does the screen's place belong to an output? */
static bool takes_screen(const struct options *options) {
    bool taken = options->json && strcmp(options->json, "-") == 0;
    for (int i = 0; i < RENDER_FORMATS; i++) {
        taken = taken || (options->files_of[i] && strcmp(options->files_of[i], "-") == 0);
    }
    return taken;
}

static bool write_json(struct session *session, const char *text, size_t size) {
    const char *path = session->options.json;
    FILE *file = !path ? NULL : strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    bool ok = !path || (file && fwrite(text, 1, size, file) == size);
    if (file && (file == stdout ? fflush(file) : fclose(file)) != 0) { ok = false; }
    if (!ok) {
        snprintf(session->error, sizeof session->error, "cannot write the JSON report to %s: %s", path,
                 strerror(errno));
    }
    return ok;
}

/* The report in every format that was asked for; without a report, why the submission cannot be marked. */
static bool write_outputs(struct session *session, const struct report *report, const struct prediction *prediction) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) {
        snprintf(session->error, sizeof session->error, "out of memory");
        return false;
    }
    if (report) {
        report_json(memory, report, prediction);
    } else {
        report_json_error(memory, session->request.step, session->error);
    }
    fclose(memory);
    bool ok = write_json(session, text, size) &&
              render_files(text, size, "the report", session->options.files_of, session->error, sizeof session->error);
    free(text);
    return ok;
}

/* Removes FOLDER/ from the text. */
static void forget(char *text, const char *folder) {
    size_t length = strlen(folder);
    for (char *at = text; (at = strstr(at, folder));) {
        size_t cut = length + (at[length] == '/');
        memmove(at, at + cut, strlen(at + cut) + 1);
    }
}

/* A submission is marked in a folder that nobody knows: its files are named as they were handed in. */
static void forget_clean(const struct session *session, struct report *report) {
    for (int i = 0; session->clean[0] && i < report->outcome_count; i++) {
        forget(report->outcomes[i].failure.text, session->clean);
        forget(report->outcomes[i].failure.file, session->clean);
    }
}

static enum exit_code grade_once(struct session *session) {
    static struct report report;
    struct prediction prediction;
    if (!session->options.has_seed) { session->request.seed = fresh_seed(); }
    progress_begin(session->request.step->name);
    enum exit_code code = grade_step(&session->request, &report, session->error, sizeof session->error);
    progress_end();
    if (code == EXIT_USAGE || code == EXIT_FAULT) { return complain(code, session->error); }
    forget_clean(session, &report);
    predict_load(report.step, session->request.files, &prediction);
    /* A submission is marked in a temporary folder; the report names the lab's folder instead. */
    report_next(&report, &prediction, session->options.submission ? report.step->folder : session->request.files);
    if (!takes_screen(&session->options)) { report_show(stdout, &report, &prediction); }
    if (!write_outputs(session, &report, &prediction)) { return complain(EXIT_USAGE, session->error); }
    if (!session->request.test && !session->options.open) { hint_remember(&report, session->out); }
    if (prediction.made && !session->request.official && !session->options.open) {
        predict_note_measured(&report, session->request.files);
    }
    return code;
}

static enum exit_code watch(struct session *session) {
    struct watch watch;
    char name[256];
    if (!watch_open(&watch, session->request.files)) { return complain(EXIT_FAULT, watch.error); }
    enum exit_code code;
    do {
        if (report_wants_colour(stdout)) { printf("\033[H\033[2J"); }
        code = grade_once(session);
        printf("\n  waiting for a change in %s (Ctrl-C ends)\n", session->request.files);
        fflush(stdout);
    } while (watch_wait(&watch, -1, name, sizeof name) > 0);
    watch_close(&watch);
    return code;
}

static enum exit_code predict(struct session *session) {
    bool typed = isatty(STDIN_FILENO);
    if (predict_ask(session->request.step, session->request.files, stdin, stdout, typed, session->error,
                    sizeof session->error)) {
        printf("\n  next: make %s && ./grader %s\n", session->request.step->name, session->request.step->name);
        return EXIT_FULL;
    }
    return complain(EXIT_USAGE, session->error);
}

static enum exit_code show_hint(struct session *session) {
    struct hint_request hint = {session->request.step, session->course,         session->request.files,
                                session->out,          session->options.kernel, session->options.hint};
    if (hint_show(&hint, stdout, session->error, sizeof session->error)) { return EXIT_FULL; }
    return complain(EXIT_USAGE, session->error);
}

/* The step and the op of the command line. */
static enum exit_code find_step(struct session *session) {
    const struct options *options = &session->options;
    struct grade_request *request = &session->request;
    request->kernel = options->kernel;
    request->step = options->step ? step_find(session->steps, options->step) : paths_last_edited(session->steps);
    if (!request->step) {
        snprintf(session->error, sizeof session->error, "there is no step '%s'; ./grader --list shows them all",
                 options->step ? options->step : "");
        return complain(EXIT_USAGE, session->error);
    }
    if (options->open && !step_keep_open((struct step *)(uintptr_t)request->step)) {
        snprintf(session->error, sizeof session->error, "%s has no open problem; ./grader --list shows them all",
                 request->step->name);
        return complain(EXIT_USAGE, session->error);
    }
    if (options->open) { request->kernel = request->step->exercises[0].op; } /* no predictions in the report */
    if (options->kernel && !exercise_find(request->step, options->kernel) &&
        !script_find(request->step, options->kernel)) {
        snprintf(session->error, sizeof session->error, "%s has no op '%s'; ./grader --list shows them all",
                 request->step->name, options->kernel);
        return complain(EXIT_USAGE, session->error);
    }
    return EXIT_FULL;
}

/* The case of the command line: one of an exercise of the step, and of --kernel. */
static enum exit_code find_case(struct session *session) {
    const char *word = session->options.test_case;
    struct grade_request *request = &session->request;
    const struct op *op;
    char reason[512];
    if (!word) { return EXIT_FULL; }
    if (!case_read(word, &op, &session->test, reason, sizeof reason)) {
        snprintf(session->error, sizeof session->error,
                 "there is no case '%.300s': %s. A report names the case of each failure", word, reason);
        return complain(EXIT_USAGE, session->error);
    }
    op_launcher_name(op, session->test.sizes.type, session->launcher, sizeof session->launcher);
    const struct exercise *exercise = exercise_find(request->step, session->launcher);
    if (!exercise || (request->kernel && !exercise_is(exercise, request->kernel))) {
        snprintf(session->error, sizeof session->error, "the case is one of %s, which %s%s does not mark",
                 session->launcher, exercise ? "--kernel " : "", exercise ? request->kernel : request->step->name);
        return complain(EXIT_USAGE, session->error);
    }
    request->kernel = session->launcher;
    request->test = &session->test;
    return EXIT_FULL;
}

/* The folders of the command line. */
static enum exit_code find_folders(struct session *session) {
    const struct options *options = &session->options;
    struct grade_request *request = &session->request;
    request->course = session->course;
    request->backend = options->backend;
    request->out = options->out;
    request->seed = options->seed;
    request->files = options->files ? options->files : request->step->folder;
    plan_out(request, session->out, sizeof session->out);
    if (!options->submission && access(request->files, R_OK | X_OK) != 0) {
        snprintf(session->error, sizeof session->error,
                 "there is no folder %s here: run this in lab/ (make lab makes it), or say --files DIR",
                 request->files);
        return complain(EXIT_USAGE, session->error);
    }
    return EXIT_FULL;
}

static enum exit_code grade_submission(struct session *session) {
    char built[PATHS_BYTES + 16];
    if (!paths_take_submission(session->request.step, session->options.submission, session->clean,
                               sizeof session->clean, session->error, sizeof session->error)) {
        complain(EXIT_USAGE, session->error);
        write_outputs(session, NULL, NULL);
        return EXIT_USAGE;
    }
    snprintf(built, sizeof built, "%s/build", session->clean);
    session->request.files = session->clean;
    session->request.official = true;
    if (!session->options.out) { session->request.out = built; }
    enum exit_code code = grade_once(session);
    paths_remove(session->clean);
    janitor_folder(NULL);
    return code;
}

static enum exit_code render(struct session *session) {
    if (render_stored(session->options.subject, session->options.files_of, session->error, sizeof session->error)) {
        return EXIT_FULL;
    }
    return complain(EXIT_USAGE, session->error);
}

static enum exit_code batch(struct session *session) {
    const struct options *options = &session->options;
    struct batch_request request = {.steps = session->steps,
                                    .step = options->step ? step_find(session->steps, options->step) : NULL,
                                    .course = session->course,
                                    .submissions = options->subject,
                                    .out = options->out,
                                    .backend = options->backend,
                                    .config = options->config,
                                    .has_seed = options->has_seed,
                                    .seed = options->seed,
                                    .jobs = options->jobs};
    if (options->step && !request.step) { return find_step(session); }
    enum exit_code code = batch_run(&request, session->error, sizeof session->error);
    if (session->error[0]) { complain(code, session->error); }
    return code;
}

/* What ends in a report is an exercise of ops; a script's verdicts are shown, and not stored. */
static enum exit_code mark_script(struct session *session, const struct script *script) {
    const struct options *options = &session->options;
    if (options->json || options->test_case || options->watch || takes_screen(options)) {
        snprintf(session->error, sizeof session->error, "%s is marked on the screen only: leave out the other options",
                 script->name);
        return complain(EXIT_USAGE, session->error);
    }
    const char *files = options->submission ? session->clean : session->request.files;
    if (options->submission && !paths_take_submission(session->request.step, options->submission, session->clean,
                                                      sizeof session->clean, session->error, sizeof session->error)) {
        return complain(EXIT_USAGE, session->error);
    }
    struct script_request request = {session->request.step, script, session->course, files,
                                     options->has_seed ? options->seed : fresh_seed()};
    enum exit_code code = script_mark(&request, stdout, session->error, sizeof session->error);
    if (options->submission) {
        paths_remove(session->clean);
        janitor_folder(NULL);
    }
    return code == EXIT_USAGE || code == EXIT_FAULT ? complain(code, session->error) : code;
}

/* The action that the options select. */
static enum exit_code run(struct session *session) {
    const struct options *options = &session->options;
    if (options->command) { return batch(session); }
    if (options->list || (!options->step && !paths_last_edited(session->steps))) {
        labs_list(stdout, session->steps);
        return EXIT_FULL;
    }
    enum exit_code code = find_step(session);
    if (code == EXIT_FULL && options->describe) {
        lab_describe(stdout, session->request.step);
        return EXIT_FULL;
    }
    if (code == EXIT_FULL) { code = find_case(session); }
    if (code == EXIT_FULL) { code = find_folders(session); }
    if (code != EXIT_FULL) { return code; }
    if (options->predict) { return predict(session); }
    if (options->hint != HINT_NONE) { return show_hint(session); }
    const struct script *script = options->kernel ? script_find(session->request.step, options->kernel) : NULL;
    if (script) { return mark_script(session, script); }
    if (options->submission) { return grade_submission(session); }
    return options->watch ? watch(session) : grade_once(session);
}

/* The points and the seed of --config; the command line's seed counts more. */
static bool configure(struct session *session) {
    struct options *options = &session->options;
    struct class_conf conf;
    struct step *steps = (struct step *)(uintptr_t)session->steps;
    if (!options->config) { return true; }
    if (!class_conf_load(options->config, steps, &conf, session->error, sizeof session->error)) { return false; }
    if (conf.has_seed && !options->has_seed) {
        options->has_seed = true;
        options->seed = conf.seed;
    }
    return true;
}

/* The secret cases are drawn from the seed, and a child might read the grader's command line. */
static void hide_seed(char *argv[]) {
    for (int i = 1; argv[i]; i++) {
        bool follows = strncmp(argv[i - 1], "--se", 4) == 0 || strcmp(argv[i - 1], "-s") == 0;
        bool begins = strncmp(argv[i], "--se", 4) == 0 || strncmp(argv[i], "-s", 2) == 0;
        char *digits = follows ? argv[i] : argv[i] + strcspn(argv[i], "0123456789");
        if (follows || begins) { memset(digits, '*', strlen(digits)); }
    }
}

int main(int argc, char *argv[]) {
    static struct session session;
    if (!options_parse(argc, argv, &session.options, session.error, sizeof session.error)) {
        return complain(EXIT_USAGE, session.error);
    }
    hide_seed(argv);
    if (session.options.help) {
        options_help(stdout);
        return EXIT_FULL;
    }
    if (session.options.version) {
        puts("grader " COURSE_VERSION);
        return EXIT_FULL;
    }
    if (session.options.command && strcmp(session.options.command, "render") == 0) { return render(&session); }
    if (!paths_course(session.course, sizeof session.course)) {
        return complain(EXIT_USAGE, "cannot find the course's common/ folder: run this in lab/, or set COURSE to the "
                                    "folder that holds common/");
    }
    session.steps = labs_load(session.course, session.error, sizeof session.error);
    if (!session.steps) { return complain(EXIT_USAGE, session.error); }
    janitor_start();
    enum exit_code code = configure(&session) ? run(&session) : complain(EXIT_USAGE, session.error);
    labs_free(session.steps);
    return code;
}
