/* learner_begin.c — the linker places the lab's objects between this one and learner_end.c, and the course's code around them,
 * if there is any, between that and around_end.c. The lab's code may access the data of both. */
char learner_data_begin[64] = {1};
char learner_bss_begin[64];
void learner_text_begin(void);
__attribute__((noinline)) void learner_text_begin(void) {}
