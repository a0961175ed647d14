/* script: a harness in Python is started, asked and believed; the learner's file is not. Its harness here needs no PyTorch. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../paths.h"
#include "../script.h"

TestSuite(script, .timeout = 60);

static const char harness[] = "import json, os, socket, struct, sys\n"
                              "action, path = sys.argv[1], sys.argv[-1]\n"
                              "if action == 'check':\n"
                              "    missing = os.path.exists(os.path.join(os.path.dirname(__file__), 'missing'))\n"
                              "    print('install this' if missing else sys.executable)\n"
                              "    sys.exit(2 if missing else 0)\n"
                              "channel = socket.socket(fileno=3)\n"
                              "def exactly(size):\n"
                              "    data = b''\n"
                              "    while len(data) < size: data += channel.recv(size - len(data))\n"
                              "    return data\n"
                              "receive = lambda: exactly(struct.unpack('<Q', exactly(8))[0]).decode()\n"
                              "seed = json.loads(receive())['seed']\n"
                              "if action == 'run':\n"
                              "    found = {}\n"
                              "    exec(open(path).read(), found)\n"
                              "    reply = str(found['answer'](seed))\n"
                              "else:\n"
                              "    right = receive() == str(seed + 1)\n"
                              "    reply = 'pass first\\n' + ('pass second' if right else 'FAIL second\\n of seed "
                              "\\x1b[1m%d\\nnot run third' % seed)\n"
                              "channel.sendall(struct.pack('<Q', len(reply)) + reply.encode())\n";

static char root[64], error[4096], *shown;
static const struct step step = {.name = "step1", .folder = "step1_x", .title = "t"};
static const struct script script = {.name = "try", .title = "a try", .file = "own.py", .harness = "harness.py"};

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    cr_assert(file, "%s", path);
    fputs(text, file);
    fclose(file);
}

static void make_root(void) {
    char folder[128];
    strcpy(root, "/tmp/script.XXXXXX");
    cr_assert(mkdtemp(root));
    chmod(root, 0755);
    snprintf(folder, sizeof folder, "%s/step1_x", root);
    cr_assert_eq(mkdir(folder, 0755), 0);
    put("step1_x/harness.py", harness);
    unsetenv("PYTHON");
}

static void remove_root(void) {
    free(shown);
    paths_remove(root);
}

static enum exit_code mark(const char *file) {
    struct script_request request = {&step, &script, root, root, 41};
    size_t size;
    if (file) { put("own.py", file); }
    error[0] = '\0';
    free(shown);
    FILE *out = open_memstream(&shown, &size);
    enum exit_code code = script_mark(&request, out, error, sizeof error);
    fclose(out);
    return code;
}

static void shows(const char *text) {
    cr_assert(strstr(shown, text), "not shown: '%s' in\n%s\n%s", text, shown, error);
}

Test(script, the_judge_decides, .init = make_root, .fini = remove_root) {
    cr_assert_eq(mark("answer = lambda seed: seed + 1\n"), EXIT_FULL, "%s%s", shown, error);
    shows("step1: a try   [optional, without points]");
    shows("  second                              pass\n");
    shows("seed 41, sandbox: own session");
    cr_assert_eq(mark("print('pass second')\nanswer = lambda seed: 'pass second'\n"), EXIT_FEWER, "%s%s", shown, error);
    shows("  first                               pass\n");
    shows("  second                              FAIL\n    of seed ?[1m41\n");
    shows("  third                               not run\n");
    shows("printed by your file:\n    pass second\n");
    shows("hint: ./grader step1 --kernel try --hint=1");
}

Test(script, a_file_that_gives_no_answer_fails, .init = make_root, .fini = remove_root) {
    static const struct {
        const char *file, *says;
    } cases[] = {
        {"import os\nos._exit(0)\n", "ended with exit status 0 before it answered"},
        {"print('x' * 30)\nraise ValueError('mine')\n", "ValueError: mine"},
        {"import os\nos.close(3)\n", "all checks                          FAIL"},
        {"import os, struct\nos.write(3, struct.pack('<Q', 1 << 60))\n", "more than is allowed"},
        {"open('/tmp/written-by-a-script', 'w')\n", "Read-only file system"},
        {"import socket\nsocket.socket()\n", "PermissionError"},
        {"import subprocess\nsubprocess.run(['true'])\n", "PermissionError"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(mark(cases[i].file), EXIT_FEWER, "%s: %s%s", cases[i].file, shown, error);
        shows(cases[i].says);
    }
}

Test(script, what_is_missing_is_named, .init = make_root, .fini = remove_root) {
    cr_assert_eq(mark(NULL), EXIT_USAGE);
    cr_assert(strstr(error, "own.py: No such file"), "%s", error);
    put("step1_x/missing", "");
    cr_assert_eq(mark("answer = lambda seed: 1\n"), EXIT_USAGE);
    cr_assert_str_eq(error, "install this");
    setenv("PYTHON", "/nonexistent/python", 1);
    cr_assert_eq(mark(NULL), EXIT_USAGE);
    cr_assert(strstr(error, "there is no /nonexistent/python"), "%s", error);
    unsetenv("PYTHON");
    put("step1_x/harness.py", "import sys\nprint(sys.executable)\nsys.exit(len(sys.argv) != 2)\n");
    unlink("step1_x/missing");
    cr_assert_eq(mark(NULL), EXIT_FEWER, "a harness that does not answer");
    cr_assert_str_eq(shown + strlen(shown) - 1, "\n");
    paths_remove(strcat(strcpy(error, root), "/step1_x"));
    cr_assert_eq(mark(NULL), EXIT_USAGE);
    cr_assert(strstr(error, "needs a checkout of the course"), "%s", error);
}

Test(script, verdicts_are_counted) {
    FILE *nowhere = fopen("/dev/null", "w");
    cr_assert_eq(script_print(nowhere, "pass a\nFAIL b\n why\nnot run c"), 2);
    cr_assert_eq(script_print(nowhere, "pass a\npass b"), 0);
    cr_assert_eq(script_print(nowhere, "passed a"), -1);
    cr_assert_eq(script_print(nowhere, ""), -1);
    fclose(nowhere);
}
