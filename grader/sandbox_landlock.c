#include "sandbox_landlock.h"

#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SYS_CREATE_RULESET = 444, SYS_ADD_RULE = 445, SYS_RESTRICT_SELF = 446 }; /* the same on every architecture */
enum { CREATE_RULESET_VERSION = 1, RULE_PATH_BENEATH = 1 };

enum {
    WRITE_FILE = 1 << 1, /* execute (bit 0), read (2) and list (3) are left alone: the child may read */
    MAKE_AND_REMOVE = 0x1ff0,
    REFER = 1 << 13,    /* ABI 2 */
    TRUNCATE = 1 << 14, /* ABI 3 */
    NET_TCP = 3,        /* ABI 4: bind and connect */
    SCOPE_ALL = 3,      /* ABI 6: no abstract Unix sockets and no signals beyond this sandbox */
};

struct ruleset_attributes {
    uint64_t files, net, scoped;
};

struct path_beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

static bool allow_writes(int ruleset, const char *path, uint64_t rights) {
    int descriptor = open(path, O_PATH | O_CLOEXEC);
    struct stat s;
    if (descriptor < 0) { return false; }
    bool ok = fstat(descriptor, &s) == 0;
    if (ok) {
        struct path_beneath rule = {rights, descriptor};
        if (!S_ISDIR(s.st_mode)) { rule.allowed &= WRITE_FILE | TRUNCATE; }
        ok = syscall(SYS_ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) == 0;
    }
    close(descriptor);
    return ok;
}

int landlock_prepare(bool gpu) {
    long abi = syscall(SYS_CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);
    if (abi < 1) { return -1; }
    struct ruleset_attributes attributes = {.files = WRITE_FILE | MAKE_AND_REMOVE};
    size_t size = sizeof attributes.files;
    if (abi >= 2) { attributes.files |= REFER; }
    if (abi >= 3) { attributes.files |= TRUNCATE; }
    if (abi >= 4) {
        attributes.net = NET_TCP;
        size = 2 * sizeof(uint64_t);
    }
    if (abi >= 6) {
        attributes.scoped = SCOPE_ALL;
        size = 3 * sizeof(uint64_t);
    }
    int created = (int)syscall(SYS_CREATE_RULESET, &attributes, size, 0);
    if (created < 0) { return -1; }
    int ruleset = fcntl(created, F_DUPFD_CLOEXEC, 10); /* out of the way of the child's fixed descriptors */
    close(created);
    if (ruleset < 0) { return -1; }
    allow_writes(ruleset, "/dev/null", attributes.files);
    if (gpu) {
        static const char *const devices[] = {"/dev/nvidia*", "/dev/dxg", "/dev/nvhost*", "/dev/nvmap", "/dev/shm"};
        for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
            glob_t found;
            if (glob(devices[i], 0, NULL, &found) != 0) { continue; }
            for (size_t j = 0; j < found.gl_pathc; j++) { allow_writes(ruleset, found.gl_pathv[j], attributes.files); }
            globfree(&found);
        }
    }
    return ruleset;
}

bool landlock_enter(int ruleset, bool gpu) {
    /* CUDA's driver names its threads through /proc/self/task/N/comm, and fails where it cannot. */
    static const char threads[] = "/proc/self/task";
    if (ruleset >= 0 && gpu && !allow_writes(ruleset, threads, WRITE_FILE | TRUNCATE)) {
        allow_writes(ruleset, threads, WRITE_FILE); /* before ABI 3 the rule set does not know truncation */
    }
    return ruleset >= 0 && syscall(SYS_RESTRICT_SELF, ruleset, 0) == 0;
}
