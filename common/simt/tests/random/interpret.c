/* interpret.c — runs a program warp by warp under masks, counting requests by definition. */
#include <string.h>

#include "program.h"

enum { LANES = 32 };

/* The variables of one function (or the kernel), of all lanes. */
struct frame {
    uint32_t v[VARIABLES][LANES], acc[LANES], counter[MAX_LOOPS][LANES], argument[LANES];
    uint32_t n;
    bool is_kernel;
    uint32_t returned, broke, continued; /* lanes that have left */
};

struct machine {
    const struct program *program;
    struct counts *counts;
    uint32_t lane[LANES], live, first_thread; /* of the grid */
};

static uint32_t run_list(struct machine *m, struct frame *f, const struct statement *s, uint32_t mask);

static uint32_t value_of(const struct machine *m, const struct frame *f, unsigned source, unsigned l) {
    if (source == LANE) return m->lane[l];
    if (source == ARGUMENT) return f->argument[l];
    if (source == CONSTANT_N) return f->n;
    return source < FIRST_COUNTER ? f->v[source - FIRST_VARIABLE][l] : f->counter[source - FIRST_COUNTER][l];
}

static uint32_t term_value(const struct machine *m, const struct frame *f, const struct term *t, unsigned l) {
    return ((value_of(m, f, t->a, l) * t->ca + value_of(m, f, t->b, l) * t->cb + t->c) >> t->shift) % t->modulus;
}

static uint32_t lanes_below(const struct machine *m, const struct frame *f, const struct statement *s, uint32_t mask) {
    uint32_t below = 0;
    for (unsigned l = 0; l < LANES; l++)
        if (mask >> l & 1 && term_value(m, f, &s->term, l) < s->limit) below |= 1u << l;
    return below;
}

/* By definition: a set of sectors; and of each phase and bank, a set of words. */
static unsigned sectors_of(const uint32_t *byte, uint32_t mask) {
    unsigned char seen[4 * MEMORY_WORDS / 32] = {0};
    unsigned sectors = 0;
    for (unsigned l = 0; l < LANES; l++)
        if (mask >> l & 1 && !seen[byte[l] / 32]++) sectors++;
    return sectors;
}

static unsigned conflicts_of(const uint32_t *byte, uint32_t mask, unsigned size) {
    unsigned words = size > 4 ? size / 4 : 1, conflicts = 0;
    for (unsigned phase = 0; phase < words; phase++) {
        unsigned char seen[SHARED_WORDS] = {0};
        unsigned in_bank[32] = {0}, most = 1;
        for (unsigned l = phase * LANES / words; l < (phase + 1) * LANES / words; l++)
            for (unsigned w = 0; mask >> l & 1 && w < words; w++) {
                unsigned word = byte[l] / 4 + w;
                if (!seen[word]++ && ++in_bank[word % 32] > most) most = in_bank[word % 32];
            }
        conflicts += most - 1;
    }
    return conflicts;
}

/* Loads of `size` bytes at a byte offset, as the kernel adds them to acc. */
static uint32_t loaded(enum space space, uint32_t byte, unsigned size_log2) {
    uint32_t word[4];
    for (unsigned w = 0; w < 4; w++)
        word[w] = space == GLOBAL_IN ? memory_word(byte / 4 + w) : shared_word(byte / 4 + w);
    if (size_log2 == 4) return word[0] ^ word[1] ^ word[2] ^ word[3];
    if (size_log2 >= 2) return word[0];
    uint32_t shifted = word[0] >> byte % 4 * 8;
    return size_log2 ? (uint16_t)shifted : (uint8_t)shifted;
}

static void run_access(struct machine *m, struct frame *f, const struct statement *s, uint32_t mask) {
    uint32_t byte[LANES] = {0};
    unsigned lanes = 0, size = 1u << s->size_log2;
    for (unsigned l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        lanes++;
        byte[l] = term_value(m, f, &s->term, l) << s->size_log2;
        if (s->kind == LOAD || s->kind == ATOMIC_KEEP) f->acc[l] += loaded(s->space, byte[l], s->size_log2);
    }
    struct counts *c = m->counts;
    if (s->kind == ATOMIC_KEEP || s->kind == ATOMIC_ADD) {
        if (s->space == SHARED_IN) {
            c->shared_atomic_requests++;
            c->bank_conflicts += conflicts_of(byte, mask, size);
        } else {
            c->atomic_requests++;
            c->atomic_sectors += sectors_of(byte, mask);
            c->atomic_bytes += lanes * size;
        }
        return;
    }
    switch (s->space) {
        case GLOBAL_IN:
            c->load_requests++;
            c->load_sectors += sectors_of(byte, mask);
            c->load_bytes += lanes * size;
            break;
        case GLOBAL_OUT:
            c->store_requests++;
            c->store_sectors += sectors_of(byte, mask);
            c->store_bytes += lanes * size;
            break;
        case SHARED_IN:
            c->shared_load_requests++;
            c->bank_conflicts += conflicts_of(byte, mask, size);
            break;
        case SHARED_OUT:
            c->shared_store_requests++;
            c->bank_conflicts += conflicts_of(byte, mask, size);
            break;
    }
}

static void store_results(struct machine *m, uint32_t mask) {
    uint32_t byte[LANES];
    if (mask == 0) return;
    for (unsigned l = 0; l < LANES; l++) byte[l] = (m->first_thread + l) * 4;
    m->counts->store_requests++;
    m->counts->store_sectors += sectors_of(byte, mask);
    m->counts->store_bytes += 4 * (unsigned)__builtin_popcount(mask);
}

/* Lanes stay in the loop until its condition fails, they break, or they return. Those that continue wait for the others
 * at the end of the body. */
static uint32_t run_loop(struct machine *m, struct frame *f, const struct statement *s, uint32_t mask) {
    uint32_t outer_broke = f->broke, outer_continued = f->continued;
    uint32_t inside = mask;
    f->broke = f->continued = 0;
    uint32_t *counter = f->counter[s->target];
    for (unsigned l = 0; l < LANES; l++)
        if (mask >> l & 1) counter[l] = 0;
    for (bool first = true; inside; first = false) {
        if (s->kind != DO || !first)
            for (unsigned l = 0; l < LANES; l++)
                if (inside >> l & 1 && counter[l] >= s->limit + term_value(m, f, &s->term, l)) inside &= ~(1u << l);
        if (inside == 0) break;
        if (s->kind != FOR)
            for (unsigned l = 0; l < LANES; l++) counter[l] += inside >> l & 1;
        uint32_t end = run_list(m, f, s->body[0], inside);
        inside = end | f->continued;
        f->continued = 0;
        if (s->kind == FOR)
            for (unsigned l = 0; l < LANES; l++) counter[l] += inside >> l & 1;
    }
    f->broke = outer_broke;
    f->continued = outer_continued;
    return mask & ~f->returned;
}

/* The choice is made once, before any case runs. */
static uint32_t run_switch(struct machine *m, struct frame *f, const struct statement *s, uint32_t mask) {
    uint32_t enter[4] = {0}, falling = 0, out = 0;
    for (unsigned l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint32_t value = term_value(m, f, &s->term, l);
        enter[value < s->cases ? value : s->cases - 1] |= 1u << l;
    }
    for (unsigned i = 0; i < s->cases; i++) {
        uint32_t end = run_list(m, f, s->body[i], enter[i] | falling);
        falling = s->falls_through[i] ? end : 0;
        out |= s->falls_through[i] ? 0 : end;
    }
    return out | falling;
}

static void run_call(struct machine *m, struct frame *f, const struct statement *s, uint32_t mask) {
    static struct frame frames[FUNCTIONS];
    struct frame *callee = &frames[s->target];
    memset(callee, 0, sizeof *callee);
    callee->n = s->n;
    for (unsigned l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint32_t x = term_value(m, f, &s->term, l);
        callee->argument[l] = callee->acc[l] = callee->v[0][l] = x;
        callee->v[1][l] = x + m->lane[l];
        callee->v[2][l] = m->lane[l] * 3;
        callee->v[3][l] = x * 5;
    }
    run_list(m, callee, m->program->function[s->target].body, mask);
    for (unsigned l = 0; l < LANES; l++)
        if (mask >> l & 1)
            f->acc[l] += callee->returned >> l & 1
                             ? callee->acc[l]
                             : callee->acc[l] + callee->v[0][l] + callee->v[1][l] + callee->v[2][l] + callee->v[3][l];
}

static uint32_t run_statement(struct machine *m, struct frame *f, const struct statement *s, uint32_t mask) {
    uint32_t then;
    switch (s->kind) {
        case LOAD:
        case STORE:
        case ATOMIC_KEEP:
        case ATOMIC_ADD: run_access(m, f, s, mask); return mask;
        case ASSIGN:
            for (unsigned l = 0; l < LANES; l++)
                if (mask >> l & 1) f->v[s->target][l] = term_value(m, f, &s->term, l);
            return mask;
        case IF:
            then = lanes_below(m, f, s, mask);
            mask &= ~then;
            then = run_list(m, f, s->body[0], then);
            return then | run_list(m, f, s->body[1], mask);
        case SWITCH: return run_switch(m, f, s, mask);
        case BREAK: f->broke |= mask; return 0;
        case CONTINUE: f->continued |= mask; return 0;
        case RETURN:
            if (f->is_kernel) store_results(m, mask);
            f->returned |= mask;
            return 0;
        case CALL: run_call(m, f, s, mask); return mask;
        case PARTIAL: return run_list(m, f, s->body[0], mask & s->mask) | (mask & ~s->mask);
        case SYNCWARP: m->counts->syncs++; return mask;
        case SHUFFLE: {
            uint32_t old[LANES];
            memcpy(old, f->v[s->target], sizeof old);
            m->counts->shuffles++;
            for (unsigned l = 0; l < LANES; l++)
                if (mask >> l & 1) f->v[s->target][l] = old[l ^ s->lane_distance];
            return mask;
        }
        default: return run_loop(m, f, s, mask);
    }
}

/* Returns the lanes that reach the end. */
static uint32_t run_list(struct machine *m, struct frame *f, const struct statement *s, uint32_t mask) {
    for (; s && mask; s = s->next) mask = run_statement(m, f, s, mask);
    return mask;
}

void program_run(const struct program *program, struct counts *out) {
    static struct frame frame;
    memset(out, 0, sizeof *out);
    for (unsigned block = 0; block < program->grid; block++) {
        for (unsigned first = 0; first < program->block; first += LANES) {
            unsigned lanes = program->block - first < LANES ? program->block - first : LANES;
            struct machine m = {.program = program, .counts = out};
            m.live = lanes == LANES ? UINT32_MAX : (1u << lanes) - 1;
            m.first_thread = block * program->block + first;
            memset(&frame, 0, sizeof frame);
            frame.is_kernel = true;
            for (unsigned l = 0; l < LANES; l++) {
                m.lane[l] = first + l;
                frame.v[0][l] = first + l;
                frame.v[1][l] = (first + l) * 7;
                frame.v[2][l] = block;
                frame.v[3][l] = 5;
            }
            for (unsigned i = first; i < SHARED_WORDS; i += program->block)
                out->shared_store_requests++; /* the filling of s_in */
            uint32_t end = run_list(&m, &frame, program->kernel, m.live);
            for (unsigned l = 0; l < lanes; l++) {
                out->result += frame.acc[l];
                for (unsigned v = 0; v < VARIABLES && end >> l & 1; v++) out->result += frame.v[v][l];
            }
            store_results(&m, end);
        }
    }
}
