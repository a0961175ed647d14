/* Saves as editors make them: in place, by renaming a new file over the old one, with backups and swap files beside. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grader/watch.h"

static char folder[] = "/tmp/watch-XXXXXX";
static struct watch watch;
static char name[256];

static void enter(void) {
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    cr_assert(watch_open(&watch, folder), "%s", watch.error);
}

static void leave(void) {
    char command[300];
    watch_close(&watch);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

static void save(const char *path) {
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs("text\n", f);
    fclose(f);
}

TestSuite(watch, .init = enter, .fini = leave);

Test(watch, nothing_saved) {
    cr_assert_eq(watch_wait(&watch, 50, name, sizeof name), 0);
}

Test(watch, saved_in_place) {
    save("softmax.cu");
    cr_assert_eq(watch_wait(&watch, 1000, name, sizeof name), 1);
    cr_assert_str_eq(name, "softmax.cu");
}

Test(watch, saved_by_renaming) {
    save("4913"); /* vim's probe */
    unlink("4913");
    save("softmax.cu~");
    save(".softmax.cu.swp");
    save("softmax.tmp");
    cr_assert_eq(rename("softmax.tmp", "softmax.cu"), 0);
    cr_assert_eq(watch_wait(&watch, 1000, name, sizeof name), 1);
    cr_assert_str_eq(name, "softmax.cu");
}

Test(watch, a_header_counts) {
    save("reduce.cuh");
    cr_assert_eq(watch_wait(&watch, 1000, name, sizeof name), 1);
    cr_assert_str_eq(name, "reduce.cuh");
}

Test(watch, other_files_do_not_count) {
    save("notes.md");
    save(".softmax.cu.swp");
    save("softmax.cu~");
    cr_assert_eq(watch_wait(&watch, 200, name, sizeof name), 0);
}

Test(watch, one_save_is_one_event) {
    for (int i = 0; i < 5; i++) { save("softmax.cu"); }
    cr_assert_eq(watch_wait(&watch, 1000, name, sizeof name), 1);
    cr_assert_eq(watch_wait(&watch, 150, name, sizeof name), 0);
}

Test(watch, reading_is_no_save) {
    save("softmax.cu");
    cr_assert_eq(watch_wait(&watch, 1000, name, sizeof name), 1);
    close(open("softmax.cu", O_RDONLY));
    cr_assert_eq(watch_wait(&watch, 150, name, sizeof name), 0);
}

Test(watch, no_folder) {
    struct watch none;
    cr_assert(!watch_open(&none, "/no/such/folder"));
    cr_assert(strstr(none.error, "No such file"), "%s", none.error);
    watch_close(&none);
}
