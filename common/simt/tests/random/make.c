/* make.c — a random program from a seed. */
#include <string.h>

#include "program.h"

static uint32_t roll(struct program *p, uint32_t sides) {
    p->state = p->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((p->state >> 33) % sides);
}
static bool chance(struct program *p, uint32_t percent) {
    return roll(p, 100) < percent;
}

/* The place of a statement. */
struct place {
    unsigned depth;
    unsigned loops[8], loop_count; /* counters in scope */
    bool in_loop, in_switch;       /* a break would leave the loop */
    bool converged;                /* all lanes of `mask` are converged */
    bool may_go_round, may_return; /* break and continue; return: not where other lanes wait at a collective */
    uint32_t mask;
    unsigned functions; /* may call those below */
    bool in_function, is_template;
};

static struct statement *statement(struct program *p, enum kind kind) {
    struct statement *s = &p->pool[p->used++];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    return s;
}

static unsigned source(struct program *p, const struct place *at) {
    uint32_t r = roll(p, 10);
    if (r < 4) return LANE;
    if (r < 6 && at->loop_count) return FIRST_COUNTER + at->loops[roll(p, at->loop_count)];
    if (r < 7 && at->in_function) return at->is_template && chance(p, 40) ? CONSTANT_N : ARGUMENT;
    return FIRST_VARIABLE + roll(p, VARIABLES);
}

static struct term term(struct program *p, const struct place *at, uint32_t modulus) {
    static const uint32_t factor[] = {1, 1, 2, 3, 4, 5, 8, 17, 31, 32, 33};
    return (struct term){source(p, at),
                         source(p, at),
                         factor[roll(p, 11)],
                         factor[roll(p, 11)],
                         roll(p, 4000),
                         modulus,
                         chance(p, 30) ? 1 + roll(p, 3) : 0};
}

static struct statement *list(struct program *p, struct place at, unsigned length);

static struct statement *memory_access(struct program *p, const struct place *at) {
    bool load = chance(p, 60), shared = chance(p, 35);
    struct statement *s = statement(p, load ? LOAD : STORE);
    static const unsigned size[] = {2, 2, 2, 2, 2, 0, 1, 3, 4};
    s->size_log2 = size[roll(p, 9)];
    s->space = load ? (shared ? SHARED_IN : GLOBAL_IN) : (shared ? SHARED_OUT : GLOBAL_OUT);
    uint32_t bytes = 4 * (shared ? SHARED_WORDS : MEMORY_WORDS);
    s->term = term(p, at, bytes >> s->size_log2);
    if (at->in_function) {
        /* Else two calls that are inlined may read the same place, and the compiler loads it once. */
        s->term.b = ARGUMENT;
        s->term.cb |= 1;
    }
    if (chance(p, 25)) { /* 40 x lane x iteration, say: rows far apart */
        s->term.a = LANE;
        s->term.ca = 40;
    }
    return s;
}

/* A volatile access or an atomic: a thread that executes it repeatedly, at one place, may be polling. */
static struct statement *synchronising_access(struct program *p, const struct place *at) {
    struct statement *s = memory_access(p, at);
    if (s->size_log2 == 4) s->size_log2 = 2;
    s->is_volatile = true;
    if (chance(p, 40)) {
        bool keep = chance(p, 60);
        s->kind = keep ? ATOMIC_KEEP : ATOMIC_ADD;
        s->space = !keep ? GLOBAL_OUT : chance(p, 40) ? SHARED_IN : GLOBAL_IN;
        s->size_log2 = 2;
    }
    bool shared = s->space == SHARED_IN || s->space == SHARED_OUT;
    s->term.modulus = 4 * (shared ? SHARED_WORDS : MEMORY_WORDS) >> s->size_log2;
    if (chance(p, 50)) { /* the same place again and again; in half of these cases, of all lanes */
        s->term.a = s->term.b = LANE;
        s->term.ca = chance(p, 50);
        s->term.cb = 0;
    }
    return s;
}

static struct statement *loop(struct program *p, struct place at, unsigned length) {
    static const enum kind kinds[] = {FOR, FOR, FOR, WHILE, DO, ENDLESS};
    struct statement *s = statement(p, kinds[roll(p, 6)]);
    bool converged = at.converged && chance(p, 50);
    s->target = p->loops++;
    s->limit = 1 + roll(p, 4);
    if (at.loop_count == 0 && chance(p, 8)) s->limit = 10 + roll(p, 90); /* long enough for polls to count */
    if (converged)
        s->term = (struct term){LANE, LANE, 0, 0, 0, 1, 0};
    else
        s->term = term(p, &at, 1 + roll(p, 4));
    if (at.loop_count < 8) at.loops[at.loop_count++] = s->target;
    at.converged = converged;
    at.may_go_round = !converged;
    at.in_loop = true;
    at.in_switch = false;
    s->body[0] = list(p, at, length);
    return s;
}

static struct statement *branch(struct program *p, struct place at, unsigned length) {
    struct statement *s = statement(p, IF);
    s->term = term(p, &at, 2 + roll(p, 6));
    s->limit = 1 + roll(p, s->term.modulus - 1);
    at.converged = false;
    s->body[0] = list(p, at, length);
    if (chance(p, 50)) s->body[1] = list(p, at, 1 + roll(p, length));
    return s;
}

static struct statement *choice(struct program *p, struct place at, unsigned length) {
    struct statement *s = statement(p, SWITCH);
    s->cases = 2 + roll(p, 3);
    s->term = term(p, &at, s->cases + roll(p, 2));
    at.converged = false;
    at.in_switch = true;
    for (unsigned i = 0; i < s->cases; i++) {
        s->body[i] = list(p, at, 1 + roll(p, length));
        s->falls_through[i] = chance(p, 30);
    }
    return s;
}

/* break, continue or return, on a condition */
static struct statement *leave(struct program *p, struct place at, enum kind kind) {
    struct statement *s = statement(p, IF);
    s->term = term(p, &at, 3 + roll(p, 6));
    s->limit = 1;
    s->body[0] = statement(p, kind);
    if (chance(p, 30)) {
        s->body[0] = memory_access(p, &at);
        s->body[0]->next = statement(p, kind);
    }
    return s;
}

static struct statement *part(struct program *p, struct place at, unsigned length) {
    static const uint32_t masks[] = {0x0000ffff, 0x000000ff, 0x55555555, 0x33333333, 0xffff0000};
    struct statement *s = statement(p, PARTIAL);
    s->mask = at.mask = masks[roll(p, 5)];
    s->body[0] = list(p, at, length);
    return s;
}

static struct statement *collective(struct program *p, const struct place *at) {
    static const unsigned distance[] = {4, 4, 2, 8, 4};
    bool shuffle = p->block % 32 == 0 && chance(p, 50);
    struct statement *s = statement(p, shuffle ? SHUFFLE : SYNCWARP);
    s->mask = at->mask;
    s->lane_distance = at->mask == 0x55555555 ? distance[2] : at->mask == 0x33333333 ? 1 : 4;
    s->target = roll(p, VARIABLES);
    return s;
}

static struct statement *call(struct program *p, const struct place *at) {
    struct statement *s = statement(p, CALL);
    s->target = roll(p, at->functions);
    s->term = term(p, at, 64);
    s->n = 1 + roll(p, 3);
    return s;
}

static struct statement *any(struct program *p, struct place at) {
    if (p->used > STATEMENTS - 60) return memory_access(p, &at);
    uint32_t r = roll(p, 100);
    at.depth++;
    unsigned length = 1 + roll(p, 3);
    if (r < 24 || at.depth > 5) return memory_access(p, &at);
    if (r < 36) return synchronising_access(p, &at);
    if (r < 44) {
        struct statement *s = statement(p, ASSIGN);
        s->target = roll(p, VARIABLES);
        s->term = term(p, &at, 1 + roll(p, 1000));
        return s;
    }
    if (r < 60) return branch(p, at, length);
    if (r < 72 && p->loops < MAX_LOOPS) return loop(p, at, length);
    if (r < 78) return choice(p, at, length);
    if (r < 84 && at.functions) return call(p, &at);
    if (r < 90 && at.converged)
        return chance(p, 40) && at.mask == UINT32_MAX && p->block % 32 == 0 ? part(p, at, length) : collective(p, &at);
    if (r < 93 && at.in_loop && at.may_go_round && !at.in_switch) return leave(p, at, BREAK);
    if (r < 96 && at.in_loop && at.may_go_round) return leave(p, at, CONTINUE);
    if (r < 98 && at.may_return) return leave(p, at, RETURN);
    return memory_access(p, &at);
}

static struct statement *list(struct program *p, struct place at, unsigned length) {
    struct statement *first = NULL, **next = &first;
    for (unsigned i = 0; i < length; i++) {
        *next = any(p, at);
        next = &(*next)->next;
    }
    return first;
}

void program_make(struct program *p, uint64_t seed) {
    static const unsigned block[] = {32, 32, 32, 64, 48, 17};
    memset(p, 0, sizeof *p);
    p->seed = seed;
    p->state = seed * 0x9e3779b97f4a7c15u + 1;
    roll(p, 2);
    p->block = block[roll(p, 6)];
    p->grid = 1 + chance(p, 20);
    struct place at = {.mask = UINT32_MAX, .in_function = true, .may_return = true};
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        p->function[f].is_template = chance(p, 40);
        p->function[f].is_inline = chance(p, 40);
        at.functions = f;
        at.depth = 2;
        at.is_template = p->function[f].is_template;
        p->function[f].body = list(p, at, 1 + roll(p, 3));
    }
    /* Where lanes return early, not all of them reach the rest of the kernel: that part is made last, and its lanes are not
     * converged. */
    struct place top = {.mask = UINT32_MAX, .functions = FUNCTIONS, .converged = true};
    p->kernel = list(p, top, 3 + roll(p, 5));
    struct statement *last = p->kernel;
    while (last->next) last = last->next;
    top.converged = false;
    top.may_return = true;
    last->next = list(p, top, 1 + roll(p, 4));
}
