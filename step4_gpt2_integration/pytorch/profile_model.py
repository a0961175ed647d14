"""Where the time of GPT-2 goes: by layer, by part of a block, by kernel, with a Chrome trace.

    python3 profile_model.py --variant eager --size small --batch 8 --tokens 512 --type f16
    python3 profile_model.py --variant ours --trace ours.json --out profile.jsonl

The rows of a block are those of the literature: QKV, scores, mask, softmax, values, projection, MLP expansion, activation, MLP
projection, LayerNorms, residuals; and embedding, output layer. In the eager variant the attention is written out in its four
steps, so that each has a row. A kernel belongs to the innermost row around the call that launched it. Open a trace in
chrome://tracing or ui.perfetto.dev.
"""

import argparse
import json
import sys
from collections import Counter

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

import course_kernels as ck
from benchmark import SIZES, TYPES, model_of, prepared, wait
from course_kernels.launch import show_in_profiles

OF_OPS = {  # the row of each of the course's kernels
    "layernorm_forward": "LayerNorms",
    "residual_layernorm_forward": "residuals + LayerNorms",
    "bias_gelu_forward": "bias + activation",
    "causal_softmax_forward": "mask + softmax",
    "course_attention_forward": "attention",
}


def attention_in_steps(module, query, key, value, attention_mask, scaling=None, dropout=0.0, **kwargs):
    """transformers' eager attention, each step in a range of its own. query, key, value: (B, H, T, D)."""
    with record_function("row: scores"):
        weights = torch.matmul(query, key.transpose(-1, -2)) * (query.size(-1) ** -0.5 if scaling is None else scaling)
    if attention_mask is not None:
        with record_function("row: mask"):
            weights = weights + attention_mask
    with record_function("row: softmax"):
        weights = nn.functional.softmax(weights, dim=-1).type(value.dtype)
    with record_function("row: values"):
        return torch.matmul(weights, value).transpose(1, 2), weights


AttentionInterface.register("eager_in_steps", attention_in_steps)
AttentionMaskInterface.register("eager_in_steps", eager_mask)


class Range:
    """A range around a module's forward pass."""

    def __init__(self, module: nn.Module, name: str):
        self.name, self.open = name, []
        module.register_forward_pre_hook(self.begin)
        module.register_forward_hook(self.end)

    def begin(self, *_):
        self.open.append(record_function(self.name))
        self.open[-1].__enter__()

    def end(self, *_):
        self.open.pop().__exit__(None, None, None)


def mark(model: nn.Module, patched: bool) -> None:
    """Ranges around the modules. A patched block has none around what its kernels replace, because a hook there stops them."""
    gpt2 = model.transformer
    Range(gpt2.wte, "row: embedding")
    Range(gpt2.wpe, "row: embedding")
    Range(model.lm_head, "row: output layer")
    for number, block in enumerate(gpt2.h):
        Range(block, f"layer: block {number}")
        Range(block.attn, "part: attention")
        Range(block.attn.c_attn, "row: QKV")
        Range(block.attn.c_proj, "row: projection")
        Range(block.mlp, "part: MLP")
        Range(block.mlp.c_proj, "row: MLP projection")
        if not patched:
            Range(block.ln_1, "row: LayerNorms")
            Range(block.ln_2, "row: LayerNorms")
            Range(block.mlp.c_fc, "row: MLP expansion")
            Range(block.mlp.act, "row: activation")
    if not patched:
        Range(gpt2.ln_f, "row: LayerNorms")


def row_of(event) -> str:
    """The row of the innermost range around a call."""
    inside = ""
    while event is not None:
        if event.name.startswith("row: "):
            return event.name[5:]
        if event.name.startswith("course::"):
            return OF_OPS.get(event.name[8:], event.name)
        if event.name == "part: MLP" and not inside:
            inside = "MLP expansion"
        elif event.name == "part: attention" and not inside:
            inside = "attention"
        elif event.name.startswith("layer: "):
            return inside or "residuals"
        event = event.cpu_parent
    return "other"


def layer_of(event) -> str:
    while event is not None:
        if event.name.startswith("layer: "):
            return event.name[7:]
        if event.name in ("row: embedding", "row: output layer"):
            return event.name[5:]
        event = event.cpu_parent
    return "other"


def measure(run, device: str, times: int, trace: str | None) -> dict[str, Counter]:
    """Milliseconds of one run by layer, row and kernel: of the GPU, or of the CPU where there is none."""
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    with profile(activities=activities) as profiled:
        for _ in range(times):
            run()
        wait(device)
    if trace:
        profiled.export_chrome_trace(trace)
    spent = {"layer": Counter(), "row": Counter(), "kernel": Counter()}
    for event in profiled.events():
        if device == "cuda":
            parts = [(kernel.name, kernel.duration) for kernel in event.kernels]
        else:
            parts = [(event.name, event.self_cpu_time_total)] if not event.name.startswith(("row: ", "part: ", "layer: ")) else []
        for name, microseconds in parts:
            for level, key in (("layer", layer_of(event)), ("row", row_of(event)), ("kernel", name)):
                spent[level][key] += microseconds / 1e3 / times
    return spent


def show(spent: dict[str, Counter], most: int) -> None:
    for level, counted in spent.items():
        total = sum(counted.values())
        print(f"\nby {level}: {total:.3f} ms")
        for name, ms in counted.most_common(most):
            print(f"  {ms:10.4f} ms {100 * ms / total if total else 0:6.1f} %  {name[:90]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", default="eager", choices=["eager", "sdpa", "ours", "ours-sdpa", "ours-softmax"])
    parser.add_argument("--size", default="small", choices=SIZES)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--type", default="f16", choices=TYPES)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--times", type=int, default=10, help="forward passes in the profile")
    parser.add_argument("--most", type=int, default=20, help="lines of a table")
    parser.add_argument("--trace", help="write a Chrome trace to this file")
    parser.add_argument("--out", help="append one JSON line to this file")
    arguments = parser.parse_args()
    ck.run_cpu_tensors_on_the_cpu_backend(True)
    patched = arguments.variant.startswith("ours")
    if patched:
        ck.library(arguments.device)
    model = prepared(model_of(arguments.size, arguments.device, arguments.type, arguments.tokens), arguments.variant)
    if arguments.variant == "eager":
        model.set_attn_implementation("eager_in_steps")
    ids = torch.randint(0, model.config.vocab_size, (arguments.batch, arguments.tokens), device=arguments.device)

    def run():
        with torch.no_grad():
            model(ids, use_cache=False, logits_to_keep=1)

    mark(model, patched)
    show_in_profiles(True)
    for _ in range(3):
        run()
    wait(arguments.device)
    ck.reset_stats()
    spent = measure(run, arguments.device, arguments.times, arguments.trace)
    show_in_profiles(False)
    show(spent, arguments.most)
    if patched:
        print(f"\n{ck.report()}")
        if not ck.stats()["kernels"]:
            print("profile_model.py: no kernel of the course ran, so this is no profile of `ours`", file=sys.stderr)
            return 1
    if arguments.out:
        about = {name: getattr(arguments, name) for name in ("variant", "size", "batch", "tokens", "type", "device")}
        rounded = {level: {name: round(ms, 5) for name, ms in counted.most_common()} for level, counted in spent.items()}
        with open(arguments.out, "a") as file:
            file.write(json.dumps({**about, "torch": torch.__version__, **rounded}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
