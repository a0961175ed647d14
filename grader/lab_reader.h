/* lab_reader.h — the state of reading one description. Inside the work of lab_read.c and lab_exercise.c. */
#ifndef LAB_READER_H
#define LAB_READER_H

#include "lab.h"
#include "lab_words.h"

enum { MOST_POINTS = 100 };

/* An exercise before it is known in which types: what its op's next types start from. */
struct draft {
    struct exercise exercise; /* without title and checks */
    const char *title;        /* {type} stands for the type's name */
    int points[CHECK_PREDICTION + 1];
    unsigned paid; /* bit 1 << kind: `points` names this check */
};

struct reader {
    struct words *words;
    struct step *step;
    int exercise_count, question_count;
    int exercise_line[STEP_MAX_EXERCISES], question_line[STEP_MAX_QUESTIONS];
    struct draft drafts[STEP_MAX_EXERCISES]; /* of each exercise, in order */
    /* of the statement that is read */
    unsigned seen; /* bit i: settings[i] has been read */
    struct draft draft;
    struct question question;
};

/* The line of the word that was read last, and that word. */
int reader_line(const struct reader *reader);
const char *reader_word(const struct reader *reader);

/* Reads settings up to the next statement; `of` names it in messages. */
bool reader_settings(struct reader *reader, const char *of, const struct setting *settings);

/* Has the current statement this setting? */
bool reader_has_seen(const struct reader *reader, const char *setting);

/* exercise OP [TYPE ...] [SETTINGS]: adds an exercise for each type. lab_exercise.c */
bool reader_exercise(struct reader *reader);

#endif
