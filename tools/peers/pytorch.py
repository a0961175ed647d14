"""The same ops in PyTorch: eager, and torch.compile of the same function. Eager gradients call the kernels of aten that
autograd calls. Each function takes the op's inputs and returns its outputs, in the launcher's order."""

import ctypes
import multiprocessing
import os
import pathlib

import torch
import torch.nn.functional as F
from device import Graph
from ops import EPS, SCALE

aten = torch.ops.aten
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
# The modes of torch.compile that do not make a CUDA graph of their own. Neither is always the faster.
MODES = {"compile": "default", "compile max": "max-autotune-no-cudagraphs"}


def softmax_forward(x):
    return (torch.softmax(x, -1),)


def softmax_backward(dout, out):
    return (aten._softmax_backward_data(dout, out, -1, out.dtype),)


def causal_softmax_forward(x, masked):
    return (torch.softmax((x * SCALE).masked_fill(masked, float("-inf")), -1),)


def causal_softmax_forward_in_one(x):
    i = torch.arange(x.shape[-1], device=x.device)
    return (torch.softmax(torch.where(i[None, :] > i[:, None], float("-inf"), x * SCALE), -1),)


def causal_softmax_backward(dout, out):
    return (aten._softmax_backward_data(dout, out, -1, out.dtype) * SCALE,)


def layernorm_forward(x, weight, bias):
    out, mean, rstd = aten.native_layer_norm(x, x.shape[-1:], weight, bias, EPS)
    return out, mean, rstd


def layernorm_backward(dout, x, weight, mean, rstd):
    mean, rstd = mean[:, None], rstd[:, None]
    return aten.native_layer_norm_backward(dout, x, x.shape[-1:], mean, rstd, weight, weight, [True] * 3)


def residual_layernorm_forward(x, residual, weight, bias):
    total = x + residual
    out, mean, rstd = layernorm_forward(total, weight, bias)
    return out, total, mean, rstd


def residual_layernorm_backward(dout, dsum, total, weight, mean, rstd):
    dinp, dweight, dbias = layernorm_backward(dout, total, weight, mean, rstd)
    return dinp + dsum, dweight, dbias


def layernorm_residual_forward(x, residual, weight, bias):
    out, mean, rstd = layernorm_forward(x, weight, bias)
    return out + residual, mean, rstd


def bias_gelu_forward(x, bias):
    return (F.gelu(x + bias, approximate="tanh"),)


def bias_gelu_backward(dout, x, bias):
    return gelu_backward_of_sum(dout, x + bias, bias)


def gelu_backward_of_sum(dout, total, _):
    """Autograd keeps the sum of x and bias from the forward pass."""
    dx = aten.gelu_backward(dout, total, approximate="tanh")
    return dx, dx.sum(0)


def three_way_add(a, b, c):
    return (a + b + c,)


# The functions for torch.compile, by the op's name. layernorm_residual_backward: dresidual is dout.
FUNCTIONS = {
    "softmax_forward": softmax_forward,
    "softmax_backward": softmax_backward,
    "causal_softmax_forward": causal_softmax_forward_in_one,
    "causal_softmax_backward": causal_softmax_backward,
    "layernorm_forward": layernorm_forward,
    "layernorm_backward": layernorm_backward,
    "residual_layernorm_forward": residual_layernorm_forward,
    "residual_layernorm_backward": residual_layernorm_backward,
    "layernorm_residual_forward": layernorm_residual_forward,
    "layernorm_residual_backward": layernorm_backward,
    "bias_gelu_forward": bias_gelu_forward,
    "bias_gelu_backward": bias_gelu_backward,
    "three_way_add": three_way_add,
}


def eager_function(cell):
    """The function for PyTorch without torch.compile."""
    if cell.op.name == "causal_softmax_forward":
        masked = torch.ones(cell.columns, cell.columns, dtype=torch.bool, device="cuda").triu(1)
        return lambda x: causal_softmax_forward(x, masked)
    return {"bias_gelu_backward": gelu_backward_of_sum}.get(cell.op.name, FUNCTIONS[cell.op.name])


def shape_of(cell, tensor):
    if tensor.shape in ("N", "C"):
        return (cell.elements(tensor),)
    return cell.shape + cell.shape[-1:] if cell.op.causal else cell.shape


def compiled_function(cell, mode):
    """The function, compiled for the cell's shape."""
    torch._dynamo.reset()
    return torch.compile(FUNCTIONS[cell.op.name], dynamic=False, mode=mode)


def compile_once(task):
    """Compiles a cell's function, which stores its kernels in the caches on disk."""
    cell, mode = task
    inputs = [
        torch.empty(shape_of(cell, tensor), dtype=DTYPES[cell.type_of(tensor)], device="cuda")
        for tensor in cell.op.tensors
        if not tensor.written
    ]
    compiled_function(cell, mode)(*inputs)
    torch.cuda.synchronize()
    del inputs
    torch.cuda.empty_cache()


def fill_caches(cells, folder):
    """Compiles for all cells in parallel, so that the measuring run loads compiled kernels. The autotuner's choices were
    timed while other kernels ran on the GPU. They are deleted, so the measuring run repeats them."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    different = {(FUNCTIONS[cell.op.name], cell.type, cell.shape): cell for cell in cells}.values()
    tasks = [(cell, mode) for mode in reversed(MODES.values()) for cell in different]
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for _ in pool.imap_unordered(compile_once, tasks):
            pass
    for choice in pathlib.Path(folder).rglob("*.best_config"):
        choice.unlink()


class Memory:
    """The device's arena in the form in which PyTorch imports memory of other libraries."""

    def __init__(self, device):
        self.__cuda_array_interface__ = {
            "shape": (device.arena_bytes,),
            "typestr": "|u1",
            "data": (device.arena.value, False),
            "version": 2,
        }


class Peer:
    """Tensors over the sets of one cell, and graphs of PyTorch's functions on them."""

    def __init__(self, sets):
        self.sets, self.cell = sets, sets.cell
        torch.cuda.set_stream(torch.cuda.ExternalStream(sets.device.stream.value))
        self.arena = torch.as_tensor(Memory(sets.device), device="cuda")

    def tensor(self, i, tensor):
        begin = self.sets.addresses[i][tensor.name] - self.sets.device.arena.value
        memory = self.arena[begin : begin + self.cell.buffer_bytes(tensor)]
        return memory.view(DTYPES[self.cell.type_of(tensor)]).view(shape_of(self.cell, tensor))

    def tensors(self, i, written):
        return [self.tensor(i, t) for t in self.cell.op.tensors if t.written == written]

    def capture(self, function):
        """A graph of the function on every set. Each set's outputs have memory of their own, like the launchers' outputs."""
        inputs = [self.tensors(i, False) for i in range(self.sets.count)]
        function(*inputs[0])  # compiles
        function(*inputs[0])
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph(keep_graph=True)
        captured.capture_begin()
        outputs = [function(*tensors) for tensors in inputs]
        captured.capture_end()
        del outputs
        return Graph(self.sets.device, self.sets.count, ctypes.c_void_p(captured.raw_cuda_graph()), captured)

    def release(self):
        torch.cuda.synchronize()
        torch.cuda.empty_cache()

    def reference(self):
        """The outputs in float64, from the same rounded inputs. A sum that is an output is rounded before it is used."""
        name, inputs = self.cell.op.name, self.tensors(0, False)
        if name == "three_way_add":
            return three_way_add(*inputs)
        wide = [tensor.double() for tensor in inputs]
        if name == "residual_layernorm_forward":
            total = inputs[0] + inputs[1]
            out, mean, rstd = layernorm_forward(total.double(), *wide[2:])
            return out, total, mean, rstd
        return FUNCTIONS[name](*wide)

    def errors(self, launch):
        """For each output: |error| / |reference| of the launcher `launch` and of PyTorch's eager function."""
        if self.cell.op.name == "causal_softmax_backward":  # PyTorch also reads above the diagonal, where a softmax is 0
            self.tensors(0, False)[1].tril_()
        launch(0)
        torch.cuda.synchronize()
        expected = self.reference()
        eager = FUNCTIONS[self.cell.op.name](*self.tensors(0, False))
        outputs = [tensor for tensor in self.cell.op.tensors if tensor.written]
        for tensor, ours, theirs, right in zip(outputs, self.tensors(0, True), eager, expected):
            yield tensor, relative_error(ours, right), relative_error(theirs, right)


def relative_error(values, right):
    right = right.double().flatten()
    return ((values.double().flatten() - right).norm() / right.norm()).item()
