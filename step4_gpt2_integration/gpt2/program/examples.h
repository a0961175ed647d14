/* examples.h — files of examples: JSON lines, each an object; and what their evaluations share. */
#ifndef GPT2_EXAMPLES_H
#define GPT2_EXAMPLES_H

#include <cjson/cJSON.h>

#include "program.h"

/* Called for each line with the object and "FILE, line N", for messages. */
typedef bool example_reader(void *context, const cJSON *object, const char *where, struct gpt2_error *error);

/* Every line that is not blank. False at the first broken one, or when there is none at all. */
bool examples_read(const char *path, example_reader *read, void *context, struct gpt2_error *error);

/* The object's text of that name; NULL and a message when it is none or empty. */
const char *example_text(const cJSON *object, const char *name, const char *where, struct gpt2_error *error);

/* Token sequences, one after the other. Each is a beginning and a part at its end that is scored. */
struct scored_sequence {
    size_t first;      /* of its ids */
    int count, scored; /* tokens; how many at the end are scored: 1..count - 1 */
};
struct scored_sequences {
    struct gpt2_ids ids;
    struct scored_sequence *at;
    int count, room, longest;
};
void scored_sequences_free(struct scored_sequences *all);

/* Append beginning and end. A beginning of no tokens becomes <|endoftext|>; one that is too long for the model loses its first
 * tokens. False also when the end alone is too long. */
bool scored_sequences_add(struct scored_sequences *all, struct session *session, const char *beginning, size_t size,
                          const char *end, const char *where, struct gpt2_error *error);

static inline const int32_t *scored_sequence_ids(const struct scored_sequences *all, int i) {
    return all->ids.ids + all->at[i].first;
}

#endif
