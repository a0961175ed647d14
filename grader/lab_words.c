#include "lab_words.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_BYTES = 256 };

bool words_fail(struct words *words, int line, const char *format, ...) {
    int length = snprintf(words->error, words->error_size, "%s:%d: ", words->path, line ? line : words_line(words));
    va_list arguments;
    va_start(arguments, format);
    if (length >= 0 && (size_t)length < words->error_size) {
        vsnprintf(words->error + length, words->error_size - (size_t)length, format, arguments);
    }
    va_end(arguments);
    return false;
}

/* ---- words ---- */

/* Cuts one word out of the text, in place: blanks end it, except between quotation marks, which are dropped. Returns the
 * character after it, or NULL: a quotation is not closed on its line. */
static char *cut_word(char *from, char **end) {
    char *to = from;
    bool quoting = false;
    for (; *from && *from != '\n' && (quoting || !strchr(" \t\r", *from)); from++) {
        if (*from == '"') {
            quoting = !quoting;
        } else {
            *to++ = *from;
        }
    }
    *end = to;
    return quoting ? NULL : from;
}

bool words_cut(struct words *words, char *text, size_t length) {
    words->word = calloc(length / 2 + 2, sizeof *words->word);
    if (!words->word) { return words_fail(words, 1, "out of memory"); }
    int line = 1;
    bool line_begins = true;
    for (size_t i = 0; i < length; i++) {
        line += text[i] == '\n';
        if (iscntrl((unsigned char)text[i]) && !strchr("\n\t\r", text[i] ? text[i] : 1)) {
            return words_fail(words, line, "character %d is no text: write plain text", (unsigned char)text[i]);
        }
    }
    line = 1;
    for (char *at = text; *at;) {
        if (*at == '\n' || strchr(" \t\r", *at)) {
            line_begins = *at == '\n';
            line += *at++ == '\n';
        } else if (*at == '#') {
            at += strcspn(at, "\n");
        } else {
            struct word *word = &words->word[words->count++];
            char *end, *next;
            *word = (struct word){.text = at, .line = line, .quoted = *at == '"', .opens = line_begins};
            next = cut_word(at, &end);
            if (!next) {
                return words_fail(words, line, "a quotation mark is missing: a text ends on the line of its beginning");
            }
            line_begins = *next == '\n';
            line += *next == '\n';
            at = next + (*next != '\0');
            *end = '\0';
        }
    }
    return true;
}

bool words_opens(const struct words *words) {
    return words->at == words->count || words->word[words->at].opens;
}

const struct setting *words_setting(const struct setting *settings, const char *name) {
    for (; settings && settings->name; settings++) {
        if (strcmp(settings->name, name) == 0) { return settings; }
    }
    return NULL;
}

const char *words_last(const struct words *words) {
    return words->word[words->at - 1].text;
}

int words_line(const struct words *words) {
    return words->at > 0 ? words->word[words->at - 1].line : 1;
}

bool words_settings(struct words *words, struct reader *reader, const char *of, const struct setting *settings) {
    words->settings = settings;
    words->seen = 0;
    while (!words_opens(words)) {
        const struct word *word = &words->word[words->at++];
        const struct setting *setting = word->quoted ? NULL : words_setting(settings, word->text);
        if (!setting) {
            char names[NAMES_BYTES] = "";
            for (const struct setting *s = settings; s->name; s++) {
                size_t used = strlen(names);
                snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", s->name);
            }
            return words_fail(words, word->line, "unknown word '%s' in %s: it may have %s", word->text, of, names);
        }
        unsigned bit = 1u << (setting - settings);
        if (words->seen & bit) {
            return words_fail(words, word->line, "%s is given twice in %s: keep one of them", word->text, of);
        }
        words->seen |= bit;
        if (!setting->read(reader)) { return false; }
    }
    return true;
}

bool words_have(const struct words *words, const char *setting) {
    return words->seen >> (words_setting(words->settings, setting) - words->settings) & 1;
}

/* No value follows: a statement or a setting begins. */
static bool words_at_end(const struct words *words) {
    const struct word *word = &words->word[words->at];
    return words_opens(words) || (!word->quoted && words_setting(words->settings, word->text));
}

struct word *words_take(struct words *words) {
    return words_at_end(words) ? NULL : &words->word[words->at++];
}

bool words_take_one(struct words *words, const char **value, const char *what) {
    const char *of = words_last(words);
    struct word *word = words_take(words);
    if (!word || !word->text[0]) { return words_fail(words, 0, "%s needs %s", of, what); }
    *value = word->text;
    return true;
}

bool words_take_text(struct words *words, const char **text) {
    const char *of = words_last(words);
    struct word *word = words_take(words);
    if (!word || !word->quoted) { return words_fail(words, 0, "%s needs a text in quotation marks", of); }
    char *end = word->text + strlen(word->text); /* the parts of a text lie one after the other: joined in place */
    *text = word->text;
    while ((word = words_take(words))) {
        if (!word->quoted) {
            return words_fail(words, word->line, "'%s' follows the text of %s: put it into the quotation marks",
                              word->text, of);
        }
        size_t length = strlen(word->text);
        *end++ = ' ';
        memmove(end, word->text, length + 1);
        end += length;
    }
    return true;
}

/* ---- numbers, pairs and names ---- */

bool word_is_number(const char *text, double *number) {
    char *end;
    if (!text[0] || strspn(text, "+-.0123456789e") != strlen(text)) { return false; }
    *number = strtod(text, &end);
    return *end == '\0' && isfinite(*number);
}

bool word_is_whole(const char *text, int low, int high, int *number) {
    double value;
    if (!word_is_number(text, &value) || value != floor(value) || value < low || value > high) { return false; }
    *number = (int)value;
    return true;
}

const char *word_value(const struct word *word, const char *key) {
    size_t length = strlen(key);
    return strncmp(word->text, key, length) == 0 && word->text[length] == '=' ? word->text + length + 1 : NULL;
}

bool word_is_name(const char *text) {
    return islower((unsigned char)text[0]) && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
}

bool word_is_file(const char *text) {
    bool begins = true;
    for (const char *c = text; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("_-./", *c)) { return false; }
        if (begins && !isalnum((unsigned char)*c) && *c != '_') { return false; } /* no "..", no "/", no hidden file */
        begins = *c == '/';
    }
    return !begins;
}

static bool ends_in(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcmp(text + length - tail, ending) == 0;
}

bool words_take_file(struct words *words, const char **file, const char *const endings[]) {
    if (!words_take_one(words, file, "the name of a file")) { return false; }
    for (int i = 0; word_is_file(*file) && endings[i]; i++) {
        if (ends_in(*file, endings[i])) { return true; }
    }
    return words_fail(words, 0, "'%s' is neither a %s file of this lab nor a setting", *file, endings[0]);
}

bool words_take_files(struct words *words, const char **files, int most, const char *const endings[]) {
    const char *of = words_last(words);
    int count = 0;
    memset(files, 0, (size_t)most * sizeof *files);
    do {
        if (count == most) { return words_fail(words, 0, "%s takes at most %d files", of, most); }
        if (!words_take_file(words, &files[count++], endings)) { return false; }
    } while (!words_at_end(words));
    return true;
}
