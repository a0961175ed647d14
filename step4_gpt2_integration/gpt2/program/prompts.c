/* prompts.c — the prompts of gpt2 generate, from the command line, files and standard input (generate.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

enum { CHUNK = 1 << 16, MOST_BYTES = 1 << 26 };

/* Files of any kind, so that a pipe or <(command) will do. */
static bool read_all(FILE *file, const char *name, struct gpt2_text *text, struct gpt2_error *error) {
    for (;;) {
        if (text->room < text->size + CHUNK + 1) {
            size_t room = 2 * text->room + CHUNK + 1;
            char *larger = realloc(text->bytes, room);
            if (larger == NULL) { return gpt2_fail(error, "%s: out of memory", name); }
            text->bytes = larger;
            text->room = room;
        }
        size_t size = fread(text->bytes + text->size, 1, CHUNK, file);
        text->size += size;
        text->bytes[text->size] = '\0';
        if (ferror(file)) { return gpt2_fail(error, "%s: cannot be read: %s", name, strerror(errno)); }
        if (size == 0) { break; }
        if (text->size > MOST_BYTES) { return gpt2_fail(error, "%s: longer than any prompt", name); }
    }
    if (text->size > 0 && text->bytes[text->size - 1] == '\n') { text->bytes[--text->size] = '\0'; }
    return true;
}

static bool read_file(const char *name, struct gpt2_text *text, struct gpt2_error *error) {
    FILE *file = fopen(name, "rb");
    if (file == NULL) { return gpt2_fail(error, "%s: cannot be read: %s", name, strerror(errno)); }
    bool good = read_all(file, name, text, error);
    fclose(file);
    return good;
}

static bool copy(const char *from, struct gpt2_text *text, struct gpt2_error *error) {
    size_t size = strlen(from);
    text->bytes = malloc(size + 1);
    if (text->bytes == NULL) { return gpt2_fail(error, "out of memory"); }
    memcpy(text->bytes, from, size + 1);
    text->size = size;
    text->room = size + 1;
    return true;
}

bool prompts_read(struct prompts *prompts, const struct options *options, struct gpt2_error *error) {
    bool input_is_read = false;
    prompts->count = options->prompts.count > 0 ? options->prompts.count : 1;
    if (options->prompts.count == 0) { return copy("", &prompts->at[0], error); }
    for (int i = 0; i < prompts->count; i++) {
        const char *given = options->prompts.at[i];
        bool is_input = strcmp(given, "-") == 0, good = true;
        if (is_input && input_is_read) { return gpt2_fail(error, "standard input is one prompt: - is given twice"); }
        if (is_input) {
            good = read_all(stdin, "standard input", &prompts->at[i], error);
            input_is_read = true;
        } else {
            good = (options->prompt_is_file[i] ? read_file : copy)(given, &prompts->at[i], error);
        }
        if (!good) { return false; }
    }
    return true;
}

void prompts_close(struct prompts *prompts) {
    for (int i = 0; i < prompts->count; i++) { gpt2_text_free(&prompts->at[i]); }
}
