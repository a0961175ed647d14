/* case.h — cases of the translator that are compiled and run: `program` runs them all, `program NAME` one of them.
 * Each file is plain CUDA and compiles with nvcc, too.
 */
#ifndef CASE_H
#define CASE_H

#include <cstdio>
#include <cstring>

struct test_case {
    const char *name;
    bool (*run)();
    test_case *next;
    static test_case *first;
    test_case(const char *name_, bool (*run_)()) : name(name_), run(run_), next(first) { first = this; }
};
test_case *test_case::first;

#define CASE(name)                                         \
    static bool case_##name();                             \
    static test_case registered_##name(#name, case_##name); \
    static bool case_##name()

#define EXPECT(condition)                                                          \
    do {                                                                           \
        if (!(condition)) {                                                        \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);          \
            return false;                                                          \
        }                                                                          \
    } while (0)

/* One zeroed array for both sides. */
template <class T = int> T *array(int n = 64)
{
    T *p = nullptr;
    cudaMallocManaged(&p, n * sizeof(T));
    memset((void *)p, 0, n * sizeof(T));
    return p;
}
#define WAIT() EXPECT(cudaDeviceSynchronize() == cudaSuccess)

int main(int argc, char **argv)
{
    int failed = 0;
    for (test_case *c = test_case::first; c; c = c->next) {
        if (argc > 1 && strcmp(argv[1], "--list") == 0) {
            puts(c->name);
        } else if (argc == 1 || strcmp(argv[1], c->name) == 0) {
            bool ok = c->run();
            printf("%-6s %s\n", ok ? "ok" : "FAILED", c->name);
            failed += !ok;
        }
    }
    return failed != 0;
}

#endif
