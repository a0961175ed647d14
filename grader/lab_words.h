/* lab_words.h — the text of a lab's description, cut into words, and what a word can mean: a number, a pair, a file.
 *
 * Words are separated by blanks; # begins a comment; what stands between quotation marks is one word, on one line. Errors
 * are sentences that begin with PATH:LINE.
 */
#ifndef LAB_WORDS_H
#define LAB_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct word {
    char *text;
    int line;
    bool quoted; /* begins with a quotation mark: a text, never a keyword */
    bool opens;  /* begins a line that is not indented */
};

struct reader;

/* A keyword, and the function that reads its values. */
struct setting {
    const char *name;
    bool (*read)(struct reader *reader);
};

struct words {
    const char *path; /* of the file, in messages */
    struct word *word;
    int count, at;                  /* word[at] is the next one */
    const struct setting *settings; /* keywords of the current statement, where values end; ended by one without name */
    unsigned seen;                  /* bit i: settings[i] has been read in this statement */
    char *error;
    size_t error_size;
};

/* Cuts the text, which ends in '\0' and is written over. False: error. The caller frees words->word. */
bool words_cut(struct words *words, char *text, size_t length);

/* Writes the error; returns false. line 0: that of the last word that was taken. */
bool words_fail(struct words *words, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Does the next word open a statement, or is there none? */
bool words_opens(const struct words *words);

/* The setting of that name, or NULL. */
const struct setting *words_setting(const struct setting *settings, const char *name);

/* The last word that was taken, and its line. */
const char *words_last(const struct words *words);
int words_line(const struct words *words);

/* Reads the settings of a statement, up to the next one; `of` names it in messages. */
bool words_settings(struct words *words, struct reader *reader, const char *of, const struct setting *settings);

/* Has this statement had the setting of that name? */
bool words_have(const struct words *words, const char *setting);

/* The next value: any word up to the next keyword or statement. NULL: there is none. */
struct word *words_take(struct words *words);

/* Exactly one value; `what` says what is needed. */
bool words_take_one(struct words *words, const char **value, const char *what);

/* One quoted word or more, joined by spaces. */
bool words_take_text(struct words *words, const char **text);

/* The name of a file of the lab with one of these endings (ended by NULL). */
bool words_take_file(struct words *words, const char **file, const char *const endings[]);

/* One such file or more, at most `most`; NULL in the rest of the array. */
bool words_take_files(struct words *words, const char **files, int most, const char *const endings[]);

/* "N=1024": the value after that key, or NULL. */
const char *word_value(const struct word *word, const char *key);

bool word_is_number(const char *text, double *number);
bool word_is_whole(const char *text, int low, int high, int *number);
bool word_is_name(const char *text); /* small letters, digits and _ */

/* A file of the lab, perhaps in a sub-folder, but nowhere else; without characters that make cannot handle. */
bool word_is_file(const char *text);

#endif
