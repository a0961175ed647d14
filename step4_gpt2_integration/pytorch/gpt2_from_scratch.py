"""GPT-2 in plain PyTorch, without transformers' classes, and where its time goes.

    python3 gpt2_from_scratch.py --out from_scratch.jsonl
    python3 gpt2_from_scratch.py --size tiny --device cpu --type f32

The model loads the state of Hugging Face's GPT2LMHeadModel, and the program first compares the two models' logits in fp32. Each
step of the forward pass is a row of the profile: on a GPU the time of its kernels, else that of its operators.
"""

import argparse
import contextlib
import math
import statistics
import sys
from collections import Counter

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile, record_function

from benchmark import SIZES, TYPES, model_of
from measuring import Report, once, wait

_marks_rows = False


def row(name: str):
    """The row of the profile for what runs in this context."""
    return record_function(f"row: {name}") if _marks_rows else contextlib.nullcontext()


class Product(nn.Module):
    """x weight + bias; x: (..., inputs). The weight lies as in GPT-2's files, (inputs, outputs)."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(inputs, outputs)), nn.Parameter(torch.empty(outputs))

    def forward(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


class Attention(nn.Module):
    """Causal self-attention; x: (B, T, C)."""

    def __init__(self, channels: int, heads: int):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = Product(channels, 3 * channels), Product(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        with row("QKV"):
            qkv = self.c_attn(x)
        with row("reshapes"):  # copies, so that the products' inputs are contiguous
            q, k, v = qkv.view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4).contiguous()
        with row("scores"):
            scores = q @ k.transpose(-1, -2) * (1 / math.sqrt(C // self.heads))
        with row("mask"):
            future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(future, float("-inf"))
        with row("softmax"):
            weights = scores.softmax(-1)
        with row("values"):
            mixed = weights @ v
        with row("reshapes"):
            mixed = mixed.transpose(1, 2).reshape(B, T, C)
        with row("projection"):
            return self.c_proj(mixed)


class MLP(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.c_fc, self.c_proj = Product(channels, 4 * channels), Product(4 * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        with row("MLP expansion"):
            x = self.c_fc(x)
        with row("activation"):
            x = F.gelu(x, approximate="tanh")
        with row("MLP projection"):
            return self.c_proj(x)


class Block(nn.Module):
    def __init__(self, channels: int, heads: int, eps: float):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(channels, eps), nn.LayerNorm(channels, eps)
        self.attn, self.mlp = Attention(channels, heads), MLP(channels)

    def forward(self, x: Tensor) -> Tensor:
        with row("LayerNorm 1"):
            normed = self.ln_1(x)
        attended = self.attn(normed)
        with row("residual 1"):
            x = x + attended
        with row("LayerNorm 2"):
            normed = self.ln_2(x)
        widened = self.mlp(normed)
        with row("residual 2"):
            return x + widened


class GPT2(nn.Module):
    """ids: (B, T) to logits: (B, T, V), without dropout and without a cache."""

    def __init__(self, vocabulary: int, positions: int, layers: int, heads: int, channels: int, eps: float = 1e-5):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, channels), nn.Embedding(positions, channels)
        self.h = nn.ModuleList(Block(channels, heads, eps) for _ in range(layers))
        self.ln_f = nn.LayerNorm(channels, eps)

    def forward(self, ids: Tensor) -> Tensor:
        with row("token embedding"):
            tokens = self.wte(ids)
        with row("position embedding"):
            positions = self.wpe(torch.arange(ids.shape[1], device=ids.device))
        with row("embedding add"):
            x = tokens + positions
        for block in self.h:
            x = block(x)
        with row("last LayerNorm"):
            x = self.ln_f(x)
        with row("output layer"):
            return F.linear(x, self.wte.weight)


def from_hugging_face(model: nn.Module) -> GPT2:
    """The same model as a GPT2LMHeadModel, with copies of its parameters."""
    config, state = model.config, model.state_dict()
    if not torch.equal(state.pop("lm_head.weight"), state["transformer.wte.weight"]):
        raise ValueError("gpt2_from_scratch: the output layer has weights of its own, and GPT-2's are those of the embedding")
    own = GPT2(
        config.vocab_size, config.n_positions, config.n_layer, config.n_head, config.n_embd, config.layer_norm_epsilon
    )
    own.load_state_dict({name.removeprefix("transformer."): value for name, value in state.items()})
    return own.to(model.device, model.dtype).eval()


# ---- what the program does with it ----


def largest_difference(own: GPT2, theirs: nn.Module, ids: Tensor) -> float:
    """The largest difference of a logit in fp32, relative to the largest logit."""
    with torch.no_grad():
        wanted = theirs.float()(ids, use_cache=False).logits
        return ((own.float()(ids) - wanted).abs().max() / wanted.abs().max()).item()


def profiled_rows(run, device: str, times: int, trace: str | None = None) -> dict[str, float]:
    """Milliseconds of one run by row."""
    global _marks_rows
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    _marks_rows = True
    run()
    with profile(activities=activities) as profiled:
        for _ in range(times):
            run()
        wait(device)
    _marks_rows = False
    if trace:
        profiled.export_chrome_trace(trace)
    spent = Counter()
    for event in profiled.events():
        if event.name.startswith("row: "):
            continue
        around = event
        while around is not None and not around.name.startswith("row: "):
            around = around.cpu_parent
        microseconds = sum(kernel.duration for kernel in event.kernels) if device == "cuda" else event.self_cpu_time_total
        spent[around.name[5:] if around else "other"] += microseconds / 1e3 / times
    return {name: round(ms, 6) for name, ms in spent.most_common() if ms > 0}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="small", choices=SIZES)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--type", default="f16", choices=TYPES)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cuda", "cpu"])
    parser.add_argument("--times", type=int, default=10, help="forward passes in the profile")
    parser.add_argument("--trace", help="write a Chrome trace to this file")
    parser.add_argument("--out", help="append one JSON line to this file")
    arguments = parser.parse_args()

    try:
        report = Report(arguments)
    except OSError as error:
        print(f"gpt2_from_scratch.py: {error}", file=sys.stderr)
        return 2
    theirs = model_of(arguments.size, arguments.device, "f32", arguments.tokens)
    theirs.set_attn_implementation("eager")
    ids = torch.randint(0, theirs.config.vocab_size, (arguments.batch, arguments.tokens), device=arguments.device)
    own = from_hugging_face(theirs)
    difference = largest_difference(own, theirs, ids)
    print(f"largest difference of a logit from transformers' model, fp32: {difference:.1e} of the largest")
    if not difference <= 1e-4:
        print("gpt2_from_scratch.py: that is more than rounding, so this is another model", file=sys.stderr)
        return 1
    own, theirs = own.to(TYPES[arguments.type]), theirs.to(TYPES[arguments.type])
    runs = {"from scratch": lambda: own(ids), "transformers, eager": lambda: theirs(ids, use_cache=False)}
    walls: dict[str, list[float]] = {name: [] for name in runs}
    with torch.no_grad():
        for turn in range(3 + arguments.times):
            for name, run in runs.items():
                ms = once(run, arguments.device)
                walls[name] += [ms] if turn >= 3 else []
        spent = profiled_rows(runs["from scratch"], arguments.device, arguments.times, arguments.trace)
    total = sum(spent.values())
    for name, ms in spent.items():
        print(f"  {ms:10.4f} ms {100 * ms / total:6.1f} %  {name}")
    print(f"  {total:10.4f} ms in all")
    medians = {name: round(statistics.median(times), 5) for name, times in walls.items()}
    for name, ms in medians.items():
        print(f"one pass without the profiler, {name}: {ms:.3f} ms")
    line = {name: getattr(arguments, name) for name in ("size", "batch", "tokens", "type")}
    report.line(line | {"experiment": "from_scratch", "difference": difference, "wall_ms": medians, "row": spent})
    return 0


if __name__ == "__main__":
    sys.exit(main())
