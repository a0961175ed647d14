#include "calls.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/simt/simt.h"

static bool is_wrong(const struct evidence_case *shown) {
    return shown->failure.kind != FAILURE_NONE;
}

/* Calls without rows, and calls whose launch is refused, compute nothing. */
static bool computes(const struct evidence_case *shown) {
    return shown->test.sizes.N > 0 && !shown->test.refused;
}

/* Only calls that follow another one are checked for leaks, waits, and copies without a stream (common/runner/call.cpp); only
 * repeated ones are compared; and few launches are made to fail. */
static bool is_checked_in_few(const struct evidence_case *shown) {
    enum failure_kind failure = shown->failure.kind;
    if (failure == FAILURE_REPEAT || failure == FAILURE_SILENT) { return true; }
    if (shown->failure.kind != FAILURE_FINDING || !shown->test.rehearsed) { return false; }
    int kind = shown->failure.finding;
    return kind == SIMT_LEAK || kind == SIMT_WAIT || kind == SIMT_STREAM;
}

/* ---- properties ---- */

enum relation { AT_LEAST, AT_MOST, EQUAL, NO_MULTIPLE, MULTIPLE };

/* A property of a call: of its kind (`flag`), or of a size. */
struct property {
    bool (*flag)(const struct evidence *evidence, const struct evidence_case *shown, unsigned argument);
    unsigned argument;
    int size; /* index of a scalar, or ELEMENTS */
    enum relation relation;
    long bound;
};

enum { ELEMENTS = -1 };

static bool is_in_place(const struct evidence *evidence, const struct evidence_case *shown, unsigned argument) {
    return (void)evidence, (void)argument, shown->test.in_place != 0;
}
static bool is_offset(const struct evidence *evidence, const struct evidence_case *shown, unsigned argument) {
    return (void)evidence, (void)argument, shown->test.offset != 0;
}
/* Of the pointers, only this tensor's is moved. */
static bool is_only_offset(const struct evidence *evidence, const struct evidence_case *shown, unsigned tensor) {
    return (void)evidence, shown->test.offset != 0 && (unsigned)shown->test.moved == tensor + 1;
}
static bool is_repeated(const struct evidence *evidence, const struct evidence_case *shown, unsigned argument) {
    return (void)evidence, (void)argument, shown->test.again || shown->test.rehearsed;
}
static bool has_lengths(const struct evidence *evidence, const struct evidence_case *shown, unsigned argument) {
    return (void)evidence, (void)argument, shown->test.sizes.lengths;
}
static bool keeps_upper(const struct evidence *evidence, const struct evidence_case *shown, unsigned upper) {
    return op_has_scalar(evidence->op, "upper") && (unsigned)shown->test.sizes.upper == upper;
}
static bool has_values(const struct evidence *evidence, const struct evidence_case *shown, unsigned kinds) {
    return (void)evidence, kinds >> shown->test.values & 1;
}

/* Scalar `argument` is not the one that most calls have. */
static bool has_other_scalar(const struct evidence *evidence, const struct evidence_case *shown, unsigned argument) {
    const struct op_scalar *scalar = op_scalar_at(evidence->op, (int)argument);
    return (float)op_scalar_get(evidence->op, &shown->test.sizes, (int)argument) != (float)scalar->usual;
}

static long size_of(const struct evidence *evidence, const struct evidence_case *shown, int size) {
    if (size == ELEMENTS) { return (long)op_elements(evidence->op, 0, &shown->test.sizes); }
    return (long)op_scalar_get(evidence->op, &shown->test.sizes, size);
}

static bool holds(const struct evidence *evidence, const struct evidence_case *shown, const struct property *property) {
    if (property->flag) { return property->flag(evidence, shown, property->argument); }
    long value = size_of(evidence, shown, property->size);
    switch (property->relation) {
        case AT_LEAST: return value >= property->bound;
        case AT_MOST: return value <= property->bound;
        case EQUAL: return value == property->bound;
        case NO_MULTIPLE: return value % property->bound != 0;
        default: return value % property->bound == 0;
    }
}

/* ---- the one that sets the wrong calls apart ---- */

struct search {
    const struct evidence *evidence;
    struct property best;
    int fewest; /* right calls that have it; INT_MAX: none is found yet */
};

static void consider(struct search *search, struct property property) {
    int with = 0, without = 0;
    for (int i = 0; i < search->evidence->count; i++) {
        const struct evidence_case *shown = search->evidence->cases[i];
        bool has = holds(search->evidence, shown, &property);
        if (is_wrong(shown) && !has) { return; }
        with += !is_wrong(shown) && computes(shown) && has;
        without += !is_wrong(shown) && computes(shown) && !has;
    }
    /* Some size fits any few calls: it says something if no right call has it. */
    bool separates = without >= 2 && (property.flag || with == 0);
    if (!separates || with >= search->fewest) { return; }
    search->best = property;
    search->fewest = with;
}

static void consider_kinds(struct search *search) {
    const struct evidence *evidence = search->evidence;
    unsigned kinds = 0;
    for (int i = 0; i < evidence->count; i++) {
        if (is_wrong(evidence->cases[i])) { kinds |= 1u << evidence->cases[i]->test.values; }
    }
    consider(search, (struct property){.flag = is_in_place});
    consider(search, (struct property){.flag = is_offset});
    for (int i = 0; i < op_tensor_count(evidence->op); i++) {
        consider(search, (struct property){.flag = is_only_offset, .argument = (unsigned)i});
    }
    consider(search, (struct property){.flag = is_repeated});
    consider(search, (struct property){.flag = has_lengths});
    for (unsigned upper = 0; upper < 2; upper++) {
        consider(search, (struct property){.flag = keeps_upper, .argument = upper});
    }
    for (int i = 0; i < op_scalar_count(evidence->op); i++) {
        if (!op_scalar_at(evidence->op, i)->is_float) { continue; }
        consider(search, (struct property){.flag = has_other_scalar, .argument = (unsigned)i});
    }
    if (!(kinds & 1u << VALUES_NORMAL)) { consider(search, (struct property){.flag = has_values, .argument = kinds}); }
}

static void consider_size(struct search *search, int size) {
    enum { LARGEST_GROUP = 1024, FEW = 3 };
    long least = LONG_MAX, most = 0, values[FEW] = {0};
    int wrong = 0, different = 0; /* wrong calls; their sizes: up to FEW */
    for (int i = 0; i < search->evidence->count; i++) {
        const struct evidence_case *shown = search->evidence->cases[i];
        long value = size_of(search->evidence, shown, size);
        if (!is_wrong(shown)) { continue; }
        least = value < least ? value : least;
        most = value > most ? value : most;
        wrong++;
        bool again = different == FEW;
        for (int k = 0; k < different; k++) { again = again || values[k] == value; }
        if (!again) { values[different++] = value; }
    }
    if (wrong < 2) { return; } /* the report names its sizes */
    if (different < 2) {
        consider(search, (struct property){.size = size, .relation = EQUAL, .bound = most});
        return;
    }
    consider(search, (struct property){.size = size, .relation = AT_LEAST, .bound = least});
    for (long group = 2; different == FEW && group <= LARGEST_GROUP; group *= 2) {
        consider(search, (struct property){.size = size, .relation = NO_MULTIPLE, .bound = group});
        consider(search, (struct property){.size = size, .relation = MULTIPLE, .bound = group});
    }
    consider(search, (struct property){.size = size, .relation = AT_MOST, .bound = most});
}

/* ---- in words ---- */

static void describe_values(unsigned kinds, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "with values ");
    for (int values = 0, rest = 0; values < VALUES_KINDS && used < size; values++) {
        if (!(kinds >> values & 1)) { continue; }
        used += (size_t)snprintf(text + used, size - used, "%s%s", rest++ ? "; " : "",
                                 inputs_name((enum input_values)values));
    }
}

static void describe_flag(const struct evidence *evidence, const struct property *property, char *text, size_t size) {
    if (property->flag == is_in_place) {
        snprintf(text, size, "in place");
    } else if (property->flag == is_offset) {
        snprintf(text, size, "with pointers that are not multiples of 16 bytes");
    } else if (property->flag == is_only_offset) {
        snprintf(text, size, "where %s is the only pointer that is no multiple of 16 bytes",
                 evidence->op->tensor[property->argument].name);
    } else if (property->flag == is_repeated) {
        snprintf(text, size, "that follows another call on the same pointers");
    } else if (property->flag == has_lengths) {
        snprintf(text, size, "with lengths");
    } else if (property->flag == keeps_upper) {
        snprintf(text, size, "with %s", property->argument ? "CAUSAL_UPPER_KEEP" : "CAUSAL_UPPER_ZERO");
    } else if (property->flag == has_values) {
        describe_values(property->argument, text, size);
    } else {
        const struct op_scalar *scalar = op_scalar_at(evidence->op, (int)property->argument);
        snprintf(text, size, "with another %s than %g", scalar->name, scalar->usual);
    }
}

static void describe_size(const struct evidence *evidence, const struct property *property, char *text, size_t size) {
    const char *name =
        property->size == ELEMENTS ? "the number of elements" : op_scalar_at(evidence->op, property->size)->name;
    switch (property->relation) {
        case AT_LEAST: snprintf(text, size, "with %s >= %ld", name, property->bound); break;
        case EQUAL: snprintf(text, size, "with %s = %ld", name, property->bound); break;
        case AT_MOST: snprintf(text, size, "with %s <= %ld", name, property->bound); break;
        case NO_MULTIPLE: snprintf(text, size, "where %s is no multiple of %ld", name, property->bound); break;
        default: snprintf(text, size, "where %s is a multiple of %ld", name, property->bound); break;
    }
}

static bool find(struct search *search, const struct evidence *evidence) {
    *search = (struct search){.evidence = evidence, .fewest = INT_MAX};
    for (int i = 0; i < evidence->count; i++) {
        if (is_checked_in_few(evidence->cases[i])) { return false; }
    }
    consider_kinds(search);
    for (int i = op_scalar_count(evidence->op) - 1; i >= 0; i--) {
        if (op_scalar_is_size(op_scalar_at(evidence->op, i))) { consider_size(search, i); }
    }
    consider_size(search, ELEMENTS);
    return search->fewest != INT_MAX;
}

bool calls_share_a_path(const struct evidence *evidence) {
    struct search search;
    return find(&search, evidence) && search.best.flag != has_other_scalar;
}

/* Would as many calls as are wrong, drawn from the right ones, rarely all have the property that was found? Half of the calls
 * may have a flag, and then one wrong call that has it says nothing. */
static bool is_no_chance(const struct search *search) {
    const double rare = 0.25;
    int right = 0, wrong = 0;
    for (int i = 0; i < search->evidence->count; i++) {
        const struct evidence_case *shown = search->evidence->cases[i];
        wrong += is_wrong(shown);
        right += !is_wrong(shown) && computes(shown);
    }
    return pow((double)search->fewest / right, wrong) <= rare;
}

bool calls_describe(const struct evidence *evidence, char *text, size_t size) {
    struct search search;
    char words[200];
    text[0] = '\0';
    if (!find(&search, evidence) || !is_no_chance(&search)) { return false; }
    (search.best.flag ? describe_flag : describe_size)(evidence, &search.best, words, sizeof words);
    snprintf(text, size, "every wrong call is one %s", words);
    return true;
}

/* ---- results ---- */

typedef bool element_kind(const struct evidence_case *shown, int tensor, size_t i);

static bool is_nan(const struct evidence_case *shown, int tensor, size_t i) {
    return isnan(shown->got[tensor][i]);
}
static bool is_infinite(const struct evidence_case *shown, int tensor, size_t i) {
    return isinf(shown->got[tensor][i]);
}
static bool is_zero(const struct evidence_case *shown, int tensor, size_t i) {
    return shown->got[tensor][i] == 0.0f;
}

/* Are all wrong elements of that kind? */
static bool all_are(const struct evidence *evidence, element_kind *kind) {
    bool found = false;
    for (int k = 0; k < evidence->count; k++) {
        const struct evidence_case *shown = evidence->cases[k];
        if (!evidence_case_is_wrong(shown)) { continue; }
        for (int t = 0; t < op_tensor_count(evidence->op); t++) {
            size_t count = shown->wrong[t] ? op_elements(evidence->op, t, &shown->test.sizes) : 0;
            for (size_t i = 0; i < count; i++) {
                if (!evidence_is_wrong(evidence, shown, t, i)) { continue; }
                if (!kind(shown, t, i)) { return false; }
                found = true;
            }
        }
    }
    return found;
}

static bool is_wrong_in_any(const struct evidence *evidence, int tensor) {
    for (int i = 0; i < evidence->count; i++) {
        if (evidence_case_is_wrong(evidence->cases[i]) && evidence->cases[i]->wrong[tensor]) { return true; }
    }
    return false;
}

/* Every call that failed has returned, and was compared. */
static bool all_compared(const struct evidence *evidence) {
    for (int i = 0; i < evidence->count; i++) {
        if (is_wrong(evidence->cases[i]) && !evidence_case_is_wrong(evidence->cases[i])) { return false; }
    }
    return true;
}

/* "mean is right in every call, out and rstd are wrong" */
static bool describe_outputs(const struct evidence *evidence, char *text, size_t size) {
    enum { MOST_NAMES = 4 };
    char names[2][120] = {"", ""};
    int count[2] = {0, 0};
    for (int t = 0; t < op_tensor_count(evidence->op); t++) {
        if (!op_is_output(evidence->op, t)) { continue; }
        bool wrong = is_wrong_in_any(evidence, t);
        size_t used = strlen(names[wrong]);
        snprintf(names[wrong] + used, sizeof names[wrong] - used, "%s%s", count[wrong]++ ? ", " : "",
                 evidence->op->tensor[t].name);
    }
    if (!count[0] || !count[1] || count[0] + count[1] > MOST_NAMES) { return false; }
    snprintf(text, size, "right in every call: %s; wrong: %s", names[0], names[1]);
    return true;
}

bool results_describe(const struct evidence *evidence, char *text, size_t size) {
    text[0] = '\0';
    if (!all_compared(evidence)) { return false; }
    if (describe_outputs(evidence, text, size)) { return true; }
    const char *kind = all_are(evidence, is_nan)               ? "NaN"
                       : all_are(evidence, is_infinite)        ? "infinite"
                       : all_are(evidence, is_zero)            ? "0"
                       : all_are(evidence, evidence_untouched) ? "not written"
                                                               : NULL;
    if (kind) { snprintf(text, size, "every wrong element is %s", kind); }
    return kind != NULL;
}
