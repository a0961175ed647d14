/* print.c — a program as CUDA source. */
#include "program.h"

static void print_list(const struct program *p, const struct statement *s, FILE *out, bool in_function);

static void print_source(unsigned source, FILE *out) {
    if (source == LANE)
        fputs("lane", out);
    else if (source == ARGUMENT)
        fputs("x", out);
    else if (source == CONSTANT_N)
        fputs("N", out);
    else if (source < FIRST_COUNTER)
        fprintf(out, "v%u", source - FIRST_VARIABLE);
    else
        fprintf(out, "c%u", source - FIRST_COUNTER);
}

static void print_term(const struct term *t, FILE *out) {
    fputs("((", out);
    print_source(t->a, out);
    fprintf(out, " * %uu + ", t->ca);
    print_source(t->b, out);
    fprintf(out, " * %uu + %uu) >> %u) %% %uu", t->cb, t->c, t->shift, t->modulus);
}

static void print_block(const struct program *p, const struct statement *body, FILE *out, bool in_function) {
    fputs("{\n", out);
    print_list(p, body, out, in_function);
    fputs("}\n", out);
}

static void print_access(const struct statement *s, FILE *out) {
    static const char *const type[] = {"unsigned char", "unsigned short", "unsigned", "unsigned long long", "uint4"};
    static const char *const array[] = {"in", "out", "s_in", "s_out"};
    if (s->kind == LOAD) {
        if (s->size_log2 == 4) {
            fprintf(out, "{ uint4 t = ((const uint4 *)%s)[", array[s->space]);
            print_term(&s->term, out);
            fputs("]; acc += t.x ^ t.y ^ t.z ^ t.w; }\n", out);
        } else {
            fprintf(out, "acc += (unsigned)((const %s%s *)%s)[", s->is_volatile ? "volatile " : "", type[s->size_log2],
                    array[s->space]);
            print_term(&s->term, out);
            fputs("];\n", out);
        }
        return;
    }
    if (s->kind == ATOMIC_KEEP || s->kind == ATOMIC_ADD) {
        fprintf(out, s->kind == ATOMIC_KEEP ? "acc += atomicMax((unsigned *)%s + " : "atomicAdd((unsigned *)%s + ",
                array[s->space]);
        print_term(&s->term, out);
        fputs(s->kind == ATOMIC_KEEP ? ", 0u);\n" : ", acc + v1);\n", out);
        return;
    }
    fprintf(out, "((%s%s *)%s)[", s->is_volatile ? "volatile " : "", type[s->size_log2], array[s->space]);
    print_term(&s->term, out);
    fprintf(out, s->size_log2 == 4 ? "] = make_uint4(acc, v0, v1, lane);\n" : "] = (%s)(acc + v1);\n",
            type[s->size_log2]);
}

static void print_bound(const struct statement *s, FILE *out) {
    fprintf(out, "%uu + ", s->limit);
    print_term(&s->term, out);
}

static void print_statement(const struct program *p, const struct statement *s, FILE *out, bool in_function) {
    switch (s->kind) {
        case LOAD:
        case STORE:
        case ATOMIC_KEEP:
        case ATOMIC_ADD: print_access(s, out); break;
        case ASSIGN:
            fprintf(out, "v%u = ", s->target);
            print_term(&s->term, out);
            fputs(";\n", out);
            break;
        case IF:
            fputs("if (", out);
            print_term(&s->term, out);
            fprintf(out, " < %uu) ", s->limit);
            print_block(p, s->body[0], out, in_function);
            if (s->body[1]) {
                fputs("else ", out);
                print_block(p, s->body[1], out, in_function);
            }
            break;
        case FOR:
            fprintf(out, "for (unsigned c%u = 0; c%u < ", s->target, s->target);
            print_bound(s, out);
            fprintf(out, "; c%u++) ", s->target);
            print_block(p, s->body[0], out, in_function);
            break;
        case WHILE:
            fprintf(out, "{ unsigned c%u = 0; while (c%u < ", s->target, s->target);
            print_bound(s, out);
            fprintf(out, ") {\nc%u++;\n", s->target);
            print_list(p, s->body[0], out, in_function);
            fputs("} }\n", out);
            break;
        case DO:
            fprintf(out, "{ unsigned c%u = 0; do {\nc%u++;\n", s->target, s->target);
            print_list(p, s->body[0], out, in_function);
            fprintf(out, "} while (c%u < ", s->target);
            print_bound(s, out);
            fputs("); }\n", out);
            break;
        case ENDLESS:
            if (s->target % 2)
                fprintf(out, "{ unsigned c%u = 0; while (true) {\nif (c%u >= ", s->target, s->target);
            else
                fprintf(out, "{ for (unsigned c%u = 0;;) {\nif (c%u >= ", s->target, s->target);
            print_bound(s, out);
            fprintf(out, ") break;\nc%u++;\n", s->target);
            print_list(p, s->body[0], out, in_function);
            fputs("} }\n", out);
            break;
        case SWITCH:
            fputs("switch (", out);
            print_term(&s->term, out);
            fputs(") {\n", out);
            for (unsigned i = 0; i < s->cases; i++) {
                if (i + 1 == s->cases)
                    fputs("default:\n", out);
                else
                    fprintf(out, "case %u:\n", i);
                print_block(p, s->body[i], out, in_function);
                if (!s->falls_through[i]) fputs("break;\n", out);
            }
            fputs("}\n", out);
            break;
        case BREAK: fputs("break;\n", out); break;
        case CONTINUE: fputs("continue;\n", out); break;
        case RETURN: fputs(in_function ? "return acc;\n" : "{ result[thread] = acc; return; }\n", out); break;
        case CALL:
            fprintf(out, "acc += f%u_%llu", s->target, (unsigned long long)p->seed);
            if (p->function[s->target].is_template) fprintf(out, "<%u>", s->n);
            fputs("(out, in, s_out, s_in, lane, ", out);
            print_term(&s->term, out);
            fputs(");\n", out);
            break;
        case PARTIAL:
            fprintf(out, "if (0x%08xu >> threadIdx.x %% 32 & 1) ", s->mask);
            print_block(p, s->body[0], out, in_function);
            break;
        case SYNCWARP: fprintf(out, "__syncwarp(0x%08xu & live);\n", s->mask); break;
        case SHUFFLE:
            fprintf(out, "v%u = __shfl_xor_sync(0x%08xu, v%u, %u);\n", s->target, s->mask, s->target, s->lane_distance);
            break;
    }
}

static void print_list(const struct program *p, const struct statement *s, FILE *out, bool in_function) {
    for (; s; s = s->next) print_statement(p, s, out, in_function);
}

void program_print(const struct program *p, FILE *out) {
    unsigned long long seed = p->seed;
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        const struct function *function = &p->function[f];
        fprintf(out,
                "%s__device__ %s unsigned f%u_%llu(unsigned *out, const unsigned *in, unsigned *s_out, "
                "const unsigned *s_in, unsigned lane, unsigned x)\n{\n",
                function->is_template ? "template <unsigned N> " : "",
                function->is_inline ? "__forceinline__" : "__noinline__", f, seed);
        fputs("unsigned acc = x, v0 = x, v1 = x + lane, v2 = lane * 3u, v3 = x * 5u;\n", out);
        print_list(p, function->body, out, true);
        fputs("return acc + v0 + v1 + v2 + v3;\n}\n", out);
    }
    fprintf(out, "__global__ void k%llu(unsigned *out, const unsigned *in, unsigned *result)\n{\n", seed);
    fprintf(out, "__shared__ __align__(128) unsigned s_in[%u];\n__shared__ __align__(128) unsigned s_out[%u];\n",
            SHARED_WORDS, SHARED_WORDS);
    fprintf(out,
            "for (unsigned i = threadIdx.x; i < %u; i += blockDim.x) s_in[i] = i * 40503u + 11;\n__syncthreads();\n",
            SHARED_WORDS);
    fputs("unsigned lane = threadIdx.x, thread = blockIdx.x * blockDim.x + threadIdx.x, acc = 0;\n"
          "unsigned left = blockDim.x - threadIdx.x / 32 * 32, live = left >= 32 ? 0xffffffffu : (1u << left) - 1;\n"
          "unsigned v0 = lane, v1 = lane * 7u, v2 = blockIdx.x, v3 = 5;\n(void)live;\n",
          out);
    print_list(p, p->kernel, out, false);
    fputs("result[thread] = acc + v0 + v1 + v2 + v3;\n}\n", out);
    fprintf(out,
            "extern \"C\" void run_%llu(unsigned *out, const unsigned *in, unsigned *result) "
            "{ k%llu<<<%u, %u>>>(out, in, result); }\n",
            seed, seed, p->grid, p->block);
}
