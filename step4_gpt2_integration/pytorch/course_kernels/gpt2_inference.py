"""A GPT-2 block's inference on the course's kernels, without a call of the modules inside the block.

The kernels of a short prompt take less time than the Python that launches them, so this file does little for each of them. A
block is four matrix products and four launches, on Parameters that are read from the modules at each call.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn import Parameter
from transformers import EncoderDecoderCache

from . import launch
from .attention import NEW_TOKENS, course_attention, why_other_heads
from .autograd_function import autocasts, kernel
from .stats import count_standard

_KERNELS = ("layernorm_forward", "residual_layernorm_forward", "bias_gelu_forward", "course_attention_forward")
_WITHOUT_EFFECT = {"position_ids"}  # further arguments of a block that change nothing in it


class Layers(NamedTuple):
    """The modules of a block that have Parameters, in the order of their calls, and the attention around two of them."""

    ln_1: nn.Module
    c_attn: nn.Module
    attention_proj: nn.Module
    ln_2: nn.Module
    c_fc: nn.Module
    mlp_proj: nn.Module
    next_norm: nn.Module  # of the next block, or of the model
    attention: nn.Module


def can_infer(hidden: Tensor, past, arguments: dict) -> bool:
    """Does this call only compute: no gradient, no autocast, no compiler or transform, no argument that attention would see?"""
    return (
        not torch.is_grad_enabled()
        and type(hidden) is Tensor
        and hidden.dim() == 3
        and hidden.numel() > 0
        and hidden.is_contiguous()
        and not launch.is_transformed()
        and not autocasts(hidden)
        and not isinstance(past, EncoderDecoderCache)
        and arguments.keys() <= _WITHOUT_EFFECT
    )


def _parameters_of(modules: tuple[nn.Module, ...], like: Tensor) -> list[Parameter] | None:
    """Weight and bias of each module. None: not all are dense Parameters that fit each other and `like` in type and device."""
    dtype, device, found = like.dtype, like.device, []
    for module in modules:
        weight, bias = module._parameters.get("weight"), module._parameters.get("bias")
        if type(weight) is not Parameter or type(bias) is not Parameter:
            return None
        dense = weight.is_contiguous() and bias.is_contiguous() and weight.size(-1) == bias.numel()
        if not (dense and dtype == weight.dtype == bias.dtype and device == weight.device == bias.device):
            return None
        found += weight, bias
    return found


def infer(layers: Layers, hidden: Tensor, normed: Tensor | None, past, mask: Tensor | None) -> tuple[Tensor, Tensor] | None:
    """What a block and the LayerNorm after it compute: (sum, LayerNorm(sum)), both (B, T, C).

    hidden: (B, T, C); normed: ln_1(hidden), if it is known; past: a cache, or None; mask: as in attention.py. None: a kernel is
    missing or a Parameter does not fit, and nothing was computed.
    """
    kernels = [kernel(op, hidden) for op in _KERNELS]
    parameters = _parameters_of(layers[:-1], hidden)
    if None in kernels or parameters is None:
        return None
    normalize, add_and_normalize, gelu, attend = kernels
    weight_1, bias_1, *of_attention, weight_2, bias_2, wide_weight, wide_bias, weight, bias, next_weight, next_bias = parameters
    B, T, C = hidden.shape
    N, attention = B * T, layers.attention
    columns = [bias.numel() for bias in parameters[1::2]]  # of each module's result; the width inside the MLP is free
    if columns != [C, 3 * C, C, C, wide_bias.numel(), C, C] or attention.num_heads * attention.head_dim != C:
        return None
    statistics = torch.empty(2 * N, dtype=torch.float32, device=hidden.device)  # of each row, for gradients only
    mean = statistics.data_ptr()
    rstd = mean + N * statistics.element_size()

    if normed is None:
        normed = torch.empty_like(hidden)
        of_norm = weight_1.data_ptr(), bias_1.data_ptr(), N, C, layers.ln_1.eps
        normalize(normed.data_ptr(), mean, rstd, hidden.data_ptr(), *of_norm)
    rows = _attended(attention, of_attention, normed.view(N, C), B, T, past, mask, attend)

    # From here on each kernel overwrites an input of its own: the result of a product or `total`, which no caller holds.
    total = torch.empty_like(hidden)
    x, sums = rows.data_ptr(), total.data_ptr()
    of_norm = weight_2.data_ptr(), bias_2.data_ptr(), N, C, layers.ln_2.eps
    add_and_normalize(x, sums, mean, rstd, x, hidden.data_ptr(), *of_norm)

    rows = torch.mm(rows, wide_weight)
    x = rows.data_ptr()
    gelu(x, x, wide_bias.data_ptr(), N, wide_bias.numel())

    rows = torch.addmm(bias, rows, weight)
    x = rows.data_ptr()
    of_norm = next_weight.data_ptr(), next_bias.data_ptr(), N, C, layers.next_norm.eps
    add_and_normalize(x, sums, mean, rstd, x, sums, *of_norm)
    return total, rows.view(B, T, C)


def _attended(attention, parameters: list[Parameter], rows: Tensor, B: int, T: int, past, mask: Tensor | None, attend) -> Tensor:
    """GPT2Attention of rows (N, C): (N, C). attend: the fused kernel."""
    in_weight, in_bias, out_weight, out_bias = parameters
    H, D = attention.num_heads, attention.head_dim
    qkv = torch.addmm(in_bias, rows, in_weight)
    fits = (mask is None or mask.dim() == 1) and why_other_heads(D, attention.scaling) is None
    if past is not None or not fits:
        query, keys, values = qkv.view(B, T, 3, H, D).permute(2, 0, 3, 1, 4).unbind()
    if past is not None:
        keys, values = past.update(keys, values, attention.layer_idx)
    if fits and (past is None or keys.size(2) == T):
        lengths = launch.whole_lengths(B, T, rows.device) if mask is None else mask
        out = torch.empty_like(rows)
        attend(out.data_ptr(), None, qkv.data_ptr(), lengths.data_ptr(), B, T, H, D)
    elif T == 1 and keys.size(2) > 1:
        count_standard("attention", NEW_TOKENS, warn=False)
        out = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=attention.scaling).reshape(rows.shape)
    else:
        out = course_attention(attention, query, keys, values, mask, scaling=attention.scaling)[0].reshape(rows.shape)
    return torch.addmm(out_bias, out, out_weight)
