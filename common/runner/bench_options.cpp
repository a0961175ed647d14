#include "bench_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: NAME.bench [options]\n"
    "Times every rung of the ladders in this file against the best copy of the same footprint, on this GPU.\n"
    "  --op NAME      one op only, such as softmax_forward\n"
    "  --N LIST       rows, such as 8192,65536       (default: 8192,65536)\n"
    "  --C LIST       columns, such as 768,1024,1600 (default: 768,1024,1600)\n"
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

static int mistake(const char *what, const char *value) {
    fprintf(stderr, "bench: %s: '%s'; --help lists the options\n", what, value);
    return 3;
}

int bench_options_read(struct bench_options *options, int argc, char **argv) {
    static const struct option names[] = {
        {"op", required_argument, nullptr, 'o'},
        {"N", required_argument, nullptr, 'N'},
        {"C", required_argument, nullptr, 'C'},
        {"samples", required_argument, nullptr, 's'},
        {"json", required_argument, nullptr, 'j'},
        {"help", no_argument, nullptr, 'h'},
        {nullptr, 0, nullptr, 0},
    };
    *options = {};
    options->samples = 21;
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
            case 's':
                options->samples = atoi(optarg);
                if (options->samples < 5 || options->samples > 64) { return mistake("bad --samples", optarg); }
                break;
            case 'h': fputs(usage, stdout); return 1;
            default: fputs("--help lists the options\n", stderr); return 3;
        }
    }
    return optind < argc ? mistake("what is this", argv[optind]) : 0;
}
