/* build_symbols.c — which libraries a lab object uses, read from its symbol table: a kernel lab may not call cuBLAS,
 * cuDNN, Thrust or CUB, nor the parts of the backend that count and report.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build.h"

enum match { PREFIX_UNDEFINED, NAMESPACE };

struct forbidden {
    enum match match;
    const char *text;
    const char *library;
};

static const struct forbidden list[] = {
    {PREFIX_UNDEFINED, "cublas", "cuBLAS"},
    {PREFIX_UNDEFINED, "cudnn", "cuDNN"},
    {PREFIX_UNDEFINED, "cufft", "cuFFT"},
    {PREFIX_UNDEFINED, "cusparse", "cuSPARSE"},
    {PREFIX_UNDEFINED, "cusolver", "cuSOLVER"},
    {PREFIX_UNDEFINED, "cutensor", "cuTENSOR"},
    {NAMESPACE, "cub", "CUB"},
    {NAMESPACE, "thrust", "Thrust"},
    {PREFIX_UNDEFINED, "simt_counters_", "the grader's own runtime"},
    {PREFIX_UNDEFINED, "simt_findings_", "the grader's own runtime"},
    {PREFIX_UNDEFINED, "simt_finding_", "the grader's own runtime"},
    {PREFIX_UNDEFINED, "simt_settings_", "the grader's own runtime"},
    {PREFIX_UNDEFINED, "simt_allocation_traffic", "the grader's own runtime"},
    {PREFIX_UNDEFINED, "wire_", "the grader's own runtime"},
    {PREFIX_UNDEFINED, "_Z9wire_", "the grader's own runtime"},
    {PREFIX_UNDEFINED, "_Z10wire_", "the grader's own runtime"},
};

/* Is `name` one of the namespaces that a C++ symbol begins with? _ZN3cub6detail5sweepEv: cub, detail, sweep. */
static bool has_namespace(const char *symbol, const char *name) {
    if (strncmp(symbol, "_Z", 2) != 0) { return false; }
    const char *p = symbol + 2;
    while (*p >= 'A' && *p <= 'Z') { p++; } /* N: nested; K, V: qualified; GV, TV: what belongs to one */
    while (*p >= '0' && *p <= '9') {
        char *part;
        unsigned long length = strtoul(p, &part, 10);
        if (length == strlen(name) && strncmp(part, name, length) == 0) { return true; }
        if (length > strlen(part)) { return false; }
        p = part + length;
    }
    return false;
}

static const char *library_of(const char *symbol, bool undefined) {
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        bool hit = list[i].match == NAMESPACE ? has_namespace(symbol, list[i].text)
                                              : undefined && strncmp(symbol, list[i].text, strlen(list[i].text)) == 0;
        if (hit) { return list[i].library; }
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

/* One symbol table. The file comes from a compiler, but every offset is checked all the same. */
static const char *search_table(const struct image *image, const Elf64_Shdr *table, const Elf64_Shdr *names,
                                const char **symbol) {
    const char *strings = at(image, names->sh_offset, names->sh_size);
    const Elf64_Sym *symbols = at(image, table->sh_offset, table->sh_size);
    if (!strings || !symbols || names->sh_size == 0 || strings[names->sh_size - 1] != '\0') { return NULL; }
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        if (symbols[i].st_name >= names->sh_size) { continue; }
        *symbol = strings + symbols[i].st_name;
        const char *library = library_of(*symbol, symbols[i].st_shndx == SHN_UNDEF);
        if (library) { return library; }
    }
    return NULL;
}

static const char *search_image(const struct image *image, const char **symbol) {
    const Elf64_Ehdr *header = at(image, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) {
        return NULL;
    }
    const Elf64_Shdr *sections = at(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);
    for (int i = 0; sections && i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) { continue; }
        const char *library = search_table(image, &sections[i], &sections[sections[i].sh_link], symbol);
        if (library) { return library; }
    }
    return NULL;
}

bool build_forbidden(const char *path, char *library, size_t library_size, char *symbol, size_t symbol_size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;
    if (file < 0) { return false; }
    const char *found = NULL, *name = NULL;
    if (fstat(file, &s) == 0 && s.st_size > 0) {
        void *data = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (data != MAP_FAILED) {
            struct image image = {data, (size_t)s.st_size};
            found = search_image(&image, &name);
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
