/* class_store: files of a class appear whole, under names that are safe and of one student each. */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../class_store.h"
#include "labs.h"

static char out[64];

static void make_out(void) {
    char path[PATHS_BYTES];
    strcpy(out, "/tmp/test_class_store.XXXXXX");
    cr_assert(mkdtemp(out));
    snprintf(path, sizeof path, "%s/results", out);
    cr_assert(paths_make_folder(path));
    snprintf(path, sizeof path, "%s/pages", out);
    cr_assert(paths_make_folder(path));
}

static void remove_out(void) {
    paths_remove(out);
}

TestSuite(class_store, .timeout = 60, .init = make_out, .fini = remove_out);

static const char report[] = "{\"version\": 1, \"points\": 12, \"points_max\": 100, \"outcomes\": []}";

Test(class_store, slugs_are_safe_and_unlike) {
    static const char telling[] = "abAB-_. /\\'\"<>\n\xff\xc3\xa9";
    static char slugs[4000][CLASS_SLUG_BYTES], names[4000][64];
    char long_name[200];
    srand(1);
    for (int i = 0; i < 4000; i++) {
        size_t length = 1 + (size_t)rand() % 6;
        for (size_t k = 0; k < length; k++) { names[i][k] = telling[(size_t)rand() % (sizeof telling - 1)]; }
        store_slug(names[i], slugs[i]);
        cr_assert(slugs[i][0] && slugs[i][strspn(slugs[i], "ABab-_0123456789cdef")] == '\0', "%s", slugs[i]);
        for (int k = 0; k < i; k++) {
            bool same = strcmp(names[i], names[k]) == 0;
            cr_assert_eq(same, strcmp(slugs[i], slugs[k]) == 0, "'%s' and '%s': %s", names[i], names[k], slugs[i]);
        }
    }
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    store_slug(long_name, slugs[0]);
    long_name[150] = 'b';
    store_slug(long_name, slugs[1]);
    cr_assert(strcmp(slugs[0], slugs[1]) != 0);
    store_slug("anna-lena_2", slugs[0]);
    cr_assert_str_eq(slugs[0], "anna-lena_2");
}

Test(class_store, a_result_is_read_back) {
    struct submission submission = {.student = "a\"<b>\n\xff", .slug = "a"};
    cr_assert_null(store_load(out, &submission));
    cr_assert(store_save(out, &submission, "marked", "k1", report, sizeof report - 1));
    submission.result = store_load(out, &submission);
    cr_assert(submission.result);
    cr_assert_str_eq(store_status(&submission), "marked");
    cr_assert_str_eq(json_get_text(submission.result, "key"), "k1");
    cr_assert_str_eq(json_get_text(submission.result, "student"), "a\"<b>\n?");
    cr_assert_eq(json_get_number(submission.result, "points"), 12.0);
    json_free(submission.result);
}

Test(class_store, a_file_that_is_no_result_counts_as_none) {
    static const char *const texts[] = {"", "{", "{\"version\": 1, \"points\": 12, \"outcomes\": []}", "[1]"};
    struct submission submission = {.student = "a", .slug = "a"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char path[PATHS_BYTES];
        snprintf(path, sizeof path, "%s/results/a.json", out);
        FILE *file = fopen(path, "w");
        fputs(texts[i], file);
        fclose(file);
        cr_assert_null(store_load(out, &submission), "%s", texts[i]);
    }
}

Test(class_store, an_unfinished_file_does_not_appear) {
    char path[PATHS_BYTES];
    struct store_file store;
    struct stat status;
    snprintf(path, sizeof path, "%s/results.csv", out);
    cr_assert(store_begin(&store, path));
    fputs("half", store.file);
    fflush(store.file);
    cr_assert(stat(path, &status) != 0, "the file is there before it is complete");
    cr_assert(store_end(&store));
    cr_assert(stat(path, &status) == 0 && status.st_size == 4);
    snprintf(path, sizeof path, "%s/nowhere/results.csv", out);
    cr_assert_null(store_begin(&store, path));
}
