#include "diagnose.h"

#include <string.h>

/* What was reported is certain; what the outputs show is looked at after it. */
static const struct signature *const tables[] = {signatures_reported, signatures_wiring, signatures_shown};
enum { TABLES = sizeof tables / sizeof tables[0] };

const struct signature *diagnose(const struct evidence *evidence) {
    for (int i = 0; i < TABLES; i++) {
        for (const struct signature *signature = tables[i]; signature->id; signature++) {
            if (signature->match(signature, evidence)) { return signature; }
        }
    }
    return NULL;
}

const struct signature *signature_find(const char *id) {
    for (int i = 0; i < TABLES; i++) {
        for (const struct signature *signature = tables[i]; signature->id; signature++) {
            if (strcmp(signature->id, id) == 0) { return signature; }
        }
    }
    return NULL;
}
