/* lab_read.c — from the text of a lab's description to struct step, strictly: an unknown word, a value out of range or a
 * name that means nothing is an error, with its line and what to do. The format is documented in docs/lab-conf.md.
 *
 * The text is cut into words; a word at the beginning of a line opens a statement, which goes on to the next such word.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"
#include "lab_words.h"

enum { LARGEST_SIZE = 1 << 20, MOST_ROWS = 1 << 30, MOST_POINTS = 100, NAMES_BYTES = 256 };

/* An exercise before it is known in which types: what its op's next types start from. */
struct draft {
    struct exercise exercise; /* without title and checks */
    const char *title;        /* {type} stands for the type's name */
    int points[CHECK_PREDICTION + 1];
    unsigned paid; /* bit 1 << kind: `points` names this check */
};

struct reader {
    struct words *words;
    struct step *step;
    int exercise_count, question_count;
    int exercise_line[STEP_MAX_EXERCISES], question_line[STEP_MAX_QUESTIONS];
    struct draft drafts[STEP_MAX_EXERCISES]; /* of each exercise, in order */
    /* of the statement that is read */
    unsigned seen; /* bit i: settings[i] has been read */
    struct draft draft;
    struct question question;
};

static bool find_type(const char *text, enum op_type *type) {
    for (*type = 0; *type < OP_TYPES; (*type)++) {
        if (strcmp(text, op_type_name(*type)) == 0) { return true; }
    }
    return false;
}

/* The line of the word that was read last, and that word. */
static int line_of(const struct reader *reader) {
    return reader->words->word[reader->words->at - 1].line;
}
static const char *word_before(const struct reader *reader) {
    return reader->words->word[reader->words->at - 1].text;
}

/* ---- sizes ---- */

enum { MAX_SCALARS = 16 };

/* The scalars of an op, in its order, as they were given so far. */
struct given {
    const struct op *op;
    bool is_given[MAX_SCALARS];
    double value[MAX_SCALARS];
};

/* "N=1024", "scale=0.125": a scalar that this op has, in its range, once. */
static bool take_size(struct given *given, const struct word *word) {
    for (int i = 0; i < op_scalar_count(given->op) && i < MAX_SCALARS; i++) {
        const struct op_scalar *scalar = op_scalar_at(given->op, i);
        const char *value = word_value(word, scalar->name);
        int whole;
        if (!value) { continue; }
        if (given->is_given[i]) { return false; }
        given->is_given[i] = true;
        if (scalar->is_float) { return word_is_number(value, &given->value[i]) && given->value[i] > 0.0; }
        if (!word_is_whole(value, 1, LARGEST_SIZE, &whole)) { return false; }
        given->value[i] = whole;
        return true;
    }
    return false;
}

/* All sizes of a call from those that its launcher takes. */
static struct op_sizes complete(const struct given *given) {
    struct op_sizes sizes = {.eps = 1e-5f};
    if (op_is_wiring(given->op)) { sizes = op_wiring_sizes(TYPE_F32, 1, 1, 1, 1, 0); }
    for (int i = 0; i < op_scalar_count(given->op); i++) {
        if (given->is_given[i]) { op_sizes_set(given->op, &sizes, op_scalar_at(given->op, i)->name, given->value[i]); }
    }
    if (op_is_wiring(given->op) && sizes.S == 0) { sizes.S = sizes.T; }
    op_sizes_complete(given->op, &sizes);
    return sizes;
}

static bool finish_sizes(struct reader *reader, const struct given *given, struct op_sizes *sizes) {
    double rows = 1.0, heads = 1.0;
    for (int i = 0; i < op_scalar_count(given->op); i++) {
        const struct op_scalar *scalar = op_scalar_at(given->op, i);
        bool is_size = !scalar->is_float && scalar->other == 0.0;
        if (is_size && !given->is_given[i]) {
            return words_fail(reader->words, 0, "the size %s of %s is missing: write %s=...", scalar->name,
                              given->op->name, scalar->name);
        }
        if (is_size && strchr("BHTN", scalar->name[0])) { rows *= given->value[i]; }
        if (is_size && strchr("HD", scalar->name[0])) { heads *= given->value[i]; }
    }
    if (rows > MOST_ROWS || heads > LARGEST_SIZE) {
        return words_fail(reader->words, 0, "these sizes are too large: at most %d rows", MOST_ROWS);
    }
    *sizes = complete(given);
    return true;
}

static bool wrong_size(struct reader *reader, const struct word *word) {
    const struct op *op = op_find(reader->draft.exercise.op);
    return words_fail(reader->words, word->line,
                      "'%s' is no size of %s, which takes %s (sizes are whole numbers from 1)", word->text, op->name,
                      op->scalars);
}

/* ---- settings of an exercise ---- */

static bool read_title(struct reader *reader) {
    return words_take_text(reader->words, &reader->draft.title);
}

static const char *const kernel_files[] = {".cu", NULL}, *const header_files[] = {".cuh", ".h", NULL};

static bool read_file(struct reader *reader) {
    const char **file = &reader->draft.exercise.file;
    return words_take_file(reader->words, file, kernel_files) &&
           (!strchr(*file, '/') ||
            words_fail(reader->words, 0, "'%s': the file of an exercise is in no sub-folder", *file));
}

static bool read_includes(struct reader *reader) {
    return words_take_files(reader->words, reader->draft.exercise.includes, EXERCISE_MAX_INCLUDES, header_files);
}

static bool read_parts(struct reader *reader) {
    return words_take_files(reader->words, reader->draft.exercise.parts, EXERCISE_MAX_PARTS, kernel_files);
}

static bool read_library(struct reader *reader) {
    return words_take_one(reader->words, &reader->draft.exercise.library, "the name of a library, like cuBLAS");
}

static bool read_optional(struct reader *reader) {
    reader->draft.exercise.optional = true;
    return true;
}

static bool read_points(struct reader *reader) {
    struct word *word;
    while ((word = words_take(reader->words))) {
        enum check_kind kind = CHECK_SHAPES;
        while (kind < CHECK_RATE && !word_value(word, check_name(kind))) { kind++; }
        if (kind == CHECK_RATE) {
            return words_fail(reader->words, word->line,
                              "'%s': points are written as shapes=, values=, memory=, secret=, traffic=, launches=, "
                              "parallelism= or speed= and a number",
                              word->text);
        }
        if (!word_is_whole(word_value(word, check_name(kind)), 0, MOST_POINTS, &reader->draft.points[kind])) {
            return words_fail(reader->words, word->line, "'%s': points are whole numbers from 0 to %d", word->text,
                              MOST_POINTS);
        }
        reader->draft.paid |= 1u << kind;
    }
    return reader->draft.paid || words_fail(reader->words, 0, "points needs a check and its points, like shapes=10");
}

static bool read_counted(struct reader *reader) {
    struct given given = {.op = op_find(reader->draft.exercise.op)};
    struct word *word;
    while ((word = words_take(reader->words))) {
        if (!take_size(&given, word)) { return wrong_size(reader, word); }
    }
    return finish_sizes(reader, &given, &reader->draft.exercise.traffic.sizes);
}

/* "1.55=100% 2.05=80%": at most that much gives so many percent of the points. */
static bool take_tiers(struct reader *reader, double limit[TRAFFIC_TIERS], int percent[TRAFFIC_TIERS]) {
    const char *of = word_before(reader);
    struct word *word;
    int count = 0;
    memset(limit, 0, TRAFFIC_TIERS * sizeof *limit);
    memset(percent, 0, TRAFFIC_TIERS * sizeof *percent);
    while ((word = words_take(reader->words))) {
        char *equals = strchr(word->text, '='), *sign = equals ? strchr(equals, '%') : NULL;
        if (count == TRAFFIC_TIERS) {
            return words_fail(reader->words, word->line, "%s takes at most %d tiers", of, TRAFFIC_TIERS);
        }
        if (!sign || sign[1]) {
            return words_fail(reader->words, word->line, "'%s': a tier is written as LIMIT=PERCENT%%, like 1.05=100%%",
                              word->text);
        }
        *equals = *sign = '\0';
        if (!word_is_number(word->text, &limit[count]) || !word_is_whole(equals + 1, 1, 100, &percent[count]) ||
            !(limit[count] > (count ? limit[count - 1] : 0.0)) ||
            percent[count] > (count ? percent[count - 1] - 1 : 100)) {
            return words_fail(reader->words, word->line,
                              "'%s=%s%%': limits rise from tier to tier, and percentages fall", word->text, equals + 1);
        }
        count++;
    }
    return (count > 0 && percent[0] == 100) || words_fail(reader->words, 0, "the first tier of %s gives 100%%", of);
}

static bool read_traffic(struct reader *reader) {
    struct traffic_target *traffic = &reader->draft.exercise.traffic;
    const char *unit;
    if (!words_take_one(reader->words, &unit, "a unit, bytes or sectors, and tiers")) { return false; }
    if (strcmp(unit, "bytes") != 0 && strcmp(unit, "sectors") != 0) {
        return words_fail(reader->words, 0, "traffic is in bytes or in sectors, not in '%s'", unit);
    }
    traffic->unit = strcmp(unit, "bytes") == 0 ? TRAFFIC_BYTES : TRAFFIC_SECTORS;
    return take_tiers(reader, traffic->limit, traffic->percent);
}

static bool read_launches(struct reader *reader) {
    struct launch_target *launches = &reader->draft.exercise.launches;
    double limit[TRAFFIC_TIERS];
    if (!take_tiers(reader, limit, launches->percent)) { return false; }
    for (int i = 0; i < TRAFFIC_TIERS; i++) {
        if (limit[i] != floor(limit[i]) || limit[i] > LARGEST_SIZE) {
            return words_fail(reader->words, 0, "launches are whole numbers up to %d", LARGEST_SIZE);
        }
        launches->limit[i] = (uint64_t)limit[i];
    }
    return true;
}

static bool read_parallelism(struct reader *reader) {
    struct word *word;
    int warps = 0, chain = 0;
    while ((word = words_take(reader->words))) {
        const char *value;
        bool ok = (value = word_value(word, "warps"))   ? word_is_whole(value, 1, MOST_ROWS, &warps)
                  : (value = word_value(word, "chain")) ? word_is_whole(value, 1, MOST_ROWS, &chain)
                                                        : false;
        if (!ok) {
            return words_fail(reader->words, word->line, "'%s': parallelism is written as warps=512 chain=72",
                              word->text);
        }
    }
    reader->draft.exercise.parallel = (struct parallel_target){(uint64_t)warps, (uint64_t)chain};
    return (warps && chain) || words_fail(reader->words, 0, "parallelism needs both warps= and chain=");
}

static bool read_speed(struct reader *reader) {
    struct band_target *bands = &reader->draft.exercise.bands;
    struct given given = {.op = op_find(reader->draft.exercise.op)};
    struct word *word;
    *bands = (struct band_target){0};
    while ((word = words_take(reader->words))) {
        const char *value;
        double *edge = (value = word_value(word, "pass"))             ? &bands->pass
                       : (value = word_value(word, "good"))           ? &bands->good
                       : (value = word_value(word, "speed_of_light")) ? &bands->speed_of_light
                                                                      : NULL;
        if (edge && !word_is_number(value, edge)) {
            return words_fail(reader->words, word->line, "'%s': a band is a fraction, like 0.80", word->text);
        }
        if (!edge && !take_size(&given, word)) { return wrong_size(reader, word); }
    }
    if (!(0.0 < bands->pass && bands->pass < bands->good && bands->good < bands->speed_of_light)) {
        return words_fail(reader->words, 0, "speed needs pass=, good= and speed_of_light=, each above the one before");
    }
    return finish_sizes(reader, &given, &bands->sizes);
}

static bool read_rate(struct reader *reader) {
    struct rate_target *rate = &reader->draft.exercise.rate;
    struct word *word;
    *rate = (struct rate_target){0};
    while ((word = words_take(reader->words))) {
        const char *value, **text = (value = word_value(word, "program"))     ? &rate->program
                                    : (value = word_value(word, "reference")) ? &rate->reference
                                    : (value = word_value(word, "arguments")) ? &rate->arguments
                                    : (value = word_value(word, "row"))       ? &rate->row
                                                                              : NULL;
        if (text) {
            *text = value;
        } else if (!(value = word_value(word, "column")) || !word_is_whole(value, 1, 99, &rate->column)) {
            return words_fail(reader->words, word->line,
                              "'%s': rate knows program=, reference=, arguments=, row= and column=", word->text);
        }
    }
    bool files = rate->program && word_is_file(rate->program) && rate->reference && word_is_file(rate->reference);
    return (files && rate->arguments && rate->row && rate->column) ||
           words_fail(reader->words, 0, "rate needs program= and reference= (files), arguments=, row= and column=");
}

static const struct setting exercise_settings[] = {
    {"title", read_title},
    {"file", read_file},
    {"includes", read_includes},
    {"linked_with", read_parts},
    {"library", read_library},
    {"optional", read_optional},
    {"points", read_points},
    {"counted", read_counted},
    {"traffic", read_traffic},
    {"launches", read_launches},
    {"parallelism", read_parallelism},
    {"speed", read_speed},
    {"rate", read_rate},
    {0},
};

/* ---- statements ---- */

static bool read_settings(struct reader *reader, const char *of, const struct setting *settings) {
    reader->words->settings = settings;
    reader->seen = 0;
    while (!words_opens(reader->words)) {
        const struct word *word = &reader->words->word[reader->words->at++];
        const struct setting *setting = word->quoted ? NULL : words_setting(settings, word->text);
        if (!setting) {
            char names[NAMES_BYTES] = "";
            for (const struct setting *s = settings; s->name; s++) {
                size_t used = strlen(names);
                snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", s->name);
            }
            return words_fail(reader->words, word->line, "unknown word '%s' in %s: it may have %s", word->text, of,
                              names);
        }
        unsigned bit = 1u << (setting - settings);
        if (reader->seen & bit) {
            return words_fail(reader->words, word->line, "%s stands twice in %s: keep one of them", word->text, of);
        }
        reader->seen |= bit;
        if (!setting->read(reader)) { return false; }
    }
    return true;
}

static bool has_seen(const struct reader *reader, const char *setting) {
    return reader->seen >> (words_setting(reader->words->settings, setting) - reader->words->settings) & 1;
}

/* The target of a check that has one is described, in this statement or in the one that it starts from. */
static bool is_described(const struct exercise *exercise, enum check_kind kind) {
    switch (kind) {
        case CHECK_TRAFFIC: return exercise->traffic.percent[0] && exercise->traffic.sizes.C;
        case CHECK_LAUNCHES: return exercise->launches.percent[0] && exercise->traffic.sizes.C;
        case CHECK_PARALLEL: return exercise->parallel.warps && exercise->traffic.sizes.C;
        case CHECK_BAND: return exercise->bands.sizes.C;
        case CHECK_RATE: return exercise->rate.program;
        default: return true;
    }
}

/* The four of correctness; counted ones that have points, and of an optional exercise all that are described; what a GPU
 * shows is shown wherever it is described. */
static bool make_checks(struct reader *reader, int line) {
    struct draft *draft = &reader->draft;
    struct exercise *exercise = &draft->exercise;
    int count = 0;
    memset(exercise->checks, 0, sizeof exercise->checks);
    for (enum check_kind kind = CHECK_SHAPES; kind < CHECK_PREDICTION; kind++) {
        bool paid = draft->paid >> kind & 1, described = is_described(exercise, kind);
        bool counted = kind == CHECK_TRAFFIC || kind == CHECK_LAUNCHES || kind == CHECK_PARALLEL;
        if (paid && !described) {
            return words_fail(reader->words, line, "%s has points for %s, but no such target: add a line %s%s",
                              exercise->op, check_name(kind), check_name(kind),
                              counted ? ", and one with the sizes of the call, counted" : "");
        }
        if (counted && !paid && !exercise->optional && has_seen(reader, check_name(kind))) {
            return words_fail(reader->words, line, "%s describes %s without points for it: add %s= to its points",
                              exercise->op, check_name(kind), check_name(kind));
        }
        if (described && (paid || !counted || exercise->optional)) {
            exercise->checks[count++] = (struct check){kind, draft->points[kind]};
        }
        if (exercise->optional && draft->points[kind]) {
            return words_fail(reader->words, line, "%s is optional, so it has no points", exercise->op);
        }
    }
    return draft->paid || exercise->optional ||
           words_fail(reader->words, line, "%s has no points: give it some, or say optional", exercise->op);
}

/* The title with the type's name for {type}; without a title, the op's name in words. */
static bool write_title(struct reader *reader, struct exercise *exercise, bool several, int line) {
    static const char mark[] = "{type}", *const types[OP_TYPES] = {"fp32", "fp16", "bf16"};
    const char *from = reader->draft.title, *at = from ? strstr(from, mark) : NULL;
    char title[256];
    if (at) {
        snprintf(title, sizeof title, "%.*s%s%s", (int)(at - from), from, types[exercise->type], at + strlen(mark));
    } else if (from) {
        snprintf(title, sizeof title, "%s", from);
    } else {
        snprintf(title, sizeof title, "%s%s%s", exercise->op, several ? ", " : "",
                 several ? types[exercise->type] : "");
        for (char *c = title; (c = strchr(c, '_'));) { *c = ' '; }
    }
    if (strlen(title) >= sizeof exercise->title || title[0] == '\0') {
        return words_fail(reader->words, line,
                          "the title '%.60s' must have 1 to %d characters, the width of its column in a report", title,
                          EXERCISE_TITLE_BYTES - 1);
    }
    strcpy(exercise->title, title);
    return true;
}

/* One exercise of the draft, in that type. */
static bool add_exercise(struct reader *reader, enum op_type type, bool several, int line) {
    struct exercise *exercises = reader->step->exercises, *exercise = &exercises[reader->exercise_count];
    const struct op *op = op_find(reader->draft.exercise.op);
    if (!(op->types >> type & 1)) {
        return words_fail(reader->words, line, "%s has no launcher for %s", op->name, op_type_name(type));
    }
    for (int i = 0; i < reader->exercise_count; i++) {
        if (exercises[i].op == op->name && exercises[i].type == type) {
            return words_fail(reader->words, line, "%s stands twice in %s: keep one of them", op->name,
                              op_type_name(type));
        }
    }
    if (reader->exercise_count + 1 == STEP_MAX_EXERCISES) {
        return words_fail(reader->words, line, "a lab has at most %d exercises: make a second lab",
                          STEP_MAX_EXERCISES - 1);
    }
    *exercise = reader->draft.exercise;
    exercise->type = exercise->traffic.sizes.type = exercise->bands.sizes.type = type;
    if (!write_title(reader, exercise, several, line)) {
        *exercise = (struct exercise){0};
        return false;
    }
    reader->exercise_line[reader->exercise_count] = line;
    reader->drafts[reader->exercise_count++] = reader->draft;
    return true;
}

/* exercise OP [TYPE ...] [SETTINGS] */
static bool read_exercise(struct reader *reader) {
    int line = line_of(reader);
    const char *name;
    enum op_type types[OP_TYPES] = {TYPE_F32}, type;
    int count = 0;
    reader->words->settings = exercise_settings;
    if (!words_take_one(reader->words, &name, "the name of an op, like softmax_forward")) { return false; }
    const struct op *op = op_find(name);
    if (!op) {
        return words_fail(reader->words, line, "there is no op '%s': its name is that of its folder in common/ops",
                          name);
    }
    reader->draft = (struct draft){.exercise.op = op->name};
    for (int i = 0; i < reader->exercise_count; i++) { /* another type of it starts from what its last one says */
        if (reader->drafts[i].exercise.op == op->name) { reader->draft = reader->drafts[i]; }
    }
    reader->draft.paid = 0;
    memset(reader->draft.points, 0, sizeof reader->draft.points);
    while (!words_opens(reader->words) && find_type(reader->words->word[reader->words->at].text, &type)) {
        if (count == OP_TYPES) { return words_fail(reader->words, line, "%s names a type twice", name); }
        types[count++] = type;
        reader->words->at++;
    }
    if (!read_settings(reader, "an exercise", exercise_settings)) { return false; }
    if (!reader->draft.exercise.file) {
        return words_fail(reader->words, line, "%s needs the learner's file, like file softmax.cu", name);
    }
    if (!make_checks(reader, line)) { return false; }
    for (int i = 0; i < (count ? count : 1); i++) {
        if (!add_exercise(reader, types[i], count > 1, line)) { return false; }
    }
    return true;
}

/* ---- questions ---- */

static bool read_unit(struct reader *reader) {
    return words_take_one(reader->words, &reader->question.unit, "a unit, like x or MB");
}

static bool take_number(struct reader *reader, double *number) {
    const char *text, *of = word_before(reader);
    return words_take_one(reader->words, &text, "a number") &&
           (word_is_number(text, number) || words_fail(reader->words, 0, "'%s' after %s is no number", text, of));
}

static bool read_range(struct reader *reader) {
    struct question *question = &reader->question;
    return take_number(reader, &question->low) && take_number(reader, &question->high) &&
           (question->low < question->high ||
            words_fail(reader->words, 0, "the range of an answer is LOW HIGH, like 1 100"));
}

static bool read_answer(struct reader *reader) {
    return take_number(reader, &reader->question.truth) &&
           (reader->question.truth > 0.0 || words_fail(reader->words, 0, "an answer is above 0"));
}

static bool read_counted_of(struct reader *reader) {
    return words_take_one(reader->words, &reader->question.counted, "the name of an exercise");
}

static bool read_ask(struct reader *reader) {
    return words_take_text(reader->words, &reader->question.text);
}

static const struct setting question_settings[] = {
    {"unit", read_unit},          {"range", read_range}, {"answer", read_answer},
    {"counted", read_counted_of}, {"ask", read_ask},     {0},
};

/* question KEY SETTINGS */
static bool read_question(struct reader *reader) {
    struct question *question = &reader->question;
    int line = line_of(reader);
    reader->words->settings = question_settings;
    *question = (struct question){0};
    if (!words_take_one(reader->words, &question->key, "a key, like softmax_traffic")) { return false; }
    if (!word_is_name(question->key)) {
        return words_fail(reader->words, line, "'%s' is no key: write small letters, digits and _", question->key);
    }
    for (int i = 0; i < reader->question_count; i++) {
        if (strcmp(reader->step->questions[i].key, question->key) == 0) {
            return words_fail(reader->words, line, "there are two questions %s: rename one", question->key);
        }
    }
    if (reader->question_count + 1 == STEP_MAX_QUESTIONS) {
        return words_fail(reader->words, line, "a lab asks at most %d questions", STEP_MAX_QUESTIONS - 1);
    }
    if (!read_settings(reader, "a question", question_settings)) { return false; }
    if (!question->unit || !question->text || !has_seen(reader, "range")) {
        return words_fail(reader->words, line, "the question %s needs a unit, a range and ask", question->key);
    }
    if ((question->truth > 0.0) == (question->counted != NULL)) {
        return words_fail(reader->words, line,
                          "the question %s needs either its answer, or the exercise that it is counted in",
                          question->key);
    }
    if (question->truth > 0.0 && !(question->truth >= question->low && question->truth <= question->high)) {
        return words_fail(reader->words, line, "the answer of %s is outside its range", question->key);
    }
    reader->question_line[reader->question_count] = line;
    reader->step->questions[reader->question_count++] = *question;
    return true;
}

/* ---- the lab ---- */

static bool read_lab_title(struct reader *reader) {
    reader->words->settings = NULL;
    if (reader->step->title) { return words_fail(reader->words, 0, "the lab has two titles: keep one"); }
    return words_take_text(reader->words, &reader->step->title);
}

/* predictions POINTS */
static bool read_predictions(struct reader *reader) {
    const char *points;
    reader->words->settings = NULL;
    if (reader->step->predictions.kind) {
        return words_fail(reader->words, 0, "predictions stands twice: keep one line");
    }
    reader->step->predictions.kind = CHECK_PREDICTION;
    return words_take_one(reader->words, &points, "its points") &&
           (word_is_whole(points, 0, MOST_POINTS, &reader->step->predictions.points) ||
            words_fail(reader->words, 0, "'%s': points are whole numbers from 0 to %d", points, MOST_POINTS));
}

static const struct setting statements[] = {
    {"title", read_lab_title},
    {"predictions", read_predictions},
    {"exercise", read_exercise},
    {"question", read_question},
    {0},
};

static bool read_statements(struct reader *reader) {
    while (reader->words->at < reader->words->count) {
        const struct word *word = &reader->words->word[reader->words->at++];
        const struct setting *statement = word->quoted ? NULL : words_setting(statements, word->text);
        if (!word->opens) {
            return words_fail(reader->words, word->line,
                              "'%s' follows a complete statement: begin a new line with it, or leave it out",
                              word->text);
        }
        if (!statement) {
            return words_fail(reader->words, word->line,
                              "unknown word '%s': a line begins with title, predictions, exercise or question, and "
                              "what belongs to the line above is indented",
                              word->text);
        }
        if (!statement->read(reader)) { return false; }
    }
    return true;
}

static bool is_exercise_file(const struct step *step, const char *file) {
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        if (strcmp(exercise->file, file) == 0) { return true; }
    }
    return false;
}

/* What can be told only of the whole: names that refer to other statements. */
static bool check_lab(struct reader *reader) {
    const struct step *step = reader->step;

    if (!step->title) {
        return words_fail(reader->words, 0, "the lab has no title: add a line like title \"naive kernels\"");
    }
    if (!step->predictions.kind) { return words_fail(reader->words, 0, "the line predictions POINTS is missing"); }
    if (!reader->exercise_count) { return words_fail(reader->words, 0, "the lab has no exercise"); }
    for (const struct exercise *exercise = step->exercises; exercise->op; exercise++) {
        for (int i = 0; i < EXERCISE_MAX_PARTS && exercise->parts[i]; i++) {
            if (!is_exercise_file(step, exercise->parts[i])) {
                return words_fail(reader->words, reader->exercise_line[exercise - step->exercises],
                                  "%s is linked with %s, which is the file of no exercise here", exercise->op,
                                  exercise->parts[i]);
            }
        }
    }
    for (const struct question *question = step->questions; question->key; question++) {
        const struct exercise *exercise = question->counted ? exercise_find(step, question->counted) : NULL;
        bool has_figure =
            exercise && (exercise_check(exercise, CHECK_TRAFFIC) || exercise_check(exercise, CHECK_LAUNCHES));
        if (question->counted && !has_figure) {
            return words_fail(reader->words, reader->question_line[question - step->questions],
                              "the question %s is counted in '%s', which is no exercise with traffic or launches",
                              question->key, question->counted);
        }
    }
    return true;
}

/* "step1" of "step1_naive"; both lie before the text in the step's memory. */
static char *copy_text(struct step *step, const char *folder, const char *text, size_t length) {
    size_t folder_bytes = strlen(folder) + 1, name_length = strcspn(folder, "_");
    char *memory = malloc(folder_bytes + name_length + 1 + length + 1);
    if (!memory) { return NULL; }
    char *name = memory + folder_bytes, *copy = name + name_length + 1;
    memcpy(memory, folder, folder_bytes);
    memcpy(name, folder, name_length);
    name[name_length] = '\0';
    memcpy(copy, text, length);
    copy[length] = '\0';
    *step = (struct step){.name = name, .folder = memory, .memory = memory};
    return copy;
}

bool lab_read(const char *folder, const char *path, const char *text, size_t length, struct step *step, char *error,
              size_t error_size) {
    char *copy = copy_text(step, folder, text, length);
    struct words words = {.path = path, .error = error, .error_size = error_size};
    struct reader *reader = calloc(1, sizeof *reader);
    bool ok = copy && reader;
    if (ok) {
        reader->step = step;
        reader->words = &words;
        ok = words_cut(&words, copy, length) && read_statements(reader) && check_lab(reader);
    } else {
        snprintf(error, error_size, "%s: out of memory", path);
    }
    free(words.word);
    free(reader);
    if (!ok) { lab_free(step); }
    return ok;
}
