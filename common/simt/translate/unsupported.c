/* unsupported.c — features that the CPU backend lacks: an error names the feature. */
#include "translate.h"

#include <string.h>

static const char clusters[] = "thread block clusters", no_clusters[] = "exchange data between blocks in global memory",
                  textures[] = "textures", no_textures[] = "read global memory, and interpolate in the kernel",
                  surfaces[] = "surfaces", no_surfaces[] = "read and write global memory";

static const struct {
    const char *name, *what, *instead;
} features[] = {
    {"__cluster_dims__", clusters, no_clusters},
    {"texture", textures, no_textures},
    {"cudaTextureObject_t", textures, no_textures},
    {"cudaSurfaceObject_t", surfaces, no_surfaces},
    {"tex1D", textures, no_textures},
    {"tex2D", textures, no_textures},
    {"tex3D", textures, no_textures},
    {"tex1Dfetch", textures, no_textures},
    {"tex2DLayered", textures, no_textures},
    {"surf1Dread", surfaces, no_surfaces},
    {"surf1Dwrite", surfaces, no_surfaces},
    {"surf2Dread", surfaces, no_surfaces},
    {"surf2Dwrite", surfaces, no_surfaces},
};

void list_unsupported(FILE *out) {
    for (unsigned f = 0; f < sizeof features / sizeof *features; f++) {
        fprintf(out, "%s\t%s\t%s\n", features[f].name, features[f].what, features[f].instead);
    }
}

/* The string of asm("…"): empty ones are compiler barriers and are allowed. */
static bool is_empty_asm(const struct translation *t, int i) {
    while (is_name(t, i + 1)) { /* volatile, goto */
        i++;
    }
    return is(t, i + 1, "(") && t->tokens[i + 2].kind == TOKEN_STRING && t->tokens[i + 2].length == 2;
}

/* asm volatile("" ::: "memory"), without operands */
static bool is_barrier(const struct translation *t, int i) {
    while (is_name(t, i + 1)) { i++; }
    int end = t->tokens[i + 1].match;
    for (int k = i + 3; k < end; k++) {
        const struct token *word = &t->tokens[k];
        bool memory = word->length == 8 && memcmp(word->text, "\"memory\"", 8) == 0;
        if (!is(t, k, ":") && !is(t, k, "::") && !memory) { return false; }
    }
    return true;
}

/* In device code inline PTX is translated; the host's own assembly is left alone. */
static bool translate_device_asm(struct translation *t, int i) {
    bool in_function = enclosing_function(t, t->tokens[i].scope) >= 0;
    bool device = in_device_code(t, i);
    for (int s = t->tokens[i].scope; s >= 0; s = t->scopes[s].parent) { device |= t->scopes[s].is_device; }
    if (is_empty_asm(t, i) && (!is_learners(t, i) || is_barrier(t, i))) { return true; }
    if (in_function && device) { return translate_asm(t, i); }
    return !is_learners(t, i) || fail(t, i, "not allowed: asm outside of device code");
}

static bool is_declared_here(const struct translation *t, int i) {
    for (int k = 1; k < t->count; k++) {
        bool same = t->tokens[k].length == t->tokens[i].length &&
                    memcmp(t->tokens[k].text, t->tokens[i].text, (size_t)t->tokens[i].length) == 0;
        if (same && is_name(t, k - 1) && !is(t, k - 1, "return") && !is(t, k - 1, "else") &&
            !is(t, k - 1, "namespace")) {
            return true; /* the program's own `float tex2D(…)` */
        }
    }
    return false;
}

static bool reject_feature(struct translation *t, int i) {
    for (unsigned f = 0; f < sizeof features / sizeof *features; f++) {
        if (!is(t, i, features[f].name) || is(t, i - 1, ".") || is(t, i - 1, "->")) { continue; }
        if (is(t, i, "texture") && !is(t, i + 1, "<")) { continue; } /* an ordinary word, too */
        if (strncmp(features[f].name, "__", 2) != 0 && strncmp(features[f].name, "cuda", 4) != 0 &&
            is_declared_here(t, i)) {
            continue;
        }
        return fail(t, i, "the CPU backend has no %s ('%s'): %s", features[f].what, features[f].name,
                    features[f].instead);
    }
    return true;
}

bool reject_unsupported(struct translation *t) {
    for (int i = 0; i < t->count; i++) {
        if (!is_user(t, i) || !is_name(t, i)) { continue; }
        bool is_asm = is(t, i, "asm") || is(t, i, "__asm__") || is(t, i, "__asm");
        if (is_asm ? !translate_device_asm(t, i) : !reject_feature(t, i)) { return false; }
    }
    return true;
}
