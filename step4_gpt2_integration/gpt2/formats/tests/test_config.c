/* config: valid and invalid sizes. */
#include "gpt2/formats/config.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct gpt2_error error;

/* The message about the 124M model with one field (here a statement on `config`) changed. */
#define PROBLEM(change) (config = *gpt2_config_named("124M"), (change), problem())

static struct gpt2_config config;

static const char *problem(void) {
    return gpt2_config_check(&config, "f", &error) ? "" : error.text;
}

Test(config, the_named_ones_are_fine) {
    static const char *const names[] = {"124M", "355M", "774M", "1558M"};
    for (int i = 0; i < 4; i++) {
        const struct gpt2_config *named = gpt2_config_named(names[i]);
        cr_assert(named && gpt2_config_check(named, "f", &error), "%s", error.text);
        cr_assert(named->channels / named->heads == 64 && gpt2_pad_vocabulary(named->vocabulary) == 50304);
    }
}

Test(config, others_are_refused) {
    cr_assert_str_eq(PROBLEM(config.layers = 0), "f: the number of layers is 0; it must be 1 to 4096");
    cr_assert_str_eq(PROBLEM(config.layers = 4097), "f: the number of layers is 4097; it must be 1 to 4096");
    cr_assert_str_eq(PROBLEM(config.heads = 7), "f: 768 channels cannot be divided among 7 heads");
    cr_assert(strstr(PROBLEM(config.heads = 1536), "the number of heads is 1536"));
    cr_assert(strstr(PROBLEM(config.channels = -768), "the number of channels is -768"));
    cr_assert(strstr(PROBLEM(config.max_tokens = 0), "the context length is 0"));
    cr_assert(strstr(PROBLEM(config.vocabulary = 50305), "the padded vocabulary of 50304"));
    cr_assert(strstr(PROBLEM(config.padded_vocabulary = 1 << 25), "the padded vocabulary"));
    cr_assert(strstr(PROBLEM(config.epsilon = NAN), "epsilon") && strstr(PROBLEM(config.epsilon = -1), "epsilon"));
    cr_assert(strstr(PROBLEM(config.epsilon = INFINITY), "epsilon"));
}

/* The number of weights does not overflow for the largest allowed sizes. */
Test(config, nothing_overflows) {
    config = (struct gpt2_config){.max_tokens = 1 << 24,
                                  .vocabulary = 1 << 24,
                                  .padded_vocabulary = 1 << 24,
                                  .layers = 1 << 12,
                                  .heads = 1,
                                  .channels = 1 << 18};
    cr_assert_str_eq(problem(), "");
    int64_t weights = gpt2_config_weights(&config, config.padded_vocabulary);
    cr_assert(weights > (int64_t)1 << 51 && weights < (int64_t)1 << 60);
}

Test(config, the_same_but_for_the_padding) {
    struct gpt2_config a = *gpt2_config_named("124M"), b = a;
    b.padded_vocabulary = 50257;
    cr_assert(gpt2_config_same(&a, &b));
    b.epsilon = 1e-6f;
    cr_assert_not(gpt2_config_same(&a, &b));
}
