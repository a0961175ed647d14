"""Measures Hugging Face's GPT-2 eager, with sdpa, compiled and on the course's kernels, side by side in one run.

    python3 benchmark.py prompts  --out prompts.jsonl       one forward pass over whole prompts, in 24 cells
    python3 benchmark.py training --out training.jsonl      one training step: forward, backward, AdamW
    python3 benchmark.py decode   --out decode.jsonl        one new token on a cache

    python3 benchmark.py prompts --cell small:1:128:f16 --against prompts.jsonl
                                                            exit status 1 if anything is slower than stored, beyond the noise

Each line of the output is one cell by one variant: times in ms (median, p5, p95, mean, standard deviation), memory, energy, or
the error that it gave. Random weights, random tokens. measuring.py says how. `--device cpu` runs everything on the CPU backend,
to try it. Experiments on single ideas are in experiments.py.
"""

import argparse
import copy
import sys
import time
from collections.abc import Callable

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import measuring
from course_kernels import gpt2_model
from measuring import Graph, Report, side_by_side

SIZES = {  # n_layer, n_head, n_embd
    "tiny": (2, 2, 64),
    "distil": (6, 12, 768),
    "small": (12, 12, 768),
    "medium": (24, 16, 1024),
    "large": (36, 20, 1280),
}
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}

# 24 cells: every size and type, from one short prompt to a batch of long ones.
SHAPES = {"f16": ((1, 128), (8, 1024), (32, 1024), (1, 2048)), "f32": ((1, 128), (8, 128), (32, 128), (1, 1024))}
CELLS = [(size, *shape, kind) for size in ("small", "medium", "large") for kind, shapes in SHAPES.items() for shape in shapes]


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
    """A model that shares `model`'s Parameters, made ready for this variant. "-graph" at its end is the caller's."""
    model = sharing(model)
    variant = variant.removesuffix("-graph")
    model.set_attn_implementation("eager" if variant == "eager" else "sdpa")
    if variant.startswith("ours"):
        choice = {"ours": "course", "ours-softmax": "course_softmax"}.get(variant)
        gpt2_model.enable(model, attention=choice)
    return model


def least_bytes(model: GPT2LMHeadModel, rows: int, cached: int = 0) -> int:
    """Bytes that a pass over `rows` tokens moves at least, if each matrix product reads its inputs and writes its result once:
    the parameters, the keys and values of `cached` tokens, and for each layer the normed input (C), Q, K and V (3 C), attention's
    result (C), the projection's (C), the new residual (C), the normed one (C), the MLP's wide rows (4 C), its result (C) and the
    residual (C), each written once and read once."""
    config, element = model.config, model.dtype.itemsize
    parameters = sum(parameter.numel() for parameter in model.parameters())
    activations = config.n_layer * rows * 14 * config.n_embd * 2
    cache = config.n_layer * cached * 2 * config.n_embd
    return (parameters + activations + cache) * element


# ---- the benchmarks ----

FORWARD_VARIANTS = ["eager", "sdpa", "compile", "ours", "sdpa-graph", "ours-graph"]


class Budget:
    """Seconds for the compiled variants of a run. When they are spent, the cells that follow have none."""

    def __init__(self, seconds: float):
        self.left = seconds

    def compile(self, make: Callable[[], Callable]) -> Callable[[], Callable]:
        def make_in_time():
            if self.left <= 0:
                raise TimeoutError("left out: the seconds for compiling (--compile-seconds) are spent")
            begin = time.perf_counter()
            call = make()
            call()
            seconds = time.perf_counter() - begin
            print(f"    compiled in {seconds:.1f} s", flush=True)
            self.left -= seconds
            return call

        return make_in_time


def forward_maker(model, variant: str, ids, use_cache: bool) -> Callable[[], Callable]:
    def make():
        mine = prepared(model, variant)
        if variant.startswith("compile"):
            mine = torch.compile(mine, mode="reduce-overhead" if variant == "compile-graph" else None)
        as_graph = variant in ("ours-graph", "sdpa-graph", "eager-graph")
        # Without a cache transformers reads the positions on the host, which a graph forbids.
        cached = use_cache or as_graph

        def call():
            with torch.no_grad():
                return mine(ids, use_cache=cached, logits_to_keep=1).logits

        return Graph(call) if as_graph else call

    return make


def prompts(arguments, report: Report) -> None:
    """Forward passes over whole prompts: the logits of the last position."""
    budget = Budget(arguments.compile_seconds)
    model, of = None, None
    for size, batch, length, kind in arguments.cell or CELLS:
        if of != (size, kind, length > 1024):
            model, of = None, (size, kind, length > 1024)
            measuring.forget(arguments.device)
            model = model_of(size, arguments.device, kind, length)
        ids = torch.randint(0, model.config.vocab_size, (batch, length), device=arguments.device)
        makers = {}
        for variant in arguments.variants or FORWARD_VARIANTS:
            if variant.endswith("-graph") and batch > 1 and not arguments.variants:
                continue  # a graph saves launches, and those of a batch are hidden behind the GPU's work
            make = forward_maker(model, variant, ids, arguments.cache)
            makers[variant] = budget.compile(make) if variant.startswith("compile") else make
        about = {"experiment": "prompts", "size": size, "batch": batch, "tokens": length, "type": kind}
        report.cell(about, side_by_side(makers, arguments, energy=True), least_bytes(model, batch * length))
        del makers
        measuring.forget(arguments.device)


TRAINING_VARIANTS = ["eager", "sdpa", "compile", "ours", "ours-sdpa", "ours-softmax"]


def training(arguments, report: Report) -> None:
    """Training steps with AdamW, dropout 0. Type bf16 is autocast over fp32 weights; pure-bf16 has bf16 weights."""
    budget = Budget(arguments.compile_seconds)
    for size, batch, length, kind in arguments.cell or [("small", 16, 1024, "bf16"), ("small", 16, 1024, "pure-bf16")]:
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

            return budget.compile(make) if variant == "compile" else make

        makers = {variant: maker(variant) for variant in arguments.variants or TRAINING_VARIANTS}
        about = {"experiment": "training", "size": size, "batch": batch, "tokens": length}
        about["type"] = ("pure-" if pure else "") + kind
        report.cell(about, side_by_side(makers, arguments, energy=True))
        del makers
        measuring.forget(arguments.device)


def decode_step(mine, token, position, prompt) -> Callable[[], torch.Tensor]:
    """A call that computes one new token on a cache of `prompt`, and leaves the cache as it was.

    token, position: (B, 1); prompt: (B, T)
    """
    with torch.no_grad():
        cache = mine(prompt, use_cache=True).past_key_values
    kept = [(layer.keys, layer.values) for layer in cache.layers]

    def call():
        with torch.no_grad():
            out = mine(token, past_key_values=cache, position_ids=position, use_cache=True).logits
        for layer, (keys, values) in zip(cache.layers, kept):
            layer.keys, layer.values = keys, values
        return out

    return call


DECODE_VARIANTS = ["eager", "sdpa", "ours", "ours-sdpa", "sdpa-graph", "ours-graph"]


def decode(arguments, report: Report) -> None:
    """One new token on a cache of `tokens` tokens. Each call does the same step."""
    usual = [("small", 1, 128, "f16"), ("small", 8, 128, "f16"), ("small", 1, 1000, "f16"), ("large", 1, 128, "f16")]
    for size, batch, length, kind in arguments.cell or usual:
        model = model_of(size, arguments.device, kind, length + 1)
        token, position, prompt = decode_inputs(model, batch, length)

        def maker(variant: str):
            def make():
                call = decode_step(prepared(model, variant), token, position, prompt)
                return Graph(call) if variant.endswith("-graph") else call

            return make

        names = arguments.variants or [name for name in DECODE_VARIANTS if arguments.device == "cuda" or "-graph" not in name]
        makers = {variant: maker(variant) for variant in names}
        about = {"experiment": "decode", "size": size, "batch": batch, "tokens": 1, "cached": length, "type": kind}
        report.cell(about, side_by_side(makers, arguments, energy=True), least_bytes(model, batch, batch * length))
        del makers
        measuring.forget(arguments.device)


def decode_inputs(model, batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A random token (B, 1), its position (B, 1), and the prompt before it (B, length)."""
    token = torch.randint(0, model.config.vocab_size, (batch, 1), device=model.device)
    position = torch.full((batch, 1), length, device=model.device)
    return token, position, torch.randint(0, model.config.vocab_size, (batch, length), device=model.device)


EXPERIMENTS = {"prompts": prompts, "training": training, "decode": decode}


def cell(text: str) -> tuple[str, int, int, str]:
    """SIZE:BATCH:TOKENS:TYPE. Raises ArgumentTypeError."""
    size, batch, length, kind = (text.split(":") + [""] * 4)[:4]
    if size in SIZES and batch.isdigit() and length.isdigit() and kind.removeprefix("pure-") in TYPES:
        return size, int(batch), int(length), kind
    raise argparse.ArgumentTypeError(
        f"{text} is no cell: give SIZE:BATCH:TOKENS:TYPE, with a size of {', '.join(SIZES)} and a type of {', '.join(TYPES)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument(
        "--cell", type=cell, action="append", help="SIZE:BATCH:TOKENS:TYPE, such as small:32:1024:f16; may be given again"
    )
    parser.add_argument(
        "--variants", nargs="*", help="these: eager, sdpa, compile, ours, ours-sdpa, ours-softmax; with -graph as a CUDA graph"
    )
    parser.add_argument("--no-cache", dest="cache", action="store_false", help="prompts without a KV cache")
    parser.add_argument("--compile-seconds", type=float, default=1e9, help="cells after these have no compiled variant")
    measuring.add_common(parser)
    arguments = parser.parse_args()
    ours = not arguments.variants or any(variant.startswith("ours") for variant in arguments.variants)
    return measuring.run("benchmark.py", arguments, EXPERIMENTS[arguments.experiment], needs_kernels=ours)


if __name__ == "__main__":
    sys.exit(main())
