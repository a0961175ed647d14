/* modes.h — the modes of the hostile program; most never return. */
#ifndef HOSTILE_MODES_H
#define HOSTILE_MODES_H

/* endings.c: a process that does not end as it should, or takes more than it may */
/* Counts blocks that have ended, as the backend does, one every 10 ms; -1: without end. */
void count_blocks(int blocks, unsigned launches_at_once);

void mode_crash(void);
void mode_abort(void);
void mode_exit0(void);
void mode_hang(void);
void mode_spin(void);
void mode_deaf(void);
void mode_slow(void);      /* answers after a second; meanwhile blocks end */
void mode_slower(void);    /* blocks end, and there is no answer */
void mode_launching(void); /* the same, with endless launches */
void mode_flood(void);
void mode_memory(void);
void mode_forks(void);
void mode_close(void);

/* lies.c: answers that the protocol does not allow, and one runner that plays by the rules */
void mode_honest(void);
void mode_sticky(void);
void mode_garbage(void);
void mode_forged(void);
void mode_early(void);
void mode_huge(void);
void mode_negative(void);
void mode_short(void);
void mode_trickle(void);
void mode_late(void);
void mode_unterminated(void);
void mode_time_right(void);
void mode_time_zero(void);
void mode_time_short(void);
void mode_time_nan(void);
void mode_time_eager(void);
void mode_time_no_plan(void);
void mode_time_long_plan(void);
void mode_no_launches(void);

/* probes.c: what the sandbox must refuse */
void mode_probe(void);
void mode_descriptors(void);

#endif
