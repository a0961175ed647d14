/* symbols: objects that use a library which a lab's file may not use. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grader/symbols.h"

static char folder[64];

static void enter(void) {
    strcpy(folder, "/tmp/symbols-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void leave(void) {
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(symbols, .init = enter, .fini = leave, .timeout = 60);

static bool forbids(const char *source, char *library, char *symbol) {
    char command[400];
    snprintf(command, sizeof command, "%s/object.cpp", folder);
    FILE *f = fopen(command, "w");
    cr_assert_not_null(f);
    fputs(source, f);
    fclose(f);
    snprintf(command, sizeof command, "${CXX:-g++} -c -o %s/object.o %s/object.cpp", folder, folder);
    cr_assert_eq(system(command), 0);
    snprintf(command, sizeof command, "%s/object.o", folder);
    return symbols_forbidden(command, NULL, library, 64, symbol, 200);
}

Test(symbols, forbidden_libraries_are_named) {
    char library[64], symbol[200];
    cr_assert(forbids("extern \"C\" int cublasSgemm_v2(int); int f() { return cublasSgemm_v2(1); }", library, symbol));
    cr_assert_str_eq(library, "cuBLAS");
    cr_assert_str_eq(symbol, "cublasSgemm_v2");
    cr_assert(forbids("extern \"C\" int cudnnCreate(int); int f() { return cudnnCreate(1); }", library, symbol));
    cr_assert_str_eq(library, "cuDNN");
    cr_assert(forbids("namespace cub { struct R { int go(); }; int R::go() { return 1; } }", library, symbol));
    cr_assert_str_eq(library, "CUB");
    cr_assert(forbids("namespace thrust { namespace d { int go() { return 1; } } }", library, symbol));
    cr_assert_str_eq(library, "Thrust");
    cr_assert(forbids("extern \"C\" void simt_counters_reset(); void f() { simt_counters_reset(); }", library, symbol));
    cr_assert(strstr(library, "grader"), "%s", library);
    cr_assert(forbids("extern \"C\" void simt_counters_get(void *counters) { (void)counters; }", library, symbol));
    cr_assert(strstr(library, "grader"), "a definition in the library's place: %s", library);
    cr_assert(forbids("extern \"C\" long write(int, const void *, unsigned long) { return 0; }", library, symbol));
    cr_assert_str_eq(symbol, "write");
}

Test(symbols, a_library_can_be_allowed) {
    char library[64], symbol[200], object[300];
    cr_assert(forbids("extern \"C\" int cublasSgemm_v2(int); int f() { return cublasSgemm_v2(1); }", library, symbol));
    snprintf(object, sizeof object, "%s/object.o", folder);
    cr_assert(!symbols_forbidden(object, "cuBLAS", library, 64, symbol, 200));
    cr_assert(symbols_forbidden(object, "cuDNN", library, 64, symbol, 200));
}

Test(symbols, ordinary_names_are_not_forbidden) {
    char library[64], symbol[200];
    cr_assert(!forbids("namespace n { int cubic_step3cub(int) { return 1; } int cub_like(int) { return 2; } }\n"
                       "int cublas_like() { return 3; } extern \"C\" void simt_launch_kernel(); void f() { "
                       "simt_launch_kernel(); }\n"
                       "extern \"C\" long write(int, const void *, unsigned long); void g() { write(1, \"\", 0); }",
                       library, symbol),
              "%s", symbol);
    cr_assert(!symbols_forbidden("Makefile", NULL, library, 64, symbol, 200));
    cr_assert(!symbols_forbidden("/no/such/file", NULL, library, 64, symbol, 200));
}
