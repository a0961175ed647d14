/* findings.h — for tests of the checks: expected findings, with their lines.
 *
 * A kernel's line is marked in its source by a comment, `// here: word`, so that editing the file breaks no test.
 */
#ifndef SIMT_TESTS_FINDINGS_H
#define SIMT_TESTS_FINDINGS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "simt.h"

/* The line of `source` (beside the test) with the mark; 0 if there is none. */
static inline int line_of(const char *test_file, const char *mark) {
    char path[512], line[512], comment[128];
    snprintf(path, sizeof path, "%.*s.cu", (int)(strlen(test_file) - 2), test_file);
    snprintf(comment, sizeof comment, "// here: %s\n", mark);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "run the test in the course's root: %s", path);
    int number = 0, found = 0;
    while (fgets(line, sizeof line, file)) {
        number++;
        if (strstr(line, comment)) found = number;
    }
    fclose(file);
    return found;
}

static inline void quiet(void) {
    struct simt_settings settings;
    simt_settings_get(&settings);
    settings.quiet = true;
    simt_settings_set(&settings);
}

static inline const struct simt_finding *find_kind(enum simt_finding_kind kind) {
    for (size_t i = 0; i < simt_finding_count(); i++)
        if (simt_finding_at(i)->kind == kind) return simt_finding_at(i);
    return NULL;
}

/* Exactly one finding, of this kind, on the marked line. `words` are parts of its text, ended by NULL. */
static inline void expect_finding(const char *test_file, enum simt_finding_kind kind, bool is_error, const char *mark,
                                  const char *const words[]) {
    for (size_t i = 0; i < simt_finding_count(); i++)
        if (simt_finding_count() != 1) fprintf(stderr, "%s", simt_finding_at(i)->text);
    cr_assert_eq(simt_finding_count(), 1, "%zu findings", simt_finding_count());
    const struct simt_finding *finding = simt_finding_at(0);
    cr_assert_eq(finding->kind, kind, "kind %d: %s", finding->kind, finding->text);
    cr_assert_eq(finding->is_error, is_error);
    int line = mark ? line_of(test_file, mark) : 0;
    cr_assert(mark == NULL || line > 0, "no mark '%s'", mark);
    cr_assert_eq(finding->line, line, "line %d, not %d: %s", finding->line, line, finding->text);
    for (; *words; words++) cr_assert(strstr(finding->text, *words), "no '%s' in: %s", *words, finding->text);
}
#define EXPECT_FINDING(kind, is_error, mark, ...) \
    expect_finding(__FILE__, kind, is_error, mark, (const char *const[]){__VA_ARGS__, NULL})

static inline void expect_none(void) {
    for (size_t i = 0; i < simt_finding_count(); i++) fprintf(stderr, "%s", simt_finding_at(i)->text);
    cr_assert_eq(simt_finding_count(), 0);
}

#endif
