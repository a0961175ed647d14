// model_greedy.cu — gpt2_decode_greedy (model.h): steps that the host starts and does not look at until the last
#include "gpt2/model/model_base.cuh"

#include <algorithm>

bool gpt2_decode_greedy(gpt2_model *model, int steps, int choices, int stop, const bool *rests, int32_t *tokens,
                        gpt2_error *error) {
    const int most = model->options.context, V = model->config.vocabulary;
    if (model->B == 0) { return gpt2_fail(error, "there is no sequence to go on with"); }
    if (steps < 1 || steps > most || choices < 1 || choices > V || stop >= V) {
        return gpt2_fail(error, "%d steps among %d tokens: 1 to %d and 1 to %d are possible", steps, choices, most, V);
    }
    std::vector<int> left((size_t)model->B);
    for (int b = 0; b < model->B; b++) {
        left[(size_t)b] = rests && rests[b] ? 0 : std::min(steps, most - model->positions[(size_t)b]);
    }
    int code = model->run_greedy(steps, choices, stop, left.data(), tokens);
    if (code != 0) { return fail_with(code, "a decoding step failed", error); }
    for (int i = 0; i < model->B * steps; i++) {
        if (tokens[i] < -1) { return gpt2_fail(error, "sequence %d: the logits are NaN", i / steps); }
        model->positions[(size_t)(i / steps)] += tokens[i] >= 0 && tokens[i] != stop;
    }
    return true;
}
