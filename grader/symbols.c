/* symbols.c — reads the symbol tables of an ELF file. The file comes from a compiler, but every offset is checked. */
#include "symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum match {
    USES,      /* an undefined symbol with that prefix */
    MENTIONS,  /* any symbol with that prefix: also a definition that replaces the library's */
    DEFINES,   /* a definition of exactly that name */
    NAMESPACE, /* a C++ symbol of that namespace */
};

struct forbidden {
    enum match match;
    const char *text;
    const char *library;
};

static const struct forbidden list[] = {
    {USES, "cublas", "cuBLAS"},
    {USES, "cudnn", "cuDNN"},
    {USES, "cufft", "cuFFT"},
    {USES, "cusparse", "cuSPARSE"},
    {USES, "cusolver", "cuSOLVER"},
    {USES, "cutensor", "cuTENSOR"},
    {NAMESPACE, "cub", "CUB"},
    {NAMESPACE, "thrust", "Thrust"},
    {MENTIONS, "simt_counters_", "the grader's own runtime"},
    {MENTIONS, "simt_findings_", "the grader's own runtime"},
    {MENTIONS, "simt_finding_", "the grader's own runtime"},
    {MENTIONS, "simt_settings_", "the grader's own runtime"},
    {MENTIONS, "simt_allocation_traffic", "the grader's own runtime"},
    {MENTIONS, "simt_record", "the grader's own runtime"},
    {MENTIONS, "wire_", "the grader's own runtime"},
    {MENTIONS, "_Z9wire_", "the grader's own runtime"},
    {MENTIONS, "_Z10wire_", "the grader's own runtime"},
    {DEFINES, "read", "a replacement of the C library"},
    {DEFINES, "write", "a replacement of the C library"},
    {DEFINES, "memcpy", "a replacement of the C library"},
    {DEFINES, "_exit", "a replacement of the C library"},
};

/* Is `name` one of the namespaces that a C++ symbol begins with? _ZN3cub6detail5sweepEv: cub, detail, sweep. */
static bool has_namespace(const char *symbol, const char *name) {
    if (strncmp(symbol, "_Z", 2) != 0) { return false; }
    const char *p = symbol + 2;
    while (*p >= 'A' && *p <= 'Z') { p++; } /* N: nested; K, V: qualified; GV, TV: guard variables and vtables */
    while (*p >= '0' && *p <= '9') {
        char *part;
        unsigned long length = strtoul(p, &part, 10);
        if (length == strlen(name) && strncmp(part, name, length) == 0) { return true; }
        if (length > strlen(part)) { return false; }
        p = part + length;
    }
    return false;
}

static bool matches(const struct forbidden *entry, const char *symbol, bool undefined) {
    bool begins = strncmp(symbol, entry->text, strlen(entry->text)) == 0;
    switch (entry->match) {
        case USES: return begins && undefined;
        case MENTIONS: return begins;
        case DEFINES: return !undefined && strcmp(symbol, entry->text) == 0;
        case NAMESPACE: return has_namespace(symbol, entry->text);
    }
    return false;
}

static const char *library_of(const char *symbol, bool undefined, const char *allowed) {
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (allowed && strcmp(list[i].library, allowed) == 0) { continue; }
        if (matches(&list[i], symbol, undefined)) { return list[i].library; }
    }
    return NULL;
}

struct image {
    const char *data;
    size_t size;
};

static const void *at(const struct image *image, uint64_t offset, uint64_t bytes) {
    return offset <= image->size && bytes <= image->size - offset ? image->data + offset : NULL;
}

/* One symbol table. */
static const char *search_table(const struct image *image, const Elf64_Shdr *table, const Elf64_Shdr *names,
                                const char *allowed, const char **symbol) {
    const char *strings = at(image, names->sh_offset, names->sh_size);
    const Elf64_Sym *symbols = at(image, table->sh_offset, table->sh_size);
    if (!strings || !symbols || names->sh_size == 0 || strings[names->sh_size - 1] != '\0') { return NULL; }
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        if (symbols[i].st_name >= names->sh_size) { continue; }
        *symbol = strings + symbols[i].st_name;
        const char *library = library_of(*symbol, symbols[i].st_shndx == SHN_UNDEF, allowed);
        if (library) { return library; }
    }
    return NULL;
}

static const char *search_image(const struct image *image, const char *allowed, const char **symbol) {
    const Elf64_Ehdr *header = at(image, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) {
        return NULL;
    }
    const Elf64_Shdr *sections = at(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);
    for (int i = 0; sections && i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) { continue; }
        const char *library = search_table(image, &sections[i], &sections[sections[i].sh_link], allowed, symbol);
        if (library) { return library; }
    }
    return NULL;
}

bool symbols_forbidden(const char *path, const char *allowed, char *library, size_t library_size, char *symbol,
                       size_t symbol_size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;
    if (file < 0) { return false; }
    const char *found = NULL, *name = NULL;
    if (fstat(file, &s) == 0 && s.st_size > 0) {
        void *data = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (data != MAP_FAILED) {
            struct image image = {data, (size_t)s.st_size};
            found = search_image(&image, allowed, &name);
            if (found) {
                snprintf(library, library_size, "%s", found);
                snprintf(symbol, symbol_size, "%s", name);
            }
            munmap(data, (size_t)s.st_size);
        }
    }
    close(file);
    return found != NULL;
}
