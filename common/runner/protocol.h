/* protocol.h — what the grader (parent) and a runner process (child) say to each other.
 *
 * One AF_UNIX stream socket, file descriptor 3 of the child. The parent writes a struct job and then, for each tensor in
 * the order of ops.h, its buffer; the child answers with a struct result, the tensors' buffers, and its findings.
 * Both sides are the same machine and the same build: plain structs, native byte order.
 *
 * A buffer is `guard` floats, `offset` floats, the tensor's elements, `guard` floats. The parent fills all of it
 * (inputs, poison in outputs, canaries in guards); the child uploads it, calls the launcher, and sends it back; the
 * parent alone judges. On the CPU backend guard is 0: the backend's red zones name the line instead, and outputs are left
 * uninitialised so that a read before the write is found.
 */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include "../ops.h"
#include "../simt/core/simt.h"

enum { PROTOCOL_VERSION = 1, PROTOCOL_FD = 3 };

#define PROTOCOL_MAGIC 0x6b6c6162u /* "klab" */

enum job_kind {
    JOB_CALL,  /* run the launcher once on the given buffers, count, send the buffers back */
    JOB_TIME,  /* GPU only: time the launcher and a same-footprint copy on inputs made from a nonce */
    JOB_QUIT,
};

struct job {
    uint32_t magic, version;
    enum job_kind kind;
    uint64_t nonce;             /* echoed in the result; no result with it, no marks */
    char op[48];                /* ops.h name */
    struct op_sizes sizes;
    int rung;                   /* 0: the contract's launcher; k >= 1: kernel k of the ladder, where the file exports one */
    int guard;                  /* floats before and after each tensor */
    int offset;                 /* floats by which each tensor is moved off its natural alignment */
    int alias_of[OP_MAX_TENSORS]; /* -1, or the tensor whose pointer this output gets (its own buffer then stays empty) */
    int repeats;                /* JOB_TIME: launches per timed batch */
    int batches;                /* JOB_TIME: timed batches */
    uint64_t seed;              /* JOB_TIME: inputs are made on the device from it */
};

enum { RESULT_MAX_BATCHES = 64, RESULT_FINDING_BYTES = 16384 };

struct result {
    uint32_t magic, version;
    uint64_t nonce;
    int backend_is_gpu;
    int missing;                /* 1: the file does not define this op's launcher (or rung) */
    int status;                 /* what the launcher returned */
    int error;                  /* cudaGetLastError / synchronize after the call */
    char error_name[64], error_text[160];
    char device[128];           /* device name, or "CPU backend, checked" */
    struct simt_counters counters;                      /* CPU backend: of this call alone */
    struct simt_traffic traffic[OP_MAX_TENSORS];        /* CPU backend: per tensor */
    int finding_count;          /* findings follow the buffers: finding_count records */
    int batches;                /* JOB_TIME */
    float op_us[RESULT_MAX_BATCHES], copy_us[RESULT_MAX_BATCHES]; /* per launch */
};

struct finding_record {
    int kind;                   /* enum simt_finding_kind */
    int is_error;
    int line;
    char file[256], kernel[256];
    char text[1536];
};

#endif
