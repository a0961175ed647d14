/* lines.cpp — JOB_LINES: which lines of the lab's files were executed in a traced program, in any of its calls.
 *
 * A traced program calls trace_pc at the beginning of each basic block. All these calls are found in its machine code. The code
 * from one of them to the next belongs to its basic block, and the lines of that code are those of the block. What lies between
 * a function's entry and its first call belongs to the first block.
 */
#include <link.h>
#include <map>
#include <string.h>
#include <string>
#include <vector>

#include "jobs.h"
#include "trace.h"
#include "wire.h"

namespace {

struct code {
    const unsigned char *begin, *end;
};

/* The executable segment of the program itself, which comes first. */
int find_code(struct dl_phdr_info *file, size_t, void *found) {
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) &segment = file->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) { continue; }
        const unsigned char *begin = (const unsigned char *)(file->dlpi_addr + segment.p_vaddr);
        *static_cast<code *>(found) = {begin, begin + segment.p_memsz};
    }
    return 1;
}

#if defined(__x86_64__)
enum { CALL_BYTES = 5 };
#else
enum { CALL_BYTES = 4 };
#endif

/* If the instruction at `at` calls the hook: the address behind it, else 0. */
uintptr_t behind_call(const unsigned char *at, const unsigned char *end) {
    uintptr_t hook = (uintptr_t)&trace_pc, here = (uintptr_t)at;
#if defined(__x86_64__)
    int32_t distance;
    if (end - at < CALL_BYTES || at[0] != 0xe8) { return 0; }
    memcpy(&distance, at + 1, sizeof distance);
    uintptr_t behind = here + CALL_BYTES;
    return behind + (uintptr_t)(intptr_t)distance == hook ? behind : 0;
#elif defined(__aarch64__)
    uint32_t word;
    if (here % CALL_BYTES || end - at < CALL_BYTES) { return 0; }
    memcpy(&word, at, sizeof word);
    intptr_t distance = (intptr_t)(int32_t)(word << 6) >> 4;
    return word >> 26 == 0x25 && here + (uintptr_t)distance == hook ? here + CALL_BYTES : 0;
#else
    return (void)at, (void)end, (void)hook, (void)here, 0;
#endif
}

struct line {
    std::string file;
    int number;
    uintptr_t function;
    int ran; /* enum ran_where */
};

const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The lines of the code from basic block `block` up to the call that begins the next one. Behind the end of its function they
 * are lines of the next block. */
void add_lines(uintptr_t block, uintptr_t next, int next_ran, std::vector<line> *lines) {
    uintptr_t own = simt_source_function(block), function = own;
    const char *file;
    int before = 0;
    for (uintptr_t pc = block; pc == block || pc <= next - CALL_BYTES; pc++) {
        int number;
        if (!simt_source_line(pc, &file, &number) || number == before) { continue; }
        function = simt_source_function(pc); /* another function has other lines */
        before = number;
        int ran = function == own ? trace_ran(block) : next_ran;
        if (!lines->empty() && lines->back().number == number && lines->back().function == function &&
            lines->back().ran == ran) {
            continue;
        }
        lines->push_back({file_name(file), number, function, ran});
    }
}

std::vector<line> all_lines() {
    struct code code = {nullptr, nullptr};
    std::vector<uintptr_t> blocks;
    std::vector<line> lines;
    dl_iterate_phdr(find_code, &code);
    for (const unsigned char *at = code.begin; at < code.end; at++) {
        uintptr_t behind = behind_call(at, code.end);
        if (behind) { blocks.push_back(behind); }
    }
    for (size_t i = 0; i < blocks.size(); i++) {
        bool is_last = i + 1 == blocks.size();
        add_lines(blocks[i], is_last ? blocks[i] : blocks[i + 1], is_last ? 0 : trace_ran(blocks[i + 1]), &lines);
    }
    return lines;
}

/* One record for each line. A template's line ran if it did in any instance. */
std::vector<line_record> all_records() {
    std::map<uintptr_t, int> called;
    std::map<std::pair<std::string, int>, line_record> records;
    std::vector<line_record> list;
    std::vector<line> lines = all_lines();
    for (const line &one : lines) { called[one.function] |= one.ran; }
    for (const line &one : lines) {
        line_record &record = records[{one.file, one.number}];
        if (one.file.size() >= sizeof record.file) { continue; }
        memcpy(record.file, one.file.c_str(), one.file.size());
        record.line = one.number;
        record.ran |= one.ran;
        record.called |= called[one.function];
    }
    for (const auto &entry : records) { list.push_back(entry.second); }
    if (list.size() > RESULT_MAX_LINES) { list.resize(RESULT_MAX_LINES); }
    return list;
}

} // namespace

extern "C" void run_lines(const struct job *job) {
    struct result result = result_make(job);
    std::vector<line_record> records = all_records();
    result.line_count = (int)records.size();
    wire_write(&result, sizeof result);
    wire_write(records.data(), records.size() * sizeof records[0]);
}
