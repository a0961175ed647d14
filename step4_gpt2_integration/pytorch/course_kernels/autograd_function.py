"""The ops of lab 3 as differentiable functions on PyTorch tensors.

    softmax(x, dim=-1)                                          causal_softmax(x, scale, lengths)
    layer_norm(x, weight, bias, eps)                            bias_gelu(x, bias)
    residual_layer_norm(x, residual, weight, bias, eps)         layer_norm_residual(x, residual, weight, bias, eps)
    three_way_add(a, b, c)                                      causal_attention(q, k, v, lengths), of lab 4

Tensors may have any strides and any alignment, in fp32, fp16 or bf16. No result shares memory with an input. Where a kernel
cannot run, a function takes the standard PyTorch path and says so once; stats() counts both. What is wrong on any path is an
error.

Under autocast, softmax and LayerNorm compute in fp32, as PyTorch's own do, and bias_gelu in the type of x.

A call in eager code goes to the launcher at once, because a trip through the dispatcher costs more time than the launch.
Compiled code, fake tensors and function transforms see the ops torch.ops.course.* (ops.py), with the same gradients.
"""

import os
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.nn import Parameter

from . import launch, ops
from .libraries import TYPES, forget_libraries
from .stats import count_standard

_on_cpu_backend = os.environ.get("COURSE_KERNELS_CPU") == "1"
_decisions: dict[tuple, str | None] = {}
_MOST = 2**31 - 1


def run_cpu_tensors_on_the_cpu_backend(run: bool) -> None:
    """Shall CPU tensors run on the course's kernels, through the CPU backend? It is exact and slow. The environment variable
    COURSE_KERNELS_CPU=1 sets it too; otherwise they take the standard path."""
    global _on_cpu_backend
    _on_cpu_backend = run
    _decisions.clear()


def reload() -> None:
    """Look for libraries and devices again."""
    forget_libraries()
    launch.forget_devices()
    _decisions.clear()


# ---- which path a call takes ----


@torch.compiler.assume_constant_result
def _why_not(op: str, device: torch.device, dtype: torch.dtype) -> str | None:
    """Why the kernel of `op` cannot run for this device and type; None: it can. Constant until reload()."""
    key = (op, device, dtype)
    if key in _decisions:
        return _decisions[key]
    reason = _find_out(op, device, dtype)
    if launch.is_probed(device):
        _decisions[key] = reason
    return reason


def _find_out(op: str, device: torch.device, dtype: torch.dtype) -> str | None:
    if dtype not in TYPES:
        return f"there are no kernels for {dtype}"
    if device.type == "cpu" and not _on_cpu_backend:
        return "CPU tensors (COURSE_KERNELS_CPU=1 runs them on the course's CPU backend, slowly)"
    reason = launch.why_unusable(device)
    if reason is None and not launch.has(op, device, dtype):
        reason = f"the library for {device.type} tensors has no {op}"
    return reason


def kernel(op: str, x: Tensor) -> Callable[..., None] | None:
    """The launcher of `op` for tensors of x's type and device, as launch.kernel() gives it. None: they take the standard path."""
    return launch.kernel(op, x.dtype, x.device) if _why_not(op, x.device, x.dtype) is None else None


def _takes_standard_path(name: str, op: str, x: Tensor, *others: Tensor | None) -> bool:
    """Decides a call, and counts it if it takes the standard path. Raises ValueError where no path is right."""
    reason = None
    device, dtype = x.device, x.dtype
    for other in others:
        if other is None:
            reason = "LayerNorm without weight or bias"
        elif other.device != device:
            raise ValueError(
                f"{name}: its tensors are on {device} and on {other.device}. Move all of them to one device with .to(...)"
            )
        elif other.dtype != dtype:
            reason = f"tensors of two types, {dtype} and {other.dtype}"
    columns = x.size(-1)
    if columns == 0:
        reason = reason or "rows without elements"
    elif not torch.compiler.is_compiling() and x.numel() > _MOST * columns:
        reason = reason or "more than 2^31 - 1 rows"
    reason = reason or _why_not(op, device, dtype)
    if reason is None:
        return False
    count_standard(name, reason)
    return True


def _call(name: str, *arguments):
    """The op `name`, on the shortest way that is right here."""
    if not launch.is_transformed():
        needs_gradient = False
        for argument in arguments:
            kind = type(argument)
            if kind is Tensor or kind is Parameter:
                needs_gradient = needs_gradient or argument.requires_grad
            elif isinstance(argument, Tensor):
                break  # a subclass, which may do something else with the op
        else:
            if needs_gradient and torch.is_grad_enabled():
                return _EAGER[name].apply(*arguments)
            return getattr(launch, name)(*arguments)
    if launch.is_function_transform():
        return FUNCTIONS[name].apply(*arguments)
    return getattr(torch.ops.course, name)(*arguments)


def autocasts(x: Tensor) -> bool:
    """Is autocast on for x's kind of device?"""
    kind = x.device.type
    return kind in ("cuda", "cpu") and torch.is_autocast_enabled(kind)


def _as_autocast(*tensors: Tensor | None) -> tuple[Tensor | None, ...]:
    """16-bit tensors as fp32 where autocast is on, as for PyTorch's softmax and layer_norm."""
    if not autocasts(tensors[0]):
        return tensors
    return tuple(
        tensor.float() if tensor is not None and tensor.dtype in (torch.float16, torch.bfloat16) else tensor for tensor in tensors
    )


def _require(right: bool, message: str) -> None:
    if not right:
        raise ValueError(message)


def _require_same_shape(name: str, x: Tensor, other: Tensor, other_name: str) -> None:
    if x.shape != other.shape:
        raise ValueError(
            f"{name}: x is {tuple(x.shape)} and {other_name} {tuple(other.shape)}. They must have one shape: expand() one of them"
        )


def _require_columns(name: str, x: Tensor, *vectors: Tensor | None) -> None:
    if x.dim() == 0:
        raise ValueError(f"{name}: x is a single number, and must have rows: shape (..., C)")
    columns = x.size(-1)
    for vector in vectors:
        if vector is not None and (vector.dim() != 1 or vector.size(0) != columns):
            raise ValueError(
                f"{name}: a vector of shape {tuple(vector.shape)} does not fit x, {tuple(x.shape)}. It must be ({columns},)"
            )


# ---- the autograd functions. Each has the arguments of its op in ops.py; the backward pass is another op. ----


class KernelFunction(Function):
    """What all have in common: torch.func.grad differentiates them, torch.vmap is refused."""

    @staticmethod
    def vmap(info, in_dims, *arguments):
        ops.refuse_vmap()


class Softmax(KernelFunction):
    """out = softmax(x) along the last dimension; x, out: (..., C)."""

    @staticmethod
    def forward(x):
        return launch.softmax_forward(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, dout):
        return _call("softmax_backward", dout, *ctx.saved_tensors)


class CausalSoftmax(KernelFunction):
    """out = softmax(scale * x) under a causal mask; x, out: (B, H, T, T); lengths: (B), int32, or None."""

    @staticmethod
    def forward(x, lengths, scale):
        return launch.causal_softmax_forward(x, lengths, scale)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, lengths, ctx.scale = inputs
        ctx.save_for_backward(output, lengths)

    @staticmethod
    def backward(ctx, dout):
        out, lengths = ctx.saved_tensors
        return _call("causal_softmax_backward", dout, out, lengths, ctx.scale), None, None


def _keep_for_norm(ctx, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor) -> None:
    ctx.mark_non_differentiable(mean, rstd)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x, weight, mean, rstd)


def _norm_gradients(op: str, ctx, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """dx, dweight, dbias of what _keep_for_norm kept."""
    x, weight, mean, rstd = ctx.saved_tensors  # once: a checkpoint may give them once only
    dx, dweight, dbias = _call(op, *gradients, x, weight, mean, rstd)
    return dx, dweight.to(weight.dtype), dbias.to(weight.dtype)


class LayerNorm(KernelFunction):
    """out, mean, rstd of x: (..., C); weight, bias: (C)."""

    @staticmethod
    def forward(x, weight, bias, eps):
        return launch.layernorm_forward(x, weight, bias, eps)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, _, _ = inputs
        _, mean, rstd = output
        _keep_for_norm(ctx, x, weight, mean, rstd)

    @staticmethod
    def backward(ctx, dout, _mean, _rstd):
        if dout is None:
            return None, None, None, None
        return *_norm_gradients("layernorm_backward", ctx, dout), None


class ResidualLayerNorm(KernelFunction):
    """out, sum, mean, rstd of x + residual: (..., C); weight, bias: (C)."""

    @staticmethod
    def forward(x, residual, weight, bias, eps):
        return launch.residual_layernorm_forward(x, residual, weight, bias, eps)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, total, mean, rstd = output
        _keep_for_norm(ctx, total, inputs[2], mean, rstd)

    @staticmethod
    def backward(ctx, dout, dsum, _mean, _rstd):
        if dout is None:
            return dsum, dsum, None, None, None
        if dsum is None:  # the sum is not used further: no residual stream
            dx, dweight, dbias = _norm_gradients("layernorm_backward", ctx, dout)
        else:
            dx, dweight, dbias = _norm_gradients("residual_layernorm_backward", ctx, dout, dsum)
        return dx, dx, dweight, dbias, None


class LayerNormResidual(KernelFunction):
    """out, mean, rstd of LayerNorm(x) + residual: (..., C); weight, bias: (C)."""

    @staticmethod
    def forward(x, residual, weight, bias, eps):
        return launch.layernorm_residual_forward(x, residual, weight, bias, eps)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, _, weight, _, _ = inputs
        _, mean, rstd = output
        _keep_for_norm(ctx, x, weight, mean, rstd)

    @staticmethod
    def backward(ctx, dout, _mean, _rstd):
        if dout is None:
            return None, None, None, None, None
        dx, dweight, dbias = _norm_gradients("layernorm_residual_backward", ctx, dout)
        return dx, dout, dweight, dbias, None


class BiasGelu(KernelFunction):
    """out = gelu(x + bias), GPT-2's tanh form; x, out: (..., C); bias: (C)."""

    @staticmethod
    def forward(x, bias):
        return launch.bias_gelu_forward(x, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, dout):
        x, bias = ctx.saved_tensors
        dx, dbias = _call("bias_gelu_backward", dout, x, bias)
        return dx, dbias.to(bias.dtype)


class ThreeWayAdd(KernelFunction):
    """out = (a + b) + c; a, b, c, out: (..., C)."""

    @staticmethod
    def forward(a, b, c):
        return launch.three_way_add(a, b, c)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, dout):
        return dout, dout, dout


class CausalAttention(KernelFunction):
    """out (B, T, H, D), lse (B, H, T) of q, k, v: (B, H, T, D); lengths: (B), int32, or None."""

    @staticmethod
    def forward(q, k, v, lengths):
        return launch.attention_forward(q, k, v, lengths)

    @staticmethod
    def setup_context(ctx, inputs, output):
        q, k, v, ctx.lengths = inputs
        out, lse = output
        ctx.mark_non_differentiable(lse)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(out, lse, q, k, v)

    @staticmethod
    def backward(ctx, dout, _lse):
        if dout is None:
            return None, None, None, None
        _require(ctx.lengths is None, "causal_attention: no gradient with lengths. Use causal_softmax between two matmuls")
        dqkv = _call("attention_backward", dout, *ctx.saved_tensors)
        return (*(part.transpose(1, 2) for part in dqkv.unbind(2)), None)


class _Backward(KernelFunction):
    """A backward pass, as a function that cannot be differentiated again."""

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, *gradients):
        if all(gradient is None for gradient in gradients):
            return (None,) * len(ctx.needs_input_grad)
        raise RuntimeError(
            "course_kernels: the kernels have first derivatives only."
            " Call disable() on the model, or drop create_graph=True, to differentiate twice"
        )


FUNCTIONS: dict[str, type[KernelFunction]] = {
    "softmax_forward": Softmax,
    "causal_softmax_forward": CausalSoftmax,
    "layernorm_forward": LayerNorm,
    "residual_layernorm_forward": ResidualLayerNorm,
    "layernorm_residual_forward": LayerNormResidual,
    "bias_gelu_forward": BiasGelu,
    "three_way_add": ThreeWayAdd,
    "attention_forward": CausalAttention,
}
DIFFERENTIABLE = tuple(FUNCTIONS)


def _eager(function: type[KernelFunction]) -> type[Function]:
    """The same function for eager code: PyTorch binds the arguments of a function with setup_context at each call, which takes
    longer than the rest of the call."""

    class Eager(Function):
        @staticmethod
        def forward(ctx, *inputs):
            output = function.forward(*inputs)
            function.setup_context(ctx, inputs, output)
            return output

        backward = function.backward

    Eager.__name__ = Eager.__qualname__ = function.__name__
    return Eager


for _name in ops.SCHEMAS:
    if _name not in FUNCTIONS:
        FUNCTIONS[_name] = type(_name, (_Backward,), {"forward": staticmethod(getattr(launch, _name))})
    torch.library.register_autograd(
        f"{ops.NAMESPACE}::{_name}",
        FUNCTIONS[_name].backward,
        setup_context=FUNCTIONS[_name].setup_context,
        lib=ops._library,
    )
_EAGER = {_name: _eager(_function) for _name, _function in FUNCTIONS.items()}


# ---- what models call ----


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Softmax of x along dimension `dim`; x: any shape. Raises ValueError for a tensor without dimensions."""
    _require(x.dim() >= 1, "softmax: x is a single number, and must have at least one dimension")
    _require(-x.dim() <= dim < x.dim(), f"softmax: x has {x.dim()} dimensions, and none is number {dim}")
    (x,) = _as_autocast(x)
    last = dim in (-1, x.dim() - 1)
    if _takes_standard_path("softmax", "softmax_forward", x if last else x.movedim(dim, -1)):
        return F.softmax(x, dim)
    if last:
        return _call("softmax_forward", x)
    return _call("softmax_forward", x.movedim(dim, -1)).movedim(-1, dim)


def causal_softmax(x: Tensor, scale: float = 1.0, lengths: Tensor | None = None) -> Tensor:
    """softmax(scale * x) where key j <= query i and j < lengths[b], exactly 0 elsewhere.

    x: (B, ..., T, T); lengths: (B), integers: the keys of each sequence, None for T. A row without any key is all 0. Raises
    ValueError for other shapes.
    """
    _require(
        x.dim() >= 2 and x.shape[-1] == x.shape[-2],
        f"causal_softmax: x is {tuple(x.shape)}, and must end in a square of T queries by T keys: (B, ..., T, T)",
    )
    batch = x.shape[0] if x.dim() > 2 else 1
    _require(
        lengths is None or tuple(lengths.shape) == (batch,),
        f"causal_softmax: lengths must be one number for each of the {batch} sequences: shape ({batch},)",
    )
    _require(
        lengths is None or lengths.device == x.device,
        f"causal_softmax: x is on {x.device}, and lengths must be there too",
    )
    _require(0 < scale < float("inf"), f"causal_softmax: scale is {scale}, and must be above 0 and finite")
    (x,) = _as_autocast(x)
    if _takes_standard_path("causal_softmax", "causal_softmax_forward", x):
        return _standard_causal_softmax(x, scale, lengths)
    if lengths is not None:
        lengths = lengths.to(torch.int32).contiguous()
    T = x.shape[-1]
    heads = x.numel() // (batch * T * T) if batch * T else 0
    if torch.compiler.is_compiling():
        heads = -1
    return _call("causal_softmax_forward", x.reshape(batch, heads, T, T), lengths, scale).reshape(x.shape)


def causal_mask(T: int, lengths: Tensor | None, device: torch.device, dims: int = 4) -> Tensor:
    """Which keys a query sees: (T, T), or with lengths, (B), of `dims` dimensions, (B, 1, ..., T, T)."""
    allowed = torch.ones(T, T, dtype=torch.bool, device=device).tril()
    if lengths is None:
        return allowed
    return allowed & (torch.arange(T, device=device) < lengths.view(-1, *[1] * (dims - 1)))


def _standard_causal_softmax(x: Tensor, scale: float, lengths: Tensor | None) -> Tensor:
    allowed = causal_mask(x.shape[-1], lengths, x.device, x.dim())
    out = F.softmax((x.float() * scale).masked_fill(~allowed, float("-inf")), -1)
    return out.masked_fill(~allowed, 0.0).to(x.dtype)


def layer_norm(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5) -> Tensor:
    """LayerNorm over the last dimension. x: (..., C); weight, bias: (C). Raises ValueError for other shapes."""
    _require_columns("layer_norm", x, weight, bias)
    x, weight, bias = _as_autocast(x, weight, bias)
    if _takes_standard_path("layer_norm", "layernorm_forward", x, weight, bias):
        return F.layer_norm(x, x.shape[-1:], weight, bias, eps)
    return _call("layernorm_forward", x, weight, bias, eps)[0]


def residual_layer_norm(
    x: Tensor, residual: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5
) -> tuple[Tensor, Tensor]:
    """sum = x + residual, and its LayerNorm. Gives (LayerNorm(sum), sum).

    x, residual: (..., C); weight, bias: (C). Raises ValueError for other shapes.
    """
    _require_columns("residual_layer_norm", x, weight, bias)
    _require_same_shape("residual_layer_norm", x, residual, "residual")
    x, residual, weight, bias = _as_autocast(x, residual, weight, bias)
    if _takes_standard_path("residual_layer_norm", "residual_layernorm_forward", x, residual, weight, bias):
        total = x + residual
        return F.layer_norm(total, total.shape[-1:], weight, bias, eps), total
    return _call("residual_layernorm_forward", x, residual, weight, bias, eps)[:2]


def layer_norm_residual(
    x: Tensor, residual: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5
) -> Tensor:
    """LayerNorm(x) + residual. x, residual: (..., C); weight, bias: (C). Raises ValueError for other shapes."""
    _require_columns("layer_norm_residual", x, weight, bias)
    _require_same_shape("layer_norm_residual", x, residual, "residual")
    x, residual, weight, bias = _as_autocast(x, residual, weight, bias)
    if _takes_standard_path("layer_norm_residual", "layernorm_residual_forward", x, residual, weight, bias):
        return F.layer_norm(x, x.shape[-1:], weight, bias, eps) + residual
    return _call("layernorm_residual_forward", x, residual, weight, bias, eps)[0]


def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    """GELU (tanh form) of x + bias. x: (..., C); bias: (C). Under autocast, bias is used in x's type. Raises ValueError."""
    _require_columns("bias_gelu", x, bias)
    if autocasts(x):
        bias = bias.to(x.dtype)
    if _takes_standard_path("bias_gelu", "bias_gelu_forward", x, bias):
        return F.gelu(x + bias, approximate="tanh")
    return _call("bias_gelu_forward", x, bias)


def three_way_add(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """(a + b) + c, rounded to the type after each add. a, b, c: one shape (..., C). Raises ValueError for other shapes."""
    _require(a.dim() >= 1, "three_way_add: a is a single number, and must have rows: shape (..., C)")
    _require_same_shape("three_way_add", a, b, "the second")
    _require_same_shape("three_way_add", a, c, "the third")
    if _takes_standard_path("three_way_add", "three_way_add", a, b, c):
        return (a + b) + c
    return _call("three_way_add", a, b, c)


def causal_attention(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Causal self-attention of whole prompts in one kernel, with the scale 1 / sqrt(D): step 4's.

    q, k, v: (B, H, T, D), D <= 128; lengths: (B), integers in 1..T, or None. Gives (B, T, H, D). A call that needs a gradient
    takes the standard path unless its type has 16 bits and it has no lengths. Raises ValueError for other shapes.
    """
    _require(q.dim() == 4 and q.shape[-1] <= 128, f"causal_attention: q is {tuple(q.shape)}, and must be (B, H, T, D), D <= 128")
    _require_same_shape("causal_attention", q, k, "k")
    _require_same_shape("causal_attention", q, v, "v")
    _require(lengths is None or tuple(lengths.shape) == (q.shape[0],), "causal_attention: lengths must have shape (B,)")
    _require(
        lengths is None or lengths.device == q.device,
        f"causal_attention: q is on {q.device}, and lengths must be there too",
    )
    needs_gradient = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
    standard = needs_gradient and (q.element_size() != 2 or lengths is not None)
    if standard:
        count_standard("causal_attention", "a gradient in fp32, or with lengths")
    if standard or _takes_standard_path("causal_attention", "course_attention_forward", q, k, v):
        return _standard_attention(q, k, v, lengths)
    if lengths is not None:
        lengths = lengths.to(torch.int32).contiguous()
    return _call("attention_forward", q, k, v, lengths)[0]


def _standard_attention(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None) -> Tensor:
    if lengths is None:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
    allowed = causal_mask(q.shape[2], lengths, q.device)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed).transpose(1, 2)
