/* lies.c — a runner's end of the protocol: answers that are forged, cut off, endless or too good. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/runner/protocol.h"
#include "modes.h"

static struct job job;
static struct result result;

static void read_all(void *data, size_t bytes) {
    for (char *p = data; bytes > 0;) {
        ssize_t n = read(3, p, bytes);
        if (n <= 0) { _exit(0); }
        p += n;
        bytes -= (size_t)n;
    }
}

static void say(const void *data, size_t bytes) {
    for (const char *p = data; bytes > 0;) {
        ssize_t n = write(3, p, bytes);
        if (n <= 0) { _exit(0); }
        p += n;
        bytes -= (size_t)n;
    }
}

static float *buffers[OP_MAX_TENSORS];
static size_t sizes[OP_MAX_TENSORS];

static void read_job(void) {
    read_all(&job, sizeof job);
    if (job.kind == JOB_QUIT) { _exit(0); }
    const struct op *op = op_find(job.op);
    for (int i = 0; op && i < op_tensor_count(op) && job.kind == JOB_CALL; i++) {
        size_t elements = (size_t)job.offset + op_elements(op, i, &job.sizes);
        bool sent = job.alias_of[i] < 0 && op_is_given(op, i, &job.sizes);
        sizes[i] = sent ? 2 * (size_t)job.guard + elements * op_element_bytes(op, i, job.sizes.type) : 0;
        buffers[i] = realloc(buffers[i], sizes[i] + 1);
        read_all(buffers[i], sizes[i]);
    }
    memset(&result, 0, sizeof result);
    result.magic = PROTOCOL_MAGIC;
    result.version = PROTOCOL_VERSION;
    result.nonce = job.nonce;
    result.returned = 1;
}

static void answer_after(unsigned microseconds) {
    say(&result, sizeof result);
    usleep(microseconds); /* before the buffers */
    for (int i = 0; i < OP_MAX_TENSORS && result.returned; i++) {
        if (buffers[i]) { say(buffers[i], sizes[i]); }
    }
}

static void answer(void) {
    answer_after(0);
}

/* A runner that plays by the rules: tensor 0 becomes a copy of tensor 1. */
void mode_honest(void) {
    for (;;) {
        read_job();
        if (sizes[0] == sizes[1]) { memcpy(buffers[0], buffers[1], sizes[0]); }
        answer();
    }
}

void mode_sticky(void) {
    read_job();
    result.error = 700;
    result.sticky = 1;
    result.returned = 0;
    answer();
    mode_hang();
}

void mode_garbage(void) {
    char noise[sizeof result];
    memset(noise, 'g', sizeof noise);
    say(noise, sizeof noise);
    mode_hang();
}

void mode_forged(void) {
    read_job();
    result.nonce ^= 1;
    answer();
    mode_hang();
}
void mode_early(void) {
    /* A perfect result, sent before the job is known. */
    result = (struct result){.magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION, .returned = 1};
    say(&result, sizeof result);
    read_job();
    mode_hang();
}
void mode_huge(void) {
    read_job();
    result.finding_count = 1 << 30;
    answer();
    mode_hang();
}
void mode_negative(void) {
    read_job();
    result.finding_count = -1;
    answer();
    mode_hang();
}
void mode_short(void) {
    read_job();
    say(&result, sizeof result / 2);
    _exit(0);
}
/* It answers after 1.3 s in which blocks end, and its buffers follow a little later. */
void mode_late(void) {
    read_job();
    count_blocks(130, 0);
    answer_after(50000);
    mode_hang();
}
void mode_trickle(void) {
    read_job();
    for (const char *p = (const char *)&result;; p++) {
        say(p, 1);
        usleep(20000);
    }
}

/* Findings without an end to their strings. */
void mode_unterminated(void) {
    struct finding_record record;
    read_job();
    result.finding_count = 2;
    answer();
    memset(&record, 'f', sizeof record);
    say(&record, sizeof record);
    say(&record, sizeof record);
    mode_hang();
}

/* A timing dialogue: batches of 100 launches take 100 us a launch, and are said to take `us`. Once the lab's code has run, the
 * steps `slowed` take longer. */
static void timing(double us, int launches, enum time_action slowed) {
    static float rows[1 << 16];
    bool ran = false;
    read_job();
    result.copy_launches = 100;
    result.sets = 100;
    answer();
    for (;;) {
        struct time_request request;
        read_all(&request, sizeof request);
        struct time_reply reply = {PROTOCOL_MAGIC, 0, request.nonce, us, launches};
        ran = ran || request.action == TIME_PLAN;
        if (request.action == TIME_OP || request.action == TIME_COPY) { usleep(100 * 100); }
        if (ran && request.action == slowed) { usleep(20 * 1000); }
        say(&reply, sizeof reply);
        if (request.action == TIME_SAMPLE) {
            say(rows, (size_t)request.row_count * (size_t)job.sizes.C * sizeof *rows);
        }
    }
}
void mode_time_right(void) {
    timing(100, 100, TIME_END);
}
void mode_time_zero(void) {
    timing(0, 100, TIME_END);
}
void mode_time_short(void) {
    timing(1, 100, TIME_END);
}
void mode_time_nan(void) {
    timing(0.0 / 0.0, 100, TIME_END);
}
void mode_time_eager(void) {
    timing(100, 100, TIME_PREPARE);
}
void mode_time_no_plan(void) {
    timing(100, 0, TIME_END);
}
void mode_time_long_plan(void) {
    timing(100, 101, TIME_END);
}
void mode_no_launches(void) {
    read_job();
    answer();
    mode_hang();
}
