#include "bench_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: NAME.bench [options]\n"
    "Times every rung of the ladders in this file against the best copy of the same footprint, on this GPU.\n"
    "  --op NAME      one op only, such as softmax_forward\n"
    "  --N LIST       rows, such as 8192,65536       (default: 8192,65536)\n"
    "  --C LIST       columns, such as 768,1024,1600 (default: 768,1024,1600)\n"
    "  --BHT LIST     B x H x T of causal ops        (default: 1x12x1024,8x12x1024)\n"
    "  --upper WORD   causal ops: zero or keep what is above the diagonal (default: zero)\n"
    "  --types LIST   f32, f16, bf16, or all         (default: f32)\n"
    "  --rung N       one rung only; 0 is the launcher (default: every rung)\n"
    "  --samples N    timed batches per figure, 5 to 64 (default: 21)\n"
    "  --json FILE    append one JSON line per figure\n"
    "  --help         this text\n";

static int read_list(const char *text, int *values) {
    int count = 0;
    for (const char *p = text; *p && count < BENCH_MAX_SIZES;) {
        char *end;
        long value = strtol(p, &end, 10);
        if (end == p || value < 1 || value > 1 << 24 || (*end && *end != ',')) { return 0; }
        values[count++] = (int)value;
        p = *end ? end + 1 : end;
    }
    return count;
}

/* "8x12x1024,..." */
static int read_matrices(const char *text, struct bench_options *options) {
    int count = 0, used = 0;
    for (const char *p = text; *p && count < BENCH_MAX_SIZES; p += used + (p[used] == ',')) {
        int *B = &options->B[count], *H = &options->H[count], *T = &options->T[count];
        if (sscanf(p, "%dx%dx%d%n", B, H, T, &used) != 3 || (p[used] && p[used] != ',')) { return 0; }
        if (*B < 1 || *H < 1 || *T < 1 || (long long)*B * *H * *T > 1 << 24) { return 0; }
        count++;
    }
    return count;
}

static unsigned read_types(const char *text) {
    unsigned types = 0;
    if (strcmp(text, "all") == 0) { return (1u << OP_TYPES) - 1; }
    for (const char *p = text; *p;) {
        size_t length = strcspn(p, ",");
        unsigned before = types;
        for (int type = 0; type < OP_TYPES; type++) {
            const char *name = op_type_name((enum op_type)type);
            if (strlen(name) == length && strncmp(p, name, length) == 0) { types |= 1u << type; }
        }
        if (types == before) { return 0; }
        p += length + (p[length] == ',');
    }
    return types;
}

static int mistake(const char *what, const char *value) {
    fprintf(stderr, "bench: %s: '%s'; --help lists the options\n", what, value);
    return 3;
}

int bench_options_read(struct bench_options *options, int argc, char **argv) {
    static const struct option names[] = {
        {"op", required_argument, nullptr, 'o'},
        {"N", required_argument, nullptr, 'N'},
        {"C", required_argument, nullptr, 'C'},
        {"BHT", required_argument, nullptr, 'B'},
        {"upper", required_argument, nullptr, 'u'},
        {"types", required_argument, nullptr, 't'},
        {"rung", required_argument, nullptr, 'r'},
        {"samples", required_argument, nullptr, 's'},
        {"json", required_argument, nullptr, 'j'},
        {"help", no_argument, nullptr, 'h'},
        {nullptr, 0, nullptr, 0},
    };
    *options = {};
    options->samples = 21;
    options->types = 1u << TYPE_F32;
    options->rung = -1;
    options->BHT_count = read_matrices("1x12x1024,8x12x1024", options);
    options->N_count = read_list("8192,65536", options->N);
    options->C_count = read_list("768,1024,1600", options->C);
    for (int option; (option = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
        switch (option) {
            case 'o': options->op = optarg; break;
            case 'j': options->json = optarg; break;
            case 'N':
                if (!(options->N_count = read_list(optarg, options->N))) { return mistake("bad --N", optarg); }
                break;
            case 'C':
                if (!(options->C_count = read_list(optarg, options->C))) { return mistake("bad --C", optarg); }
                break;
            case 'B':
                if (!(options->BHT_count = read_matrices(optarg, options))) { return mistake("bad --BHT", optarg); }
                break;
            case 'u':
                options->upper = strcmp(optarg, "keep") == 0;
                if (!options->upper && strcmp(optarg, "zero") != 0) { return mistake("bad --upper", optarg); }
                break;
            case 't':
                if (!(options->types = read_types(optarg))) { return mistake("bad --types", optarg); }
                break;
            case 'r':
                options->rung = atoi(optarg);
                if (options->rung < 0 || options->rung > 99) { return mistake("bad --rung", optarg); }
                break;
            case 's':
                options->samples = atoi(optarg);
                if (options->samples < 5 || options->samples > 64) { return mistake("bad --samples", optarg); }
                break;
            case 'h': fputs(usage, stdout); return 1;
            default: fputs("--help lists the options\n", stderr); return 3;
        }
    }
    return optind < argc ? mistake("unexpected argument", argv[optind]) : 0;
}
