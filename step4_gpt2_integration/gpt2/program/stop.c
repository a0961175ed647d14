/* stop.c — stop texts across tokens (stop.h). */
#include "stop.h"

#include <stdlib.h>
#include <string.h>

static bool append(struct gpt2_text *text, const void *bytes, size_t size, struct gpt2_error *error) {
    if (text->size + size + 1 > text->room) {
        size_t room = 2 * (text->size + size + 1);
        char *larger = realloc(text->bytes, room);
        if (larger == NULL) { return gpt2_fail(error, "out of memory"); }
        text->bytes = larger;
        text->room = room;
    }
    if (size > 0) { memcpy(text->bytes + text->size, bytes, size); }
    text->size += size;
    text->bytes[text->size] = '\0';
    return true;
}

/* How many bytes at the end of the held text begin a stop. *whole: they are that stop. */
static size_t longest_beginning(const struct stop_search *search, const char **whole) {
    const struct gpt2_text *held = &search->held;
    size_t longest = 0, longest_whole = 0;
    *whole = NULL;
    for (int i = 0; i < search->stops->count; i++) {
        const char *stop = search->stops->at[i];
        size_t length = strlen(stop), most = length < held->size ? length : held->size;
        while (most > 0 && memcmp(held->bytes + held->size - most, stop, most) != 0) { most--; }
        if (most > longest) { longest = most; }
        if (most == length && length > longest_whole) { *whole = stop, longest_whole = length; }
    }
    return *whole != NULL ? longest_whole : longest;
}

/* Passes all but the last `rest` bytes. */
static bool pass(struct stop_search *search, size_t rest, struct gpt2_text *passed, struct gpt2_error *error) {
    struct gpt2_text *held = &search->held;
    size_t ready = held->size - rest;
    if (ready == 0) { return true; }
    if (!append(passed, held->bytes, ready, error)) { return false; }
    memmove(held->bytes, held->bytes + ready, rest);
    held->size = rest;
    return true;
}

bool stop_push(struct stop_search *search, const void *bytes, size_t size, struct gpt2_text *passed, const char **found,
               struct gpt2_error *error) {
    const char *next = bytes;
    *found = NULL;
    if (search->stops->count == 0) { return append(passed, bytes, size, error); }
    for (size_t i = 0; i < size && *found == NULL; i++) {
        if (!append(&search->held, &next[i], 1, error)) { return false; }
        size_t rest = longest_beginning(search, found);
        if (!pass(search, rest, passed, error)) { return false; }
    }
    if (*found != NULL) { search->held.size = 0; }
    return true;
}

bool stop_flush(struct stop_search *search, struct gpt2_text *passed, struct gpt2_error *error) {
    return pass(search, 0, passed, error);
}

void stop_close(struct stop_search *search) {
    gpt2_text_free(&search->held);
}
