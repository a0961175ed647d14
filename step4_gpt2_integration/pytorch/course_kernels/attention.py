"""Attention and its mask in transformers' own interface, under three names for `attn_implementation`:

    "course"           the fused causal attention of step 4, where it can run; else PyTorch's scaled_dot_product_attention
    "course_softmax"   two matmuls around lab 3's causal softmax: the attention that the labs build, with its T x T scores

Their mask (course_mask) is one of three:

    None               causal, no padding, or one new token that may see everything
    (B), int32         causal, and sequence b has that many keys: padding on the right
    (B, 1, Q, K) bool  anything else: padding on the left, a cache with padding, packed sequences. The standard path takes it

Interface: transformers' AttentionInterface and AttentionMaskInterface.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import causal_mask_function, sdpa_mask
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from .autograd_function import causal_attention, causal_mask, causal_softmax
from .stats import count_standard

FUSED, SOFTMAX = "course", "course_softmax"
NEW_TOKENS = "new tokens on a cache"  # why a call takes the standard path
_MOST_CHANNELS = 128  # of a head, in the fused kernel


def course_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | Tensor = 0,
    kv_offset: int = 0,
    mask_function=causal_mask_function,
    attention_mask: Tensor | None = None,
    allow_is_causal_skip: bool = True,
    **kwargs,
) -> Tensor | None:
    """The mask for course_attention. attention_mask: (B, K), True for tokens that are no padding, or None.

    Reads the padding once for each forward pass of a model, as transformers' own sdpa_mask does; compiled code gets the full
    mask.
    """
    plain = (
        allow_is_causal_skip
        and attention_mask is not None
        and mask_function is causal_mask_function
        and not torch.compiler.is_compiling()
        and q_length == kv_length == attention_mask.shape[-1]
        and kv_offset == 0
    )
    if plain:
        lengths = attention_mask.sum(-1, dtype=torch.int32)
        on_the_right = attention_mask == (torch.arange(kv_length, device=attention_mask.device) < lengths[:, None])
        on_the_right, whole = torch.stack([on_the_right.all() & (lengths > 0).all(), (lengths == kv_length).all()]).tolist()
        if on_the_right:
            return None if whole else lengths
    return sdpa_mask(
        batch_size=batch_size,
        q_length=q_length,
        kv_length=kv_length,
        q_offset=q_offset,
        kv_offset=kv_offset,
        mask_function=mask_function,
        attention_mask=attention_mask,
        allow_is_causal_skip=allow_is_causal_skip,
        **kwargs,
    )


def _why_standard(module: nn.Module, query: Tensor, key: Tensor, mask: Tensor | None, dropout: float, causal: bool | None):
    """Why neither kernel can compute this call, and whether that is worth a warning; None: they can."""
    if dropout > 0:
        return "dropout of attention weights, in training", True
    if query.shape[2] != key.shape[2]:
        return NEW_TOKENS, False
    if mask is not None and mask.dim() != 1:
        return "a mask other than causal with padding on the right", True
    if not (getattr(module, "is_causal", True) if causal is None else causal):
        return "attention that is not causal", True
    if query.shape[1] != key.shape[1]:
        return "fewer heads of keys than of queries", True
    return None


def why_other_heads(D: int, scaling: float | None) -> str | None:
    """Why the fused kernel does not compute heads of D channels with this scale; None: it does."""
    if scaling is not None and abs(scaling * D**0.5 - 1) > 1e-6:
        return "a scale other than 1 / sqrt(D)"
    return f"heads of more than {_MOST_CHANNELS} channels" if D > _MOST_CHANNELS else None


def _uncached(module: nn.Module, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """The keys and values beside the query in the projection's output, (B, T, 3, H, D), where a cache has copied them.

    GPT2Attention's query is a part of that output. With an empty cache its keys and values are copies of the other parts, and the
    kernel reads the three together. Only without gradients, which have to flow through the copies.
    """
    B, H, T, D = query.shape
    row = 3 * H * D
    beside = (
        type(module) is GPT2Attention
        and not module.is_cross_attention
        and not torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and query.stride() == (T * row, D, row, 1)
        and query.storage_offset() % row == 0
        and query.untyped_storage().nbytes() >= (query.storage_offset() + B * T * row) * query.element_size()
        and key.stride() != query.stride()
    )
    if not beside:
        return key, value
    offset = query.storage_offset()
    return tuple(query.as_strided(query.shape, query.stride(), offset + part * H * D) for part in (1, 2))


def _why_not_fused(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float | None):
    """Why the fused kernel cannot compute a call that the softmax kernel can, and whether that is worth a warning; or None."""
    D = query.shape[-1]
    if other_heads := why_other_heads(D, scaling):
        return other_heads, True
    needs_gradient = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
    if needs_gradient and (query.element_size() != 2 or mask is not None):
        return "a gradient of attention in fp32, or with padding", False
    return None


def _fused(module, query, key, value, lengths, scaling) -> tuple[Tensor, None]:
    key, value = _uncached(module, query, key, value)
    return causal_attention(query, key, value, lengths), None


def _around_softmax(module, query, key, value, lengths, scaling) -> tuple[Tensor, Tensor]:
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    weights = causal_softmax(query @ key.transpose(-1, -2), scaling, lengths).to(value.dtype)
    return (weights @ value).transpose(1, 2), weights


def _attention(compute: Callable, why_not: Callable | None = None) -> Callable:
    """A function of transformers' interface: `compute` where it can, else PyTorch's attention, counted."""

    def attention(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        dropout: float = 0.0,
        is_causal: bool | None = None,
        **kwargs,
    ) -> tuple[Tensor, Tensor | None]:
        """query, key, value: (B, H, T, D). Gives (B, T, H, D), and the weights (B, H, T, T) where lab 3's kernel made them."""
        reason = _why_standard(module, query, key, attention_mask, dropout, is_causal)
        if reason is None and why_not is not None:
            reason = why_not(query, key, value, attention_mask, scaling)
        if reason is None:
            return compute(module, query, key, value, attention_mask, scaling)
        count_standard("attention", reason[0], warn=reason[1])
        if attention_mask is not None and attention_mask.dim() == 1:
            attention_mask = causal_mask(query.shape[2], attention_mask, query.device)
        kwargs.update(scaling=scaling, dropout=dropout, is_causal=is_causal)
        return sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)

    return attention


course_attention = _attention(_fused, _why_not_fused)
course_softmax_attention = _attention(_around_softmax)


def register() -> None:
    """Makes both names known to transformers. Importing the package does it."""
    for name, function in ((FUSED, course_attention), (SOFTMAX, course_softmax_attention)):
        AttentionInterface.register(name, function)
        AttentionMaskInterface.register(name, course_mask)


register()
