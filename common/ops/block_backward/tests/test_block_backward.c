/* block_backward: its gradients, against differences of the forward reference and against the gradients of a whole model
 * (gpt2/reference_backward.c); what it keeps; and the floor.
 */
#include "common/ops/transformer/model_test.h"
#include "common/ops/transformer/transformer.h"
#include "gpt2/reference_backward.h"

TestSuite(block_backward, .timeout = 60);

enum { PARAMETERS = TRANSFORMER_BLOCK_TENSORS };

/* In the order of the op's gradients. */
static const char *const parameters[PARAMETERS] = {"mlp_weight", "mlp_bias", "fc_weight",        "fc_bias",
                                                   "ln2_weight", "ln2_bias", "attention_weight", "attention_bias",
                                                   "qkv_weight", "qkv_bias", "ln1_weight",       "ln1_bias"};

/* ---- differences of the forward pass ---- */

/* The sum of dout times what the block gives: the stream, and the branch that the next block would add. */
static double loss(struct computed *forward, const float *dout) {
    double sum = 0.0;
    compute(forward);
    for (size_t i = 0; i < elements(forward, "residual"); i++) {
        sum += dout[i] * (output(forward, "residual")[i] + output(forward, "branch")[i]);
    }
    return sum;
}

static double difference(struct computed *forward, const float *dout, float *at, float by) {
    float value = *at, above = value + by, below = value - by;
    *at = above;
    double sum = loss(forward, dout);
    *at = below;
    sum -= loss(forward, dout);
    *at = value;
    return sum / ((double)above - below);
}

static void expect_differences(struct computed *forward, struct computed *backward, const char *of, const double *got,
                               const float *start) {
    const float *dout = tensor(backward, "dout");
    double largest = 0.0;
    for (size_t i = 0; i < elements(forward, of); i++) {
        largest = fmax(largest, fabs(got[i] - (start ? start[i] : 0)));
    }
    cr_assert(largest > 0.01, "%s", of);
    for (size_t i = 0; i < elements(forward, of); i++) {
        float *at = &tensor(forward, of)[i];
        double coarse = difference(forward, dout, at, 0x1p-6f), fine = difference(forward, dout, at, 0x1p-7f);
        double numeric = (4.0 * fine - coarse) / 3.0, own = got[i] - (start ? (double)start[i] : 0.0);
        cr_assert(fabs(own - numeric) < 2e-6 * (1.0 + largest), "%s[%zu]: %.9g, numerically %.9g", of, i, own, numeric);
    }
}

Test(block_backward, agrees_with_finite_differences) {
    struct op_sizes sizes = op_model_sizes(TYPE_F32, 2, 3, 2, 3, 4);
    sizes.L = 0; /* nothing was left to add */
    sizes.eps = 1e-3f;
    struct computed backward = fill("block_backward", sizes, 21), forward = fill("block_forward", sizes, 22);
    for (int t = 0; t < op_tensor_count(forward.op); t++) {
        int same = op_tensor_find(backward.op, forward.op->tensor[t].name);
        if (same < 0) { continue; }
        memcpy(forward.tensor[t], backward.tensor[same], op_elements(forward.op, t, &sizes) * sizeof(float));
    }
    cr_assert(tensor(&backward, "lengths")[1] < 3.0f, "one prompt is shorter");
    compute(&backward);
    for (int i = 0; i < PARAMETERS; i++) {
        expect_differences(&forward, &backward, parameters[i], backward.out[i], backward.tensor[i]);
    }
    expect_differences(&forward, &backward, "residual", output(&backward, "dx"), NULL);
    drop(&forward);
    drop(&backward);
}

/* ---- a model of one block ---- */

/* The gradient of the block's output, from that of the loss: back through logits and the last LayerNorm. */
static void fill_dout(struct computed *model, float *dout) {
    size_t N = (size_t)model->sizes.N, C = (size_t)model->sizes.C, V = (size_t)model->sizes.V;
    struct transformer w = transformer_of(&model->sizes, NULL, TRANSFORMER_RIGHT);
    struct transformer_model ends = transformer_weights(&model->sizes, input(model, "weights"));
    struct field dlogits = field_make(N * V), dn = field_make(N * C), dx = field_make(N * C), sink = field_make(2 * C);
    float *x = calloc(N * C, sizeof *x), *statistics = calloc(2 * N, sizeof *statistics);
    for (size_t n = 0; n < N; n++) {
        const double *row = output(model, "logits") + n * V;
        double sum = 0.0, mean, rstd;
        int target = (int)input(model, "targets")[n];
        for (size_t v = 0; v < V; v++) { sum += exp(row[v]); }
        for (size_t v = 0; v < V && target >= 0; v++) {
            dlogits.value[n * V + v] = exp(row[v]) / sum - ((int)v == target);
        }
        for (size_t c = n * C; c < (n + 1) * C; c++) {
            x[c] = (float)(output(model, "hidden")[c] + output(model, "hidden")[N * C + c]);
        }
        reference_row_statistics(x + n * C, (int)C, w.eps, &mean, &rstd);
        statistics[n] = (float)mean;
        statistics[N + n] = (float)rstd;
    }
    transformer_linear_dx(&w, dn, dlogits, ends.token_embedding, (int)N, (int)C, (int)V);
    struct transformer_norm norm = {x, statistics, statistics + N, ends.final_weight};
    struct field none = {NULL, NULL}, sink_bias = {sink.value + C, sink.error + C};
    transformer_layernorm_backward(&w, dx, sink, sink_bias, dn, none, &norm);
    for (size_t i = 0; i < N * C; i++) { dout[i] = (float)dx.value[i]; }
    field_free(dlogits);
    field_free(dn);
    field_free(dx);
    field_free(sink);
    free(x);
    free(statistics);
}

/* The same block, as the op has it: its input is the embeddings' sum. */
static struct computed block_of(struct computed *model) {
    struct computed block = fill("block_backward", model->sizes, 1);
    size_t C = (size_t)model->sizes.C;
    struct transformer_model ends = transformer_weights(&model->sizes, input(model, "weights"));
    struct transformer_block weights = transformer_layer(&model->sizes, input(model, "weights"), 0);
    const float *from[PARAMETERS];
    int first = op_tensor_find(block.op, "ln1_weight"), residual = op_tensor_find(block.op, "residual");
    memcpy(from, &weights, sizeof weights);
    for (int i = 0; i < PARAMETERS; i++) {
        memcpy(block.tensor[first + i], from[i], op_elements(block.op, first + i, &block.sizes) * sizeof(float));
        memset(block.tensor[i], 0, op_elements(block.op, i, &block.sizes) * sizeof(float));
    }
    for (size_t i = 0; i < elements(&block, "residual"); i++) {
        size_t token = (size_t)input(model, "tokens")[i / C];
        block.tensor[residual][i] = ends.token_embedding[token * C + i % C] + ends.position_embedding[i];
    }
    fill_dout(model, tensor(&block, "dout"));
    transformer_keep(&block.sizes, tensor(&block, "lengths"), &weights, block.tensor + residual);
    return block;
}

static void expect_alike(const char *name, const double *got, const double *expected, size_t count) {
    double norm = 0.0, off = 0.0;
    for (size_t i = 0; i < count; i++) {
        norm += expected[i] * expected[i];
        off += (got[i] - expected[i]) * (got[i] - expected[i]);
    }
    cr_assert(norm > 0.0 && sqrt(off) < 1e-6 * sqrt(norm), "%s: %g of %g", name, sqrt(off), sqrt(norm));
}

Test(block_backward, gradients_are_those_of_the_models_reference) {
    enum { T = 6 };
    static const enum gpt2_tensor places[PARAMETERS] = {GPT2_FCPROJW, GPT2_FCPROJB, GPT2_FCW,      GPT2_FCB,
                                                        GPT2_LN2W,    GPT2_LN2B,    GPT2_ATTPROJW, GPT2_ATTPROJB,
                                                        GPT2_QKVW,    GPT2_QKVB,    GPT2_LN1W,     GPT2_LN1B};
    struct computed model = fill("gpt2_forward", model_sizes(1, T, T, 1), 31);
    const struct op_sizes *s = &model.sizes;
    struct gpt2_source source = {
        .config = {s->S, s->V, s->V, s->L, s->H, s->C, s->eps}, .read = read_packed, .context = &model};
    struct gpt2_reference_gradients gradients;
    struct gpt2_error error;
    int32_t tokens[T], targets[T];
    double loss;
    compute(&model);
    for (int t = 0; t < T; t++) {
        tokens[t] = (int32_t)input(&model, "tokens")[t];
        targets[t] = (int32_t)input(&model, "targets")[t];
    }
    cr_assert(gpt2_reference_gradients_open(&gradients, &source.config));
    cr_assert(gpt2_reference_backward(&source, tokens, targets, T, 1.0, &loss, &gradients, &error), "%s", error.text);
    struct computed block = block_of(&model);
    compute(&block);
    for (int i = 0; i < PARAMETERS; i++) {
        expect_alike(parameters[i], block.out[i], gradients.at[places[i]], op_elements(block.op, i, &block.sizes));
    }
    expect_alike("dx", output(&block, "dx"), gradients.at[GPT2_WPE], (size_t)(T * s->C));
    gpt2_reference_gradients_close(&gradients);
    drop(&block);
    drop(&model);
}

/* ---- what is kept is what the forward reference makes, rounded ---- */

Test(block_backward, what_is_kept_is_a_forward_pass) {
    for (int type = 0; type < OP_TYPES; type++) {
        struct op_sizes sizes = op_model_sizes((enum op_type)type, 3, 5, 2, 6, 7);
        struct computed c = fill("block_backward", sizes, 41), next = fill("residual_layernorm_forward", sizes, 1);
        memcpy(tensor(&next, "x"), tensor(&c, "middle"), elements(&c, "middle") * sizeof(float));
        memset(tensor(&next, "residual"), 0, elements(&c, "middle") * sizeof(float));
        memcpy(tensor(&next, "weight"), tensor(&c, "ln2_weight"), elements(&c, "ln2_weight") * sizeof(float));
        memcpy(tensor(&next, "bias"), tensor(&c, "ln2_bias"), elements(&c, "ln2_bias") * sizeof(float));
        compute(&next);
        const char *const pairs[][2] = {{"normalised2", "out"}, {"mean2", "mean"}, {"rstd2", "rstd"}};
        for (int p = 0; p < 3; p++) {
            int t = op_tensor_find(next.op, pairs[p][1]);
            enum op_type of = next.op->tensor[t].element == ELEMENT_FLOAT ? TYPE_F32 : (enum op_type)type;
            for (size_t i = 0; i < elements(&c, pairs[p][0]); i++) {
                cr_assert(reference_accepts(of, next.out[t][i], next.condition[t][i], tensor(&c, pairs[p][0])[i]),
                          "%s: %s[%zu]", op_type_name((enum op_type)type), pairs[p][0], i);
            }
        }
        drop(&next);
        drop(&c);
    }
}

/* ---- known values ---- */

/* The last bias is added to out itself, so its gradient is the sum of dout over the rows. */
Test(block_backward, the_last_bias_gets_the_sum_of_dout) {
    struct computed c = fill("block_backward", op_model_sizes(TYPE_F32, 1, 2, 1, 2, 2), 51);
    give(&c, "dout", 1, 2, 3, 4);
    give(&c, "dmlp_bias", 10, 20);
    compute(&c);
    expect(&c, "dmlp_bias", 0, 14, 26);
    drop(&c);
}

Test(block_backward, floor_counts_every_tensor_once) {
    size_t B = 2, N = 6, C = 10, count = 12 * C * C + 13 * C;
    expect_floor("block_backward", floor_of_model(), 18 * N * C + count, count + 4 * N + B);
}
