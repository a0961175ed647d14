"""Measures Hugging Face's GPT-2 eager, with sdpa, compiled and on the course's kernels, side by side in one run.

    python3 benchmark.py prompts  --out prompts.jsonl       one forward pass over whole prompts, in 24 cells
    python3 benchmark.py training --out training.jsonl      one training step: forward, backward, AdamW
    python3 benchmark.py decode   --out decode.jsonl        one new token on a cache
    python3 benchmark.py ops      --out ops.jsonl           single ops: fused LayerNorm + residual, the lone add, layouts

Each line of the output is one cell by one variant: times in ms (median, p5, p95, standard deviation), memory, energy, or the
error that it gave. Random weights, random tokens. In each round every variant takes its turn, so a GPU that slows down slows
all of them. A time is wall clock from an idle GPU to an idle GPU, so Python's part is in it. `--device cpu` runs everything
on the CPU backend, to try it.
"""

import argparse
import copy
import ctypes
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel

import course_kernels as ck
from course_kernels import gpt2_model

SIZES = {  # n_layer, n_head, n_embd
    "tiny": (2, 2, 64),
    "distil": (6, 12, 768),
    "small": (12, 12, 768),
    "medium": (24, 16, 1024),
    "large": (36, 20, 1280),
}
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}

# 24 cells: every size and type, from one short prompt to a batch of long ones.
CELLS = [
    (size, batch, length, kind)
    for kind in ("f16", "f32")
    for size in ("small", "medium", "large")
    for batch, length in ((1, 128), (8, 128), (1, 1024), (32, 1024))
]


# ---- measuring ----


@dataclass
class Samples:
    """Times of one variant in ms, and the memory and the energy of a call."""

    times: list[float] = field(default_factory=list)
    peak_mib: float | None = None
    joules: float | None = None

    def record(self) -> dict:
        ordered = sorted(self.times)
        at = lambda part: ordered[min(len(ordered) - 1, int(part * len(ordered)))]
        return {
            "ms": round(statistics.median(ordered), 5),
            "p5": round(at(0.05), 5),
            "p95": round(at(0.95), 5),
            "std": round(statistics.pstdev(ordered), 5),
            "samples": len(ordered),
            "peak_mib": self.peak_mib,
            "joules": self.joules,
        }


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def once(call: Callable[[], object], device: str) -> float:
    """Milliseconds of one call, from idle to idle."""
    wait(device)
    begin = time.perf_counter()
    call()
    wait(device)
    return (time.perf_counter() - begin) * 1e3


def peak_of(call: Callable[[], object], device: str) -> float | None:
    """MiB that a call needs on top of what was allocated before it."""
    if device != "cuda":
        return None
    gc.collect()
    torch.cuda.empty_cache()
    wait(device)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    wait(device)
    return round((torch.cuda.max_memory_allocated() - before) / 2**20, 1)


class EnergyMeter:
    """The energy counter of the current GPU, through NVML. It advances about every 100 ms."""

    def __init__(self):
        self.nvml, self.handle = None, ctypes.c_void_p()
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
            uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}".encode()
            if nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(self.handle)) == 0:
                self.nvml = nvml
        except (OSError, AttributeError, RuntimeError, AssertionError):
            pass  # no GPU, or no NVML: no energy

    def read(self) -> float | None:
        """Joules since the driver was loaded."""
        millijoules = ctypes.c_ulonglong()
        if self.nvml is None or self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle, ctypes.byref(millijoules)) != 0:
            return None
        return millijoules.value / 1e3


def joules_of(call: Callable[[], object], device: str, ms: float, meter: EnergyMeter, seconds: float) -> float | None:
    """Joules of one call: the counter over a burst of calls of at least half a second."""
    if meter.read() is None:
        return None
    times = max(1, round(max(seconds, 0.5) * 1e3 / ms))
    wait(device)
    begin = meter.read()
    for _ in range(times):
        call()
    wait(device)
    return round((meter.read() - begin) / times, 6)


def side_by_side(
    makers: dict[str, Callable[[], Callable]], device: str, seconds: float, most: int, energy: bool = True
) -> dict[str, Samples | str]:
    """Samples by variant, or the error that it gave. makers: each makes the call that is timed."""
    results: dict[str, Samples | str] = {}
    calls: dict[str, Callable] = {}
    for name, make in makers.items():
        try:
            call = make()
            for _ in range(3):
                call()
            results[name] = Samples(peak_mib=peak_of(call, device))
            calls[name] = call
        except Exception as error:  # out of memory, no compiler: this variant has no figures, the others do
            results[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]
            if device == "cuda":
                torch.cuda.empty_cache()
    begin = time.perf_counter()
    rounds = 0
    while calls and rounds < most and (rounds < 5 or time.perf_counter() - begin < seconds):
        for name, call in calls.items():
            results[name].times.append(once(call, device))
        rounds += 1
    meter = EnergyMeter() if device == "cuda" and energy else None
    for name, call in calls.items() if meter else ():
        results[name].joules = joules_of(call, device, results[name].record()["ms"], meter, seconds / 4)
    return results


class Report:
    """Appends lines to the output and shows each cell as a row."""

    def __init__(self, path: str | None, device: str):
        self.file = open(path, "a") if path else None
        self.about = {"torch": torch.__version__, "transformers": transformers.__version__, "device": device}
        if device == "cuda":
            self.about |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda}

    def cell(self, about: dict, results: dict[str, Samples | str]) -> None:
        for name, samples in results.items():
            line = {**about, "by": name}
            line |= {"error": samples} if isinstance(samples, str) else samples.record()
            if "tokens" in about and not isinstance(samples, str):
                tokens = about["batch"] * about["tokens"]
                line["tokens_a_second"] = round(tokens / line["ms"] * 1e3, 1)
                if samples.joules is not None:
                    line["joules_a_token"] = samples.joules / tokens
            if self.file:
                self.file.write(json.dumps({**line, **self.about}) + "\n")
                self.file.flush()
        shown = [
            f"{name} {'failed' if isinstance(samples, str) else format(samples.record()['ms'], '.3f')}"
            for name, samples in results.items()
        ]
        print("  ".join(str(value) for value in about.values()), "|", "  ".join(shown), flush=True)
        for name, samples in results.items():
            if isinstance(samples, str):
                print(f"    {name}: {samples}", file=sys.stderr)


# ---- models ----


def model_of(size: str, device: str, kind: str, length: int, **changes) -> GPT2LMHeadModel:
    """Random weights; the same ones for the same arguments. kind: a key of TYPES."""
    layers, heads, channels = SIZES[size]
    torch.manual_seed(0)
    config = GPT2Config(n_layer=layers, n_head=heads, n_embd=channels, n_positions=max(1024, length), **changes)
    with torch.device(device):
        model = GPT2LMHeadModel(config)
    return model.to(TYPES[kind]).eval()


def sharing(model: GPT2LMHeadModel) -> GPT2LMHeadModel:
    """A copy of the modules around the same Parameters."""
    return copy.deepcopy(model, {id(parameter): parameter for parameter in model.parameters()})


def prepared(model: GPT2LMHeadModel, variant: str) -> GPT2LMHeadModel:
    """A model that shares `model`'s Parameters, made ready for this variant."""
    model = sharing(model)
    attention = "eager" if variant.startswith("eager") else "sdpa"
    model.set_attn_implementation(attention)
    if variant.startswith("ours"):
        choice = {"ours": "course", "ours-graph": "course", "ours-softmax": "course_softmax"}.get(variant)
        gpt2_model.enable(model, attention=choice)
    return model


def graphed(call: Callable[[], object]) -> Callable[[], None]:
    """The call as a CUDA graph. It must not read a tensor's value."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


# ---- the benchmarks ----

FORWARD_VARIANTS = ["eager", "sdpa", "compile", "compile-graph", "ours", "ours-sdpa", "ours-softmax", "ours-graph", "sdpa-graph"]


def forward_maker(model, variant: str, ids, use_cache: bool) -> Callable[[], Callable]:
    def make():
        mine = prepared(model, variant)
        if variant.startswith("compile"):
            mine = torch.compile(mine, mode="reduce-overhead" if variant == "compile-graph" else None)
        # Without a cache transformers reads the positions on the host, which a graph forbids.
        cached = use_cache or variant.endswith("-graph")

        def call():
            with torch.no_grad():
                return mine(ids, use_cache=cached, logits_to_keep=1).logits

        return graphed(call) if variant in ("ours-graph", "sdpa-graph") else call

    return make


def prompts(arguments, report: Report) -> None:
    """Forward passes over whole prompts: the logits of the last position."""
    for size, batch, length, kind in cells_of(arguments):
        model = model_of(size, arguments.device, kind, length)
        ids = torch.randint(0, model.config.vocab_size, (batch, length), device=arguments.device)
        variants = arguments.variants or FORWARD_VARIANTS
        makers = {variant: forward_maker(model, variant, ids, arguments.cache) for variant in variants}
        about = {"experiment": "prompts", "size": size, "batch": batch, "tokens": length, "type": kind}
        report.cell(about, side_by_side(makers, arguments.device, arguments.seconds, arguments.most))
        forget(arguments.device)


def cells_of(arguments) -> list[tuple[str, int, int, str]]:
    if arguments.cell:
        return arguments.cell
    return CELLS


def cell(text: str) -> tuple[str, int, int, str]:
    """SIZE:BATCH:TOKENS:TYPE. Raises ArgumentTypeError."""
    size, batch, length, kind = (text.split(":") + [""] * 4)[:4]
    if size in SIZES and batch.isdigit() and length.isdigit() and kind.removeprefix("pure-") in TYPES:
        return size, int(batch), int(length), kind
    raise argparse.ArgumentTypeError(
        f"{text} is no cell: give SIZE:BATCH:TOKENS:TYPE, with a size of {', '.join(SIZES)} and a type of {', '.join(TYPES)}"
    )


def forget(device: str) -> None:
    gc.collect()
    torch._dynamo.reset()
    if device == "cuda":
        torch.cuda.empty_cache()


TRAINING_VARIANTS = ["eager", "sdpa", "compile", "ours", "ours-sdpa", "ours-softmax"]


def training(arguments, report: Report) -> None:
    """Training steps with AdamW, dropout 0. Type bf16 is autocast over fp32 weights; pure-bf16 has bf16 weights."""
    for size, batch, length, kind in cells_of(arguments) if arguments.cell else [("small", 16, 1024, "bf16")]:
        pure = kind.startswith("pure-")
        kind = kind.removeprefix("pure-")
        changes = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
        model = model_of(size, arguments.device, kind if pure else "f32", length, **changes).train()
        ids = torch.randint(0, model.config.vocab_size, (batch, length), device=arguments.device)
        half = None if pure or kind == "f32" else TYPES[kind]

        def maker(variant: str):
            def make():
                mine = prepared(model, variant).train()
                if variant == "compile":
                    mine = torch.compile(mine)
                optimizer = torch.optim.AdamW(mine.parameters(), lr=1e-4, fused=arguments.device == "cuda")

                def call():
                    with torch.autocast(arguments.device, half, enabled=half is not None):
                        logits = mine(ids, use_cache=False).logits
                        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())
                    optimizer.zero_grad(set_to_none=True)
                    loss.backward()
                    optimizer.step()

                return call

            return make

        makers = {variant: maker(variant) for variant in arguments.variants or TRAINING_VARIANTS}
        about = {"experiment": "training", "size": size, "batch": batch, "tokens": length}
        about["type"] = ("pure-" if pure else "") + kind
        report.cell(about, side_by_side(makers, arguments.device, arguments.seconds, arguments.most))
        forget(arguments.device)


def decode(arguments, report: Report) -> None:
    """One new token on a cache of `length` tokens, in a static cache, so that the step is the same each time."""
    usual = [("small", 1, 128, "f16"), ("small", 8, 128, "f16")]
    for size, batch, length, kind in cells_of(arguments) if arguments.cell else usual:
        model = model_of(size, arguments.device, kind, length + 1)
        token = torch.randint(0, model.config.vocab_size, (batch, 1), device=arguments.device)
        position = torch.full((batch, 1), length, device=arguments.device)
        prompt = torch.randint(0, model.config.vocab_size, (batch, length), device=arguments.device)

        def maker(variant: str):
            def make():
                mine = prepared(model, variant)
                with torch.no_grad():
                    cache = mine(prompt, use_cache=True).past_key_values

                def call():
                    with torch.no_grad():
                        out = mine(token, past_key_values=cache, position_ids=position, use_cache=True).logits
                    cache.crop(-1)  # takes the new token off again
                    return out

                return call

            return make

        makers = {variant: maker(variant) for variant in arguments.variants or ["eager", "sdpa", "ours", "ours-sdpa"]}
        about = {"experiment": "decode", "size": size, "batch": batch, "tokens": 1, "cached": length, "type": kind}
        report.cell(about, side_by_side(makers, arguments.device, arguments.seconds, arguments.most))
        forget(arguments.device)


def ops(arguments, report: Report) -> None:
    """Single ops: eager, compiled, ours. Each in a chain of 20 calls, whose time is divided by 20."""
    F = torch.nn.functional
    shapes = [(1, 1, 2560), (4, 128, 2560), (32, 512, 2560)] if arguments.device == "cuda" else [(1, 1, 2560)]
    eager = {
        "layer_norm_residual": lambda x, r, w, b: F.layer_norm(x, x.shape[-1:], w, b) + r,
        "residual_layer_norm": lambda x, r, w, b: (lambda total: (F.layer_norm(total, x.shape[-1:], w, b), total))(x + r),
        "three_way_add": lambda x, r, w, b: (x + r) + x,
        "bias_gelu": lambda x, r, w, b: F.gelu(x + b, approximate="tanh"),
        "softmax": lambda x, r, w, b: F.softmax(x, -1),
    }
    ours = {
        "layer_norm_residual": ck.layer_norm_residual,
        "residual_layer_norm": ck.residual_layer_norm,
        "three_way_add": lambda x, r, w, b: ck.three_way_add(x, r, x),
        "bias_gelu": lambda x, r, w, b: ck.bias_gelu(x, b),
        "softmax": lambda x, r, w, b: ck.softmax(x),
    }
    layouts = {
        "contiguous": lambda x: x,
        "transposed": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
        "strided": lambda x: torch.stack([x, x], -1)[..., 0],
        "misaligned": lambda x: torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape),
    }
    chain = 20
    for op in eager:
        for shape in shapes:
            for layout, lay in layouts.items():
                if layout != "contiguous" and shape != shapes[-1]:
                    continue
                dtype = TYPES[arguments.type]
                x = lay(torch.randn(shape, device=arguments.device, dtype=dtype))
                rest = (torch.randn(shape, device=arguments.device, dtype=dtype), *torch.randn(2, shape[-1]).to(x))

                def repeat(function, x=x, rest=rest):
                    def call():
                        with torch.no_grad():
                            for _ in range(chain):
                                function(x, *rest)

                    return call

                makers = {
                    "eager": lambda op=op: repeat(eager[op]),
                    "compile": lambda op=op: repeat(torch.compile(eager[op])),
                    "ours": lambda op=op: repeat(ours[op]),
                }
                if arguments.device == "cuda":
                    makers |= {
                        "eager-graph": lambda op=op: graphed(repeat(eager[op])),
                        "ours-graph": lambda op=op: graphed(repeat(ours[op])),
                    }
                chosen = {name: make for name, make in makers.items() if not arguments.variants or name in arguments.variants}
                results = side_by_side(chosen, arguments.device, arguments.seconds, arguments.most, energy=False)
                for samples in results.values():
                    if isinstance(samples, Samples):
                        samples.times = [value / chain for value in samples.times]
                about = {"experiment": "ops", "op": op, "shape": "x".join(map(str, shape)), "layout": layout}
                report.cell({**about, "type": arguments.type}, results)
            forget(arguments.device)


EXPERIMENTS = {"prompts": prompts, "training": training, "decode": decode, "ops": ops}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--out", help="append JSON lines to this file")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--cell", type=cell, action="append", help="SIZE:BATCH:TOKENS:TYPE, such as small:32:1024:f16; may be given again"
    )
    parser.add_argument("--variants", nargs="*", help="only these, such as sdpa ours")
    parser.add_argument("--type", default="f16", choices=TYPES, help="of ops")
    parser.add_argument("--no-cache", dest="cache", action="store_false", help="prompts without a KV cache")
    parser.add_argument("--seconds", type=float, default=2.0, help="time for the samples of a cell")
    parser.add_argument("--most", type=int, default=100, help="samples of a variant")
    arguments = parser.parse_args()
    if arguments.device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = False
    else:
        ck.run_cpu_tensors_on_the_cpu_backend(True)
    ck.library(arguments.device)  # without it "ours" would be PyTorch's own
    if arguments.out:
        Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
    ck.reset_stats()
    EXPERIMENTS[arguments.experiment](arguments, Report(arguments.out, arguments.device))
    print(ck.report())
    ran = sum(ck.stats()["kernels"].values())
    if ran == 0 and any(variant.startswith("ours") for variant in arguments.variants or ["ours"]):
        print("benchmark.py: no kernel of the course ran, so no figure of `ours` is one", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
