"""From tensors to launchers: one function for each op, with new tensors as results.

These functions are the ops' implementations for CPU tensors (on the CPU backend's library) and CUDA tensors (on the CUDA
library). They expect what autograd_function.py has checked: one device, one type of TYPES, the shapes of the contract. An
input of any strides and alignment is right; one that is not contiguous is copied first. No result shares memory with an
input.

N is the product of all dimensions but the last, C the last.
"""

import threading
from collections.abc import Callable

import torch
from torch import Tensor

from .libraries import Library, LibraryMissing, how_to_build, library
from .stats import count_kernel

_NO_KERNEL_IMAGE = 209  # cudaErrorNoKernelImageForDevice
_UPPER_ZERO = 0  # CAUSAL_UPPER_ZERO: all of the output is written
_one_at_a_time = threading.Lock()  # the CPU backend runs one launch at a time
_usable: dict[tuple[str, int], str | None] = {}

_is_compiling = torch.compiler.is_compiling
_dispatch_modes = torch._C._len_torch_dispatch_stack
_innermost_transform = torch._C._functorch.peek_interpreter_stack
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
    lambda index: torch.cuda.current_stream(index).cuda_stream
)


_kernels: dict[tuple[str, torch.dtype, torch.device], Callable[..., None]] = {}
_in_ranges = False


def show_in_profiles(show: bool) -> None:
    """Shall each launch be a range "course::OP" in torch.profiler's traces? It costs some microseconds a launch."""
    global _in_ranges
    _in_ranges = show
    _kernels.clear()


def kernel(op: str, dtype: torch.dtype, device: torch.device) -> Callable[..., None]:
    """The launcher of `op` for this type. It takes the arguments of its contract without the stream, and runs on `device`, on the
    current stream. A call of it may raise KernelFailed. Raises LibraryMissing."""
    key = op, dtype, device
    ready = _kernels.get(key)
    if ready is None:
        loaded = library(device.type)
        launcher = loaded.launchers.get((op, dtype))
        if launcher is None:
            raise LibraryMissing(f"{loaded.path} has no {op} for {dtype}: it was built without that file, see sources()")
        ready = _kernels[key] = _prepare(loaded, launcher, op, dtype, device)
    return ready


class Exchanged:
    """A context in which another launcher, with the same arguments, runs in place of the library's launcher of `op`."""

    def __init__(self, op: str, dtype: torch.dtype, device: torch.device, launcher: Callable[..., int]):
        self.key = op, dtype, device
        self.other = _prepare(library(device.type), launcher, *self.key)

    def __enter__(self) -> None:
        self.before, _kernels[self.key] = kernel(*self.key), self.other

    def __exit__(self, *_) -> None:
        _kernels[self.key] = self.before


def _prepare(
    loaded: Library, launcher: Callable[..., int], op: str, dtype: torch.dtype, device: torch.device
) -> Callable[..., None]:
    start = _on_device(loaded, launcher, device)

    def run(*arguments) -> None:
        status = start(arguments)
        if loaded.workspace_calls:
            loaded.release_workspace()
        if status != 0:
            raise loaded.failure(op, dtype, status)
        count_kernel(op)

    def run_in_a_range(*arguments) -> None:
        with torch.profiler.record_function(f"course::{op}"):
            run(*arguments)

    return run_in_a_range if _in_ranges else run


def _on_device(loaded: Library, launcher, device: torch.device) -> Callable[[tuple], int]:
    """A function that calls `launcher` with its arguments, given without the stream, and gives its status."""

    def on_cpu(arguments: tuple) -> int:
        with _one_at_a_time:
            return launcher(*arguments, None)

    def on_the_gpu(arguments: tuple) -> int:
        return launcher(*arguments, _current_stream(device.index))

    def on_one_of_several_gpus(arguments: tuple) -> int:
        with torch.cuda.device(device):
            return loaded.set_device(device.index) or launcher(*arguments, _current_stream(device.index))

    if loaded.kind == "cpu":
        return on_cpu
    return on_the_gpu if torch.cuda.device_count() == 1 else on_one_of_several_gpus


def _run(op: str, x: Tensor, arguments: tuple) -> None:
    """Calls the launcher for x's type, on x's device."""
    kernel(op, x.dtype, x.device)(*arguments)


def why_unusable(device: torch.device) -> str | None:
    """Why the kernels cannot run on this device; None: they can. The first call for a device launches one small kernel, unless
    the call is being recorded or traced."""
    key = (device.type, device.index or 0)
    if key in _usable:
        return _usable[key]
    reason = _why_missing(device)
    if is_transformed() or (device.type == "cuda" and torch.cuda.is_current_stream_capturing()):
        return reason
    _usable[key] = reason or _why_refused(device)
    return _usable[key]


def is_probed(device: torch.device) -> bool:
    """Is the answer of why_unusable final?"""
    return (device.type, device.index or 0) in _usable


def is_function_transform() -> bool:
    """Does this run inside torch.func.grad, torch.vmap or the like, in eager code?"""
    return not _is_compiling() and _innermost_transform() is not None


def is_transformed() -> bool:
    """Is anything between this code and the tensors: a compiler, a dispatch mode, a transform such as vmap?"""
    return _is_compiling() or _dispatch_modes() > 0 or _innermost_transform() is not None


def forget_devices() -> None:
    """Probe the devices again at the next call."""
    _usable.clear()
    _kernels.clear()


def _why_missing(device: torch.device) -> str | None:
    if device.type not in ("cpu", "cuda"):
        return f"there are no kernels for {device.type} devices"
    try:
        library(device.type)
    except LibraryMissing as error:
        return str(error)
    return None


def _why_refused(device: torch.device) -> str | None:
    """Launches softmax of one number: does the library hold code for this GPU?"""
    loaded = library(device.type)
    launcher = loaded.launchers.get(("softmax_forward", torch.float32))
    if launcher is None:
        return None
    one = torch.zeros(1, 1, device=device)
    out = torch.empty_like(one)
    arguments = (out.data_ptr(), one.data_ptr(), 1, 1)
    if _on_device(loaded, launcher, one.device)(arguments) == _NO_KERNEL_IMAGE:
        name = torch.cuda.get_device_name(device)
        return f"{loaded.path} was built for other GPUs than {name}. On this machine {how_to_build('cuda')}"
    return None


def has(op: str, device: torch.device, dtype: torch.dtype) -> bool:
    """Does the library for this device have this op for this type?"""
    try:
        return (op, dtype) in library(device.type).launchers
    except LibraryMissing:
        return False


def _dense(*tensors: Tensor) -> list[Tensor]:
    return [tensor if tensor.is_contiguous() else tensor.contiguous() for tensor in tensors]


def _rows(x: Tensor) -> tuple[int, int]:
    columns = x.shape[-1]
    return (x.numel() // columns if columns else 0), columns


def _statistics(x: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """mean and rstd: (N), fp32."""
    device = x.device
    return torch.empty(rows, dtype=torch.float32, device=device), torch.empty(rows, dtype=torch.float32, device=device)


# ---- softmax ----


def softmax_forward(x: Tensor) -> Tensor:
    """x: (..., C). Source: common/ops/softmax_forward/contract.h."""
    (x,) = _dense(x)
    out = torch.empty_like(x)
    if x.numel():
        _run("softmax_forward", x, (out.data_ptr(), x.data_ptr(), *_rows(x)))
    return out


def softmax_backward(dout: Tensor, out: Tensor) -> Tensor:
    """dout, out: (..., C). Source: common/ops/softmax_backward/contract.h."""
    dout, out = _dense(dout, out)
    dx = torch.empty_like(out)
    if out.numel():
        _run("softmax_backward", out, (dx.data_ptr(), dout.data_ptr(), out.data_ptr(), *_rows(out)))
    return dx


def causal_softmax_forward(x: Tensor, lengths: Tensor | None, scale: float) -> Tensor:
    """x: (B, H, T, T); lengths: (B), int32. Source: common/ops/causal_softmax_forward/contract.h."""
    (x,) = _dense(x)
    out = torch.empty_like(x)
    if x.numel():
        sizes = (*x.shape[:3], scale, _UPPER_ZERO)
        _run("causal_softmax_forward", x, (out.data_ptr(), x.data_ptr(), _address(lengths), *sizes))
    return out


def causal_softmax_backward(dout: Tensor, out: Tensor, lengths: Tensor | None, scale: float) -> Tensor:
    """dout, out: (B, H, T, T); lengths: (B), int32. Source: common/ops/causal_softmax_backward/contract.h."""
    dout, out = _dense(dout, out)
    dx = torch.empty_like(out)
    if out.numel():
        sizes = (*out.shape[:3], scale, _UPPER_ZERO)
        _run("causal_softmax_backward", out, (dx.data_ptr(), dout.data_ptr(), out.data_ptr(), _address(lengths), *sizes))
    return dx


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


# ---- LayerNorm ----


def layernorm_forward(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """x: (..., C); weight, bias: (C). Gives out (..., C), mean (N), rstd (N), the last two fp32.

    Source: common/ops/layernorm_forward/contract.h.
    """
    x, weight, bias = _dense(x, weight, bias)
    out = torch.empty_like(x)
    rows, columns = _rows(x)
    mean, rstd = _statistics(x, rows)
    if rows:
        outputs = (out.data_ptr(), mean.data_ptr(), rstd.data_ptr())
        _run("layernorm_forward", x, (*outputs, x.data_ptr(), weight.data_ptr(), bias.data_ptr(), rows, columns, eps))
    return out, mean, rstd


def layernorm_backward(dout: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """dout, x: (..., C); weight: (C); mean, rstd: (N). Gives dx (..., C), dweight (C), dbias (C), the last two fp32.

    Source: common/ops/layernorm_backward/contract.h.
    """
    return _layernorm_backward("layernorm_backward", dout, None, x, weight, mean, rstd)


def _layernorm_backward(op, dout, dsum, x, weight, mean, rstd):
    dout, x, weight, mean, rstd = _dense(dout, x, weight, mean, rstd)
    dx = torch.empty_like(x)
    rows, columns = _rows(x)
    dweight, dbias = (torch.zeros(columns, dtype=torch.float32, device=x.device) for _ in range(2))
    if rows:
        streams = (dout.data_ptr(),) if dsum is None else (dout.data_ptr(), dsum.data_ptr())
        inputs = (*streams, x.data_ptr(), weight.data_ptr(), mean.data_ptr(), rstd.data_ptr())
        _run(op, x, (dx.data_ptr(), dweight.data_ptr(), dbias.data_ptr(), *inputs, rows, columns))
    return dx, dweight, dbias


def residual_layernorm_forward(
    x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x, residual: (..., C); weight, bias: (C). Gives out (..., C), sum (..., C), mean (N), rstd (N).

    Source: common/ops/residual_layernorm_forward/contract.h.
    """
    x, residual, weight, bias = _dense(x, residual, weight, bias)
    out, total = torch.empty_like(x), torch.empty_like(x)
    rows, columns = _rows(x)
    mean, rstd = _statistics(x, rows)
    if rows:
        outputs = (out.data_ptr(), total.data_ptr(), mean.data_ptr(), rstd.data_ptr())
        inputs = (x.data_ptr(), residual.data_ptr(), weight.data_ptr(), bias.data_ptr())
        _run("residual_layernorm_forward", x, (*outputs, *inputs, rows, columns, eps))
    return out, total, mean, rstd


def residual_layernorm_backward(
    dout: Tensor, dsum: Tensor, total: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """dout, dsum, total: (..., C); weight: (C); mean, rstd: (N). Gives dx (..., C), dweight (C), dbias (C).

    Source: common/ops/residual_layernorm_backward/contract.h.
    """
    (dsum,) = _dense(dsum)
    return _layernorm_backward("residual_layernorm_backward", dout, dsum, total, weight, mean, rstd)


def layernorm_residual_forward(
    x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """x, residual: (..., C); weight, bias: (C). Gives out (..., C), mean (N), rstd (N).

    Source: common/ops/layernorm_residual_forward/contract.h.
    """
    x, residual, weight, bias = _dense(x, residual, weight, bias)
    out = torch.empty_like(x)
    rows, columns = _rows(x)
    mean, rstd = _statistics(x, rows)
    if rows:
        outputs = (out.data_ptr(), mean.data_ptr(), rstd.data_ptr())
        inputs = (x.data_ptr(), residual.data_ptr(), weight.data_ptr(), bias.data_ptr())
        _run("layernorm_residual_forward", x, (*outputs, *inputs, rows, columns, eps))
    return out, mean, rstd


def layernorm_residual_backward(
    dout: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """As layernorm_backward; the gradient of residual is dout. Source: common/ops/layernorm_residual_backward/contract.h."""
    return _layernorm_backward("layernorm_residual_backward", dout, None, x, weight, mean, rstd)


# ---- bias + GELU, adds ----


def bias_gelu_forward(x: Tensor, bias: Tensor) -> Tensor:
    """x: (..., C); bias: (C). Source: common/ops/bias_gelu_forward/contract.h."""
    x, bias = _dense(x, bias)
    out = torch.empty_like(x)
    if x.numel():
        _run("bias_gelu_forward", x, (out.data_ptr(), x.data_ptr(), bias.data_ptr(), *_rows(x)))
    return out


def bias_gelu_backward(dout: Tensor, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """dout, x: (..., C); bias: (C). Gives dx (..., C), dbias (C), the latter fp32.

    Source: common/ops/bias_gelu_backward/contract.h.
    """
    dout, x, bias = _dense(dout, x, bias)
    dx = torch.empty_like(x)
    dbias = torch.zeros(x.shape[-1], dtype=torch.float32, device=x.device)
    if x.numel():
        pointers = (dx.data_ptr(), dbias.data_ptr(), dout.data_ptr(), x.data_ptr(), bias.data_ptr())
        _run("bias_gelu_backward", x, (*pointers, *_rows(x)))
    return dx, dbias


def three_way_add(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """(a + b) + c, rounded to the type after each add; a, b, c: (..., C). Source: common/ops/three_way_add/contract.h."""
    a, b, c = _dense(a, b, c)
    out = torch.empty_like(a)
    if a.numel():
        _run("three_way_add", a, (out.data_ptr(), a.data_ptr(), b.data_ptr(), c.data_ptr(), *_rows(a)))
    return out


# ---- attention of whole prompts ----


def _packed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """(B, T, 3, H, D) from q, k, v (B, H, T, D): a view where they are parts of such a tensor, else a copy."""
    B, H, T, D = q.shape
    strides = (T * 3 * H * D, D, 3 * H * D, 1)
    step = H * D * q.element_size()
    in_one = (
        q.stride() == k.stride() == v.stride() == strides
        and k.data_ptr() - q.data_ptr() == step
        and v.data_ptr() - k.data_ptr() == step
    )
    if in_one:
        return q.as_strided((B, T, 3, H, D), (T * 3 * H * D, 3 * H * D, H * D, D, 1))
    return torch.stack([part.transpose(1, 2) for part in (q, k, v)], dim=2).contiguous()


_whole: dict[tuple, Tensor] = {}


def whole_lengths(B: int, T: int, device: torch.device) -> Tensor:
    """T for each of B sequences: (B), int32. Kept for good, because a CUDA graph may have recorded the address."""
    key = (B, T, device)
    if key in _whole:
        return _whole[key]
    lengths = torch.full((B,), T, dtype=torch.int32, device=device)
    if device.type == "cuda":
        if torch.cuda.is_current_stream_capturing():
            return lengths  # the graph's own
        torch.cuda.current_stream(device).synchronize()  # once: another stream may read it next
    _whole[key] = lengths
    return lengths


def attention_forward(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    """q, k, v: (B, H, T, D); lengths: (B), int32, each in 1..T. Gives out (B, T, H, D) and lse (B, H, T), fp32.

    Source: step4_gpt2_integration/gpt2/model/attention_fused.cuh.
    """
    B, H, T, D = q.shape
    qkv = _packed(q, k, v)
    out = torch.empty(B, T, H, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, T, dtype=torch.float32, device=q.device)
    if lengths is None:
        lengths = whole_lengths(B, T, q.device)
    if q.numel():
        pointers = (out.data_ptr(), lse.data_ptr(), qkv.data_ptr(), lengths.data_ptr())
        _run("course_attention_forward", q, (*pointers, B, T, H, D))
    return out, lse


def attention_backward(dout: Tensor, out: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """dout, out: (B, T, H, D); lse: (B, H, T); q, k, v: (B, H, T, D). Gives the gradient of all three, (B, T, 3, H, D).

    Only for 16-bit types, and without lengths. Source: step4_gpt2_integration/gpt2/model/attention_fused.cuh.
    """
    B, H, T, D = q.shape
    dout, out, lse = _dense(dout, out, lse)
    qkv = _packed(q, k, v)
    dqkv = torch.empty(B, T, 3, H, D, dtype=q.dtype, device=q.device)
    delta = torch.empty_like(lse)
    if q.numel():
        pointers = (dqkv, delta, dout, out, qkv, lse)
        _run("course_attention_backward", q, (*(tensor.data_ptr() for tensor in pointers), B, T, H, D))
    return dqkv

