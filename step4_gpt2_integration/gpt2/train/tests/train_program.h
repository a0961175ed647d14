/* train_program.h — for the tests: gpt2 train, run in a folder with a text, its tokens and a tokenizer. */
#ifndef GPT2_TRAIN_PROGRAM_H
#define GPT2_TRAIN_PROGRAM_H

#include "gpt2/formats/tokens.h"
#include "gpt2/model/tests/tiny.h"
#include "gpt2/program/tests/command.h"
#include "gpt2/tokenizer/tokenizer.h"

static const char text[] =
    "In the beginning God created the heaven and the earth. And the earth was without form, and void; and darkness was "
    "upon the face of the deep. And the Spirit of God moved upon the face of the waters. And God said, Let there be "
    "light: and there was light. And God saw the light, that it was good: and God divided the light from the darkness. "
    "And God called the light Day, and the darkness he called Night. And the evening and the morning were the first "
    "day.";

/* Mostly the same words, so that memorising one text makes the other less likely. */
static const char other[] =
    "And the evening was upon the waters, and God divided the face of the earth from the heaven. In the beginning the "
    "light was void, and the day without form; and the Spirit of the deep said, Let there be darkness. And the first "
    "night moved upon the earth, and God saw that it was good: and the light called the darkness Day.";

static inline void begin(void) {
    char path[128];
    make_folder();
    struct gpt2_tokenizer *tokenizer = gpt2_tokenizer_train(text, strlen(text), 300, 2, &error);
    struct gpt2_ids ids = {NULL, 0, 0};
    cr_assert(tokenizer, "%s", error.text);
    snprintf(path, sizeof path, "%s/tok", folder);
    mkdir(path, 0777);
    cr_assert(gpt2_tokenizer_write_hf(tokenizer, path, &error), "%s", error.text);
    cr_assert(gpt2_tokenizer_encode(tokenizer, text, strlen(text), true, &ids, &error));
    snprintf(path, sizeof path, "%s/text.bin", folder);
    cr_assert(gpt2_tokens_write(path, ids.ids, (int64_t)ids.count, &error), "%s", error.text);
    write_text("text", text, strlen(text));
    write_text("other", other, strlen(other));
    write_text("short", text, 6);
    write_text("one", text, 40); /* one window of 16 with its target */
    write_text("binary", text, sizeof text);
    gpt2_ids_free(&ids);
    gpt2_tokenizer_close(tokenizer);
}

#define SIZES   "--tokenizer @/tok --layers 2 --heads 2 --channels 32 --context 16 "
#define LEARNER GPT2 " train --kernels naive --data @/text " SIZES

#define run run_command

/* The number after `name` in the last line that has it. */
static inline double last_number(const char *name) {
    const char *at = NULL;
    for (const char *next = output; (next = strstr(next, name)) != NULL; next++) { at = next; }
    cr_assert(at, "no '%s' in: %s", name, output);
    return strtod(at + strlen(name), NULL);
}

#endif
