/* race_host.c — races of host code with kernels that the host has not waited for, in pinned and managed memory.
 *
 * The backend has run every kernel when its launch returns, so lines and cells contain its accesses. They conflict with an
 * access of the host unless the host has waited in between. A wait counts for all streams, whichever it names. A host
 * function that a stream runs counts as a wait, because it may signal the host. So does a volatile or atomic access, because
 * the host may exchange flags with a running kernel.
 */
#include "race_lines.h"

#if SIMT_CHECKED

#include <stdio.h>
#include <string.h>

static uint32_t first_unwaited = 1; /* number of the first block since the host has waited */

void simt_host_waits(void) {
    first_unwaited = races_next_block;
}

static bool is_unwaited(uint32_t block) {
    return block != 0 && block - first_unwaited < races_next_block - first_unwaited;
}

/* A kernel's access that conflicts with the host's; pc is 0 if there is none. */
struct conflict {
    uint32_t pc;
    const char *kind;
};

static struct conflict in_line(const struct race_line *line, uint64_t address, unsigned bytes, bool host_writes) {
    byte_mask accessed = (((byte_mask)1 << bytes) - 1) << (address & (LINE_BYTES - 1));
    if (is_unwaited(line->block) && (line->written & accessed)) return (struct conflict){line->write_pc, "Write"};
    if (is_unwaited(line->block) && host_writes && (line->read & accessed))
        return (struct conflict){line->read_pc, "Read"};
    return (struct conflict){0};
}

static struct conflict in_cell(uint64_t address, bool host_writes) {
    const struct race_cell *cell = race_cell_of(address, false);
    if (cell->flags & CELL_SPLIT) cell = race_cell_of(address, true);
    bool atomics = (cell->flags & GROUP_KIND) == GROUP_ATOMICS;
    if (is_unwaited(cell->writer.block)) return (struct conflict){cell->writer.pc, "Write"};
    if (is_unwaited(cell->group.block) && (atomics || host_writes))
        return (struct conflict){cell->group.pc, atomics ? "Atomic" : "Read"};
    return (struct conflict){0};
}

static struct conflict find(uint64_t address, unsigned bytes, bool host_writes) {
    const struct race_line *line = race_line_of(address);
    if (owner_form(line->owner) != OWNER_EXPANDED) return in_line(line, address, bytes, host_writes);
    struct conflict found = {0};
    for (unsigned byte = 0; byte < bytes && found.pc == 0; byte++) found = in_cell(address + byte, host_writes);
    return found;
}

void races_by_host(uintptr_t pc, enum trace_kind kind, uint64_t address, unsigned bytes) {
    if (first_unwaited == races_next_block) return;
    if (kind != TRACE_READ && kind != TRACE_WRITE) {
        simt_host_waits();
        return;
    }
    struct conflict kernels = find(address, bytes, kind == TRACE_WRITE);
    if (kernels.pc == 0) return;
    struct source_place other = simt_source_place(kernels.pc);
    const char *slash = strrchr(other.file, '/');
    char where[320] = "";
    if (other.line) snprintf(where, sizeof where, " in %s:%d", slash ? slash + 1 : other.file, other.line);
    simt_report(
        SIMT_RACE, true, pc, NULL,
        "Error: race between this %s access of %u bytes by the host to memory at 0x%llx\n"
        "and a %s access%s by a kernel that may still run\n"
        "A launch returns before its kernel has ended: wait for it first, for example with cudaDeviceSynchronize()",
        kind == TRACE_WRITE ? "Write" : "Read", bytes, (unsigned long long)address, kernels.kind, where);
}

#else

void simt_host_waits(void) {}

#endif
