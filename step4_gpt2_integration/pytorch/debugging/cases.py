"""The models that the exercise debug-integration is marked with, and what is seen of a forward pass of each.

A case is a GPT-NeoX with random weights. Its layers are observed by hooks, so it does not matter who computes them.
"""

import ctypes
import random
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Case:
    check: str
    type: str
    parallel: bool
    layout: str = "contiguous"
    layers: int = 3
    channels: int = 64
    heads: int = 2
    batch: int = 2
    tokens: int = 9
    seed: int = 0
    disabled: bool = False  # the patch is taken off again before the pass

    @property
    def name(self) -> str:
        words = [f"{'parallel' if self.parallel else 'serial'} residual", self.type]
        words += [f"{self.layout} input"] if self.layout != "contiguous" else []
        words += ["after disable()"] if self.disabled else []
        shape = f"{self.layers} layers, B = {self.batch}, T = {self.tokens}, C = {self.channels}"
        return f"{', '.join(words)}, {shape}"


def cases_of(seed: int) -> list[Case]:
    """The cases of each check, in the order of the checks. Those of `secret` are drawn."""
    draw = random.Random(seed)
    cases = [
        Case("calls", "fp32", True),
        Case("calls", "fp16", True, layers=4),
        Case("layers", "fp32", True, seed=1),
        Case("layers", "fp16", True, seed=2),
        Case("config", "fp32", False),
        Case("config", "fp16", False, seed=3),
        Case("config", "fp16", True, seed=4, disabled=True),
        Case("tensors", "fp32", True, "time-major"),
        Case("tensors", "fp16", True, "expanded"),
        Case("tensors", "fp16", True, "strided"),
        Case("tensors", "bf16", True),
    ]
    for kind, parallel in (("fp32", True), ("fp16", True), ("bf16", True), (draw.choice(list(TYPES)), False)):
        heads, layout = draw.choice([1, 2, 3]), draw.choice(["contiguous", "time-major", "expanded", "strided"])
        sizes = {"heads": heads, "channels": 16 * heads * draw.randint(1, 3), "layers": draw.randint(1, 5)}
        sizes |= {"batch": draw.randint(2, 4), "tokens": draw.randint(2, 20), "seed": draw.randrange(2**31)}
        cases.append(Case("secret", kind, parallel, layout, **sizes))
    return cases


def model_of(case: Case) -> GPTNeoXForCausalLM:
    """Random weights, also of what usually starts as 0 or 1."""
    config = GPTNeoXConfig(
        hidden_size=case.channels,
        num_hidden_layers=case.layers,
        num_attention_heads=case.heads,
        intermediate_size=2 * case.channels,
        vocab_size=64,
        max_position_embeddings=64,
        use_parallel_residual=case.parallel,
    )
    torch.manual_seed(case.seed)
    model = GPTNeoXForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.to(TYPES[case.type]).eval()


def input_of(case: Case) -> Tensor:
    """Embedded tokens, (B, T, C), in the case's layout."""
    generator = torch.Generator().manual_seed(case.seed + 1)
    B, T, C = case.batch, case.tokens, case.channels
    shape = {"time-major": (T, B, C), "expanded": (1, T, C), "strided": (B, T, 2 * C)}.get(case.layout, (B, T, C))
    x = torch.randn(shape, generator=generator).to(TYPES[case.type])
    if case.layout == "time-major":
        return x.transpose(0, 1)
    return x[..., ::2] if case.layout == "strided" else x.expand(B, T, C)


def states_of(model: GPTNeoXForCausalLM, x: Tensor) -> list[Tensor]:
    """The hidden state after each layer, then the logits."""
    states: list[Tensor] = []
    hooks = [
        layer.register_forward_hook(lambda layer, inputs, out: states.append((out[0] if isinstance(out, tuple) else out).clone()))
        for layer in model.gpt_neox.layers
    ]
    with torch.no_grad():
        logits = model(inputs_embeds=x, use_cache=False).logits
    for hook in hooks:
        hook.remove()
    return [*states, logits]


# ---- the trace of the library ----


class Call(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("bytes", "type", "N", "C")] + [("checksum", ctypes.c_uint64)]


def load(path: str) -> ctypes.CDLL:
    """The traced library: launchers three_way_add_f32, _f16 and _bf16 with the arguments out, a, b, c, N, C, stream."""
    library = ctypes.CDLL(path)
    for kind in ("f32", "f16", "bf16"):
        getattr(library, f"three_way_add_{kind}").argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int] * 2 + [ctypes.c_void_p]
    library.trace_calls.restype = ctypes.POINTER(Call)
    return library


def calls_of(library: ctypes.CDLL, since: int = 0) -> list[dict]:
    """The calls after the first `since`."""
    calls = library.trace_calls()
    kinds = list(TYPES)
    return [
        {"type": kinds[calls[i].type], "N": calls[i].N, "C": calls[i].C, "checksum": calls[i].checksum}
        for i in range(since, library.trace_count())
    ]


def checksum_of(data: bytes) -> int:
    """That of trace.c."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def bytes_of(x: Tensor) -> bytes:
    return x.contiguous().view(torch.uint8).numpy().tobytes()
