"""Lab 3's forward ops once more, in Triton, for the comparison of experiments.py: one program a row, the row in registers.

Simple kernels, as a tutorial has them: what a reader of lab 3's kernels 3 and 4 would write. For contiguous rows of up to 65536
elements. TRITON_INTERPRET=1 runs them without a GPU.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _softmax(out, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * C
    c = tl.arange(0, BLOCK)
    values = tl.load(x + row + c, c < C, -float("inf")).to(tl.float32)
    exponentials = tl.exp(values - tl.max(values))
    tl.store(out + row + c, exponentials / tl.sum(exponentials), c < C)


def softmax(x: Tensor) -> Tensor:
    """x: (..., C)."""
    out = torch.empty_like(x)
    _softmax[_rows(x)](out, x, x.shape[-1], **_block(x.shape[-1]))
    return out


@triton.jit
def _causal_softmax(out, x, T, scale, BLOCK: tl.constexpr):
    n = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    seen = c <= n % T
    values = tl.load(x + n * T + c, seen, -float("inf")).to(tl.float32) * scale
    exponentials = tl.exp(values - tl.max(values))
    tl.store(out + n * T + c, exponentials / tl.sum(exponentials), c < T)


def causal_softmax(x: Tensor, scale: float) -> Tensor:
    """x: (B, H, T, T)."""
    out = torch.empty_like(x)
    _causal_softmax[_rows(x)](out, x, x.shape[-1], scale, **_block(x.shape[-1]))
    return out


@triton.jit
def _normalized(values, inside, weight, bias, c, C, eps):
    mean = tl.sum(values) / C
    distances = tl.where(inside, values - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(distances * distances) / C + eps)
    return distances * rstd * tl.load(weight + c, inside, 0.0).to(tl.float32) + tl.load(bias + c, inside, 0.0).to(tl.float32)


@triton.jit
def _layer_norm(out, x, weight, bias, C, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * C
    c = tl.arange(0, BLOCK)
    values = tl.load(x + row + c, c < C, 0.0).to(tl.float32)
    tl.store(out + row + c, _normalized(values, c < C, weight, bias, c, C, eps), c < C)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """x: (..., C); weight, bias: (C)."""
    out = torch.empty_like(x)
    _layer_norm[_rows(x)](out, x, weight, bias, x.shape[-1], eps, **_block(x.shape[-1]))
    return out


@triton.jit
def _residual_layer_norm(out, total, x, residual, weight, bias, C, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * C
    c = tl.arange(0, BLOCK)
    added = tl.load(x + row + c, c < C, 0.0).to(tl.float32) + tl.load(residual + row + c, c < C, 0.0).to(tl.float32)
    rounded = added.to(total.dtype.element_ty)
    tl.store(total + row + c, rounded, c < C)
    tl.store(out + row + c, _normalized(rounded.to(tl.float32), c < C, weight, bias, c, C, eps), c < C)


def residual_layer_norm(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> tuple[Tensor, Tensor]:
    """x, residual: (..., C); weight, bias: (C)."""
    out, total = torch.empty_like(x), torch.empty_like(x)
    _residual_layer_norm[_rows(x)](out, total, x, residual, weight, bias, x.shape[-1], eps, **_block(x.shape[-1]))
    return out, total


@triton.jit
def _layer_norm_residual(out, x, residual, weight, bias, C, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * C
    c = tl.arange(0, BLOCK)
    values = tl.load(x + row + c, c < C, 0.0).to(tl.float32)
    normalized = _normalized(values, c < C, weight, bias, c, C, eps)
    tl.store(out + row + c, normalized + tl.load(residual + row + c, c < C, 0.0).to(tl.float32), c < C)


def layer_norm_residual(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """x, residual: (..., C); weight, bias: (C)."""
    out = torch.empty_like(x)
    _layer_norm_residual[_rows(x)](out, x, residual, weight, bias, x.shape[-1], eps, **_block(x.shape[-1]))
    return out


@triton.jit
def _bias_gelu(out, x, bias, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * C
    c = tl.arange(0, BLOCK)
    u = tl.load(x + row + c, c < C, 0.0).to(tl.float32) + tl.load(bias + c, c < C, 0.0).to(tl.float32)
    inner = 0.7978845608028654 * (u + 0.044715 * u * u * u)
    tl.store(out + row + c, u * tl.sigmoid(2.0 * inner), c < C)  # (1 + tanh(a)) / 2 = sigmoid(2 a)


def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    """x: (..., C); bias: (C)."""
    out = torch.empty_like(x)
    _bias_gelu[_rows(x)](out, x, bias, x.shape[-1], **_block(x.shape[-1]))
    return out


@triton.jit
def _three_way_add(out, a, b, c, N, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    first = (tl.load(a + i, i < N) + tl.load(b + i, i < N)).to(out.dtype.element_ty)
    tl.store(out + i, first + tl.load(c + i, i < N), i < N)


def three_way_add(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """(a + b) + c, rounded to the type after each add; a, b, c: (..., C)."""
    out = torch.empty_like(a)
    _three_way_add[(triton.cdiv(a.numel(), 1024),)](out, a, b, c, a.numel(), BLOCK=1024)
    return out


def _rows(x: Tensor) -> tuple[int]:
    return (x.numel() // x.shape[-1],)


def _block(columns: int) -> dict[str, int]:
    """The elements of a program, a power of two, and its warps: 8 elements or more for each thread."""
    block = triton.next_power_of_2(columns)
    return {"BLOCK": block, "num_warps": min(max(block // 256, 1), 16)}
