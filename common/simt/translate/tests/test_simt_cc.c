/* simt_cc: the compile driver: places of messages, refusals, dependencies, flags. */
#include "shell.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <unistd.h>

static char folder[] = "/tmp/test_simt_cc_XXXXXX";
static struct said said;

static void set_up(void) {
    cr_assert_not_null(mkdtemp(folder));
}

static void tear_down(void) {
    run(&said, "rm -rf '%s'", folder);
}

TestSuite(simt_cc, .init = set_up, .fini = tear_down, .timeout = 120);

static void write_file(const char *name, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

/* Runs simt-cc in the folder, so that messages name plain files. */
static void compile(const char *arguments) {
    char root[PATH_MAX], build[PATH_MAX];
    cr_assert_not_null(getcwd(root, sizeof root));
    cr_assert_not_null(realpath(build_folder(), build));
    run(&said, "cd '%s' && BUILD='%s' '%s/common/simt/simt-cc' %s 2>&1", folder, build, root, arguments);
}

static void expect_message(const char *text, const char *message) {
    write_file("a.cu", text);
    compile("-Wall -Wextra -o a.o a.cu");
    cr_expect_eq(said.status, 1, "%s\nended with %d", text, said.status);
    cr_expect_not_null(strstr(said.text, message), "%s\nsays %s\nwanted %s", text, said.text, message);
}

/* Line and column are the learner's, in kernels, beside __shared__, in and after launches, after macros. */
Test(simt_cc, messages_point_at_the_learners_text) {
    expect_message("__global__ void k(int *p) {\n    *p =   wrong;\n}\n", "a.cu:2:12: error:");
    expect_message("__global__ void k() { __shared__   int s[4];   wrong; }\n", "a.cu:1:48: error:");
    expect_message("__global__ void k(int) {}\nint main() {\n    k<<<1,   wrong>>>(2);\n}\n", "a.cu:3:14: error:");
    expect_message("__global__ void k(int) {}\nint main() {\n    k<<<1,   2>>>(wrong);\n}\n", "a.cu:3:19: error:");
    expect_message("int main() {\n    wrong<<<1, 2>>>(3);\n}\n", "a.cu:2:5: error:");
    expect_message("#define TWICE(x) ((x) + (x))\nint f(int i) { return TWICE(i) +   wrong; }\n", "a.cu:2:36: error:");
    expect_message("__device__   wrong f();\n", "a.cu:1:14: error:");
    expect_message("\tint a;\n\tint b = wrong;\n", "a.cu:2:17: error:"); /* g++ counts a tab as 8 */
}

Test(simt_cc, what_is_not_there_is_named) {
    expect_message("__global__ void k() {\n    asm(\"tcgen05.alloc;\");\n}\n", "a.cu:2: error: inline PTX");
    expect_message(
        "__global__ void k() {\n    k<<<1, 1>>>();\n}\n",
        "a.cu:2: error: 'k' is launched from device code: the CPU backend has no dynamic parallelism; launch it on");
    expect_message("void f() {\n    k<<<1, 1(;\n}\n", "a.cu:3: error:");
    expect_message("struct S { int x; __device__ S() : x(3) {} };\n__global__ void k() { __shared__ S s; }\n",
                   "dynamic initialization is not supported for the __shared__ variable 's'");
    expect_message("__global__ void k(int n) {\n    __shared__ float s[n];\n}\n", "a.cu:2:");
}

/* nvcc refuses these, too. Another alignment, or the name in another namespace, is accepted. */
Test(simt_cc, dynamic_shared_memory_has_one_type_in_a_namespace) {
    expect_message("__global__ void j() {\n    extern __shared__ int s[];\n    s[0] = 1;\n}\n"
                   "template <class T> __device__ T first() {\n    extern __shared__ T s[];\n    return s[0];\n}\n"
                   "__global__ void k(float *p) { p[0] = first<int>() + first<float>(); }\n",
                   "a.cu:6:25: error: conflicting declaration");
    expect_message(
        "extern __shared__ float s[];\nstruct C {\n    __device__ int f() {\n        extern __shared__ int s[];\n"
        "        return s[0];\n    }\n};\n",
        "a.cu:4:31: error: conflicting declaration");
    write_file("a.cu", "__global__ void j() { extern __shared__ __align__(16) float s[]; s[0] = 1; }\n"
                       "__global__ void k() { extern __shared__ float s[]; s[0] = 1; }\n"
                       "namespace n { __global__ void k() { extern __shared__ int s[]; s[0] = 1; } }\n");
    compile("-Wall -Wextra -c -o a.o a.cu");
    cr_expect_eq(said.status, 0, "%s", said.text);
}

/* Any other CUDA name: g++'s message stays, and a second one explains it. */
Test(simt_cc, unknown_names_of_cuda_are_said_to_be_missing) {
    expect_message(
        "int main() {\n    cudaNoSuchCall(1);\n    CUcontext c;\n    cudaNoSuchCall(2);\n}\n",
        "simt-cc: the CPU backend has no cudaNoSuchCall, CUcontext (CUDA may have none either: check the spelling)");
    expect_message("int main() {\n    cudaNoSuchCall(1);\n}\n", "a.cu:2:5: error:");
    expect_message("__global__ void k(float *p) { p[0] = __no_intrinsic(1.0f); }\n", "has no __no_intrinsic (");
    expect_message("#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
                   "__global__ void k() { cg::invoke_none(cg::this_grid()); }\n",
                   "has no cg::invoke_none (");
    expect_message("#include <cub/block/block_none.cuh>\n", "has no <cub/block/block_none.cuh> (");
    expect_message("#include <thrust/none.h>\n", "instead of Thrust, use cudaMalloc");
    expect_message("#include <cuda.h>\nint main() { cuInit(0); }\n", "use the runtime API");
    expect_message("#include <cuda.h>\nCUmemAccessDesc of_a_member;\n", "has no CUmemAccessDesc (");
    expect_message("int main() { return own_name(3); }\n", "was not declared in this scope");
    cr_expect_null(strstr(said.text, "simt-cc:"), "%s", said.text);
}

Test(simt_cc, headers_keep_their_names) {
    write_file("kernel.cuh", "#pragma once\n__global__ void k(int *p)\n{\n    __shared__ int s;\n    *p = wrong;\n}\n");
    expect_message("#include \"kernel.cuh\"\n", "kernel.cuh:5:10: error:");
    cr_expect_not_null(strstr(said.text, "In file included from a.cu:1"), "%s", said.text);
}

Test(simt_cc, dependencies_name_the_learners_headers) {
    run(&said, "mkdir -p %s/deep", folder);
    write_file("near.cuh", "#include \"deep/far.cuh\"\n__global__ void k() { __shared__ int s; s = far(); }\n");
    write_file("deep/far.cuh", "__device__ inline int far() { return 1; }\n");
    write_file("a.cu", "#include \"near.cuh\"\nvoid f() { k<<<1, 1>>>(); }\n");
    compile("-MMD -MP -o a.o a.cu && cat a.d && ls");
    cr_expect_eq(said.status, 0);
    cr_expect_not_null(strstr(said.text, "a.o: a.cu"), "%s", said.text);
    cr_expect_not_null(strstr(said.text, " near.cuh"), "%s", said.text);
    cr_expect_not_null(strstr(said.text, "deep/far.cuh:\n"), "%s", said.text);
    cr_expect_not_null(strstr(said.text, "simt/launch.h"), "%s", said.text);
    cr_expect_null(strstr(said.text, ".ii"), "nothing is left over: %s", said.text);
    compile("-MD -MF other.d -o a.o a.cu && grep -c near.cuh other.d");
    cr_expect_eq(said.status, 0, "%s", said.text);
}

Test(simt_cc, flags) {
    write_file("with space.cu", "#ifndef A\n#error no A\n#endif\nint f(int unused) { return B[0]; }\n");
    compile(
        "-DA '-DB=\"a b\"' -MMD -c 'with space.cu' -o 'an object.o' && test -s 'an object.o' && test -s 'an object.d'");
    cr_expect_eq(said.status, 0, "%s", said.text);
    cr_expect_str_empty(said.text, "%s", said.text);
    compile("-c -D A '-DB=\"a b\"' -Wall -Wextra 'with space.cu'");
    cr_expect_not_null(strstr(said.text, "with space.cu:4:11: warning: unused parameter"), "%s", said.text);
    compile("-c -UA -DB=1 'with space.cu'");
    cr_expect_eq(said.status, 1);
    cr_expect_not_null(strstr(said.text, "with space.cu:2:2: error: #error no A"), "%s", said.text);
}

/* The command line of a program that was written for nvcc, and flags that the linker needs as well. */
Test(simt_cc, flags_of_nvcc_and_of_the_linker) {
    write_file("a.cu",
               "#include <omp.h>\n#include <cstdio>\n__global__ void k(int *p) { *p = 5; }\n"
               "int main() {\n    int *p, n = 0, t = 0;\n    cudaMallocManaged(&p, 4);\n"
               "#pragma omp parallel num_threads(3) reduction(+ : n)\n    n += omp_get_num_threads();\n"
               "    k<<<1, 1>>>(p);\n    t = cudaDeviceSynchronize();\n    printf(\"%d %d %d\\n\", n, *p, t);\n}\n");
    compile("-O3 -arch=sm_90 -gencode arch=compute_80,code=sm_80 --generate-code=arch=compute_90,code=sm_90 "
            "--use_fast_math -lineinfo --extended-lambda --expt-relaxed-constexpr -Xptxas -v --ptxas-options=-v "
            "-maxrregcount=32 --maxrregcount 64 -rdc=true -Werror all-warnings -diag-suppress 177 -cudart static "
            "-m64 -ccbin g++ -t 4 --default-stream per-thread -std=c++11 -Xlinker --as-needed "
            "-Xcompiler -fopenmp,-O3 -o a a.cu -lm -lcudart -lcuda");
    cr_assert_eq(said.status, 0, "%s", said.text);
    run(&said, "'%s/a' 2>&1", folder);
    cr_expect_str_eq(said.text, "9 5 0\n");
    compile("-fopenmp -o plain.o a.cu"); /* the build sets the level of optimisation, because counters depend on it */
    compile("-fopenmp -O3 -o fast.o a.cu");
    run(&said, "cmp '%s/plain.o' '%s/fast.o' 2>&1", folder, folder);
    cr_expect_eq(said.status, 0, "%s", said.text);
}

/* Checked objects make events and fast ones do not, and neither needs a sanitizer's runtime. */
Test(simt_cc, instruments_only_the_checked_build) {
    write_file("a.cu", "__global__ void k(int *p) { if (p[1]) p[0] = 1; }\n");
    compile("-o a.o a.cu && nm a.o");
    cr_expect_eq(said.status, 0, "%s", said.text);
    cr_expect(strstr(said.text, "U __tsan_write4") && strstr(said.text, "U __sanitizer_cov_trace_pc"), "%s", said.text);
    cr_expect_null(strstr(said.text, "__asan"));
    compile("--fast -o a.o a.cu && nm a.o");
    cr_expect_eq(said.status, 0, "%s", said.text);
    cr_expect(!strstr(said.text, "__tsan") && !strstr(said.text, "__sanitizer"), "%s", said.text);
}

Test(simt_cc, use) {
    compile("--help");
    cr_expect(said.status == 0 && strstr(said.text, "simt-cc [options] program.cu"), "%s", said.text);
    compile("--version");
    cr_expect(said.status == 0 && strncmp(said.text, "simt-cc 1.", 10) == 0, "%s", said.text);
    compile("");
    cr_expect(said.status == 2 && strstr(said.text, "no input"), "%s", said.text);
    compile("missing.cu");
    cr_expect(said.status == 2 && strstr(said.text, "missing.cu: no such file"), "%s", said.text);
    compile("-o");
    cr_expect(said.status == 2 && strstr(said.text, "-o needs an argument"), "%s", said.text);
    write_file("a.cu", "int x;\n");
    write_file("notes.txt", "");
    static const struct {
        const char *arguments, *message;
    } refused[] = {
        {"-c -o b.o a.cu a.cu", "-o b.o: one object, but 2 sources"},
        {"notes.txt", "notes.txt: neither a source"},
        {"-ptx a.cu", "-ptx: the backend makes no code for a GPU"},
        {"-shared -o liba.so a.cu", "-shared: the backend makes programs and objects only"},
        {"a.cu -lcufft", "-lcufft: the CPU backend does not have this library"},
        {"-x f77 a.cu", "-x f77: cu, c or c++ are known"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        compile(refused[i].arguments);
        cr_expect(said.status == 2 && strstr(said.text, refused[i].message), "%s: %s", refused[i].arguments, said.text);
    }
    write_file("old", "#!/bin/sh\necho 11\n");
    run(&said, "chmod +x %s/old", folder);
    compile("-o b.o a.cu"); /* where the next one stops early */
    cr_expect_eq(said.status, 0, "%s", said.text);
    run(&said, "CXX=%s/old BUILD=%s common/simt/simt-cc %s/a.cu 2>&1", folder, build_folder(), folder);
    cr_expect(said.status == 2 && strstr(said.text, "needs g++ 12 or newer"), "%s", said.text);
    run(&said, "BUILD=%s common/simt/simt-cc %s/a.cu 2>&1", folder, folder);
    cr_expect(said.status == 2 && strstr(said.text, "simt/translate is missing"), "%s", said.text);
    compile("--keep -o a.o a.cu && grep -c 'int x;' a.ii");
    cr_expect_eq(said.status, 0, "%s", said.text);
}

Test(simt_cc, a_name_without_o_is_a_program) {
    write_file("a.cu", "#include <cstdio>\n__global__ void k(int *p) { *p = 41; }\n"
                       "int main() {\n    int *d, h;\n    cudaMalloc(&d, sizeof h);\n    k<<<1, 1>>>(d);\n"
                       "    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);\n    printf(\"%d\\n\", h + 1);\n}\n");
    for (int fast = 0; fast < 2; fast++) {
        compile(fast ? "--fast -o program a.cu" : "-o program a.cu");
        cr_assert_eq(said.status, 0, "%s", said.text);
        run(&said, "'%s/program'", folder);
        cr_expect_str_eq(said.text, "42\n");
    }
    run(&said, "ls '%s'", folder);
    cr_expect_str_eq(said.text, "a.cu\nprogram\n", "leaves %s", said.text);
    compile("-c -o object a.cu");
    run(&said, "'%s/object'", folder);
    cr_expect_neq(said.status, 0, "-c compiles only");
}

/* ---- programs of several files ---- */

Test(simt_cc, sources_objects_and_archives_are_linked_in_their_order) {
    write_file("main.cu",
               "#include <cstdio>\nextern \"C\" int in_c(int);\nint in_cpp(int), in_archive(int);\n"
               "void launch(int *p);\nint main() {\n    int *p;\n    cudaMallocManaged(&p, 4);\n    launch(p);\n"
               "    cudaDeviceSynchronize();\n    printf(\"%d\\n\", in_archive(in_cpp(in_c(*p))));\n}\n");
    write_file("kernel.cu", "__global__ void k(int *p) { *p = 1; }\nvoid launch(int *p) { k<<<1, 1>>>(p); }\n");
    write_file("c.c",
               "int in_c(int restrict_is_a_keyword) { int *restrict p = &restrict_is_a_keyword; return *p + 10; }\n");
    write_file("cpp.cpp",
               "#include <cuda_runtime.h>\nint in_cpp(int x) { int n; cudaGetDeviceCount(&n); return x + 100 * n; }\n");
    write_file("other name", "int in_archive(int x) { return x + 1000; }\n");
    compile("-c kernel.cu c.c && ls *.o");
    cr_assert_str_eq(said.text, "c.o\nkernel.o\n", "%s", said.text);
    compile("-x cu -c 'other name' -o last.o && ar rcs 'a b.a' last.o && rm last.o");
    cr_assert_eq(said.status, 0, "%s", said.text);
    compile("-MMD main.cu kernel.o cpp.cpp c.o 'a b.a' && ls && ./a.out");
    cr_expect_str_eq(said.text,
                     "a b.a\na.out\na.out-cpp.d\na.out-main.d\nc.c\nc.o\ncpp.cpp\nkernel.cu\nkernel.o\nmain.cu\n"
                     "other name\n1111\n",
                     "%s", said.text);
    compile("--fast main.cu kernel.o c.o cpp.cpp 'a b.a' -o program");
    cr_expect(said.status == 1 && strstr(said.text, "compile it again, with --fast"), "%s", said.text);
    compile("--fast -x cu -c 'other name' -o last.o && ar rcs 'a b.a' last.o");
    compile("--fast -std=c++20 main.cu kernel.cu c.c cpp.cpp -L. '-l:a b.a' -o program && ./program");
    cr_expect_str_eq(said.text, "1111\n", "%s", said.text);
    compile("main.cu -o program");
    cr_expect(said.status == 1 && strstr(said.text, "undefined reference to `in_c'"), "%s", said.text);
}

Test(simt_cc, a_program_that_calls_cublas_is_linked_with_it) {
    write_file("a.cu",
               "#include <cublas_v2.h>\n#include <cstdio>\nint main() {\n    cublasHandle_t handle;\n    int version;\n"
               "    printf(\"%d\", cublasCreate(&handle));\n    printf(\"%d\", cublasGetVersion(handle, &version));\n"
               "    __half half = __float2half(2.0f);\n    printf(\"%d\\n\", (int)__half2float(half));\n}\n");
    for (int fast = 0; fast < 2; fast++) {
        compile(fast ? "--fast a.cu -lcublas -o a && ./a" : "a.cu -o a && ./a");
        cr_expect_str_eq(said.text, "002\n", "%s", said.text);
    }
}

/* A toolkit's headers do not go with the backend's: -I of one is ignored, and a header that only it has is refused. */
Test(simt_cc, headers_of_an_installed_toolkit_are_not_used) {
    run(&said, "mkdir -p %s/toolkit/cub", folder);
    write_file("toolkit/cuda_runtime.h", "#error not this one\n");
    write_file("toolkit/cub/extra.cuh", "/* Copyright NVIDIA Corporation */\n");
    write_file("toolkit/other.h", "/* of another library */\n");
    write_file("a.cu", "#include <cuda_runtime.h>\n#include <cub/extra.cuh>\n");
    run(&said, "CPLUS_INCLUDE_PATH=%s/toolkit BUILD=%s common/simt/simt-cc -c -o %s/a.o %s/a.cu 2>&1", folder,
        build_folder(), folder, folder);
    cr_expect(said.status == 1 &&
                  strstr(said.text, "a.cu:2: error: the CPU backend has no <cub/extra.cuh> (the one in /"),
              "%s", said.text);
    write_file("a.cu", "#include <cuda_runtime.h>\n#include <other.h>\n");
    run(&said, "CPLUS_INCLUDE_PATH=%s/toolkit BUILD=%s common/simt/simt-cc -c -o %s/a.o -I%s/toolkit %s/a.cu 2>&1",
        folder, build_folder(), folder, folder, folder);
    cr_expect_eq(said.status, 0, "%s", said.text);
}

/* -fsplit-stack makes calls of alloca() that libgcc would answer with a stack of its own. */
Test(simt_cc, alloca_in_host_code_and_in_kernels) {
    write_file("a.cu", "#include <alloca.h>\n#include <cstdio>\n"
                       "static int last(int n) {\n    int *p = (int *)alloca(n * sizeof(int));\n"
                       "    for (int i = 0; i < n; i++) p[i] = i;\n    return p[n - 1];\n}\n"
                       "__global__ void k(int *out, int n) {\n    int *p = (int *)alloca(n * sizeof(int));\n"
                       "    for (int i = 0; i < n; i++) p[i] = i;\n    *out = p[n - 1];\n}\n"
                       "int main() {\n    int *d, h = 0;\n    cudaMalloc(&d, sizeof h);\n    k<<<1, 1>>>(d, 100);\n"
                       "    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);\n    k<<<1, 1>>>(d, 1 << 20);\n"
                       "    printf(\"%d %d %d\\n\", last(500000), h, cudaDeviceSynchronize());\n}\n");
    for (int fast = 0; fast < 2; fast++) {
        compile(fast ? "--fast -o program a.cu" : "-o program a.cu");
        cr_assert_eq(said.status, 0, "%s", said.text);
        run(&said, "'%s/program' 2>&1", folder);
        cr_expect_not_null(strstr(said.text, "499999 99 714\n"), "%s", said.text);
        cr_expect_not_null(strstr(said.text, "Stack overflow"), "%s", said.text);
        cr_expect_not_null(strstr(said.text, "a.cu:"), "%s", said.text);
    }
}
