/* train_log.c — loss.csv and loss.svg in the folder of a run (train_log.h). */
#define _GNU_SOURCE
#include "train_log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpt2/file.h"

static const char header[] = "step,loss,lr,norm,val_loss\n";

/* ---- the rows ---- */

static bool fail_writing(const struct train_log *log, struct gpt2_error *error) {
    return gpt2_fail(error, "%s: cannot be written: %s", log->csv, strerror(errno));
}

/* The size of the header and of the complete rows up to `step`; 0: the file is another one. */
static size_t rows_until(const struct gpt2_file *file, int64_t step) {
    const char *text = (const char *)file->bytes;
    size_t at = strlen(header);
    if (file->size < at || memcmp(text, header, at) != 0) { return 0; }
    for (const char *end; at < file->size; at = (size_t)(end - text) + 1) {
        end = memchr(text + at, '\n', file->size - at);
        if (end == NULL || atoll(text + at) > step) { break; } /* digits end at the comma */
    }
    return at;
}

/* Leaves the rows up to `step`, or a header. */
static bool cut(const struct train_log *log, int64_t step, struct gpt2_error *error) {
    struct gpt2_file file = {NULL, 0, NULL};
    bool there = step > 0 && access(log->csv, R_OK) == 0;
    if (there && !gpt2_file_open(&file, log->csv, error)) { return false; }
    size_t size = there ? rows_until(&file, step) : 0;
    bool good = size > 0 ? gpt2_file_write(log->csv, file.bytes, size, error)
                         : gpt2_file_write(log->csv, header, strlen(header), error);
    gpt2_file_close(&file);
    return good;
}

bool train_log_open(struct train_log *log, const struct gpt2_out *out, int64_t step, struct gpt2_error *error) {
    *log = (struct train_log){.csv = gpt2_path(out->path, "loss.csv"), .svg = gpt2_path(out->path, "loss.svg")};
    if (log->csv == NULL || log->svg == NULL) { return gpt2_fail(error, "out of memory"); }
    if (!cut(log, step, error)) { return false; }
    log->file = fopen(log->csv, "ae");
    return log->file != NULL || fail_writing(log, error);
}

static bool end_row(struct train_log *log, struct gpt2_error *error) {
    if (log->open_row) { fputc('\n', log->file); }
    log->open_row = false;
    return fflush(log->file) == 0 || fail_writing(log, error);
}

bool train_log_step(struct train_log *log, int64_t step, double loss, double rate, double norm,
                    struct gpt2_error *error) {
    if (!end_row(log, error)) { return false; }
    log->open_row = true;
    return fprintf(log->file, "%lld,%.9g,%.9g,%.9g,", (long long)step, loss, rate, norm) > 0 ||
           fail_writing(log, error);
}

bool train_log_validation(struct train_log *log, double loss, struct gpt2_error *error) {
    return fprintf(log->file, "%.9g", loss) > 0 || fail_writing(log, error);
}

void train_log_close(struct train_log *log) {
    if (log->file != NULL) {
        end_row(log, NULL);
        fclose(log->file);
    }
    free(log->csv);
    free(log->svg);
    *log = (struct train_log){.file = NULL};
}

/* ---- the curve ---- */

enum { WIDTH = 800, HEIGHT = 400, LEFT = 60, RIGHT = 20, TOP = 20, BOTTOM = 50, MOST_POINTS = 1000, TICKS = 5 };

struct point {
    double step, loss;
};
struct curve {
    struct point *at;
    int count, room;
};
struct plot {
    struct curve train, val;
    double first, last, least, most; /* of the steps, of the losses */
};

static bool add(struct curve *curve, double step, double loss) {
    if (curve->count == curve->room) {
        int room = curve->room > 0 ? 2 * curve->room : 256;
        struct point *larger = realloc(curve->at, (size_t)room * sizeof *larger);
        if (larger == NULL) { return false; }
        curve->at = larger;
        curve->room = room;
    }
    curve->at[curve->count++] = (struct point){step, loss};
    return true;
}

/* Means of neighbours, so that a long run stays a small file. */
static void thin(struct curve *curve) {
    int each = (curve->count + MOST_POINTS - 1) / MOST_POINTS, count = 0;
    for (int i = 0; each > 1 && i < curve->count; i += each) {
        struct point mean = {0.0, 0.0};
        int n = curve->count - i < each ? curve->count - i : each;
        for (int k = 0; k < n; k++) {
            mean.step += curve->at[i + k].step / n;
            mean.loss += curve->at[i + k].loss / n;
        }
        curve->at[count++] = mean;
    }
    curve->count = each > 1 ? count : curve->count;
}

static bool read_rows(struct plot *plot, const char *path, struct gpt2_error *error) {
    FILE *file = fopen(path, "re");
    char line[256];
    bool good = file != NULL || gpt2_fail(error, "%s: cannot be read: %s", path, strerror(errno));
    while (good && fgets(line, sizeof line, file) != NULL) {
        double step, loss, val;
        int fields = sscanf(line, "%lf,%lf,%*f,%*f,%lf", &step, &loss, &val);
        good = (fields < 2 || add(&plot->train, step, loss)) && (fields < 3 || add(&plot->val, step, val));
        if (!good) { gpt2_fail(error, "out of memory"); }
    }
    if (file != NULL) { fclose(file); }
    return good;
}

static void measure(struct plot *plot) {
    const struct curve *curves[] = {&plot->train, &plot->val};
    plot->least = INFINITY, plot->most = -INFINITY;
    plot->first = plot->train.at[0].step, plot->last = plot->train.at[plot->train.count - 1].step;
    for (int c = 0; c < 2; c++) {
        for (int i = 0; i < curves[c]->count; i++) {
            plot->least = fmin(plot->least, curves[c]->at[i].loss);
            plot->most = fmax(plot->most, curves[c]->at[i].loss);
        }
    }
    if (plot->most <= plot->least) { plot->most = plot->least + 1.0; }
    if (plot->last <= plot->first) { plot->last = plot->first + 1.0; }
}

static double x_of(const struct plot *plot, double step) {
    return LEFT + (WIDTH - LEFT - RIGHT) * (step - plot->first) / (plot->last - plot->first);
}
static double y_of(const struct plot *plot, double loss) {
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (loss - plot->least) / (plot->most - plot->least);
}

static void draw_curve(FILE *to, const struct plot *plot, const struct curve *curve, const char *name,
                       const char *colour, int row) {
    if (curve->count == 0) { return; }
    fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" points=\"", colour);
    for (int i = 0; i < curve->count; i++) {
        fprintf(to, "%s%.1f,%.1f", i > 0 ? " " : "", x_of(plot, curve->at[i].step), y_of(plot, curve->at[i].loss));
    }
    fprintf(to, "\"/>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"%s\">%s, last %.4f</text>\n", WIDTH - RIGHT,
            TOP + 16 * row, colour, name, curve->at[curve->count - 1].loss);
}

static void draw(FILE *to, const struct plot *plot) {
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT);
    for (int i = 0; i < TICKS; i++) {
        double part = (double)i / (TICKS - 1), step = plot->first + part * (plot->last - plot->first);
        double loss = plot->least + part * (plot->most - plot->least), x = x_of(plot, step), y = y_of(plot, loss);
        fprintf(to, "<path stroke=\"#ddd\" d=\"M%d %.1fH%dM%.1f %dV%d\"/>\n", LEFT, y, WIDTH - RIGHT, x, TOP,
                HEIGHT - BOTTOM);
        fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n", LEFT - 6, y + 4, loss);
        fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", x, HEIGHT - BOTTOM + 18, step);
    }
    fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n", (LEFT + WIDTH - RIGHT) / 2,
            HEIGHT - 10);
    draw_curve(to, plot, &plot->train, "training loss", "#4477aa", 1);
    draw_curve(to, plot, &plot->val, "validation loss", "#cc3311", 2);
    fprintf(to, "</svg>\n");
}

bool train_log_draw(struct train_log *log, struct gpt2_error *error) {
    struct plot plot = {.first = 0.0};
    char *text = NULL;
    size_t size = 0;
    if (!end_row(log, error) || (fsync(fileno(log->file)) != 0 && errno != EINVAL)) { return fail_writing(log, error); }
    bool good = read_rows(&plot, log->csv, error);
    if (good && plot.train.count > 0) {
        FILE *memory = open_memstream(&text, &size);
        thin(&plot.train);
        measure(&plot);
        if (memory != NULL) { draw(memory, &plot), fclose(memory); }
        good = text != NULL ? gpt2_file_write(log->svg, text, size, error) : gpt2_fail(error, "out of memory");
        free(text);
    }
    free(plot.train.at);
    free(plot.val.at);
    return good;
}
