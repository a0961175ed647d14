/* learner_end.c — the end of the lab's objects (learner_begin.c). */
void learner_text_end(void);
__attribute__((noinline)) void learner_text_end(void) {}
