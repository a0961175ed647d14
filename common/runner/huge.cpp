/* huge.cpp — a call with more elements than an int counts, in a traced program. No buffers are sent: each tensor is a range of
 * addresses that has no memory until a kernel uses it, and holds zeros. Only some blocks of a launch run, at equal distances
 * (SIMT_BLOCKS, SIMT_SPREAD).
 *
 * The tensors lie far apart. An index that has passed 2^31 in an int is negative, so its access is up to 2^31 elements before
 * the tensor, where there is nothing: it faults, and the fault is a finding. A guard may hide such an index. So the pages of an
 * output are looked at, too: half of its elements come from 2^31 on, and none of these pages has memory if no block wrote there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jobs.h"
#include "launchers.h"
#include "trace.h"
#include "wire.h"

namespace {

constexpr size_t REACH = (size_t)9 << 30; /* more than 2^31 elements of 4 bytes */
constexpr size_t PAGE = (size_t)1 << 16;
constexpr unsigned SECONDS = 3;
constexpr size_t COUNTED = (size_t)1 << 31;   /* elements */
constexpr size_t HUGE_PAGE = (size_t)1 << 21; /* the system may give as much memory for one access */

struct place {
    const char *name;
    char *begin;
    size_t bytes;
};

struct space {
    int count;
    place tensor[OP_MAX_TENSORS];
};

size_t whole_pages(size_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Each tensor has REACH bytes on both sides that belong to no other. False: this system does not give so many addresses. */
bool reserve(const struct op *op, const struct op_sizes *sizes, space *s) {
    size_t at = 0;
    s->count = op_tensor_count(op);
    for (int i = 0; i < s->count; i++) {
        size_t bytes = op_elements(op, i, sizes) * op_element_bytes(op, i, sizes->type);
        s->tensor[i] = {op->tensor[i].name, nullptr, op_is_given(op, i, sizes) ? bytes : 0};
        at += 2 * REACH + whole_pages(s->tensor[i].bytes);
    }
    void *got = mmap(nullptr, at, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) { return false; }
    at = 0;
    for (int i = 0; i < s->count; i++) {
        place &tensor = s->tensor[i];
        size_t bytes = whole_pages(tensor.bytes);
        tensor.begin = (char *)got + at + REACH;
        if (bytes && mprotect(tensor.begin, bytes, PROT_READ | PROT_WRITE) != 0) { return false; }
        at += 2 * REACH + bytes;
    }
    return true;
}

/* "... faults: no memory is mapped at this address": the finding of such an access, or null. */
const struct simt_finding *fault(uintptr_t *address) {
    static const char before[] = "Access to 0x";
    for (size_t i = 0; i < simt_finding_count(); i++) {
        const struct simt_finding *finding = simt_finding_at(i);
        const char *at = finding->kind == SIMT_OUT_OF_BOUNDS && finding->text ? strstr(finding->text, before) : nullptr;
        if (!at || !strstr(at, "faults")) { continue; }
        *address = strtoull(at + strlen(before), nullptr, 16);
        return finding;
    }
    return nullptr;
}

/* The finding, if the access is as far before a tensor as such an index. */
bool describe(const space &s, struct finding_record *record) {
    uintptr_t address = 0;
    const struct simt_finding *finding = fault(&address);
    for (int i = 0; finding && i < s.count; i++) {
        uintptr_t begin = (uintptr_t)s.tensor[i].begin;
        if (!s.tensor[i].bytes || address >= begin || address < begin - REACH) { continue; }
        *record = finding_record_of(finding);
        size_t length = strlen(record->text), room = sizeof record->text - 200;
        if (length > room) { length = room; }
        while (length && record->text[length - 1] == '\n') { length--; }
        snprintf(record->text + length, sizeof record->text - length,
                 "\nThe address is %llu bytes before the first element of %s", (unsigned long long)(begin - address),
                 s.tensor[i].name);
        return true;
    }
    return false;
}

/* Does a page between the addresses have memory? True also if the system does not say. */
bool has_memory(char *begin, char *end) {
    static unsigned char resident[(size_t)1 << 18];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), most = sizeof resident * page;
    begin = (char *)(((uintptr_t)begin + page - 1) / page * page);
    for (; begin < end; begin += most) {
        size_t bytes = (size_t)(end - begin) < most ? (size_t)(end - begin) : most;
        if (mincore(begin, bytes, resident) != 0) { return true; }
        for (size_t i = 0; i < (bytes + page - 1) / page; i++) {
            if (resident[i] & 1) { return true; }
        }
    }
    return false;
}

/* 1 + the first output of which nothing was written from element 2^31 on; 0: there is none. */
int unwritten(const struct op *op, const struct op_sizes *sizes, const space &s) {
    for (int i = 0; i < s.count; i++) {
        const size_t size = op_element_bytes(op, i, sizes->type), first = COUNTED * size + HUGE_PAGE;
        if (!op_is_output(op, i) || s.tensor[i].bytes <= first) { continue; }
        if (!has_memory(s.tensor[i].begin + first, s.tensor[i].begin + s.tensor[i].bytes)) { return i + 1; }
    }
    return 0;
}

struct arguments {
    launcher *function;
    const struct job *job;
    void *tensors[OP_MAX_TENSORS];
    cudaStream_t stream;
    int status;
};

void call_learner(void *data) {
    struct arguments *a = (struct arguments *)data;
    a->status = a->function(0, a->tensors, &a->job->sizes, a->stream);
}

} // namespace

extern "C" void run_huge(const struct job *job) {
    const struct op *op = op_find(job->op);
    if (!op) { _exit(1); }
    struct result result = result_make(job);
    struct arguments arguments = {launcher_find(job->op, job->sizes.type, 0), job, {}, nullptr, -1};
    struct finding_record record;
    space s = {};
    simt_findings_clear();
    if (arguments.function && reserve(op, &job->sizes, &s) &&
        cudaStreamCreateWithFlags(&arguments.stream, cudaStreamNonBlocking) == cudaSuccess) {
        for (int i = 0; i < s.count; i++) { arguments.tensors[i] = s.tensor[i].bytes ? s.tensor[i].begin : nullptr; }
        alarm(SECONDS); /* a block that goes through the whole tensor ends the process, which says nothing */
        simt_confine(call_learner, &arguments);
        const bool good = cudaDeviceSynchronize() == cudaSuccess && arguments.status == 0;
        alarm(0);
        result.finding_count = describe(s, &record);
        if (good && simt_finding_count() == 0) { result.unwritten = unwritten(op, &job->sizes, s); }
        if (arguments.status == cudaErrorInvalidConfiguration) {
            result_set_error(&result, arguments.status, cudaSuccess);
        }
    }
    result.sticky = 1; /* the process ends, and with it the addresses */
    wire_write(&result, sizeof result);
    if (result.finding_count) { wire_write(&record, sizeof record); }
}
