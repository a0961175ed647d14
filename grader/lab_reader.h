/* lab_reader.h — the state of reading one description, shared by lab_read.c and lab_exercise.c alone. */
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
    int exercise_count, question_count, script_count;
    int exercise_line[STEP_MAX_EXERCISES], question_line[STEP_MAX_QUESTIONS];
    struct draft drafts[STEP_MAX_EXERCISES]; /* of each exercise, in order */
    /* of the statement that is read */
    struct draft draft;
    struct question question;
    struct script script;
};

/* exercise OP [TYPE ...] [SETTINGS]: adds an exercise for each type. lab_exercise.c */
bool reader_exercise(struct reader *reader);

#endif
