/* file: files are read completely, and written completely or not at all. */
#include "gpt2/file.h"

#include <signal.h>
#include <sys/resource.h>

#include "gpt2/tests/scratch.h"

TestSuite(file, .init = scratch_make, .fini = scratch_remove, .timeout = 30);

Test(file, is_mapped_whole) {
    struct gpt2_file file;
    put("a", "some\0bytes", 10);
    cr_assert(gpt2_file_open(&file, at("a"), &error), "%s", error.text);
    cr_assert(file.size == 10 && memcmp(file.bytes, "some\0bytes", 10) == 0);
    gpt2_file_close(&file);
    gpt2_file_close(&file);
    put("empty", "", 0);
    cr_assert(gpt2_file_open(&file, at("empty"), &error) && file.size == 0 && file.bytes);
    gpt2_file_close(&file);
}

Test(file, that_is_none_is_refused) {
    struct gpt2_file file;
    cr_assert(fails_with(gpt2_file_open(&file, at("absent"), &error), "absent: No such file"));
    cr_assert(fails_with(gpt2_file_open(&file, scratch, &error), "not a regular file"));
    cr_assert_eq(mkfifo(at("fifo"), 0600), 0);
    cr_assert(fails_with(gpt2_file_open(&file, at("fifo"), &error), "not a regular file"));
}

Test(file, appears_when_it_is_whole) {
    struct gpt2_output output;
    put_text("a", "old");
    cr_assert(gpt2_output_begin(&output, at("a"), &error), "%s", error.text);
    cr_assert(gpt2_output_write(&output, "new text", 8, &error));
    size_t size;
    uint8_t *before = get("a", &size);
    cr_assert(size == 3 && memcmp(before, "old", 3) == 0);
    free(before);
    cr_assert(gpt2_output_commit(&output, &error), "%s", error.text);
    gpt2_output_abandon(&output);
    uint8_t *after = get("a", &size);
    cr_assert(size == 8 && memcmp(after, "new text", 8) == 0);
    free(after);
    cr_assert_eq(count_files(), 1);
}

Test(file, that_was_given_up_leaves_nothing) {
    struct gpt2_output output;
    put_text("a", "old");
    cr_assert(gpt2_output_begin(&output, at("a"), &error) && gpt2_output_write(&output, "new", 3, &error));
    gpt2_output_abandon(&output);
    cr_assert_eq(count_files(), 1);
    cr_assert(!gpt2_output_write(&output, "x", 1, &error) && !gpt2_output_commit(&output, &error));
    cr_assert(!gpt2_file_write(at("no/such/folder"), "x", 1, &error));
    cr_assert(fails_with(gpt2_file_write(scratch, "x", 1, &error), "cannot be written"));
}

Test(file, takes_the_place_of_no_device_and_no_link) {
    struct stat status;
    cr_assert_eq(mkfifo(at("fifo"), 0600), 0);
    cr_assert(fails_with(gpt2_file_write(at("fifo"), "x", 1, &error), "fifo: cannot be written: not a regular file"));
    cr_assert(lstat(at("fifo"), &status) == 0 && S_ISFIFO(status.st_mode));
    put_text("a", "old");
    cr_assert_eq(symlink(at("a"), at("link")), 0);
    cr_assert(fails_with(gpt2_file_write(at("link"), "x", 1, &error), "link: cannot be written: not a regular file"));
    cr_assert(lstat(at("link"), &status) == 0 && S_ISLNK(status.st_mode));
}

/* A full disk, simulated by the limit of the file size. */
Test(file, on_a_full_disk_the_old_one_stays) {
    struct rlimit limit = {.rlim_cur = 100000, .rlim_max = 100000};
    static char bytes[1 << 21];
    put_text("a", "old");
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert(fails_with(gpt2_file_write(at("a"), bytes, sizeof bytes, &error), "File too large"));
    cr_assert(
        fails_with(gpt2_file_write(at("a"), bytes, 200000, &error), "File too large")); /* reported by the flush */
    size_t size;
    uint8_t *after = get("a", &size);
    cr_assert(size == 3);
    free(after);
    cr_assert_eq(count_files(), 1);
}

Test(file, messages_hold_no_control_characters) {
    cr_assert(!gpt2_fail(&error, "%s", "a\nb\033[31mc"));
    cr_assert_str_eq(error.text, "a?b?[31mc");
    cr_assert(!gpt2_fail(&error, "%s, again", error.text));
    cr_assert_str_eq(error.text, "a?b?[31mc, again");
    cr_assert(!gpt2_fail(NULL, "nobody asks"));
}
