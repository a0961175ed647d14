/* tokenize — the tokenizer on the command line: learning, use, timing. tokenize --help lists its commands.
 *
 * Exit status: 0, or 2 after an error, which is one line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/version.h"
#include "gpt2/tokenizer/internal.h"

static const char help[] =
    "usage: tokenize COMMAND ...\n\n"
    "  train FOLDER SIZE [LEAST] <TEXT     learn SIZE tokens, of pairs that occur LEAST times (2)\n"
    "                                      or more; write vocab.json and merges.txt\n"
    "  encode PATH [--special] [--records] <TEXT\n"
    "                                      print ids in a line. --special: <|endoftext|> is one token;\n"
    "                                      --records: a line for each record, ended by a byte 0xff\n"
    "  decode PATH <IDS                    print the text of ids\n"
    "  convert PATH FILE                   write llm.c's tokenizer file\n"
    "  bench PATH FILE                     MB/s of encoding the file\n"
    "  classes                             the class of each Unicode character: l(etter), n(umber),\n"
    "                                      b(lank) or o(ther)\n\n"
    "  -h, --help                          print this help\n"
    "  --version                           print the version\n\n"
    "PATH is a folder or file with a tokenizer. Exit status: 0, or 2 after an error.\n";

static struct gpt2_error error;

static int complain(const char *why) {
    fprintf(stderr, "tokenize: %s\n", why);
    return 2;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* All of standard input. */
static bool read_input(struct gpt2_text *text) {
    size_t size;
    do {
        if (!grow(&text->bytes, &text->room, text->size + (1 << 20) + 1, 1)) {
            return gpt2_fail(&error, "out of memory");
        }
        size = fread(text->bytes + text->size, 1, 1 << 20, stdin);
        text->size += size;
    } while (size > 0);
    text->bytes[text->size] = '\0';
    return !ferror(stdin) || gpt2_fail(&error, "standard input: %s", strerror(errno));
}

static bool train(const char *folder, int size, int least) {
    struct gpt2_text text = {0};
    struct gpt2_tokenizer *tokenizer = NULL;
    double began = seconds();
    bool ok = read_input(&text) && (tokenizer = gpt2_tokenizer_train(text.bytes, text.size, size, least, &error)) &&
              gpt2_tokenizer_write_hf(tokenizer, folder, &error);
    if (ok) {
        fprintf(stderr, "%d tokens from %.1f MB in %.1f s\n", gpt2_tokenizer_size(tokenizer), 1e-6 * (double)text.size,
                seconds() - began);
    }
    gpt2_tokenizer_close(tokenizer);
    gpt2_text_free(&text);
    return ok;
}

static bool encode(struct gpt2_tokenizer *tokenizer, bool special, bool records) {
    struct gpt2_text text = {0};
    struct gpt2_ids ids = {0};
    bool ok = read_input(&text);
    for (size_t at = 0; ok && at < text.size;) {
        const char *end = records ? memchr(text.bytes + at, 0xff, text.size - at) : NULL;
        size_t size = end ? (size_t)(end - text.bytes) - at : text.size - at;
        ids.count = 0;
        ok = gpt2_tokenizer_encode(tokenizer, text.bytes + at, size, special, &ids, &error);
        for (size_t i = 0; ok && i < ids.count; i++) { printf("%s%d", i ? " " : "", ids.ids[i]); }
        putchar('\n');
        at += size + (end != NULL);
    }
    gpt2_text_free(&text);
    gpt2_ids_free(&ids);
    return ok;
}

static bool decode(struct gpt2_tokenizer *tokenizer) {
    struct gpt2_text text = {0};
    int32_t id;
    bool ok = true;
    while (ok && scanf("%d", &id) == 1) { ok = gpt2_tokenizer_decode(tokenizer, &id, 1, &text, &error); }
    if (ok) { fwrite(text.bytes, 1, text.size, stdout); }
    gpt2_text_free(&text);
    return ok;
}

/* All runs use one tokenizer: the first run fills its cache. */
static bool bench(struct gpt2_tokenizer *tokenizer, const char *path) {
    struct gpt2_file file;
    struct gpt2_ids ids = {0};
    bool ok = gpt2_file_open(&file, path, &error);
    for (int run = 0; ok && run < 5; run++) {
        ids.count = 0;
        double began = seconds();
        ok = gpt2_tokenizer_encode(tokenizer, file.bytes, file.size, false, &ids, &error);
        double took = seconds() - began;
        printf("run %d: %.1f MB, %zu tokens, %.3f s, %.1f MB/s\n", run, 1e-6 * (double)file.size, ids.count, took,
               1e-6 * (double)file.size / took);
    }
    gpt2_ids_free(&ids);
    gpt2_file_close(&file);
    return ok;
}

static size_t put_character(uint32_t c, uint8_t *bytes) {
    if (c < 0x80) { return bytes[0] = (uint8_t)c, 1; }
    size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, c >>= 6) { bytes[i] = (uint8_t)(0x80 | (c & 0x3f)); }
    bytes[0] = (uint8_t)((0xf00 >> length & 0xff) | c);
    return length;
}

/* The class of a character is that of the characters with which it forms one pre-token. */
static bool classes(void) {
    static const char with[] = "a1\n";
    struct pretokenizer *pretokenizer = pretokenizer_new(true, &error);
    for (uint32_t c = 0; pretokenizer && c <= 0x10ffff; c++) {
        char class = c >= 0xd800 && c <= 0xdfff ? '-' : 'o';
        for (int i = 0; class == 'o' && with[i]; i++) {
            uint8_t text[5] = {(uint8_t)with[i]};
            size_t size = 1 + put_character(c, text + 1);
            if (pretoken_end(pretokenizer, text, size, 0, &error) == size) { class = "lnb"[i]; }
        }
        putchar(class);
    }
    bool ok = pretokenizer != NULL;
    pretokenizer_free(pretokenizer);
    return ok;
}

static bool has(char **arguments, const char *option) {
    for (; *arguments; arguments++) {
        if (strcmp(*arguments, option) == 0) { return true; }
    }
    return false;
}

static bool use(int count, char **arguments) {
    const char *command = arguments[1];
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_open(arguments[2], &error);
    bool ok = tokenizer != NULL;
    if (ok && strcmp(command, "encode") == 0) {
        ok = encode(tokenizer, has(arguments, "--special"), has(arguments, "--records"));
    } else if (ok && strcmp(command, "decode") == 0) {
        ok = decode(tokenizer);
    } else if (ok && strcmp(command, "convert") == 0 && count == 4) {
        ok = gpt2_tokenizer_write_llmc(tokenizer, arguments[3], &error);
    } else if (ok && strcmp(command, "bench") == 0 && count == 4) {
        ok = bench(tokenizer, arguments[3]);
    } else if (ok) {
        ok = gpt2_fail(&error, "%s: no such command, or a word too few (tokenize --help lists them)", command);
    }
    gpt2_tokenizer_close(tokenizer);
    return ok;
}

int main(int count, char **arguments) {
    const char *first = count > 1 ? arguments[1] : "";
    bool ok;
    if (strcmp(first, "-h") == 0 || strcmp(first, "--help") == 0) {
        ok = fputs(help, stdout) >= 0;
    } else if (strcmp(first, "--version") == 0) {
        ok = puts("tokenize " COURSE_VERSION) >= 0;
    } else if (count == 2 && strcmp(first, "classes") == 0) {
        ok = classes();
    } else if (count >= 4 && strcmp(first, "train") == 0) {
        ok = train(arguments[2], atoi(arguments[3]), count > 4 ? atoi(arguments[4]) : 2);
    } else if (count >= 3) {
        ok = use(count, arguments);
    } else {
        fputs(help, stderr);
        return 2;
    }
    if (fflush(stdout) != 0) { ok = gpt2_fail(&error, "standard output: %s", strerror(errno)); }
    return ok ? 0 : complain(error.text);
}
