/* translate.c — the order of the passes, and the release of their memory. */
#include "translate.h"

#include <stdlib.h>
#include <string.h>

bool translate(struct translation *t, const char *text, size_t length, FILE *out) {
    t->text = text;
    t->length = length;
    bool ok = lex(t) && match_brackets(t) && (!t->lab || learner_tokens(t)) && find_scopes(t) &&
              reject_unsupported(t) && translate_variables(t) && translate_shared(t) && translate_kernels(t) &&
              translate_launches(t) && check_calls(t) && translate_casts(t) && translate_loops(t) && translate_words(t);
    if (ok) {
        translate_observed(t);
        translate_vectors(t);
        find_columns(t);
        write_output(t, out);
    }
    return ok;
}

static void free_names(struct known_name *list) {
    for (struct known_name *next; list; list = next) {
        next = list->next;
        free(list->text);
        free(list);
    }
}

void translation_free(struct translation *t) {
    for (int i = 0; i < t->count; i++) {
        free(t->tokens[i].before);
        free(t->tokens[i].instead);
        free(t->tokens[i].after);
    }
    for (int i = 0; i < t->file_count; i++) { free(t->files[i]); }
    for (struct shared_at_namespace_scope *v = t->shared, *next; v; v = next) {
        next = v->next;
        free(v->name);
        free(v);
    }
    free_names(t->kernels);
    free_names(t->empty_constructors);
    free(t->files);
    free(t->is_learners);
    free(t->tokens);
    free(t->scopes);
}
