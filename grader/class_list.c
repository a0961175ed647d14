#include "class_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paths.h"
#include "spawn.h"

enum {
    MOST_ENTRIES = 5000,      /* files of a submission that are looked at */
    LARGEST_FILE = 1 << 20,   /* as for --submission */
    LARGEST_LIST = 4 << 20,   /* of the names in an archive */
    MOST_DEPTH = 8,           /* of folders */
    ARCHIVER_SECONDS = 20,    /* of one call */
    ARCHIVER_BYTES = 1 << 30, /* of its memory */
};

bool listing_fail(const struct listing *listing, const char *reason) {
    snprintf(listing->error, listing->error_size, "%s", reason);
    return false;
}

static bool add_name(struct listing *listing, const char *folder, const char *name) {
    if (listing->count == MOST_ENTRIES) { return listing_fail(listing, "it holds more than 5000 files"); }
    if (listing->count % 256 == 0) {
        char **more = realloc(listing->name, (size_t)(listing->count + 256) * sizeof *more);
        if (!more) { return listing_fail(listing, "out of memory"); }
        listing->name = more;
    }
    char *copy = NULL;
    if (asprintf(&copy, "%s%s%s", folder, folder[0] ? "/" : "", name) < 0) {
        return listing_fail(listing, "out of memory");
    }
    listing->name[listing->count++] = copy;
    return true;
}

void listing_free(struct listing *listing) {
    for (int i = 0; i < listing->count; i++) { free(listing->name[i]); }
    free(listing->name);
}

/* ---- archives ---- */

static const struct {
    const char *ending;
    bool zip;
} endings[] = {{".zip", true},      {".tar", false},    {".tar.gz", false}, {".tgz", false},
               {".tar.bz2", false}, {".tar.xz", false}, {".txz", false}};

static int ending_of(const char *name) {
    for (int i = 0; i < (int)(sizeof endings / sizeof *endings); i++) {
        size_t length = strlen(name), tail = strlen(endings[i].ending);
        if (length > tail && strcasecmp(name + length - tail, endings[i].ending) == 0) { return i; }
    }
    return -1;
}

bool class_is_archive(const char *name, char *stem, size_t size) {
    int ending = ending_of(name);
    if (ending >= 0 && stem) {
        snprintf(stem, size, "%.*s", (int)(strlen(name) - strlen(endings[ending].ending)), name);
    }
    return ending >= 0;
}

const char *class_archiver(const char *name, char *error, size_t error_size) {
    bool zip = endings[ending_of(name)].zip;
    const char *own = zip ? "unzip" : "tar";
    if (paths_have_program(own)) { return own; }
    if (paths_have_program("bsdtar")) { return "bsdtar"; }
    snprintf(error, error_size,
             "%s is an archive that needs %s, which is not installed. Type: sudo apt-get install -y %s", name, own,
             own);
    return NULL;
}

/* The archive is the program's descriptor 3, because unzip takes a name for a pattern. */
#define ARCHIVE "/dev/fd/3"

static void become(char *const argv[], int archive, int output) {
    struct rlimit time = {ARCHIVER_SECONDS, ARCHIVER_SECONDS}, memory = {ARCHIVER_BYTES, ARCHIVER_BYTES}, none = {0, 0};
    int nothing = open("/dev/null", O_RDWR), high = fcntl(output, F_DUPFD, 16);
    dup2(archive, 3);
    dup2(nothing, 0);
    dup2(high, 1);
    dup2(nothing, 2);
    setrlimit(RLIMIT_CPU, &time);
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_FSIZE, &none);
    setrlimit(RLIMIT_CORE, &none);
    setpgid(0, 0);
    setenv("LC_ALL", "C.UTF-8", 1);
    execvp(argv[0], argv);
    _exit(127);
}

/* What the program prints, at most `most` bytes, in memory that the caller frees; NULL: it prints more, takes too long, or
 * cannot be run. tar and unzip end with other statuses than 0 for warnings, so the status tells nothing. */
static char *output_of(const char *archive, char *const argv[], size_t most, size_t *size) {
    int said[2], file = open(archive, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char *text = malloc(most + 1);
    if (!text || file < 0 || pipe2(said, O_CLOEXEC) != 0) {
        if (file >= 0) { close(file); }
        free(text);
        return NULL;
    }
    pid_t pid = fork();
    if (pid == 0) { become(argv, fcntl(file, F_DUPFD, 16), said[1]); }
    close(said[1]);
    close(file);
    double until = child_now() + ARCHIVER_SECONDS;
    bool ok = pid > 0;
    ssize_t n = 1;
    for (*size = 0; ok && n > 0;) {
        double left = until - child_now();
        struct pollfd ready = {.fd = said[0], .events = POLLIN};
        ok = left > 0.0 && poll(&ready, 1, (int)(1000 * left) + 1) > 0;
        n = ok ? read(said[0], text + *size, most + 1 - *size) : 0;
        *size += n > 0 ? (size_t)n : 0;
        ok = ok && n >= 0 && *size <= most;
    }
    close(said[0]);
    if (pid > 0) {
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    if (ok) { return text; }
    free(text);
    return NULL;
}

/* Folders that hold no work of a student's: built files, the course, older work, a desktop's own. */
static bool is_left_out(const char *name, size_t length) {
    static const char *const names[] = {"build", "course", "backup", "__MACOSX"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == length && strncmp(name, names[i], length) == 0) { return true; }
    }
    return name[0] == '.' && !(length == 1);
}

static bool is_part_left_out(const char *name) {
    for (;; name++) {
        size_t length = strcspn(name, "/");
        if (length && is_left_out(name, length)) { return true; }
        name += length;
        if (!*name) { return false; }
    }
}

static bool list_archive(struct listing *listing) {
    char *const unzip[] = {"unzip", "-Z1", ARCHIVE, NULL};
    char *const tar[] = {"tar", "--quoting-style=literal", "-tf", ARCHIVE, NULL};
    char *const bsdtar[] = {"bsdtar", "-tf", ARCHIVE, NULL};
    char *text;
    size_t size;
    const char *own = listing->archiver;
    text = output_of(listing->path,
                     strcmp(own, "unzip") == 0 ? unzip
                     : strcmp(own, "tar") == 0 ? tar
                                               : bsdtar,
                     LARGEST_LIST, &size);
    if (!text) { return listing_fail(listing, "the archive's list of files is too long, or takes too long to read"); }
    text[size] = '\0';
    bool ok = true;
    for (char *line = text; ok && *line;) {
        size_t length = strcspn(line, "\n");
        char *next = line + length + (line[length] == '\n');
        line[length] = '\0';
        if (length && line[length - 1] != '/' && !is_part_left_out(line)) { ok = add_name(listing, "", line); }
        line = next;
    }
    free(text);
    return ok && (listing->count > 0 || listing_fail(listing, "the archive is empty or damaged"));
}

/* The name as a pattern of unzip and bsdtar, in which other characters than these could mean something. */
static bool pattern_of(const struct listing *listing, const char *name, char *pattern, size_t size) {
    size_t used = 0;
    int matches = 0;
    for (const char *c = name; *c && used + 2 < size; c++) {
        bool plain = strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./", *c);
        if (plain) {
            pattern[used++] = *c;
        } else if (used == 0 || pattern[used - 1] != '*') {
            pattern[used++] = '*';
        }
    }
    pattern[used] = '\0';
    for (int i = 0; i < listing->count; i++) { matches += fnmatch(pattern, listing->name[i], 0) == 0; }
    return matches == 1;
}

static char *read_archived(const struct listing *listing, const char *name, size_t *size) {
    char *member = (char *)(uintptr_t)name, pattern[PATHS_BYTES];
    char *const tar[] = {"tar", "--no-wildcards", "-xOf", ARCHIVE, "--", member, NULL};
    char *const unzip[] = {"unzip", "-p", ARCHIVE, pattern, NULL};
    char *const bsdtar[] = {"bsdtar", "-xOf", ARCHIVE, pattern, NULL};
    if (strcmp(listing->archiver, "tar") == 0) { return output_of(listing->path, tar, LARGEST_FILE, size); }
    if (!pattern_of(listing, name, pattern, sizeof pattern)) { return NULL; }
    return output_of(listing->path, strcmp(listing->archiver, "unzip") == 0 ? unzip : bsdtar, LARGEST_FILE, size);
}

/* ---- folders ---- */

static bool list_folder(struct listing *listing, int folder, const char *below, int depth) {
    DIR *entries = fdopendir(folder);
    bool ok = entries != NULL;
    if (!entries) { close(folder); }
    for (struct dirent *entry; ok && (entry = readdir(entries));) {
        struct stat status;
        if (entry->d_name[0] == '.' || is_left_out(entry->d_name, strlen(entry->d_name))) { continue; }
        if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) { continue; }
        if (S_ISREG(status.st_mode)) { ok = add_name(listing, below, entry->d_name); }
        if (!ok || !S_ISDIR(status.st_mode) || depth == MOST_DEPTH) { continue; }
        char *path = NULL;
        int inner = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner < 0) { continue; }
        if (asprintf(&path, "%s%s%s", below, below[0] ? "/" : "", entry->d_name) < 0) {
            close(inner);
            ok = listing_fail(listing, "out of memory");
            continue;
        }
        ok = list_folder(listing, inner, path, depth + 1);
        free(path);
    }
    if (entries) { closedir(entries); }
    return ok;
}

/* Opens FOLDER/a/b/name without following a link below FOLDER. */
static int open_below(const char *folder, const char *name) {
    char part[NAME_MAX + 1];
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        int inner = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(at);
        at = inner;
    }
    int file = at < 0 ? -1 : openat(at, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (at >= 0) { close(at); }
    return file;
}

static char *read_file(const struct listing *listing, const char *name, size_t *size) {
    struct stat status;
    int file = open_below(listing->path, name);
    bool ok = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= LARGEST_FILE;
    char *text = ok ? malloc(LARGEST_FILE) : NULL;
    ssize_t n = 1;
    for (*size = 0; text && n > 0 && *size<LARGEST_FILE; *size += n> 0 ? (size_t)n : 0) {
        n = read(file, text + *size, LARGEST_FILE - *size);
    }
    if (file >= 0) { close(file); }
    if (n >= 0) { return text; }
    free(text);
    return NULL;
}

bool listing_open(struct listing *listing) {
    struct stat status;
    char reason[256];
    if (stat(listing->path, &status) != 0) { return listing_fail(listing, strerror(errno)); }
    if (S_ISREG(status.st_mode) && class_is_archive(listing->path, NULL, 0)) {
        listing->archiver = class_archiver(listing->path, reason, sizeof reason);
        return listing->archiver ? list_archive(listing) : listing_fail(listing, reason);
    }
    if (!S_ISDIR(status.st_mode)) {
        return listing_fail(listing, "it is neither a folder nor an archive (.zip, .tar, .tar.gz, ...)");
    }
    int folder = open(listing->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        snprintf(listing->error, listing->error_size, "the folder cannot be read: %s", strerror(errno));
        return false;
    }
    return list_folder(listing, folder, "", 0);
}

char *listing_read(const struct listing *listing, const char *name, size_t *size) {
    return listing->archiver ? read_archived(listing, name, size) : read_file(listing, name, size);
}
