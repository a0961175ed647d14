#include "case_id.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_SIZE = 1 << 24, LARGEST_TENSOR = 1 << 26, LARGEST_OFFSET = 64, NAME_BYTES = 48 };

static const double usual_eps = 1e-5;

/* ---- to a word ---- */

static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, CASE_ID_BYTES - used, format, arguments);
    va_end(arguments);
}

static bool has_nullable(const struct op *op) {
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (op->tensor[t].nullable) { return true; }
    }
    return false;
}

/* The launcher's scalars. Those with their usual value are left out; sizes are always there. */
static void add_scalars(const struct op *op, const struct op_sizes *sizes, char *text) {
    for (int i = 0; i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        double value = op_scalar_get(op, sizes, i);
        if (op_scalar_is_size(scalar)) {
            add(text, "%s=%d,", scalar->name, (int)value);
        } else if ((float)value != (float)scalar->usual) {
            add(text, "%s=%.9g,", scalar->name, value);
        }
    }
}

const char *case_id(const struct op *op, const struct test_case *test, char text[CASE_ID_BYTES]) {
    op_launcher_name(op, test->sizes.type, text, CASE_ID_BYTES);
    add(text, ":");
    add_scalars(op, &test->sizes, text);
    if (!op_has_scalar(op, "eps") && !op_is_on_sequences(op) && test->sizes.eps != 0.0f &&
        test->sizes.eps != (float)usual_eps) {
        add(text, "eps=%.9g,", (double)test->sizes.eps);
    }
    if (!op_has_scalar(op, "L") && op_is_on_sequences(op) && test->sizes.L != 1) { add(text, "L=%d,", test->sizes.L); }
    if (has_nullable(op) && test->sizes.lengths) { add(text, "lengths,"); }
    if (test->values != VALUES_NORMAL) { add(text, "values=%s,", inputs_word(test->values)); }
    if (test->offset) { add(text, "offset=%d,", test->offset); }
    if (test->moved) { add(text, "moved=%s,", op->tensor[test->moved - 1].name); }
    if (test->in_place) {
        add(text, "shared=%s:%s,", op->tensor[test->output].name, op->tensor[test->in_place - 1].name);
    }
    if (test->again) { add(text, "again,"); }
    if (test->shuffled) { add(text, "shuffled,"); }
    if (test->rehearsed) { add(text, "rehearsed,"); }
    if (test->refused) { add(text, "refused,"); }
    if (test->small) { add(text, "small,"); }
    if (test->huge) { add(text, "huge,"); }
    add(text, "seed=%llx", (unsigned long long)test->seed);
    return text;
}

/* ---- from a word ---- */

struct reader {
    const struct op *op;
    struct test_case *test;
    bool has_seed;
    char *error;
    size_t error_size;
};

static bool refuse(struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(struct reader *reader, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->error, reader->error_size, format, arguments);
    va_end(arguments);
    return false;
}

static bool read_launcher(struct reader *reader, const char *name) {
    const char *type = strrchr(name, '_');
    char op[NAME_BYTES];
    snprintf(op, sizeof op, "%.*s", type ? (int)(type - name) : 0, name);
    reader->op = op_find(op);
    for (int i = 0; reader->op && i < OP_TYPES; i++) {
        if (strcmp(type + 1, op_type_name((enum op_type)i)) != 0 || !(reader->op->types >> i & 1)) { continue; }
        reader->test->sizes.type = (enum op_type)i;
        return true;
    }
    return refuse(reader, "there is no launcher %.80s", name);
}

static bool read_values(struct reader *reader, const char *word) {
    for (int i = 0; i < VALUES_KINDS; i++) {
        if (strcmp(word, inputs_word((enum input_values)i)) != 0) { continue; }
        bool mixes = i == VALUES_MIXED && inputs_can_mix(reader->op);
        if (i != VALUES_NORMAL && !mixes && !(reader->op->hard >> i & 1)) { break; }
        reader->test->values = (enum input_values)i;
        return true;
    }
    return refuse(reader, "%s has no values=%.80s", reader->op->name, word);
}

static bool read_tensor(struct reader *reader, const char *name, size_t length, int *tensor) {
    char text[NAME_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1), name);
    *tensor = op_tensor_find(reader->op, text);
    return *tensor >= 0 || refuse(reader, "%s has no tensor %s", reader->op->name, text);
}

static bool read_shared(struct reader *reader, const char *pair) {
    size_t length = strcspn(pair, ":");
    int output, tensor;
    if (!read_tensor(reader, pair, length, &output)) { return false; }
    if (!read_tensor(reader, pair[length] ? pair + length + 1 : "", NAME_BYTES, &tensor)) { return false; }
    if (!op_may_alias(reader->op, output, tensor)) {
        return refuse(reader, "%s's contract does not allow shared=%.80s", reader->op->name, pair);
    }
    reader->test->output = output;
    reader->test->in_place = 1 + tensor;
    return true;
}

/* eps and L also where the launcher does not take them. */
static bool read_scalar(struct reader *reader, const char *name, const char *text) {
    char *end;
    double value = strtod(text, &end);
    bool is_known = op_has_scalar(reader->op, name) || strcmp(name, "eps") == 0 || strcmp(name, "L") == 0;
    if (!is_known) { return refuse(reader, "%s has no %.40s", reader->op->name, name); }
    if (end == text || *end || !(value >= 0.0 && value <= LARGEST_SIZE)) {
        return refuse(reader, "%s=%.40s is no number that a case can have", name, text);
    }
    return op_sizes_set(reader->op, &reader->test->sizes, name, value);
}

static bool read_flag(struct reader *reader, const char *word) {
    struct test_case *test = reader->test;
    bool *const flags[] = {&test->again, &test->shuffled, &test->rehearsed, &test->refused, &test->small, &test->huge};
    static const char *const names[] = {"again", "shuffled", "rehearsed", "refused", "small", "huge"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (strcmp(word, names[i]) != 0) { continue; }
        *flags[i] = true;
        return true;
    }
    if (strcmp(word, "lengths") != 0 || !has_nullable(reader->op)) {
        return refuse(reader, "'%.80s' is nothing that a case can have", word);
    }
    test->sizes.lengths = 1;
    return true;
}

static bool read_part(struct reader *reader, char *word) {
    struct test_case *test = reader->test;
    char *value = strchr(word, '='), *end = NULL;
    if (!value) { return read_flag(reader, word); }
    *value++ = '\0';
    if (strcmp(word, "values") == 0) { return read_values(reader, value); }
    if (strcmp(word, "shared") == 0) { return read_shared(reader, value); }
    if (strcmp(word, "moved") == 0) {
        bool found = read_tensor(reader, value, NAME_BYTES, &test->moved);
        test->moved++;
        return found;
    }
    if (strcmp(word, "seed") == 0) {
        test->seed = strtoull(value, &end, 16);
        reader->has_seed = end != value && *end == '\0';
        return reader->has_seed || refuse(reader, "seed=%.40s is no hexadecimal number", value);
    }
    if (strcmp(word, "offset") == 0) {
        long offset = strtol(value, &end, 10);
        test->offset = (int)offset;
        bool right = end != value && *end == '\0' && offset >= 1 && offset <= LARGEST_OFFSET;
        return right || refuse(reader, "offset=%.40s is not from 1 to %d", value, LARGEST_OFFSET);
    }
    return read_scalar(reader, word, value);
}

/* Can such a call be made? */
static bool check_sizes(struct reader *reader) {
    const struct op_sizes *sizes = &reader->test->sizes;
    bool sane = sizes->C >= 1 && sizes->N >= 0;
    if (op_is_on_matrices(reader->op)) { sane = sane && (double)sizes->B * sizes->H * sizes->T <= LARGEST_SIZE; }
    if (op_is_on_sequences(reader->op)) {
        sane = sane && sizes->H >= 1 && sizes->T >= 1 && sizes->S >= sizes->T + op_is_model(reader->op);
    }
    for (int t = 0; sane && t < op_tensor_count(reader->op); t++) {
        sane = reader->test->huge || op_elements(reader->op, t, sizes) <= LARGEST_TENSOR;
    }
    if (!sane) { return refuse(reader, "no call has these sizes"); }
    return reader->has_seed || refuse(reader, "the seed is missing");
}

bool case_read(const char *word, const struct op **op, struct test_case *test, char *error, size_t error_size) {
    char text[CASE_ID_BYTES], *rest = text, *part;
    struct reader reader = {.test = test, .error = error, .error_size = error_size};
    *test = (struct test_case){.sizes = {.eps = (float)usual_eps, .L = 1}};
    if (strlen(word) >= sizeof text) { return refuse(&reader, "it is too long"); }
    snprintf(text, sizeof text, "%s", word);
    char *colon = strchr(text, ':');
    if (!colon) { return refuse(&reader, "it has no colon behind the launcher's name"); }
    *colon = '\0';
    if (!read_launcher(&reader, text)) { return false; }
    if (!op_is_on_sequences(reader.op)) { test->sizes.L = 0; }
    rest = colon + 1;
    while ((part = strsep(&rest, ","))) {
        if (!read_part(&reader, part)) { return false; }
    }
    if (inputs_need_lengths(test->values)) { test->sizes.lengths = 1; }
    if (op_is_on_sequences(reader.op) && !op_has_scalar(reader.op, "T")) { test->sizes.T = 1; }
    if (op_is_on_sequences(reader.op) && !op_has_scalar(reader.op, "S")) { test->sizes.S = test->sizes.T; }
    op_sizes_complete(reader.op, &test->sizes);
    *op = reader.op;
    return check_sizes(&reader);
}
