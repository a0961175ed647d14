/* translate: the translation of texts, and the messages of refusals. No compiler runs here. */
#include "in_process.h"

#include <criterion/criterion.h>

TestSuite(translate, .timeout = 20);

/* Without blanks: output.c places them. */
static char *squeeze(char *text) {
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from != ' ' && *from != '\n') { *to++ = *from; }
    }
    *to = '\0';
    return text;
}

static const struct {
    const char *text;
    const char *becomes[4]; /* each must be in the translation; with a leading ! it must not */
} translated[] = {
    {"void f() { k<<<1, 2>>>(x); }", {"{ ((void)simt::configure(1, 2), k(x)); }", "!<<<"}},
    {"void f() { k<<<g, b, s, t>>>(); }", {"((void)simt::configure(g, b, s, t), k());"}},
    {"void f() { k<W<W<int>>><<<1, 2>>>(x); }", {"configure(1, 2), k<W<W<int>>>(x))"}},
    {"void f() { k<(5>3)><<<1, 2>>>(x); }", {"k<(5>3)>(x))"}},
    {"void f() { ::a::b<T>::k<int><<<1, 2>>>(x); }", {"::a::b<T>::k<int>(x))", "{ ((void)"}},
    {"void f() { if (a) (*p)<<<1, 2>>>(x); else t[i](3)<<<1, 2>>>(y); }",
     {"if (a) ((void)simt::configure(1, 2), (*p)(x));", "else ((void)simt::configure(1, 2), t[i](3)(y));"}},
    {"void f() { return k<<<1, 2>>>(x); }", {"return ((void)simt::configure(1, 2), k(x));"}},
    {"void f() { a.b->k<<<1, 2>>>(x); }", {"{ ((void)simt::configure(1, 2), a.b->k(x));"}},
    {"void f() { k<<<h<W<W<int>>>(n), 2>>>(x); }", {"simt::configure(h<W<W<int>>>(n), 2), k(x))"}},
    {"void f() { k<<<n < 4 ? n : 4, 8 >> 1>>>(x); }", {"simt::configure(n < 4 ? n : 4, 8 >> 1), k(x))"}},
    {"void f() { k<<<1, 2>>>(j<<<3, 4>>>(x)); }", {"k(((void)simt::configure(3, 4), j(x))))"}},
    {"void f() { s = \"k<<<1, 2>>>(x)\"; c = '\"'; /* k<<< */ } // \"<<<", {"\"k<<<1, 2>>>(x)\"", "!configure"}},
    {"auto s = R\"d(k<<<1, \" )\" 2>>>(x))d\"; int i = 1'000 << 2;",
     {"R\"d(k<<<1, \" )\" 2>>>(x))d\"", "1'000 << 2", "!configure"}},
    {"std::ostream &operator<<<T>(std::ostream &, T);", {"operator<<<T>", "!configure"}},
    {"__global__ void k(int n) { n++; }",
     {"void k(int n) {", "simt::kernel(simt_function, [=]() mutable", "{ n++; });}"}},
    {"template <class... P> __global__ void __launch_bounds__(2, 3) k(P... p) { }",
     {"template <class... P> void k(P... p) {", "simt::take_arguments(p...);", "}, 2);}", "!launch_bounds"}},
    {"__launch_bounds__(f(N, 2), 3) __global__ void k(const unsigned n, T *const p, void (*f)(int), ns::V v = {1, 2}) "
     "{ }",
     {"simt::take_arguments(n, p, f, v);", "}, f(N, 2));}"}},
    {"__global__ void k(int, T *p) { } __global__ void j(void) { }",
     {"!take_arguments(int", "!take_arguments(p)", "simt::take_arguments(); simt::kernel"}},
    {"__global__ void k(const T &x, int n, A<B &> v, int (&a)[4], void (*f)(int &), int m = 1 & 3) { }",
     {"[=, &x, &a]() mutable", "!take_arguments"}},
    {"template <class... A> __global__ void k(float &, A &&... a) { }", {"[=, &a...]() mutable"}},
    {"void __global__ k();", {"void k();", "!kernel("}},
    {"struct S { friend __global__ void k(S); };", {"friend void k(S);", "!kernel("}},
    {"__device__ __forceinline__ int f() { return 1; }",
     {"inline __attribute__((always_inline)) int f() { return 1; }"}},
    {"__attribute__((__noinline__)) int f(); __noinline__ int g();",
     {"__attribute__((__noinline__)) int f();", "__attribute__((noinline)) int g();"}},
    {"__global__ void k() { __shared__ float s[32], *p; }",
     {"typedef float simt_type_s[32], *simt_type_p;",
      "simt_type_s &s = *static_cast<simt_type_s *>(simt_shared_variable(&simt_site_s, \"s\"",
      "simt_type_p &p =", "alignof(simt_type_p))"}},
    {"__global__ void k() { extern __shared__ T s[]; }",
     {"typedef T simt_type_s[];", "(simt_dynamic_shared());", "!simt_site"}},
    {"__global__ void k() { __shared__ __align__(64) char s[4]; }",
     {"struct simt_align_s { __align__(64) char byte; };"}},
    {"extern __shared__ int s[]; __device__ int f() { return s[0]; } int g(int s) { return s; }",
     {"typedef int simt_type_s[];",
      "{ simt_type_s &s = *static_cast<simt_type_s *>(simt_dynamic_shared()); { return s[0]; }}",
      "int g(int s) { return s; }"}},
    {"__global__ void k() { switch (m) { case 0: __shared__ int a[2]; f(a); break; default: __shared__ T b; g(b); } }",
     {"case 0: { typedef int simt_type_a[2];", "f(a); break; } default: { typedef T simt_type_b;", "g(b); } }"}},
    {"__global__ void k() { __shared__ int s[2]; auto f = [](int i) { return s[i]; }; auto g = [](int s) { s++; }; }",
     {"{ simt_type_s &s = *static_cast<simt_type_s *>(simt_shared_variable(&simt_site_s, \"s\", sizeof(simt_type_s), "
      "1)); "
      "{ return s[i]; }}",
      "[](int s) { s++; }"}},
    {"__global__ void k() { extern __shared__ T s[]; auto f = [=] { return s[0]; }; }",
     {"[=] { simt_type_s &s = *static_cast<simt_type_s *>(simt_dynamic_shared()); { return s[0]; }}"}},
    {"struct E { __device__ E() {} }; __global__ void k() { __shared__ E e; }", {"simt_type_e &e", "!static_assert"}},
    {"struct C { C() : x(1) {} int x; }; __global__ void k() { __shared__ C c; }",
     {"static_assert(__has_trivial_constructor(simt_type_c)"}},
    {"__device__ float t[2] = {1, 2};",
     {"alignas(32) float t[2] = {1, 2};", "arena_register_variable((void *)__builtin_addressof(t), sizeof t, \"t\")"}},
    {"extern __device__ int x;", {"extern int x;", "!register"}},
    {"__constant__ int a, *b, c[3];", {"sizeof a", "sizeof b", "sizeof c"}},
    {"__device__ float f(float x), g(float);", {"float f(float x), g(float);", "!register"}},
    {"__device__ int (*f)(int) = h;", {"sizeof f"}},
    {"class A { static __device__ int x; __device__ A() : x{1}, y(2) { } };", {"static int x;", "!register"}},
    {"auto f = [=] __host__ __device__ (int i) { return i; };", {"auto f = [=] (int i) { return i; };", "!register"}},
    {"__global__ void k() {} void f() { cudaFuncSetAttribute((const void *)k, a, 3); void *p = (void *)k; }",
     {"cudaFuncSetAttribute(k, a, 3)", "void *p = (void *)k;"}},
    {"void f() { cudaLaunchKernel(reinterpret_cast<void const *>(k<T>), g, b, (void **)a); }",
     {"cudaLaunchKernel((k<T>), g, b, (void **)a)"}},
    {"__device__ void f(int *a) { int *p = a, old = *a; do { x = *a * *b; *a = 3; } while (atomicCAS((int *)a, x, 2)); "
     "}",
     {"int *p = a, old = *simt::observed(a);", "x = *simt::observed(a) * *b;", "*a = 3;"}},
    {"# 1 \"s.h\" 1 3\nstruct ' k<<<1, 2>>>( \" __global__\n# 2 \"a.cu\" 2\nint x;\n",
     {"struct ' k<<<1, 2>>>( \" __global__", "int x;"}},
    {"# 1 \"/backend/include/h.h\" 1\n__device__ int f(); __global__ { k<<<1, 2>>> }\n# 2 \"a.cu\" 2\n",
     {"int f(); { k<<<1, 2>>> }"}},
    {"void f() { asm volatile(\"\" ::: \"memory\"); }", {"asm volatile(\"\" ::: \"memory\")"}},
    {"void f() { asm volatile(\"nop\" : \"=a\"(x)); }", {"asm volatile(\"nop\" : \"=a\"(x))"}},
    {"__device__ void f() { asm volatile(\"bar.sync 0;\" ::: \"memory\"); }",
     {"({ ", "::simt::ptx::barrier((0ll), 0);", "});"}},
    {"__device__ void f() { asm(\"add\" \".u32 %0, %1, %0;\" : \"+r\"(x) : \"r\"(y)); }",
     {"auto &simt_o0 = (x);", "const ::uint32_t simt_r1 = ::simt::ptx::input<::uint32_t>(y);",
      "simt_r0 = ::simt::ptx::add<::uint32_t, 0u>(simt_r1, simt_r0);", "::simt::ptx::output(simt_o0, simt_r0);"}},
    {"#pragma unroll \"<<< (\nint x;", {"#pragma unroll \"<<< (\n"}},
    {"float tex2D(int); void f() { tex2D(1); texture = 2; }", {"tex2D(1)"}},
};

Test(translate, becomes) {
    for (size_t i = 0; i < sizeof translated / sizeof *translated; i++) {
        bool ok;
        char *text = squeeze(translation_of(translated[i].text, strlen(translated[i].text), &ok));
        cr_expect(ok, "%s\nwas refused: %s", translated[i].text, text);
        for (int k = 0; ok && k < 4 && translated[i].becomes[k]; k++) {
            const char *wanted = translated[i].becomes[k];
            char *part = squeeze(strcpy(malloc(strlen(wanted) + 1), wanted + (*wanted == '!')));
            cr_expect((strstr(text, part) != NULL) == (*wanted != '!'), "%s\nbecame %s\nwanted %s", translated[i].text,
                      text, wanted);
            free(part);
        }
        free(text);
    }
}

static const struct {
    const char *text, *message;
} refused[] = {
    {"int a;\nvoid f() { (", "a.cu:2: error: '(' is never closed"},
    {"void f() {\n ]", "a.cu:2: error: ']' does not close the '{' of line 1"},
    {"}\n", "a.cu:1: error: '}' has no opening bracket"},
    {"\n\nchar *s = \"abc\n;", "a.cu:3: error: missing terminating \" character"},
    {"char c = 'a", "a.cu:1: error: missing terminating ' character"},
    {"auto s = R\"x(abc)y\"", "a.cu:1: error: unterminated raw string"},
    {"int x; /* abc\n\n", "a.cu:1: error: unterminated comment"},
    {"void f() {\n  k<<<1, 2>(x);\n}", "a.cu:2: error: this launch of 'k' has no closing '>>>'"},
    {"void f() { k<<<1, 2; }", "has no closing '>>>'"},
    {"void f() { k<<<1, 2>>>; }", "expected '(' and the arguments of 'k' after '>>>'"},
    {"void f() { ns::k<float><<<1>>>(x); }", "the launch of 'ns::k<float>' needs <<<grid, block>>>"},
    {"void f() { k<<<1, 2, 3, 4, 5>>>(x); }", "it has 5 arguments"},
    {"void f() { k<<<>>>(x); }", "it has 0 arguments"},
    {"void f() { = <<<1, 2>>>(x); }", "expected the name of a kernel before '<<<'"},
    {"<<<", "expected the name of a kernel before '<<<'"},
    {"__global__ void k() {\n j<<<1, 2>>>(); }",
     "a.cu:2: error: 'j' is launched from device code: the CPU backend has no dynamic parallelism"},
    {"__device__ void f() { k<<<1, 2>>>(); }", "dynamic parallelism"},
    {"void f() { auto g = [] __device__ () { k<<<1, 2>>>(); }; }", "dynamic parallelism"},
    {"__global__ int k() { }", "a __global__ function must have a void return type"},
    {"__global__ int x;", "__global__ must stand before a function"},
    {"struct S { static __global__ void k(); };", "a __global__ function cannot be a member function"},
    {"__global__ void k() { __shared__ int x = 3; }", "initializer not allowed for __shared__ variable 'x'"},
    {"__global__ void k() { __shared__ int x[2]{}; }", "initializer not allowed for __shared__ variable 'x'"},
    {"struct S { static __shared__ int x; };", "__shared__ is not allowed on a class member"},
    {"__shared__ int f(int);", "a function cannot be __shared__"},
    {"__constant__ int f(int);", "a function cannot be __constant__"},
    {"template <class T> __device__ T v = 1;\ntemplate <> __device__ int v<int> = 2;",
     "no specialisations of __device__ variable templates"},
    {"__global__ void k() { __device__ int v; }", "must be static"},
    {"__global__ void k() {\n\n asm volatile(\"mov.u32 %0, %no_such;\" : \"=r\"(x)); }",
     "a.cu:3: error: inline PTX: a special register or name that is not modelled in 'mov.u32'"},
    {"__device__ void f() {\n asm(\"mov.u32 %0, 1;\"\n \"\\n wgmma.fence.sync.aligned;\" : \"=r\"(x)); }",
     "a.cu:3: error: inline PTX: the CPU backend does not model 'wgmma.fence.sync.aligned': multiply with mma.sync"},
    {"__host__ __device__ int f() { __asm__(\"bar.arrive 0, 32;\"); }",
     "does not model 'bar.arrive': write it in CUDA C++"},
    {"__device__ void f() { asm(\"add.f32 %0, %1;\" : \"=f\"(x) : \"f\"(y)); }", "these operands of 'add.f32'"},
    {"__device__ void f() { asm(\"add.sat.u32 %0, %1, %2;\" : \"=r\"(x) : \"r\"(y), \"r\"(z)); }", "'add.sat.u32'"},
    {"__device__ void f() { asm(\"mov.u32 %0, %2;\" : \"=r\"(x) : \"r\"(y)); }", "an operand number"},
    {"__device__ void f() { asm(\"mov.u32 %0, 1;\" : \"=q\"(x)); }", "constraints h, r, l, f, d and n"},
    {"__device__ void f() { asm(\"mov.u32 %[a], 1;\" : [a] \"=r\"(x)); }", "named operands"},
    {"__device__ void f() { asm(\"{ mov.u32 %0, 1;\" : \"=r\"(x)); }", "never closed"},
    {"__device__ void f() { asm(\"L: bra L;\"); }", "branches are not modelled"},
    {"__device__ void f() { asm(\"mov.u32 %0, t;\" : \"=r\"(x)); }", "a name that is not declared there in 'mov.u32'"},
    {"__device__ void f() { asm(\"ld.global.v2.u32 {%0, %1, %0}, [%2];\" : \"=r\"(x), \"=r\"(y) : \"l\"(p)); }",
     "these operands of 'ld.global.v2.u32'"},
    {"__device__ void f() { asm(\"mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0}, {%0}, {%0}, {%0};\" : "
     ": \"r\"(1)); }",
     "does not model 'mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32'"},
    {"__device__ void f() { asm(\"mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32 {%0}, {%0}, {%0}, {%0};\" : "
     "\"=f\"(x)); }",
     "does not model 'mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32'"},
    {"texture<float, 2> t;", "the CPU backend has no textures ('texture'): read global memory"},
    {"__global__ void k(cudaTextureObject_t t) { }", "has no textures ('cudaTextureObject_t')"},
    {"__global__ void k() { x = tex2D<float>(t, 1, 2); }", "('tex2D')"},
    {"__global__ void __cluster_dims__(2, 1, 1) k() { }", "thread block clusters"},
    {"__global__ void k() { __shared__ ; }", "cannot find the variable's name"},
    {"__global__ void k() { __shared__ int x }", "expected ';'"},
    {"__launch_bounds__ void f();", "expected '(' after __launch_bounds__"},
    {"__global__ void k(int) { }\nint main() {\n  k(3);\n}",
     "a.cu:3: error: a __global__ function call must be configured: k<<<grid, block>>>(...)"},
    {"template <class T> __global__ void k(T) { } void f() { if (x) k<int>(3); }", "must be configured"},
    {"__device__ float d(float); int main() { float x = 2 * d(1); }",
     "calling a __device__ function(\"d\") from a __host__ function(\"main\") is not allowed"},
    {"static int round_up(int a, int b) { return a; }\n__global__ void k(int *p) {\n *p = round_up(1, 2); }",
     "a.cu:3: error: calling a __host__ function(\"round_up\") from a __global__ function(\"k\")"},
    {"int h(); __device__ int d() { return h(); }", "from a __device__ function(\"d\")"},
    {"# 7 \"b.cuh\" 1\n\nvoid f() {\n# 2 \"a.cu\" 2\n", "b.cuh:8: error: '{' is never closed"},
};

/* Names that may have another meaning are left to the compiler. */
static const char *const taken[] = {
    "__global__ void k(int) { } void k(float) { } int main() { k(3.f); }",
    "__global__ void k(int) { } int main() { auto k = [](int) { }; k(3); }",
    "__global__ void k(int) { } void f(void (*k)(int)) { k(3); }",
    "__global__ void k(int) { } struct S { void k(int); void f() { k(3); } };",
    "__global__ void k(int) { } void f(S s) { s.k(3); s->k(4); auto p = &k; p = k; g(k); k<<<1, 2>>>(3); }",
    "__global__ void k(int); __global__ void k(int) { } template __global__ void t<int>(int);",
    "class C { friend __global__ void k(int); }; __global__ void k(int) { }",
    "__device__ float d(float); __host__ float d(int); int main() { d(1); }",
    "__host__ __device__ int both(int); __global__ void k() { both(1); } int main() { both(2); }",
    "__device__ int d(int); int main() { auto f = [] __device__ (int i) { return d(i); }; }",
    "__device__ int d(int); struct F { __device__ int operator()(int i) { return d(i); } };",
    "__device__ void swap(int &, int &); int main() { std::swap(a, b); swap(c, d); }",
    "constexpr int c(int x) { return x; } __global__ void k() { c(3); }",
    "int h(int); __global__ void k(int h) { h(3); }",
    "template <class T> T h(T); __global__ void k() { h(3); }",
    "# 1 \"/backend/include/h.h\" 1\nint max(int, int);\n# 2 \"a.cu\" 2\nfloat max(float, float);__global__ void k() { "
    "max(1, 2); }",
    "int h(); __host__ __device__ int both() { return h(); }",
};

Test(translate, takes_what_may_be_right) {
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        bool ok;
        char *text = translation_of(taken[i], strlen(taken[i]), &ok);
        cr_expect(ok, "%s\nwas refused: %s", taken[i], text);
        free(text);
    }
}

Test(translate, refuses) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        bool ok;
        char marked[400];
        int length = snprintf(marked, sizeof marked, "# 1 \"a.cu\"\n%s", refused[i].text);
        char *text = translation_of(marked, (size_t)length, &ok);
        cr_expect(!ok, "%s\nwas taken", refused[i].text);
        cr_expect(strstr(text, refused[i].message) != NULL, "%s\nsays %s\nwanted %s", refused[i].text, text,
                  refused[i].message);
        cr_expect(strchr(text, '\n') == NULL && strstr(text, ": error: ") != NULL, "one line: %s", text);
        free(text);
    }
}

/* A plain C++ text is copied unchanged, byte for byte. */
Test(translate, leaves_the_rest_alone) {
    const char *text = "# 1 \"a.cu\"\n#include <x>\ntemplate <class T> struct A : B<T> { A() : x{1} { } int x; };\n"
                       "\tint  main ( )\n{ /* c */ return a<b> (c) >> 1 ; } // end\n\n#pragma once\n";
    bool ok;
    char *out = translation_of(text, strlen(text), &ok);
    cr_assert(ok);
    cr_expect_str_eq(out, text);
    free(out);
}
