/* recording.h — the launches of this process on the CPU backend, printed as the lines that records.cpp describes. */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <string>
#include <vector>

#include "common/simt/simt.h"

class recording {
  public:
    void begin(bool with_requests) {
        const simt_recorder recorder = {launched, with_requests ? requested : nullptr, this};
        simt_record(&recorder);
    }
    void end() { simt_record(nullptr); }

    /* An array that has a name. Others are scratch1, ... in the order of their first access. */
    void name(const char *text, const void *start, size_t bytes) {
        printf("array\t%s\t%zu\n", text, bytes);
        arrays.push_back({(uintptr_t)start, bytes ? bytes : 1, text});
    }

    void print() {
        for (size_t k = 0; k < launches.size(); k++) {
            const launch &of = launches[k];
            printf("launch\t%zu\t%s\t%u,%u,%u\t%u,%u,%u\t%llu\n", k + 1, of.kernel.c_str(), of.grid[0], of.grid[1],
                   of.grid[2], of.block[0], of.block[1], of.block[2], (unsigned long long)of.warps);
            for (const access &a : of.accesses) { print_access(k, a); }
        }
        for (const request &r : requests) { print_request(r); }
    }

  private:
    struct array {
        uintptr_t start;
        size_t bytes;
        std::string name;
    };
    struct access {
        uintptr_t start;
        size_t bytes;
        simt_traffic traffic;
    };
    struct launch {
        std::string kernel;
        unsigned grid[3], block[3];
        uint64_t warps;
        std::vector<access> accesses;
    };
    struct request {
        size_t launch; /* index */
        simt_requested made;
        std::vector<uint64_t> address;
    };
    std::vector<array> arrays;
    std::vector<launch> launches;
    std::vector<request> requests;
    int scratches = 0;

    static void launched(const simt_launched *ended, void *data) {
        launch record = {ended->kernel, {}, {}, ended->counters->warps, {}};
        memcpy(record.grid, ended->grid, sizeof record.grid);
        memcpy(record.block, ended->block, sizeof record.block);
        for (size_t i = 0; i < ended->arrays; i++) {
            const simt_array &a = ended->array[i];
            record.accesses.push_back({(uintptr_t)a.start, a.bytes, a.traffic});
        }
        ((recording *)data)->launches.push_back(record);
    }

    static void requested(const simt_requested *made, void *data) {
        recording *records = (recording *)data;
        if (made->block != 0 || made->warp != 0) { return; }
        records->requests.push_back({records->launches.size(), *made, {made->address, made->address + 32}});
    }

    const array *find(uintptr_t address) const {
        for (const array &a : arrays) {
            if (address - a.start < a.bytes) { return &a; }
        }
        return nullptr;
    }

    void print_access(size_t k, const access &a) {
        const simt_traffic &t = a.traffic;
        const uint64_t counts[] = {t.load_bytes,   t.store_bytes,   t.atomic_bytes,
                                   t.load_sectors, t.store_sectors, t.atomic_sectors};
        if (find(a.start) == nullptr) {
            name(("scratch" + std::to_string(++scratches)).c_str(), (void *)a.start, a.bytes);
        }
        printf("access\t%zu\t%s", k + 1, find(a.start)->name.c_str());
        for (uint64_t count : counts) { printf("\t%llu", (unsigned long long)count); }
        printf("\n");
    }

    void print_request(const request &r) const {
        static const char *const kinds[] = {"load", "store", "atomic"};
        const char *file = "";
        int line = 0;
        const array *in = find(r.address[__builtin_ctz(r.made.mask)]);
        if (in == nullptr) { return; } /* a variable of the program */
        simt_source_line(r.made.pc, &file, &line);
        printf("request\t%zu\t%s\t%u\t%d\t%s", r.launch + 1, kinds[r.made.kind], r.made.bytes, line, in->name.c_str());
        for (int l = 0; l < 32; l++) {
            if (r.made.mask >> l & 1) {
                printf("\t%lld", (long long)(r.address[l] - in->start));
            } else {
                printf("\t-");
            }
        }
        printf("\n");
    }
};

#endif
