/* main.c — translate [--backend FOLDER] [--host HOST] [--learner LAB] [-o OUT] IN: preprocessed CUDA to preprocessed C++;
 * simt-cc calls it. translate --learner-source LAB FILE HEADERS: the rules for directives. */
#include "translate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: translate [--backend FOLDER] [--host HOST] [--learner LAB] [-o OUT] IN\n"
    "  IN is the output of g++ -E -C; simt-cc runs both\n"
    "  HOST is the same with __CUDA_ARCH__ undefined, where the source tests it\n"
    "  --learner: the files below the folder LAB are marked, and may say only what learner.c lists\n"
    "       translate --learner-source LAB FILE HEADERS\n"
    "  checks the directives of a file and of the headers in LAB that it includes;\n"
    "  HEADERS: patterns of further headers, separated by blanks\n"
    "       translate --unsupported\n"
    "  lists names that are refused, what they stand for, and what to use instead\n";

static char *read_file(const char *path, size_t *length) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!file) { return NULL; }
    char *text = NULL;
    size_t size = 0;
    *length = 0;
    do {
        size = size ? size * 2 : 1 << 20;
        char *larger = realloc(text, size);
        if (!larger) { break; }
        text = larger;
        *length += fread(text + *length, 1, size - *length, file);
    } while (*length == size);
    if (file != stdin) { fclose(file); }
    return text;
}

static int check_source(const char *lab, const char *path, const char *headers) {
    struct translation t = {.lab = lab, .headers = headers};
    bool ok = learner_source(&t, path);
    if (!ok) { fprintf(stderr, "%s\n", t.error); }
    translation_free(&t);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) {
    const char *in = NULL, *out = NULL, *backend = NULL, *host = NULL, *lab = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--unsupported") == 0) {
            list_unsupported(stdout);
            return 0;
        }
        if (strcmp(argv[i], "--learner-source") == 0 && i + 3 < argc) {
            return check_source(argv[i + 1], argv[i + 2], argv[i + 3]);
        }
        if (strcmp(argv[i], "--learner") == 0 && i + 1 < argc) {
            lab = argv[++i];
        } else if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc) {
            backend = argv[++i];
        } else if (strcmp(argv[i], "--host") == 0 && i + 1 < argc) {
            host = argv[++i];
        } else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
            out = argv[++i];
        } else if (!in) {
            in = argv[i];
        } else {
            in = NULL;
            break;
        }
    }
    if (!in) {
        fputs(usage, stderr);
        return 2;
    }
    size_t length;
    char *text = read_file(in, &length);
    FILE *file = text && out ? fopen(out, "wb") : stdout;
    if (!text || !file) {
        fprintf(stderr, "translate: %s: %s\n", text ? out : in, strerror(errno));
        free(text);
        return 1;
    }
    size_t host_length = 0, joined_length = 0;
    char *host_text = host ? read_file(host, &host_length) : NULL, *joined = NULL;
    if (host_text) {
        joined =
            join_sides((struct text){text, length}, (struct text){host_text, host_length}, backend, &joined_length);
    }
    bool unreadable = host && !joined;
    free(host_text);
    if (joined) {
        free(text);
        text = joined;
        length = joined_length;
    }
    struct translation t = {.backend_folder = backend, .lab = lab};
    bool ok = translate(&t, text, length, file);
    if (!ok) {
        fprintf(stderr, "%s\n", t.error);
    } else if (unreadable) {
        fprintf(stderr, "%s: error: as host code, without __CUDA_ARCH__, brackets or quotes do not match\n", in);
        ok = false;
    }
    if (ferror(file) | (file != stdout && fclose(file) != 0)) {
        fprintf(stderr, "translate: %s: cannot be written\n", out ? out : "output");
        ok = false;
    }
    translation_free(&t);
    free(text);
    return ok ? 0 : 1;
}
