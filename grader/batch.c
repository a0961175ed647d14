#include "batch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "build.h"
#include "class_list.h"
#include "class_store.h"
#include "class_take.h"
#include "lab.h"
#include "report.h"
#include "spawn.h"
#include "utf8.h"

enum { MARKING_SECONDS = 1800, LARGEST_REPORT = 16 << 20, SAMPLED = 32, SEED_BYTES = 32 };

struct marking {
    pid_t pid; /* 0: none */
    int submission;
    double until;
    char folder[PATHS_BYTES];
    char key[SHA256_TEXT_BYTES];
};

struct batch {
    const struct batch_request *request;
    const struct step *step;
    char program[PATHS_BYTES], out[PATHS_BYTES - 128], seed[SEED_BYTES];
    struct submission *submissions;
    int count;
    struct marking *places;
    int place_count;
    struct sha256 settings; /* of everything but the submission */
    int done, reused, unmarked, faults;
    double start;
    bool terminal;
    char *error;
    size_t error_size;
};

static bool fail(struct batch *batch, const char *what, const char *path) {
    snprintf(batch->error, batch->error_size, "%s %s: %s", what, path, strerror(errno));
    return false;
}

/* ---- the submissions ---- */

static int by_student(const void *a, const void *b) {
    const struct submission *x = a, *y = b;
    int order = strcmp(x->student, y->student);
    return order ? order : strcmp(x->path, y->path);
}

static void name_submission(struct submission *submission, const char *name) {
    if (!class_is_archive(name, submission->student, sizeof submission->student)) {
        snprintf(submission->student, sizeof submission->student, "%s", name);
    }
}

/* A folder and an archive of one name are two submissions: they are called by their whole names. */
static void tell_apart(struct batch *batch) {
    for (int i = 0; i + 1 < batch->count; i++) {
        struct submission *a = &batch->submissions[i], *b = a + 1;
        if (strcmp(a->student, b->student) != 0) { continue; }
        struct submission *both[] = {a, b};
        for (int k = 0; k < 2; k++) {
            snprintf(both[k]->student, sizeof both[k]->student, "%s", strrchr(both[k]->path, '/') + 1);
        }
    }
    for (int i = 0; i < batch->count; i++) { store_slug(batch->submissions[i].student, batch->submissions[i].slug); }
}

static bool list_submissions(struct batch *batch) {
    const char *folder = batch->request->submissions;
    DIR *entries = opendir(folder);
    if (!entries) { return fail(batch, "cannot read the folder of submissions", folder); }
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "__MACOSX") == 0) { continue; }
        if (batch->count % 64 == 0) {
            struct submission *more =
                realloc(batch->submissions, (size_t)(batch->count + 64) * sizeof *batch->submissions);
            if (!more) { break; }
            batch->submissions = more;
        }
        struct submission *submission = &batch->submissions[batch->count++];
        *submission = (struct submission){.result = NULL};
        snprintf(submission->path, sizeof submission->path, "%s/%s", folder, entry->d_name);
        name_submission(submission, entry->d_name);
    }
    closedir(entries);
    if (batch->count == 0) {
        snprintf(batch->error, batch->error_size,
                 "%s holds no submission: it needs a folder or an archive for each student", folder);
        return false;
    }
    qsort(batch->submissions, (size_t)batch->count, sizeof *batch->submissions, by_student);
    tell_apart(batch);
    return true;
}

static bool archivers_are_there(struct batch *batch) {
    for (int i = 0; i < batch->count; i++) {
        const char *name = strrchr(batch->submissions[i].path, '/') + 1;
        if (class_is_archive(name, NULL, 0) && !class_archiver(name, batch->error, batch->error_size)) { return false; }
    }
    return true;
}

/* The lab of which most of the first submissions hold all files. */
static bool find_step(struct batch *batch) {
    int most = 0;
    bool alone = false;
    batch->step = batch->request->step;
    for (const struct step *step = batch->request->steps; !batch->request->step && step->name; step++) {
        int complete = 0;
        for (int i = 0; i < batch->count && i < SAMPLED; i++) {
            complete += class_count_files(step, batch->submissions[i].path) == class_lab_files(step);
        }
        if (complete < most || complete == 0) { continue; }
        alone = complete > most;
        most = complete;
        batch->step = step;
    }
    if (batch->request->step || alone) { return true; }
    snprintf(batch->error, batch->error_size,
             "cannot tell which lab these submissions are of: say it, as in ./grader batch step1 %s -o %s",
             batch->request->submissions, batch->request->out);
    return false;
}

/* ---- what every result depends on ---- */

static bool hash_file(struct sha256 *hash, const char *path) {
    char data[1 << 16];
    FILE *file = fopen(path, "r");
    if (!file) { return false; }
    for (size_t n; (n = fread(data, 1, sizeof data, file)) > 0;) { sha256_add(hash, data, n); }
    fclose(file);
    return true;
}

/* Files below a folder in the order of their names, without tests and built files. */
static bool hash_tree(struct sha256 *hash, const char *path) {
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char below[PATHS_BYTES];
        struct stat status;
        const char *name = entries[i]->d_name;
        bool skipped = name[0] == '.' || strcmp(name, "tests") == 0 || strcmp(name, "build") == 0;
        if (!skipped && snprintf(below, sizeof below, "%s/%s", path, name) < (int)sizeof below &&
            lstat(below, &status) == 0) {
            sha256_add_text(hash, name);
            if (S_ISDIR(status.st_mode)) { hash_tree(hash, below); }
            if (S_ISREG(status.st_mode)) { hash_file(hash, below); }
        }
        free(entries[i]);
    }
    if (count >= 0) { free(entries); }
    return count >= 0;
}

static bool hash_settings(struct batch *batch) {
    const struct batch_request *request = batch->request;
    char folder[PATHS_BYTES];
    sha256_begin(&batch->settings);
    sha256_add_text(&batch->settings, batch->step->name);
    sha256_add_text(&batch->settings, batch->seed);
    sha256_add_text(&batch->settings, request->backend);
    if (request->config) { hash_file(&batch->settings, request->config); }
    if (!hash_file(&batch->settings, batch->program)) { return fail(batch, "cannot read", batch->program); }
    snprintf(folder, sizeof folder, "%.800s/common", request->course);
    if (!hash_tree(&batch->settings, folder)) { return fail(batch, "cannot read", folder); }
    snprintf(folder, sizeof folder, "%.800s/%s", request->course, batch->step->folder);
    return hash_tree(&batch->settings, folder) || fail(batch, "cannot read", folder);
}

/* ---- OUT/ ---- */

static bool make_folders(struct batch *batch) {
    static const char *const names[] = {"results", "pages", ".work"};
    char path[PATHS_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%.900s/%s", batch->request->out, names[i]);
        if (!paths_make_folder(path)) { return fail(batch, "cannot make the folder", path); }
    }
    if (!realpath(batch->request->out, path) || strlen(path) >= sizeof batch->out) {
        return fail(batch, "cannot use the folder", batch->request->out);
    }
    strcpy(batch->out, path);
    if (!strchr(batch->out, ' ')) { return true; }
    snprintf(batch->error, batch->error_size,
             "the path %s has a space in it, which make cannot handle: choose another -o", batch->out);
    return false;
}

/* The lock lasts until the process ends. Work of a marking that was killed is removed. */
static bool lock_out(struct batch *batch) {
    char path[PATHS_BYTES];
    snprintf(path, sizeof path, "%s/.lock", batch->out);
    int lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (lock < 0) { return fail(batch, "cannot write", path); }
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        snprintf(batch->error, batch->error_size, "another marking writes to %s: wait for it, or choose another -o",
                 batch->out);
        return false;
    }
    snprintf(path, sizeof path, "%s/.work", batch->out);
    paths_remove(path);
    return paths_make_folder(path) || fail(batch, "cannot make the folder", path);
}

static bool read_seed(const char *path, char seed[SEED_BYTES]) {
    FILE *file = fopen(path, "r");
    unsigned long long number;
    bool ok = file && fscanf(file, "%llu", &number) == 1;
    if (file) { fclose(file); }
    if (ok) { snprintf(seed, SEED_BYTES, "%llu", number); }
    return ok;
}

/* The request's; else that of an earlier run; else a new one, which is kept. */
static bool choose_seed(struct batch *batch) {
    char path[PATHS_BYTES];
    struct store_file store;
    uint64_t number = batch->request->seed;
    snprintf(path, sizeof path, "%s/seed", batch->out);
    snprintf(batch->seed, sizeof batch->seed, "%llu", (unsigned long long)number);
    if (batch->request->has_seed || read_seed(path, batch->seed)) { return true; }
    if (getrandom(&number, sizeof number, 0) != sizeof number) { return fail(batch, "cannot draw", "a seed"); }
    snprintf(batch->seed, sizeof batch->seed, "%llu", (unsigned long long)number);
    if (!store_begin(&store, path)) { return fail(batch, "cannot write", path); }
    fprintf(store.file, "%s\n", batch->seed);
    return store_end(&store) || fail(batch, "cannot write", path);
}

/* ---- progress ---- */

static void print_name(const char *name) {
    for (; *name; name += utf8_length(name) ? utf8_length(name) : 1) {
        size_t length = utf8_length(name);
        bool shown = length > 1 || (length == 1 && (unsigned char)*name >= 0x20 && *name != 0x7f);
        if (shown) { fwrite(name, 1, length, stdout); }
        if (!shown) { fputc('?', stdout); }
    }
}

static void print_progress(const struct batch *batch, const struct submission *submission) {
    int width = 1, fresh = batch->done - batch->reused;
    for (int n = batch->count; n >= 10; n /= 10) { width++; }
    printf("%s%*d/%d  ", batch->terminal ? "\r\033[K" : "", width, batch->done, batch->count);
    if (strcmp(store_status(submission), "marked") == 0) {
        printf("%3g of %g  ", json_get_number(submission->result, "points"),
               json_get_number(submission->result, "points_max"));
        print_name(submission->student);
    } else {
        print_name(submission->student);
        printf(": %s: ", store_status(submission));
        print_name(json_get_text(submission->result, "error"));
        if (batch->terminal) { fputc('\n', stdout); }
    }
    if (batch->terminal && fresh > 0 && batch->done < batch->count) {
        double left = (child_now() - batch->start) / fresh * (batch->count - batch->done);
        printf("   about %.0f min left", left / 60.0 + 0.5);
    }
    if (!batch->terminal) { fputc('\n', stdout); }
    fflush(stdout);
}

static void count_result(struct batch *batch, struct submission *submission) {
    const char *status = store_status(submission);
    batch->done++;
    batch->unmarked += strcmp(status, "marked") != 0;
    batch->faults += strcmp(status, "error") == 0;
    print_progress(batch, submission);
}

/* ---- one submission ---- */

/* Stores the result and shows it. False: it cannot be written. */
static bool save(struct batch *batch, struct submission *submission, const char *status, const char *key,
                 const char *report, size_t size) {
    json_free(submission->result);
    bool ok = store_save(batch->out, submission, status, key, report, size);
    submission->result = ok ? store_load(batch->out, submission) : NULL;
    if (!submission->result || !class_show_page(batch->out, submission)) {
        return fail(batch, "cannot write the result of", submission->student);
    }
    count_result(batch, submission);
    return true;
}

static bool save_reason(struct batch *batch, struct submission *submission, const char *status, const char *key,
                        const char *reason) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) { return fail(batch, "cannot describe", submission->student); }
    report_json_error(memory, batch->step, reason);
    fclose(memory);
    bool ok = save(batch, submission, status, key, text, size);
    free(text);
    return ok;
}

static void become_grader(const struct batch *batch, const struct marking *marking, pid_t parent) {
    char folder[PATHS_BYTES + 16], report[PATHS_BYTES + 16], said[PATHS_BYTES + 16];
    const char *argv[16];
    int count = 0;
    snprintf(folder, sizeof folder, "%s/in", marking->folder);
    snprintf(report, sizeof report, "%s/report.json", marking->folder);
    snprintf(said, sizeof said, "%s/said", marking->folder);
    argv[count++] = batch->program;
    argv[count++] = batch->step->name;
    const char *const options[] = {"--submission",          folder,   "--seed", batch->seed, "--backend",
                                   batch->request->backend, "--json", report,   "--config",  batch->request->config};
    int last = batch->request->config ? 10 : 8;
    for (int i = 0; i < last; i++) { argv[count++] = options[i]; }
    argv[count] = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) { _exit(EXIT_FAULT); }
    setpgid(0, 0);
    int nothing = open("/dev/null", O_RDWR), errors = open(said, O_CREAT | O_WRONLY, 0666);
    dup2(nothing, 0);
    dup2(nothing, 1);
    dup2(errors, 2);
    setenv("TMPDIR", marking->folder, 1);
    setenv("COURSE", batch->request->course, 1);
    execv(batch->program, (char *const *)argv);
    _exit(EXIT_FAULT);
}

static char *read_all(const char *folder, const char *name, size_t *size) {
    char path[PATHS_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    char *text = file ? malloc(LARGEST_REPORT + 1) : NULL;
    *size = text ? fread(text, 1, LARGEST_REPORT, file) : 0;
    if (text) { text[*size] = '\0'; }
    if (file) { fclose(file); }
    return text;
}

/* "grader: …": the message of the grader that marked it. */
static void read_reason(const struct marking *marking, int status, char *reason, size_t reason_size) {
    size_t size;
    char *said = read_all(marking->folder, "said", &size);
    char *from = said && strncmp(said, "grader: ", 8) == 0 ? said + 8 : said;
    if (from && *from) {
        snprintf(reason, reason_size, "%.*s", (int)strcspn(from, "\n"), from);
    } else if (WIFSIGNALED(status)) {
        snprintf(reason, reason_size, "the grader was ended by signal %d", WTERMSIG(status));
    } else {
        snprintf(reason, reason_size, "the grader ended with status %d", WEXITSTATUS(status));
    }
    free(said);
}

/* Has the report of a marking all its outcomes, or the reason why the submission has none? */
static bool judge_report(const char *text, size_t size, int code, const char **status) {
    char error[128];
    struct json_value *report = text ? json_read(text, size, error, sizeof error) : NULL;
    bool marked = code <= EXIT_FEWER && json_get_first(report, "outcomes");
    bool broken = code == EXIT_USAGE && json_get_text(report, "error")[0];
    *status = marked ? "marked" : "broken";
    json_free(report);
    return marked || broken;
}

static bool finish_marking(struct batch *batch, struct marking *marking, int status, bool late) {
    struct submission *submission = &batch->submissions[marking->submission];
    char reason[1024];
    const char *how;
    size_t size;
    char *report = read_all(marking->folder, "report.json", &size);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAULT;
    bool ok;
    if (!late && judge_report(report, size, code, &how)) {
        ok = save(batch, submission, how, marking->key, report, size);
    } else {
        read_reason(marking, status, reason, sizeof reason);
        if (late) { snprintf(reason, sizeof reason, "marking it took longer than %d minutes", MARKING_SECONDS / 60); }
        ok = save_reason(batch, submission, "error", marking->key, reason);
    }
    free(report);
    paths_remove(marking->folder);
    marking->pid = 0;
    return ok;
}

static bool is_reusable(const struct submission *submission, const char *key) {
    return submission->result && strcmp(store_status(submission), "marked") == 0 &&
           strcmp(json_get_text(submission->result, "key"), key) == 0;
}

/* Takes the submission; starts a grader on it, unless the result is known. */
static bool start_marking(struct batch *batch, struct marking *marking, int index) {
    struct submission *submission = &batch->submissions[index];
    char folder[PATHS_BYTES + 16], reason[1024];
    struct sha256 hash = batch->settings;
    *marking = (struct marking){.submission = index, .until = child_now() + MARKING_SECONDS};
    snprintf(marking->folder, sizeof marking->folder, "%s/.work/%d", batch->out, index);
    snprintf(folder, sizeof folder, "%s/in", marking->folder);
    if (!paths_make_folder(folder)) { return fail(batch, "cannot make the folder", folder); }
    bool taken = class_take(batch->step, submission->path, folder, &hash, reason, sizeof reason);
    sha256_end(&hash, marking->key);
    submission->result = store_load(batch->out, submission);
    bool reused = taken && is_reusable(submission, marking->key);
    if (!taken || reused) { paths_remove(marking->folder); }
    if (!taken) { return save_reason(batch, submission, "broken", marking->key, reason); }
    if (reused) {
        batch->reused++;
        count_result(batch, submission);
        return class_show_page(batch->out, submission) || fail(batch, "cannot write the page of", submission->student);
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) { become_grader(batch, marking, parent); }
    if (pid < 0) { return fail(batch, "cannot start", batch->program); }
    marking->pid = pid;
    return true;
}

/* ---- all of them ---- */

static int running(const struct batch *batch) {
    int count = 0;
    for (int i = 0; i < batch->place_count; i++) { count += batch->places[i].pid != 0; }
    return count;
}

static struct marking *free_place(struct batch *batch) {
    for (int i = 0; i < batch->place_count; i++) {
        if (batch->places[i].pid == 0) { return &batch->places[i]; }
    }
    return NULL;
}

/* Waits until a grader has ended. */
static bool wait_marking(struct batch *batch) {
    static const struct timespec pause = {.tv_nsec = 20000000};
    for (;; nanosleep(&pause, NULL)) {
        for (int i = 0; i < batch->place_count; i++) {
            struct marking *marking = &batch->places[i];
            int status = 0;
            bool late = marking->pid && child_now() > marking->until;
            if (late) { kill(-marking->pid, SIGKILL); }
            if (marking->pid && waitpid(marking->pid, &status, late ? 0 : WNOHANG) == marking->pid) {
                kill(-marking->pid, SIGKILL); /* what it left */
                return finish_marking(batch, marking, status, late);
            }
        }
    }
}

static bool mark_all(struct batch *batch) {
    bool ok = true;
    for (int next = 0; ok && (next < batch->count || running(batch) > 0);) {
        struct marking *marking = next < batch->count ? free_place(batch) : NULL;
        ok = marking ? start_marking(batch, marking, next++) : wait_marking(batch);
    }
    for (int i = 0; i < batch->place_count; i++) { /* only after a failure */
        if (batch->places[i].pid) { kill(-batch->places[i].pid, SIGKILL); }
    }
    return ok;
}

static double seconds_of(const struct rusage *usage) {
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static void print_summary(const struct batch *batch) {
    struct rusage own, others;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &others);
    printf("%s%d submissions: %d marked now, %d before, %d without points\n", batch->terminal ? "\r\033[K" : "",
           batch->count, batch->done - batch->reused - batch->unmarked, batch->reused, batch->unmarked);
    printf("%.0f s, %.0f s of processor time; peak memory: %ld MB in this program, %ld MB in the largest other\n",
           child_now() - batch->start, seconds_of(&own) + seconds_of(&others), own.ru_maxrss / 1024,
           others.ru_maxrss / 1024);
    printf("%s/results.csv and %s/index.html\n", batch->request->out, batch->request->out);
}

static bool show_class(struct batch *batch) {
    char work[PATHS_BYTES];
    snprintf(work, sizeof work, "%s/.work", batch->out);
    paths_remove(work);
    return (class_show_csv(batch->out, batch->step, batch->submissions, batch->count) &&
            class_show_index(batch->out, batch->step, batch->submissions, batch->count)) ||
           fail(batch, "cannot write the results in", batch->out);
}

static bool prepare(struct batch *batch) {
    ssize_t length = readlink("/proc/self/exe", batch->program, sizeof batch->program - 1);
    if (length <= 0) { return fail(batch, "cannot find", "this program"); }
    return list_submissions(batch) && archivers_are_there(batch) && find_step(batch) && make_folders(batch) &&
           lock_out(batch) && choose_seed(batch) && hash_settings(batch);
}

/* On a GPU one at a time: two would slow each other down, and bands are measured. */
static int default_jobs(const struct batch_request *request) {
    bool automatic = strcmp(request->backend, "auto") == 0;
    bool cuda = automatic ? build_auto_is_cuda() : strcmp(request->backend, "cuda") == 0;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return cuda || processors < 1 ? 1 : (int)processors;
}

enum exit_code batch_run(const struct batch_request *request, char *error, size_t error_size) {
    struct batch batch = {.request = request,
                          .place_count = request->jobs ? request->jobs : default_jobs(request),
                          .start = child_now(),
                          .terminal = isatty(STDOUT_FILENO),
                          .error = error,
                          .error_size = error_size};
    batch.places = calloc((size_t)batch.place_count, sizeof *batch.places);
    error[0] = '\0';
    bool ready = batch.places && prepare(&batch), ok = ready && mark_all(&batch) && show_class(&batch);
    if (ok) { print_summary(&batch); }
    for (int i = 0; i < batch.count; i++) { json_free(batch.submissions[i].result); }
    free(batch.submissions);
    free(batch.places);
    if (!ok) { return ready ? EXIT_FAULT : EXIT_USAGE; }
    return batch.faults ? EXIT_FAULT : batch.unmarked ? EXIT_FEWER : EXIT_FULL;
}
