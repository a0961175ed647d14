"""The ops torch.ops.course.*: what torch.compile, fake tensors and CUDA graphs see of the kernels.

Each op is functional: no input is written, no result shares memory with an input or with another result. The implementations
are those of launch.py, the gradients those of autograd_function.py, which registers them.
"""

import torch
from torch import Tensor

from . import launch

NAMESPACE = "course"
_library = torch.library.Library(NAMESPACE, "FRAGMENT")

SCHEMAS = {
    "softmax_forward": "(Tensor x) -> Tensor",
    "softmax_backward": "(Tensor dout, Tensor out) -> Tensor",
    "causal_softmax_forward": "(Tensor x, Tensor? lengths, float scale) -> Tensor",
    "causal_softmax_backward": "(Tensor dout, Tensor out, Tensor? lengths, float scale) -> Tensor",
    "layernorm_forward": "(Tensor x, Tensor weight, Tensor bias, float eps) -> (Tensor, Tensor, Tensor)",
    "layernorm_backward": "(Tensor dout, Tensor x, Tensor weight, Tensor mean, Tensor rstd) -> (Tensor, Tensor, Tensor)",
    "residual_layernorm_forward": "(Tensor x, Tensor residual, Tensor weight, Tensor bias, float eps)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    "residual_layernorm_backward": "(Tensor dout, Tensor dsum, Tensor total, Tensor weight, Tensor mean, Tensor rstd)"
    " -> (Tensor, Tensor, Tensor)",
    "layernorm_residual_forward": "(Tensor x, Tensor residual, Tensor weight, Tensor bias, float eps)"
    " -> (Tensor, Tensor, Tensor)",
    "layernorm_residual_backward": "(Tensor dout, Tensor x, Tensor weight, Tensor mean, Tensor rstd) -> (Tensor, Tensor, Tensor)",
    "bias_gelu_forward": "(Tensor x, Tensor bias) -> Tensor",
    "bias_gelu_backward": "(Tensor dout, Tensor x, Tensor bias) -> (Tensor, Tensor)",
    "three_way_add": "(Tensor a, Tensor b, Tensor c) -> Tensor",
    "attention_forward": "(Tensor q, Tensor k, Tensor v, Tensor? lengths) -> (Tensor, Tensor)",
    "attention_backward": "(Tensor dout, Tensor out, Tensor lse, Tensor q, Tensor k, Tensor v) -> Tensor",
}


# ---- shapes and types of the results, for fake tensors ----


def _like(x: Tensor) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _rows_of(x: Tensor) -> Tensor:
    rows = 1
    for size in x.shape[:-1]:
        rows = rows * size
    return torch.empty((rows,), dtype=torch.float32, device=x.device)


def _columns_of(x: Tensor) -> Tensor:
    return torch.empty((x.shape[-1],), dtype=torch.float32, device=x.device)


def _attention_results(q: Tensor) -> tuple[Tensor, Tensor]:
    B, H, T, D = q.shape
    out = torch.empty((B, T, H, D), dtype=q.dtype, device=q.device)
    return out, torch.empty((B, H, T), dtype=torch.float32, device=q.device)


def _attention_gradient(q: Tensor) -> Tensor:
    B, H, T, D = q.shape
    return torch.empty((B, T, 3, H, D), dtype=q.dtype, device=q.device)


FAKES = {
    "softmax_forward": lambda x: _like(x),
    "softmax_backward": lambda dout, out: _like(out),
    "causal_softmax_forward": lambda x, lengths, scale: _like(x),
    "causal_softmax_backward": lambda dout, out, lengths, scale: _like(out),
    "layernorm_forward": lambda x, *rest: (_like(x), _rows_of(x), _rows_of(x)),
    "layernorm_backward": lambda dout, x, *rest: (_like(x), _columns_of(x), _columns_of(x)),
    "residual_layernorm_forward": lambda x, *rest: (_like(x), _like(x), _rows_of(x), _rows_of(x)),
    "residual_layernorm_backward": lambda dout, dsum, total, *rest: (_like(total), _columns_of(total), _columns_of(total)),
    "layernorm_residual_forward": lambda x, *rest: (_like(x), _rows_of(x), _rows_of(x)),
    "layernorm_residual_backward": lambda dout, x, *rest: (_like(x), _columns_of(x), _columns_of(x)),
    "bias_gelu_forward": lambda x, bias: _like(x),
    "bias_gelu_backward": lambda dout, x, bias: (_like(x), _columns_of(x)),
    "three_way_add": lambda a, b, c: _like(a),
    "attention_forward": lambda q, k, v, lengths: _attention_results(q),
    "attention_backward": lambda dout, out, lse, q, k, v: _attention_gradient(q),
}


def refuse_vmap(*_arguments):
    raise NotImplementedError(
        "course_kernels: the kernels have no rule for torch.vmap. They take any leading dimensions: call them on the whole batch"
    )


for _op, _schema in SCHEMAS.items():
    _library.define(_op + _schema, tags=(torch.Tag.pt2_compliant_tag,))
    for _device in ("CPU", "CUDA"):
        _library.impl(_op, getattr(launch, _op), _device)
    torch.library.register_fake(f"{NAMESPACE}::{_op}", FAKES[_op], lib=_library)
    torch.library.register_vmap(f"{NAMESPACE}::{_op}", refuse_vmap, lib=_library)
