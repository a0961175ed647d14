// block.cu — one transformer block, with residual adds fused into the LayerNorms (lab 4)
//
// Purpose   GPT-2 is twelve of these blocks. This file only calls: your kernels of lab 3, products, attention. The possible
//           mistakes are the order of the calls, and which tensor is added to which.
// Math      gpt2/model/block.cuh; the tensors that it works on are in gpt2/model/params.cuh
// Launches  8 a block when decoding: 4 products, 2 residual+LayerNorms, bias+GELU, attention; in prompts attention is 5.
// Bytes     decoding: the weights, 12 C C elements a block, once for all sequences: 28.3 MB in fp32 for 124M.
#include "gpt2/model/block.cuh"

#include "gpt2/model/attention.cuh"
#include "gpt2/model/decode.cuh"
#include "gpt2/model/matmul.cuh"

#include <algorithm>

// Given: attention (N, C) from qkv (N, 3C), through the layer's cache.
template <class T>
static int attend(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass) {
    activations<T> &a = all.work;
    block_cache<T> &cache = all.cache[(size_t)layer];
    const int H = all.config.heads, D = all.config.channels / H, S = all.context;
    if (pass.decoding) {
        return decode_attention(device, a.attention, cache.k, cache.v, a.qkv, a.positions, pass.B, H, D, S);
    }
    // In groups of as many sequences as fit in the memory of the scores.
    for (int b = 0; b < pass.B; b += all.group) {
        const int64_t rows = (int64_t)b * pass.T * H * D, cached = (int64_t)b * S * H * D;
        TRY(attention_forward(device, kernels, a.attention + rows, cache.k + cached, cache.v + cached, a.query + rows,
                              a.scores, a.qkv + 3 * rows, a.lengths + b, std::min(all.group, pass.B - b), pass.T, H, D,
                              S));
    }
    return 0;
}

template <class T>
int block_forward(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass) {
    // TODO 2a (20 lines): The first sub-layer: LayerNorm 1, qkv, attention, its projection.
    //   Goal      a.branch holds the sub-layer's result, a.residual the stream that it was computed from.
    //   Shapes    N = pass.N() rows; a.residual, a.normalised, a.attention, a.branch (N, C); a.qkv (N, 3C).
    //   Contract  from layer 1 on, the previous block's a.branch is added
    //             to a.residual first, in the launch that normalises.
    //             Layer 0 has nothing to add. Every call is in TRY().
    //   Question  which output of residual_layernorm_forward is the new stream?
    //   Given     type_of<T>::kernels(kernels), all.weights.blocks[layer], all.work;
    //             matmul (gpt2/model/matmul.cuh), attend(). After each step
    //             observe(device, NAME, layer, TENSOR, N, width, width), with the
    //             names of gpt2/model/model.h: "residual after mlp" (of layer - 1,
    //             after the add), "ln1", "qkv", "attention", "attention projection".

    // TODO 2b (11 lines): The second sub-layer: LayerNorm 2 with the add, then the MLP.
    //   Goal      a.branch holds the MLP's result; it stays there for the next block.
    //   Shapes    a.hidden (N, 4C).
    //   Contract  each bias is added once: op.bias_gelu_forward adds that of the first product, in place.
    //   Question  which tensor has to be added before LayerNorm 2, and who reads the sum after this block?
    //   Given     observe "residual after attention", "ln2",
    //             "gelu" (4C), "mlp projection"; TRY(mark(device,
    //             "fc", layer)) between the product and bias_gelu.
    return cudaErrorNotSupported; // "not started"
}

#define INSTANTIATE(T) template int block_forward(gpt2_device &, const kernel_table &, tensors<T> &, int, const pass &);
FOR_EACH_TYPE(INSTANTIATE)
