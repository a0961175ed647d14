"""Where the time of GPT-2 goes: by layer, by part of a block, by kernel, with a Chrome trace.

    python3 profile_model.py --variant eager --size small --batch 8 --tokens 512 --type f16
    python3 profile_model.py --variant ours --trace ours.json.gz --out profile.jsonl
    python3 profile_model.py --from ours.json.gz            the tables of a trace that was written before

The rows of a block are those of the literature: QKV, scores, mask, softmax, values, projection, MLP expansion, activation, MLP
projection, LayerNorms, residuals; and embedding, output layer. In the eager variant the attention is written out in its four
steps, so that each has a row. A kernel belongs to the innermost row around the call that launched it, also through ctypes: the
trace has the launch's thread and time. A block's matrix products are told apart by the shapes of their weights. So the rows, the
layers and the kernels each add up to the same total. Open a trace in chrome://tracing or ui.perfetto.dev.
"""

import argparse
import gzip
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

import course_kernels as ck
from benchmark import SIZES, TYPES, model_of, prepared
from course_kernels.launch import show_in_profiles
from measuring import Report, once, wait

OF_OPS = {  # the row of each of the course's kernels
    "layernorm_forward": "LayerNorms",
    "residual_layernorm_forward": "residuals + LayerNorms",
    "bias_gelu_forward": "bias + activation",
    "causal_softmax_forward": "mask + softmax",
    "course_attention_forward": "attention",
    "three_way_add": "residuals",
}


PRODUCTS = {3: "QKV", 1: "projection", 4: "MLP expansion", 1 / 4: "MLP projection"}  # by columns / rows of a block's weight
WEIGHT_AT = {"aten::mm": 1, "aten::addmm": 2}  # its place among the operands

# ---- ranges around the parts of a model ----


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


def mark(model: nn.Module, variant: str) -> None:
    """Ranges around the modules, but not around those that the variant passes by: a hook there would change its path."""
    patched = variant.startswith("ours")
    gpt2 = model.transformer
    Range(gpt2.wte, "row: embedding")
    Range(gpt2.wpe, "row: embedding")
    Range(model.lm_head, "row: output layer")
    for number, block in enumerate(gpt2.h):
        Range(block, f"layer: block {number}")
        if variant != "ours":
            Range(block.attn, "part: attention")
        if not patched:
            Range(block.ln_1, "row: LayerNorms")
            Range(block.ln_2, "row: LayerNorms")
            Range(block.mlp.act, "row: activation")
    if not patched:
        Range(gpt2.ln_f, "row: LayerNorms")


def row_of(ranges: list[str]) -> str:
    """The row of a kernel that was launched inside these ranges, the innermost first."""
    inside = ""
    for name in ranges:
        if name.startswith("row: "):
            return name[5:]
        if name.startswith("course::"):
            return OF_OPS.get(name[8:], name)
        if name.startswith(("product: ", "part: ")):
            inside = inside or name.split(": ")[1]
        elif name.startswith("layer: "):
            return inside or "residuals"
    return "other"


def layer_of(ranges: list[str]) -> str:
    for name in ranges:
        if name.startswith("layer: "):
            return name[7:]
        if name in ("row: embedding", "row: output layer"):
            return name[5:]
    return "other"


# ---- from a trace to sums ----

ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES = ("cuda_runtime", "cuda_driver")
UNKNOWN = ["row: launch not in the trace"]


def nested(events: list[dict]) -> Iterator[tuple[dict, list[dict]]]:
    """Each event of the CPU's threads with the events around it in its thread, the innermost first."""
    around: dict[tuple, list[dict]] = {}
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        stack = around.setdefault((event["pid"], event["tid"]), [])
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
            stack.pop()
        yield event, stack[::-1]
        stack.append(event)


def range_of(event: dict) -> str | None:
    """The range that an event of the CPU is: a marked one, or one of a block's matrix products."""
    if event["cat"] == "user_annotation":
        return event["name"]
    shapes = event.get("args", {}).get("Input Dims") if event["name"] in WEIGHT_AT else None
    if not shapes:
        return None
    rows, columns = shapes[WEIGHT_AT[event["name"]]]
    product = PRODUCTS.get(columns / rows) if rows else None
    return product and f"product: {product}"


def parts_of(trace: dict, device: str) -> Iterator[tuple[str, float, list[str]]]:
    """Every kernel of a Chrome trace of torch.profiler: its name, its microseconds, and the names of the ranges around its
    launch, the innermost first. For device "cpu" every op, with the time that is not another op's."""
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X" and "dur" in event]
    of_cpu = [event for event in events if event.get("cat") in ("user_annotation", "cpu_op", *LAUNCHES)]
    names = lambda around: [name for name in map(range_of, around) if name]
    if device == "cpu":
        is_op = lambda event: event["cat"] == "cpu_op" or event["name"].startswith("course::")
        own, ops = {}, []
        for event, around in nested(of_cpu):
            if is_op(event):
                ops.append((event, names([event, *around])))
                own[id(event)] = event["dur"]
                outer = next((other for other in around if is_op(other)), None)
                if outer is not None:
                    own[id(outer)] -= event["dur"]
        yield from ((event["name"], own[id(event)], ranges) for event, ranges in ops)
        return
    launches = {}
    for event, around in nested(of_cpu):
        if event["cat"] in LAUNCHES and "correlation" in event.get("args", {}):
            launches[event["args"]["correlation"]] = names(around)
    for event in events:
        if event.get("cat") in ON_GPU:
            yield event["name"], event["dur"], launches.get(event.get("args", {}).get("correlation"), UNKNOWN)


def sums_of(trace: dict, device: str, times: int) -> dict[str, Counter]:
    """Milliseconds of one run by layer, row and kernel: of the GPU, or of the CPU where there is none."""
    spent = {"layer": Counter(), "row": Counter(), "kernel": Counter()}
    for name, microseconds, ranges in parts_of(trace, device):
        for level, key in (("layer", layer_of(ranges)), ("row", row_of(ranges)), ("kernel", name)):
            spent[level][key] += microseconds / 1e3 / times
    return spent


def launches_of(trace: dict, times: int) -> dict[str, float]:
    """Of one run: kernels on the GPU, and microseconds that the CPU is inside a call that launches one (median)."""
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    calls = [event["dur"] for event in events if event.get("cat") == "cuda_runtime" and "Launch" in event["name"]]
    kernels = sum(event.get("cat") in ON_GPU for event in events)
    return {"kernels": kernels / times, "launch_us": statistics.median(calls) if calls else None}


def read_trace(path: str) -> dict:
    return json.loads(gzip.decompress(Path(path).read_bytes()) if path.endswith(".gz") else Path(path).read_text())


def traced(run: Callable[[], object], device: str, times: int, path: str | None = None) -> dict:
    """The Chrome trace of `times` runs; also as a file, if there is a path."""
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    show_in_profiles(True)
    run()
    wait(device)
    with profile(activities=activities, record_shapes=True) as profiled:
        for _ in range(times):
            run()
        wait(device)
    show_in_profiles(False)
    with tempfile.TemporaryDirectory() as folder:
        path = path or f"{folder}/trace.json"
        profiled.export_chrome_trace(path)
        return read_trace(path)


def show(spent: dict[str, Counter], most: int) -> None:
    for level, counted in spent.items():
        total = sum(counted.values())
        print(f"\nby {level}: {total:.3f} ms")
        for name, ms in counted.most_common(most):
            print(f"  {ms:10.4f} ms {100 * ms / total if total else 0:6.1f} %  {name[:90]}")


def rounded(spent: dict[str, Counter]) -> dict[str, dict[str, float]]:
    return {level: {name: round(ms, 6) for name, ms in counted.most_common()} for level, counted in spent.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", default="eager", choices=["eager", "sdpa", "ours", "ours-sdpa", "ours-softmax"])
    parser.add_argument("--size", default="small", choices=SIZES)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--type", default="f16", choices=TYPES)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cuda", "cpu"])
    parser.add_argument("--times", type=int, default=10, help="forward passes in the profile")
    parser.add_argument("--most", type=int, default=20, help="lines of a table")
    parser.add_argument("--trace", help="write a Chrome trace to this file; with .gz at its end, compressed")
    parser.add_argument("--from", dest="trace_of", metavar="TRACE", help="only show the tables of this trace of --times passes")
    parser.add_argument("--out", help="append one JSON line to this file")
    arguments = parser.parse_args()
    if arguments.trace_of:
        show(sums_of(read_trace(arguments.trace_of), arguments.device, arguments.times), arguments.most)
        return 0
    ck.run_cpu_tensors_on_the_cpu_backend(True)
    patched = arguments.variant.startswith("ours")
    try:
        if patched:
            ck.library(arguments.device)
        report = Report(arguments)
    except (OSError, ck.LibraryMissing) as error:
        print(f"profile_model.py: {error}", file=sys.stderr)
        return 2
    model = prepared(model_of(arguments.size, arguments.device, arguments.type, arguments.tokens), arguments.variant)
    if arguments.variant == "eager":
        model.set_attn_implementation("eager_in_steps")
    ids = torch.randint(0, model.config.vocab_size, (arguments.batch, arguments.tokens), device=arguments.device)

    def run():
        with torch.no_grad():
            model(ids, use_cache=False, logits_to_keep=1)

    for _ in range(3):
        run()
    wall = statistics.median(once(run, arguments.device) for _ in range(arguments.times))
    mark(model, arguments.variant)
    ck.reset_stats()
    trace = traced(run, arguments.device, arguments.times, arguments.trace)
    spent = sums_of(trace, arguments.device, arguments.times)
    show(spent, arguments.most)
    print(f"\none pass without the profiler: {wall:.3f} ms")
    if patched:
        print(f"\n{ck.report()}")
        if not ck.stats()["kernels"]:
            print("profile_model.py: no kernel of the course ran, so this is no profile of `ours`", file=sys.stderr)
            return 1
    line = {name: getattr(arguments, name) for name in ("variant", "size", "batch", "tokens", "type")}
    line |= {"experiment": "profile", "wall_ms": round(wall, 5), **launches_of(trace, arguments.times), **rounded(spent)}
    report.line(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
