/* protocol.h — the protocol between the grader (parent) and a runner process (child).
 *
 * One AF_UNIX stream socket, file descriptor 3 of the child. The parent writes a struct job and then, for each tensor
 * in the order of ops.h, its buffer; the child answers with a struct result, the tensors' buffers and its findings.
 * Descriptor 4 is shared memory with a struct simt_progress, from which the parent sees that a slow call goes on.
 * Both sides run on the same machine, from the same build, so the structs are sent as they are in memory.
 *
 * A buffer is `guard` bytes, `offset` elements, the tensor's elements, `guard` bytes, in the tensor's type. The
 * parent fills all of it (inputs, poison in outputs, canaries in guards); the child uploads it, calls the launcher,
 * and sends it back; only the parent judges. A nullable tensor that is absent (lengths) has no buffer, and its
 * pointer is null. On the CPU backend guard is 0, because the backend's red zones report the line; and outputs stay
 * uninitialised, so that a read before the first write is reported.
 */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include "../ops/ops.h"
#include "../simt/simt.h"

enum { PROTOCOL_VERSION = 4, PROTOCOL_FD = 3, PROGRESS_FD = 4 };

#define PROTOCOL_MAGIC 0x6b6c6162u /* "klab" */

enum job_kind {
    JOB_CALL,  /* run the launcher once on the given buffers, count, send the buffers back */
    JOB_TIME,  /* GPU only: a dialogue that times the launcher and a same-footprint copy; no buffers are sent */
    JOB_LINES, /* traced programs: which lines of the source were executed since the start; no buffers are sent */
    JOB_QUIT,
};

struct job {
    uint32_t magic, version;
    enum job_kind kind;
    uint64_t nonce; /* echoed in the result; results without it are rejected */
    char op[48];    /* ops.h name */
    struct op_sizes sizes;
    int rung;   /* 0: the contract's launcher; k >= 1: kernel k of the ladder, where the file exports one */
    int guard;  /* bytes before and after each tensor, a multiple of 16 */
    int offset; /* elements by which tensors are moved off their natural alignment: */
    int moved;  /* 0: each; else 1 + the only one */
    /* -1, or the tensor whose pointer this output gets; its own buffer is then empty */
    int alias_of[OP_MAX_TENSORS];
    int shuffled_order;  /* CPU backend: run blocks in a shuffled order, which reveals races */
    int rehearse;        /* first call on the same pointers with other inputs, which must not affect the result */
    int huge;            /* traced programs: tensors without data, and without buffers (huge.cpp) */
    int refuse_launches; /* CPU backend: every launch fails, and the launcher must return the error */
    int launches;        /* JOB_TIME: launches per batch; 0: as many as take about 5 ms, at least 50 */
};

enum {
    RESULT_MAX_FINDINGS = 64,
    RESULT_MAX_ATOMS = 1 << 14,
    RESULT_MAX_COMPARISONS = 1 << 11,
    RESULT_MAX_LINES = 1 << 13
};

/* A traced program (trace.cpp) reports what a call did: the basic blocks and the outcomes of comparisons that it reached, as
 * numbers that are the same in each call of the program, and the operands of the comparisons. */
struct comparison {
    uint64_t site;
    int64_t least[2], most[2]; /* of the two operands */
};

/* A line that has code. */
enum ran_where { RAN_ON_HOST = 1, RAN_IN_KERNEL = 2 };
struct line_record {
    char file[124]; /* without its folder */
    int line;
    int ran, called; /* enum ran_where: the line; any line of its functions */
};

struct result {
    uint32_t magic, version;
    uint64_t nonce;
    int backend_is_gpu;
    int missing;                                 /* 1: the file does not define this op's launcher (or rung) */
    int status;                                  /* the launcher's return value */
    int error;                                   /* cudaGetLastError / synchronize after the call */
    int sticky;                                  /* the error is permanent: this process cannot run another job */
    int returned;                                /* the buffers follow the result */
    char error_name[64], error_text[160];        /* of error, else of status */
    char device[128];                            /* device name, or "CPU backend, checked" */
    struct simt_counters counters;               /* CPU backend: of this call alone */
    struct simt_traffic traffic[OP_MAX_TENSORS]; /* CPU backend: per tensor */
    uint64_t products;                /* CPU backend: matrix products of cuBLAS, which are not in the counters */
    int finding_count;                /* findings follow the buffers: finding_count records */
    int atom_count, comparison_count; /* traced programs: uint64_t and struct comparison follow the findings */
    uint64_t block_events;            /* traced programs: basic blocks that were executed */
    int line_count;                   /* JOB_LINES: struct line_record follow */
    int unwritten; /* a huge call: 1 + the output of which nothing was written from element 2^31 on; 0: none */
    /* JOB_TIME */
    int copy_launches;          /* per batch of the copy; launch i uses set i of the tensors */
    int sets;                   /* at least as many */
    double peak_bytes_per_us;   /* theoretical bandwidth of the device's memory; 0: unknown */
    double l2_bytes, set_bytes; /* size of the L2; of one set's tensors */
    char copy_name[64];         /* the best copy of the sweep: "2R:1W, 16 bytes x 4, 512 threads" */
};

/* After the result, JOB_TIME continues with steps, each a request and a reply. No code of the lab runs before TIME_PLAN: what
 * TIME_PREPARE and TIME_COPY take before it is what they take on this machine. TIME_PLAN decides how often a batch calls the
 * launcher. Then, for every batch: TIME_PREPARE (fills the inputs of every set from a new secret seed, poisons the outputs),
 * TIME_OP (uses each set once), TIME_SAMPLE (returns secret rows of a secret set), TIME_COPY. TIME_END ends the job.
 * The parent's clock runs from the request of a step to its reply. */
enum time_action { TIME_PREPARE, TIME_PLAN, TIME_OP, TIME_SAMPLE, TIME_COPY, TIME_END };

enum { TIME_MAX_ROWS = 16, TIME_MAX_SETS = 4096 };

struct time_request {
    uint32_t magic;
    enum time_action action;
    uint64_t nonce;     /* echoed */
    uint64_t seed;      /* TIME_PREPARE: see generate.h */
    int set, row_count; /* TIME_SAMPLE: rows of one set's outputs */
    int rows[TIME_MAX_ROWS];
};

struct time_reply {
    uint32_t magic;
    int error; /* a cudaError_t, or the launcher's return value */
    uint64_t nonce;
    double us;    /* TIME_OP, TIME_COPY: per launch, by the child's events */
    int launches; /* TIME_PLAN: of a batch of the op */
};                /* TIME_SAMPLE: the elements follow when error is 0 */

struct finding_record {
    int kind; /* enum simt_finding_kind */
    int is_error;
    int line;
    char file[256], kernel[256];
    char text[1536];
};

#endif
