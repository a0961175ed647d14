/* object.c — reads the sections, symbols and relocations of an ELF object. Every offset is checked. */
#include "object.h"

#include <ar.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct bytes {
    const char *at;
    size_t size;
};

static const void *part(struct bytes file, uint64_t offset, uint64_t bytes) {
    return offset <= file.size && bytes <= file.size - offset ? file.at + offset : NULL;
}

/* The tables of an object; `sections` is NULL if it is none. */
struct object {
    struct bytes file;
    const Elf64_Shdr *sections;
    int section_count;
    struct bytes section_names, names;
    const Elf64_Sym *symbols;
    size_t symbol_count;
};

static struct bytes section_bytes(const struct object *object, int index) {
    struct bytes none = {NULL, 0};
    if (index < 0 || index >= object->section_count) { return none; }
    const Elf64_Shdr *section = &object->sections[index];
    const char *at = part(object->file, section->sh_offset, section->sh_type == SHT_NOBITS ? 0 : section->sh_size);
    return at ? (struct bytes){at, section->sh_size} : none;
}

/* A string of a table, or "" if it does not end there. */
static const char *string_in(struct bytes table, size_t offset) {
    return table.at && offset < table.size && memchr(table.at + offset, '\0', table.size - offset) ? table.at + offset
                                                                                                   : "";
}

static struct object open_object(struct bytes file) {
    struct object object = {.file = file}, none = {.file = file};
    const Elf64_Ehdr *header = part(file, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) {
        return none;
    }
    object.sections = part(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
    object.section_count = object.sections ? header->e_shnum : 0;
    object.section_names = section_bytes(&object, header->e_shstrndx);
    for (int i = 0; i < object.section_count; i++) {
        if (object.sections[i].sh_type != SHT_SYMTAB) { continue; }
        struct bytes table = section_bytes(&object, i);
        object.symbols = (const Elf64_Sym *)(const void *)table.at;
        object.symbol_count = table.at ? table.size / sizeof(Elf64_Sym) : 0;
        object.names = section_bytes(&object, (int)object.sections[i].sh_link);
    }
    return object;
}

static const char *symbol_name(const struct object *object, size_t i) {
    return i < object->symbol_count ? string_in(object->names, object->symbols[i].st_name) : "";
}
static const char *section_name(const struct object *object, int i) {
    return string_in(object->section_names, object->sections[i].sh_name);
}

static struct bytes map(const char *path) {
    struct bytes file = {NULL, 0};
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_size > 0) {
        void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (at != MAP_FAILED) { file = (struct bytes){at, (size_t)status.st_size}; }
    }
    if (descriptor >= 0) { close(descriptor); }
    return file;
}

static void unmap(struct bytes file) {
    if (file.at) { munmap((void *)(uintptr_t)file.at, file.size); }
}

/* ---- the names that are taken ---- */

static void add_name(struct object_names *names, const char *name) {
    if (names->count == names->room) {
        size_t room = names->room ? names->room * 2 : 1024;
        char **larger = realloc(names->name, room * sizeof *larger);
        if (!larger) { return; }
        names->name = larger;
        names->room = room;
    }
    names->name[names->count] = strdup(name);
    names->count += names->name[names->count] != NULL;
}

/* Global names. A weak reference is a question whether another file defines the name: the launchers of a lab. */
static void add_symbols(struct object_names *names, struct bytes file) {
    struct object object = open_object(file);
    for (size_t i = 0; i < object.symbol_count; i++) {
        const Elf64_Sym *symbol = &object.symbols[i];
        int bind = ELF64_ST_BIND(symbol->st_info);
        bool asks = bind == STB_WEAK && symbol->st_shndx == SHN_UNDEF,
             hook = strncmp(symbol_name(&object, i), "trace_", 6) == 0;
        bool weak_code =
            bind == STB_WEAK && symbol->st_shndx != SHN_UNDEF; /* an inline function, which anyone may have */
        if (bind != STB_LOCAL && (!asks || hook) && !weak_code) { add_name(names, symbol_name(&object, i)); }
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool object_names_add(struct object_names *names, const char *path) {
    struct bytes file = map(path);
    if (!file.at) { return false; }
    if (file.size > SARMAG && memcmp(file.at, ARMAG, SARMAG) == 0) {
        for (size_t at = SARMAG; at + sizeof(struct ar_hdr) <= file.size;) {
            const struct ar_hdr *header = (const struct ar_hdr *)(const void *)(file.at + at);
            size_t size = strtoull(header->ar_size, NULL, 10);
            at += sizeof *header;
            if (size > file.size - at) { break; }
            /* a copy, because members need not be aligned */
            char *member = malloc(size ? size : 1);
            if (member) {
                memcpy(member, file.at + at, size);
                add_symbols(names, (struct bytes){member, size});
            }
            free(member);
            at += size + (size & 1);
        }
    } else {
        add_symbols(names, file);
    }
    unmap(file);
    qsort(names->name, names->count, sizeof *names->name, by_name);
    return true;
}

void object_names_free(struct object_names *names) {
    for (size_t i = 0; i < names->count; i++) { free(names->name[i]); }
    free(names->name);
    *names = (struct object_names){0};
}

static bool is_taken(const struct object_names *names, const char *name) {
    return names->count && bsearch(&name, names->name, names->count, sizeof *names->name, by_name);
}

/* ---- what an object may refer to ---- */

static bool fits(const char *const patterns[], size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (fnmatch(patterns[i], name, 0) == 0) { return true; }
    }
    return false;
}
#define FITS(patterns, name) fits(patterns, sizeof(patterns) / sizeof *(patterns), name)

/* libgcc's arithmetic: __popcountdi2, __udivti3, __extendhfsf2, __fixunssfti, __floattisf, __mulsc3. None has a pointer. */
static const char *const arithmetic[] = {
    "__*[sdt]i[23]",           "__*[bhsdxt]f[23]", "__fix*[hsdxt]f[sdt]i",
    "__float*[sdt]i[bhsdxt]f", "__mul[hsdxt]c3",   "__div[hsdxt]c3",
};

/* std:: and what belongs to it. */
static const char *const library[] = {"_ZSt*",          "_ZNSt*",  "_ZNKSt*",  "_ZNS[absiod]*",
                                      "_ZNKS[absiod]*", "_ZTVSt*", "_ZTVNSt*", "_ZTISt*",
                                      "_ZTINSt*",       "_ZTTSt*", "_ZGVNSt*", "_ZN9__gnu_cxx*"};

/* The toolkit; what the compiler itself calls; memory, output and ends of the C library; mathematics without pointers. A file
 * that is marked cannot write a name of the backend (common/simt/translate/learner.c): those here come from its headers. */
static const char *const known[] = {
    "cuda*",
    "cublas*",
    "cublasLt*",
    "simt_*",
    "_ZN4simt*",
    "_ZNK4simt*",
    "arena_register_constant",
    "arena_register_variable",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "__tsan_*",
    "__ubsan_handle_*",
    "__sanitizer_cov_trace_*",
    "trace_pc",
    "__morestack*",
    "__isGlobal",
    "__isShared",
    "__isLocal",
    "__cvta_generic_to_shared",
    "_GLOBAL_OFFSET_TABLE_",
    "__gxx_personality_v0",
    "_Unwind_Resume",
    "__dso_handle",
    "__cxa_guard_*",
    "__cxa_pure_virtual",
    "__x86_indirect_thunk_*",
    "__stack_chk_fail",
    "__assert_fail",
    "abort",
    "exit",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "_Znwm",
    "_Znam",
    "_ZdlPv",
    "_ZdlPvm",
    "_ZdaPv",
    "_ZdaPvm",
    "printf",
    "puts",
    "putchar",
    "_ZSt*__throw_*",
    "_ZTVN10__cxxabiv1*",
    "learner_malloc",
    "learner_calloc",
    "learner_realloc",
    "learner_free",
    "learner_heap_*",
    "learner_new",
    "learner_new_array",
    "learner_delete",
    "learner_delete_array",
    "learner_delete_sized",
    "learner_delete_array_sized",
    "learner_printf",
    "learner_fprintf",
    "learner_puts",
    "learner_putchar",
    "learner_fputs",
    "learner_fputc",
    "learner_fwrite",
    "learner_fflush",
    "learner_getenv",
    "learner_sincos*",
    "learner_fast_sincosf",
    "learner_frexp*",
    "learner_modf*",
    "learner_remquo*",
    "learner_mutex_*",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "stdout",
    "stderr",
};
static const char *const mathematics[] = {
    "acos",     "acosh",     "asin",      "asinh", "atan",      "atan2",  "atanh", "cbrt",    "ceil",
    "copysign", "cos",       "cosh",      "erf",   "erfc",      "exp",    "exp2",  "expm1",   "fabs",
    "fdim",     "floor",     "fma",       "fmax",  "fmin",      "fmod",   "hypot", "ilogb",   "ldexp",
    "lgamma",   "llrint",    "llround",   "log",   "log10",     "log1p",  "log2",  "logb",    "lrint",
    "lround",   "nearbyint", "nextafter", "pow",   "remainder", "rint",   "round", "scalbln", "scalbn",
    "sin",      "sinh",      "sqrt",      "tan",   "tanh",      "tgamma", "trunc", "exp10",   "j0",
    "j1",       "y0",        "y1",        "abs",   "labs",      "llabs",  "jn",    "yn",
};

/* sin, sinf, and CUDA's fast intrinsic __sinf. */
static bool is_mathematics(const char *name) {
    bool fast = strncmp(name, "__", 2) == 0;
    name += fast ? 2 : 0;
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof mathematics / sizeof *mathematics; i++) {
        size_t n = strlen(mathematics[i]);
        if (strncmp(name, mathematics[i], n) == 0 && ((length == n && !fast) || (length == n + 1 && name[n] == 'f'))) {
            return true;
        }
    }
    return false;
}

/* A C++ function of that name outside of classes and namespaces: _Z6matmulI... */
static bool is_import(const char *imports, const char *name) {
    char prefix[128];
    for (const char *p = imports, *end; p && *(p += strspn(p, " \n")); p = end) {
        end = p + strcspn(p, " \n");
        int n = snprintf(prefix, sizeof prefix, "_Z%d%.*s", (int)(end - p), (int)(end - p), p);
        if (n < (int)sizeof prefix && strncmp(name, prefix, (size_t)n) == 0) { return true; }
    }
    return false;
}

static const char *const sections[] = {
    "",
    ".text",
    ".text.*",
    ".data",
    ".data.*",
    ".bss",
    ".bss.*",
    ".rodata",
    ".rodata.*",
    ".group",
    ".comment",
    ".note.GNU-stack",
    ".note.GNU-split-stack",
    ".note.GNU-no-split-stack",
    ".note.gnu.property",
    ".eh_frame",
    ".gcc_except_table",
    ".gcc_except_table.*",
    ".init_array",
    ".init_array.00099",
    ".debug_*",
    ".rel.*",
    ".rela.*",
    ".symtab",
    ".strtab",
    ".shstrtab",
    ".symtab_shndx",
    ".llvm_addrsig",
    ".tm_clone_table",
};

/* The linker moves these away from the other functions of the object. */
static const char *const moved[] = {
    ".text.unlikely", ".text.unlikely.*", ".text.*_unlikely", ".text.exit",  ".text.exit.*",
    ".text.startup",  ".text.startup.*",  ".text.hot",        ".text.hot.*", ".text.sorted.*",
};

/* What the code of an initialiser may refer to: the instrumentation and the registration of __device__ variables. */
static const char *const before_main[] = {
    "__tsan_init",
    "__tsan_func_entry",
    "__tsan_func_exit",
    "__sanitizer_cov_trace_pc",
    "trace_pc",
    "__morestack",
    "_Unwind_Resume",
    "arena_register_constant",
    "arena_register_variable",
    "_ZN*simt_register_*3runEv",
};

static bool refuse(char *why, size_t size, const char *format, const char *name) {
    snprintf(why, size, format, name);
    return false;
}

static bool sections_allowed(const struct object *object, char *why, size_t size) {
    for (int i = 0; i < object->section_count; i++) {
        const Elf64_Shdr *section = &object->sections[i];
        bool writable_code = (section->sh_flags & SHF_WRITE) && (section->sh_flags & SHF_EXECINSTR);
        if (!FITS(sections, section_name(object, i)) || FITS(moved, section_name(object, i)) || writable_code ||
            (section->sh_flags & SHF_TLS)) {
            return refuse(why, size, "not allowed: the section %s", section_name(object, i));
        }
    }
    return true;
}

static bool symbols_allowed(const struct object *object, const struct object_names *taken, const char *imports,
                            char *why, size_t size) {
    for (size_t i = 1; i < object->symbol_count; i++) {
        const Elf64_Sym *symbol = &object->symbols[i];
        const char *name = symbol_name(object, i);
        int bind = ELF64_ST_BIND(symbol->st_info), type = ELF64_ST_TYPE(symbol->st_info);
        bool defined = symbol->st_shndx != SHN_UNDEF;
        if (type == STT_GNU_IFUNC || (type == STT_TLS && defined) || symbol->st_shndx == SHN_COMMON) {
            return refuse(why, size, "not allowed: the symbol %s, of a kind that no lab needs", name);
        }
        if (bind == STB_LOCAL) { continue; }
        if (symbol->st_shndx == SHN_UNDEF) {
            if (FITS(known, name) || FITS(arithmetic, name) || is_mathematics(name) || is_import(imports, name)) {
                continue;
            }
            if (FITS(library, name)) {
                return refuse(why, size, "not allowed: %s, which no header of the C++ library defines", name);
            }
            bool exists = is_taken(taken, name) || dlsym(RTLD_DEFAULT, name) || strncmp(name, "__", 2) == 0;
            return exists ? refuse(why, size, "not allowed: a call of %s, which is not CUDA's", name)
                          : refuse(why, size, "undefined reference to `%s'", name);
        }
        bool reserved = name[0] == '_' && strncmp(name, "_Z", 2) != 0;
        bool replaces = strncmp(name, "_Znw", 4) == 0 || strncmp(name, "_Zna", 4) == 0 ||
                        strncmp(name, "_Zdl", 4) == 0 || strncmp(name, "_Zda", 4) == 0;
        if (reserved || replaces || strcmp(name, "main") == 0 || is_taken(taken, name)) {
            bool renamed = strncmp(name, "learner_", 8) == 0; /* common/simt/learner.syms */
            return refuse(why, size, "not allowed: a definition of %s, which the runner or a library has",
                          renamed ? name + 8 : name);
        }
    }
    return true;
}

/* The function at that place of a section. */
static const Elf64_Sym *function_at(const struct object *object, int section, uint64_t offset) {
    for (size_t i = 0; i < object->symbol_count; i++) {
        const Elf64_Sym *symbol = &object->symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx == section && symbol->st_value == offset) {
            return symbol;
        }
    }
    return NULL;
}

/* The relocations of a section. */
static const Elf64_Rela *relocations_of(const struct object *object, int section, size_t *count) {
    *count = 0;
    for (int i = 0; i < object->section_count; i++) {
        if (object->sections[i].sh_type != SHT_RELA || (int)object->sections[i].sh_info != section) { continue; }
        struct bytes table = section_bytes(object, i);
        *count = table.at ? table.size / sizeof(Elf64_Rela) : 0;
        return (const Elf64_Rela *)(const void *)table.at;
    }
    return NULL;
}

/* Refers to data, or to a function that an initialiser may call. With -ffunction-sections each call is a relocation. */
static bool initialiser_may(const struct object *object, const Elf64_Rela *relocation) {
    size_t index = ELF64_R_SYM(relocation->r_info);
    if (index >= object->symbol_count) { return false; }
    const Elf64_Sym *symbol = &object->symbols[index];
    if (FITS(before_main, symbol_name(object, index))) { return true; }
    int section = symbol->st_shndx;
    bool code =
        section <= 0 || section >= object->section_count || (object->sections[section].sh_flags & SHF_EXECINSTR);
    return !code;
}

static bool initialisers_allowed(const struct object *object, char *why, size_t size) {
    for (int i = 0; i < object->section_count; i++) {
        size_t entries, inner;
        if (strncmp(section_name(object, i), ".init_array", 11) != 0) { continue; }
        const Elf64_Rela *entry = relocations_of(object, i, &entries);
        if (entries * sizeof(uint64_t) != object->sections[i].sh_size) {
            return refuse(why, size, "not allowed: code before main%s", "");
        }
        for (size_t e = 0; e < entries; e++) {
            size_t index = ELF64_R_SYM(entry[e].r_info);
            if (index >= object->symbol_count) { return refuse(why, size, "not allowed: code before main%s", ""); }
            const Elf64_Sym *target = &object->symbols[index];
            const Elf64_Sym *function =
                function_at(object, target->st_shndx, target->st_value + (uint64_t)entry[e].r_addend);
            if (!function) { return refuse(why, size, "not allowed: code before main%s", ""); }
            const Elf64_Rela *use = relocations_of(object, function->st_shndx, &inner);
            for (size_t r = 0; r < inner; r++) {
                bool inside = use[r].r_offset - function->st_value < function->st_size;
                if (inside && !initialiser_may(object, &use[r])) {
                    return refuse(
                        why, size,
                        "not allowed: code before main: the initial value of a variable must be a constant (%s)",
                        symbol_name(object, ELF64_R_SYM(use[r].r_info)));
                }
            }
        }
    }
    return true;
}

bool object_allowed(const char *path, const struct object_names *taken, const char *imports, char *why, size_t size) {
    struct bytes file = map(path);
    struct object object = open_object(file);
    bool ok = object.symbol_count > 0 || refuse(why, size, "not allowed: an object without symbols%s", "");
    ok = ok && sections_allowed(&object, why, size) && symbols_allowed(&object, taken, imports, why, size) &&
         initialisers_allowed(&object, why, size);
    unmap(file);
    return ok;
}
