/* lab_exercise.c — the statement `exercise` of a lab's description: its settings, sizes, checks and types. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab_reader.h"

enum { LARGEST_SIZE = 1 << 20, MOST_ROWS = 1 << 30 };

static bool find_type(const char *text, enum op_type *type) {
    for (*type = 0; *type < OP_TYPES; (*type)++) {
        if (strcmp(text, op_type_name(*type)) == 0) { return true; }
    }
    return false;
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
    if (op_is_on_sequences(given->op)) { sizes = op_model_sizes(TYPE_F32, 1, 1, 1, 1, 0); }
    for (int i = 0; i < op_scalar_count(given->op); i++) {
        if (given->is_given[i]) { op_sizes_set(given->op, &sizes, op_scalar_at(given->op, i)->name, given->value[i]); }
    }
    if (op_is_on_sequences(given->op) && sizes.S == 0) { sizes.S = sizes.T; }
    op_sizes_complete(given->op, &sizes);
    return sizes;
}

static bool finish_sizes(struct reader *reader, const struct given *given, struct op_sizes *sizes) {
    double rows = 1.0, heads = 1.0;
    for (int i = 0; i < op_scalar_count(given->op); i++) {
        const struct op_scalar *scalar = op_scalar_at(given->op, i);
        bool is_size = op_scalar_is_size(scalar);
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
            return words_fail(
                reader->words, word->line,
                "'%s': points are written as shapes=, values=, memory=, secret=, traffic=, launches=, barriers=, "
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

static bool take_tier(struct reader *reader, struct word *word, const char *of, bool whole, struct tiers *tiers,
                      int i) {
    char *equals = strchr(word->text, '='), *sign = equals ? strchr(equals, '%') : NULL;
    double least = i ? nextafter(tiers->limit[i - 1], HUGE_VAL) : whole ? 0.0 : DBL_MIN;
    if (i == MOST_TIERS) { return words_fail(reader->words, word->line, "%s takes at most %d tiers", of, MOST_TIERS); }
    if (!sign || sign[1]) {
        return words_fail(reader->words, word->line, "'%s': a tier is written as LIMIT=PERCENT%%, like 1.05=100%%",
                          word->text);
    }
    *equals = *sign = '\0';
    if (!word_is_number(word->text, &tiers->limit[i]) || !word_is_whole(equals + 1, 1, 100, &tiers->percent[i]) ||
        !(tiers->limit[i] >= least) || tiers->percent[i] > (i ? tiers->percent[i - 1] - 1 : 100)) {
        return words_fail(reader->words, word->line, "'%s=%s%%': limits rise from tier to tier, and percentages fall",
                          word->text, equals + 1);
    }
    if (whole && (tiers->limit[i] != floor(tiers->limit[i]) || tiers->limit[i] > LARGEST_SIZE)) {
        return words_fail(reader->words, word->line, "%s are whole numbers up to %d", of, LARGEST_SIZE);
    }
    return true;
}

/* 1.55=100% "kernel 5" 2.05=80%: at most that much gives so many percent of the points; the kernel that reaches it. */
static bool take_tiers(struct reader *reader, const char *of, bool whole, struct tiers *tiers) {
    struct word *word;
    int count = 0;
    *tiers = (struct tiers){0};
    while ((word = words_take(reader->words))) {
        if (word->quoted && count > 0 && !tiers->rung[count - 1]) {
            tiers->rung[count - 1] = word->text;
        } else if (!take_tier(reader, word, of, whole, tiers, count++)) {
            return false;
        }
    }
    return (count > 0 && tiers->percent[0] == 100) ||
           words_fail(reader->words, 0, "the first tier of %s gives 100%%", of);
}

static bool read_traffic(struct reader *reader) {
    struct traffic_target *traffic = &reader->draft.exercise.traffic;
    const char *unit;
    if (!words_take_one(reader->words, &unit, "a unit, bytes or sectors, and tiers")) { return false; }
    if (strcmp(unit, "bytes") != 0 && strcmp(unit, "sectors") != 0) {
        return words_fail(reader->words, 0, "traffic is in bytes or in sectors, not in '%s'", unit);
    }
    traffic->unit = strcmp(unit, "bytes") == 0 ? TRAFFIC_BYTES : TRAFFIC_SECTORS;
    return take_tiers(reader, "traffic", false, &traffic->tiers);
}

static bool read_launches(struct reader *reader) {
    return take_tiers(reader, "launches", true, &reader->draft.exercise.launches);
}

static bool read_barriers(struct reader *reader) {
    return take_tiers(reader, "barriers", true, &reader->draft.exercise.barriers);
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

/* open bytes 1.05 N=4 C=50257 "softmax of 50,257 columns" */
static bool read_open(struct reader *reader) {
    struct open_problem *open = &reader->draft.exercise.open;
    struct traffic_target *goal = &open->goal;
    struct given given = {.op = op_find(reader->draft.exercise.op)};
    struct word *word;
    const char *unit, *limit;
    *open = (struct open_problem){.goal.everything = true, .goal.tiers.percent = {100}};
    if (!words_take_one(reader->words, &unit, "a unit, bytes or sectors") ||
        !words_take_one(reader->words, &limit, "a goal, like 1.05: times the floor")) {
        return false;
    }
    if (strcmp(unit, "bytes") != 0 && strcmp(unit, "sectors") != 0) {
        return words_fail(reader->words, 0, "an open problem is in bytes or in sectors, not in '%s'", unit);
    }
    goal->unit = strcmp(unit, "bytes") == 0 ? TRAFFIC_BYTES : TRAFFIC_SECTORS;
    if (!word_is_number(limit, &goal->tiers.limit[0]) || !(goal->tiers.limit[0] >= 1.0)) {
        return words_fail(reader->words, 0, "'%s' is no goal: write at most how many times the floor, from 1", limit);
    }
    while ((word = words_take(reader->words))) {
        if (word->quoted && !open->title) {
            open->title = word->text;
        } else if (!take_size(&given, word)) {
            return wrong_size(reader, word);
        }
    }
    if (!open->title || !open->title[0] || strlen(open->title) >= EXERCISE_TITLE_BYTES) {
        return words_fail(reader->words, 0, "open needs a title of 1 to %d characters", EXERCISE_TITLE_BYTES - 1);
    }
    return finish_sizes(reader, &given, &goal->sizes);
}

static const struct setting exercise_settings[] = {
    {"title", read_title},       {"file", read_file},
    {"includes", read_includes}, {"linked_with", read_parts},
    {"library", read_library},   {"optional", read_optional},
    {"points", read_points},     {"counted", read_counted},
    {"traffic", read_traffic},   {"launches", read_launches},
    {"barriers", read_barriers}, {"parallelism", read_parallelism},
    {"speed", read_speed},       {"rate", read_rate},
    {"open", read_open},         {0},
};

/* ---- the statement ---- */

/* The target of a check that has one is described, in this statement or in the one that it starts from. */
static bool is_described(const struct exercise *exercise, enum check_kind kind) {
    switch (kind) {
        case CHECK_TRAFFIC: return exercise->traffic.tiers.percent[0] && exercise->traffic.sizes.C;
        case CHECK_LAUNCHES: return exercise->launches.percent[0] && exercise->traffic.sizes.C;
        case CHECK_BARRIERS:
            return exercise->barriers.percent[0] && exercise->traffic.sizes.C && exercise->traffic.sizes.N;
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
        bool counted = check_is_counted(kind);
        if (paid && !described) {
            return words_fail(reader->words, line, "%s has points for %s, but no such target: add a line %s%s",
                              exercise->op, check_name(kind), check_name(kind),
                              counted ? ", and one with the sizes of the call, counted" : "");
        }
        if (counted && !paid && !exercise->optional && words_have(reader->words, check_name(kind))) {
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
            return words_fail(reader->words, line, "%s is given twice in %s: keep one of them", op->name,
                              op_type_name(type));
        }
    }
    if (reader->exercise_count + 1 == STEP_MAX_EXERCISES) {
        return words_fail(reader->words, line, "a lab has at most %d exercises: make a second lab",
                          STEP_MAX_EXERCISES - 1);
    }
    *exercise = reader->draft.exercise;
    exercise->type = exercise->traffic.sizes.type = exercise->bands.sizes.type = type;
    exercise->open.goal.sizes.type = type;
    if (!write_title(reader, exercise, several, line)) {
        *exercise = (struct exercise){0};
        return false;
    }
    reader->exercise_line[reader->exercise_count] = line;
    reader->drafts[reader->exercise_count++] = reader->draft;
    return true;
}

bool reader_exercise(struct reader *reader) {
    int line = words_line(reader->words);
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
    reader->draft.exercise.open = (struct open_problem){0};
    memset(reader->draft.points, 0, sizeof reader->draft.points);
    while (!words_opens(reader->words) && find_type(reader->words->word[reader->words->at].text, &type)) {
        if (count == OP_TYPES) { return words_fail(reader->words, line, "%s names a type twice", name); }
        types[count++] = type;
        reader->words->at++;
    }
    if (!words_settings(reader->words, reader, "an exercise", exercise_settings)) { return false; }
    if (!reader->draft.exercise.file) {
        return words_fail(reader->words, line, "%s needs the learner's file, like file softmax.cu", name);
    }
    if (!make_checks(reader, line)) { return false; }
    if (reader->draft.exercise.open.title && (count > 1 || step_open(reader->step))) {
        return words_fail(reader->words, line, "a lab has one open problem, on an op in one type");
    }
    for (int i = 0; i < (count ? count : 1); i++) {
        if (!add_exercise(reader, types[i], count > 1, line)) { return false; }
    }
    return true;
}
