#include "source.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 20, TEXT_BYTES = 1 << 20 };

static void add_integer(struct source *source, unsigned long value) {
    if (value < 2 || value > LARGEST) { return; }
    for (int i = 0; i < source->integer_count; i++) {
        if (source->integers[i] == (int)value) { return; }
    }
    if (source->integer_count < SOURCE_MAX_INTEGERS) { source->integers[source->integer_count++] = (int)value; }
}

/* Calls after which code may differ from device to device. */
static bool asks_device(const char *text) {
    static const char *const calls[] = {"cudaDeviceGetAttribute", "cudaGetDeviceProperties", "cudaOccupancy",
                                        "cudaFuncSetAttribute"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strstr(text, calls[i])) { return true; }
    }
    return false;
}

void source_add(struct source *source, const char *text) {
    source->asks_device |= asks_device(text);
    for (const char *at = text; *at; at++) { /* FNV-1a */
        source->hash = (source->hash ^ (unsigned char)*at) * 0x100000001b3u;
    }
    while (*text) {
        if (text[0] == '/' && text[1] == '/') {
            text += strcspn(text, "\n");
        } else if (text[0] == '/' && text[1] == '*') {
            const char *end = strstr(text + 2, "*/");
            text = end ? end + 2 : text + strlen(text);
        } else if (isalpha((unsigned char)*text) || *text == '_') {
            while (isalnum((unsigned char)*text) || *text == '_') { text++; }
        } else if (isdigit((unsigned char)*text)) {
            char *end;
            unsigned long value = strtoul(text, &end, 0);
            if (*end != '.' && *end != 'e') { add_integer(source, value); }
            while (isalnum((unsigned char)*end) || *end == '.' || *end == '\'') { end++; }
            text = end;
        } else {
            text++;
        }
    }
}

/* ---- files ---- */

static void add_name(struct source *source, const char *name, size_t length) {
    if (length == 0 || length >= SOURCE_NAME_BYTES || source->file_count == SOURCE_MAX_FILES) { return; }
    for (int i = 0; i < source->file_count; i++) {
        if (strlen(source->file[i]) == length && strncmp(source->file[i], name, length) == 0) { return; }
    }
    snprintf(source->file[source->file_count++], SOURCE_NAME_BYTES, "%.*s", (int)length, name);
}

/* The files in quotes behind #include. Those that are not in the folder are not found there later. */
static void add_includes(struct source *source, const char *text) {
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += strspn(line, "\n \t");
        const char *word = line[0] == '#' ? line + 1 + strspn(line + 1, " \t") : "";
        if (strncmp(word, "include", strlen("include")) != 0) { continue; }
        word += strlen("include");
        word += strspn(word, " \t");
        if (*word == '"') { add_name(source, word + 1, strcspn(word + 1, "\"\n")); }
    }
}

static bool read_text(const char *folder, const char *name, char text[TEXT_BYTES]) {
    char path[1024 + SOURCE_NAME_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) { return false; }
    text[fread(text, 1, TEXT_BYTES - 1, file)] = '\0';
    fclose(file);
    return true;
}

void source_read(const char *folder, const struct exercise *exercise, struct source *source) {
    char *text = malloc(TEXT_BYTES);
    *source = (struct source){.hash = 0xcbf29ce484222325u};
    add_name(source, exercise->file, strlen(exercise->file));
    for (int i = 0; i < EXERCISE_MAX_INCLUDES && exercise->includes[i]; i++) {
        add_name(source, exercise->includes[i], strlen(exercise->includes[i]));
    }
    for (int i = 0; i < EXERCISE_MAX_PARTS && exercise->parts[i]; i++) {
        add_name(source, exercise->parts[i], strlen(exercise->parts[i]));
    }
    for (int i = 0; text && i < source->file_count; i++) {
        if (!read_text(folder, source->file[i], text)) { continue; }
        source_add(source, text);
        add_includes(source, text);
    }
    free(text);
}
