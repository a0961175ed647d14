"""plots.py — the plots of the book: what each shows, its data, and the function that draws it from them.

tools/plots/draw draws them into docs/diagrams; tools/generated/plot prints a picture with its caption. matplotlib is loaded only to
draw.
"""

import json
import math
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results"


@dataclass
class Plot:
    draw: Callable[[], None]
    data: tuple[str, ...]  # files below docs/results
    alt: str  # what is seen, for those who do not see it
    caption: str  # what to see in it
    by: str = ""  # the command that measures the data, where the data name its parts
    programs: tuple[str, ...] = ()  # files of this folder beside plots.py and style.py


def lines(name: str, **wanted) -> list[dict]:
    found = [json.loads(text) for text in (RESULTS / name).read_text().splitlines()]
    return [line for line in found if all(line.get(key) == value for key, value in wanted.items())]


def commands(plot: Plot) -> str:
    """The commands that measured the data, without their output files."""
    if plot.by:
        return plot.by
    found = dict.fromkeys(line["command"] for name in plot.data if name.endswith(".jsonl") for line in lines(name) if "command" in line)
    short = dict.fromkeys(re.sub(r" --(json|out) \S+", "", command) for command in found)
    return ", ".join(f"`{command}`" for command in list(short)[:2]) + (f" and {len(short) - 2} more" if len(short) > 2 else "")


# ---- kernels on a GPU ----

LADDERS = {
    "step1": ("step1_naive", "step1_naive.nvidia-h200.jsonl"),
    "step2": ("step2_warp_reduce", "step2_warp_reduce.nvidia-h200.jsonl"),
    "step3": ("step3_fused", "step3_fused.nvidia-h200.jsonl"),
}
PEERS = "peers/step3_fused.nvidia-h200.jsonl"
COUNTED = "counted/ladders.jsonl"


def peers(backward: bool) -> None:
    from style import OTHER, OURS, PEER, bar_rows

    cells: dict[tuple, dict] = {}
    for line in lines(PEERS, type="bf16"):
        if re.match("65536x|8x12x", line["shape"]) and "us" in line and ("backward" in line["op"]) == backward:
            cells.setdefault((line["op"], line["shape"]), {})[line["by"]] = line["us"]
    rows: list[tuple] = [("title", "fraction of the copy's speed; the line is 1")]
    for (op, shape), us in cells.items():
        compiled = [us[by] for by in ("compile", "compile max") if by in us]
        if not compiled:
            continue
        rows.append(("head", f"{op}, {shape}"))
        alone = "aten" if "aten" in us else "eager"
        for by, time, colour in (("ours", us["ours"], OURS), ("torch.compile", min(compiled), PEER), (alone, us[alone], OTHER)):
            rows.append((by, us["copy"] / time, f"{us['copy'] / time:.2f}", colour))
    bar_rows(rows, 1.05, label_width=86, value_width=36, mark=1)


def ideas(folder: str) -> dict[tuple[str, int], str]:
    """The idea of each kernel of the ladders of a lab: its line under 'Kernels' at the head of the solution."""
    found = {}
    for source in sorted((ROOT / folder / "solution").glob("*.cu")):
        text = source.read_text()
        head = text.split("\n")[:30]
        for op in re.findall(r'#include "common/ops/(\w+)/contract.h"', text):
            for line in head:
                match = re.match(r"//(?: Kernels)? +(\d)  (.*)", line)
                if match:
                    found[op, int(match.group(1))] = re.split(r"  |;|: see |\. ", match.group(2))[0]
    return found


def floor(line: dict) -> float:
    """Bytes of the large tensors, each once; a causal softmax forward reads half of its input."""
    if line["op"].startswith("causal"):
        tensors = 3 if "backward" in line["op"] else 2
        return line["tensor_bytes"] * (tensors + 1) / (2 * tensors)  # all of the output, and half of the inputs
    return line["tensor_bytes"]


def rungs(rows: list[tuple], right_title: str) -> None:
    """Rows from the top: (op,) or (rung, idea, bytes / floor, bytes of sectors / floor, relative time)."""
    from style import ALERT, OTHER, OURS, PEER, QUIET, WIDTH, canvas, plt

    axes = canvas(24 + sum(20 if len(row) == 1 else 27 for row in rows))
    left, wide, right = 18, 120, 228
    most = 4  # a longer bar has a gap
    axes.text(left, 12, "bytes / floor: requested, of sectors", fontsize=9.5, color=QUIET)
    axes.text(right, 12, right_title, fontsize=9.5, color=QUIET)

    def bar(x: float, y: float, height: float, value: float, colour: str) -> None:
        pieces = [(0, value)] if value <= most else [(0, 0.86 * most), (0.91 * most, most)]
        for begin, end in pieces:
            axes.add_patch(plt.Rectangle((x + wide * begin / most, y), wide * (end - begin) / most, height, color=colour, lw=0))

    y = 18.0
    for row in rows:
        if len(row) == 1:
            axes.text(2, y + 14, row[0], fontweight="bold", fontsize=10.5)
            y += 20
            continue
        rung, idea, bytes_, sectors_, time = row
        axes.text(2, y + 10, f"{rung}", fontsize=9.5)
        axes.text(left, y + 10, textwrap.shorten(idea, 66, placeholder=" …"), fontsize=9)
        bar(left, y + 14, 4, bytes_, PEER)
        bar(left, y + 18, 4, sectors_, OTHER)
        bar(right, y + 14, 8, time, OURS)
        axes.text(right - 10, y + 22, f"{bytes_:.2f}, {sectors_:.2f}", fontsize=9.5, ha="right")
        axes.text(WIDTH - 4, y + 22, f"{time:.2f}", fontsize=9.5, ha="right")
        for x in (left, right):
            axes.plot(2 * [x + wide / most], [y + 12, y + 24], color=ALERT, lw=1)
        y += 27


def ladder(step: str, pattern: str) -> None:
    folder, name = LADDERS[step]
    counted = {(line["op"], line["rung"]): line for line in lines(COUNTED, step=folder, type="f32")}
    best: dict[tuple, dict] = {}
    for line in lines(name, type="f32"):
        wanted = line.get("B") == 8 or (line.get("N"), line.get("C")) == (65536, 768)
        if wanted and (line["op"], line["rung"]) in counted and re.search(pattern, line["op"]):
            best[line["op"], line["rung"]] = line
    names = ideas(folder)
    rows: list[tuple] = []
    for key in sorted(best):
        count, time = counted[key], best[key]["us"] / best[key]["copy_us"]
        if (key[0],) not in rows:
            rows.append((key[0],))
        rows.append((key[1], names.get(key, ""), count["bytes"] / floor(count), count["sector_bytes"] / floor(count), time))
    rungs(rows, "time / time of a copy")


ABLATION = "pytorch/ablation.jsonl"


def ladder_of_model() -> None:
    """Whole passes of a model in fp16, with one op at each of its kernels."""
    ms = {line["by"]: line["ms"] for line in lines(ABLATION) if "size" in line}
    tokens, channels, heads = 1024, 768, 12
    least, scores = 4 * channels, 3.5 * heads * tokens  # elements of a token: q, k, v and the result; written, half read, all written, all read
    rows: list[tuple] = [("attention",)]
    for rung, idea, many, by in ((1, "three steps: the scores are in memory", (least + scores) / least, "ours-softmax"), (2, "one kernel: no scores", 1.0, "ours")):
        rows.append((rung, idea, many, many, ms[by] / ms["ours"]))
    names = ideas("step3_fused")
    for line in sorted(lines(COUNTED, step="step3_fused", type="f16"), key=lambda line: line["op"]):
        op, rung = line["op"], line["rung"]
        if (op,) not in rows:
            rows.append((op,))
        idea = "in 16-bit types: kernel 4" if op.startswith("causal") and rung in (2, 3) else names[op, rung]
        rows.append((rung, idea, line["bytes"] / floor(line), line["sector_bytes"] / floor(line), ms[f"{op} {rung}"] / ms["ours"]))
    rungs(rows, "time of the model / the best")


# Arithmetic of one element, counted in the formula; an exponential, a division and a comparison count as one.
OPERATIONS = {
    "residual_forward": 1,  # add
    "softmax_forward": 5,  # maximum, subtract, exponential, add, divide
    "causal_softmax_forward": 3,  # half of the elements: the same and the scale
    "layernorm_forward": 8,  # sum; subtract, square, sum; subtract, three for rstd, weight and bias
    "residual_layernorm_forward": 9,
    "bias_gelu_forward": 10,  # bias; cube 2, polynomial 3, tanh, 1 +, two products
}
BANDWIDTH, FP32, BF16 = 4.8e12, 67e12, 989e12  # of an H200 SXM, by its data sheet: bytes/s; operations/s without and with tensor cores


def roofline() -> None:
    from style import ALERT, OTHER, OURS, PEER, QUIET, chart

    axes = chart(330, left=50)
    low, high = 0.05, 2000.0
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(5e10, 4e15), xlabel="operations for each byte")
    axes.set_yticks([1e11, 1e12, 1e13, 1e14, 1e15], ["0.1 T", "1 T", "10 T", "100 T", "1000 T"])
    axes.text(0.06, 2e15, "operations a second")
    axes.set_xticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1000"])
    axes.minorticks_off()
    axes.plot([low, BF16 / BANDWIDTH, high], [low * BANDWIDTH, BF16, BF16], color=OTHER, lw=1.5)
    axes.plot([FP32 / BANDWIDTH, high], [FP32, FP32], color=OTHER, lw=1.5)
    axes.text(2.2, 1.5e13, "4.8 TB/s", color=QUIET, fontsize=9, ha="right")
    axes.text(high, FP32 * 1.15, "67 T fp32", color=QUIET, ha="right", fontsize=9)
    axes.text(high, BF16 * 1.15, "989 T bf16 products", color=QUIET, ha="right", fontsize=9)

    def point(x: float, y: float, colour: str, text: str = "", shift: tuple[float, float] = (5, -3), side: str = "left") -> None:
        axes.plot([x], [y], marker="o", color=colour, ms=5, ls="")
        if text:
            axes.annotate(text, (x, y), xytext=shift, textcoords="offset points", ha=side, fontsize=9)

    for step, colour in (("step1", ALERT), ("step3", OURS)):
        found: dict[str, list[dict]] = {}
        for line in lines(LADDERS[step][1], type="f32"):
            if line["op"] in OPERATIONS and line["floor_bytes"] >= 100e6:
                found.setdefault(line["op"], []).append(line)
        for op, rungs in found.items():
            line = rungs[0] if step == "step1" else min(rungs, key=lambda line: line["us"] / line["floor_bytes"])
            elements = line["B"] * line["H"] * line["T"] ** 2 if "B" in line else line["N"] * line["C"]
            work = OPERATIONS[op] * elements
            point(work / line["floor_bytes"], work / line["us"] * 1e6, colour)
    axes.text(1.4, 2.2e11, "lab 1, first kernels", fontsize=9, color=ALERT)
    axes.text(0.065, 2e12, "lab 3,\nbest kernels", fontsize=9, color=OURS)
    for line in lines("gpt2/nvidia-h200.jsonl", by="ours", what="decode", size="124M", tokens=64):
        if line.get("turn") == 0 and line["type"] == "bf16":
            work = 2 * 124e6 * line["batch"]
            time = line["ms_p50"] / 1e3
            point(work / line["bytes_read"], work / time, PEER, f"decode, batch {line['batch']}", (6, -9))
    for batch, tokens in ((1, 128), (32, 1024)):
        line = lines("pytorch/prompts.jsonl", size="small", type="f16", batch=batch, tokens=tokens, by="ours-graph" if batch == 1 else "ours")[0]
        layers, channels = 12, 768
        work = batch * tokens * layers * (24 * channels**2 + 2 * tokens * channels)  # products; half of the scores
        point(work / line["least_bytes"], work / line["ms"] * 1e3, PEER, f"prompt, {batch} x {tokens}", (8, -14), "center" if batch > 1 else "left")


def sectors() -> None:
    from style import OTHER, OURS, PEER, QUIET, WIDTH, canvas, plt

    found = [line for line in lines("counted/sectors.jsonl") if line["kind"] == "load"]
    axes = canvas(len(found) * 118)
    left, wide = 6, WIDTH - 12
    for number, line in enumerate(found):
        top = number * 118
        offsets = [offset for offset in line["offsets"] if offset is not None]
        touched = sorted({(offset + byte) // 32 for offset in offsets for byte in range(line["bytes"])})
        used = len(offsets) * line["bytes"]
        axes.text(left, top + 14, f"{line['words']}: {used} bytes of {len(touched)} sectors, {100 * used / 32 / len(touched):.3g} % used", fontweight="bold")
        axes.text(left, top + 27, line["kernel"], color=QUIET, fontsize=9)
        unit = wide / max(len(touched), 1)
        unit = min(unit, 44)
        lane = wide / 32
        for i, offset in enumerate(offsets):
            x = left + lane * i + lane / 2
            place = left + unit * (touched.index(offset // 32) + offset % 32 / 32) + unit * line["bytes"] / 64
            axes.plot([x, place], [top + 44, top + 82], color=OTHER, lw=0.6)
            axes.add_patch(plt.Rectangle((left + lane * i + 1, top + 36), lane - 2, 8, color=OURS, lw=0))
        for i, sector in enumerate(touched):
            share = sum((o + b) // 32 == sector for o in offsets for b in range(line["bytes"])) / 32
            axes.add_patch(plt.Rectangle((left + unit * i + 0.5, top + 82), unit - 1, 14, fill=False, ec=OTHER, lw=0.8))
            axes.add_patch(plt.Rectangle((left + unit * i + 0.5, top + 82), (unit - 1) * share, 14, color=PEER, lw=0))
        axes.text(left, top + 107, "0", fontsize=8.5, color=QUIET)
        axes.text(left + unit * len(touched), top + 107, f"byte {touched[-1] * 32 + 31}", ha="right", fontsize=8.5, color=QUIET)


# ---- GPT-2 ----


def decode() -> None:
    from style import ALERT, OTHER, OURS, PEER, QUIET, WIDTH, canvas, plt

    parts = ["qkv", "attention", "the other products of a block", "logits", "the choice of the token, its embedding"]
    colours = dict(zip(parts, (OURS, PEER, OTHER, ALERT, QUIET)))
    axes = canvas(150)
    totals = {}
    steps = {}
    for when in ("first", "now"):
        us: dict[str, float] = {}
        launches = 0
        for line in lines("profile/decode-124M-bf16.jsonl", when=when):
            launches += line["launches_a_step"]
            us[line["part"]] = us.get(line["part"], 0) + line["us"] * line["launches_a_step"]
        steps[when] = [(parts[4], us[parts[4]])] + 12 * [(part, us[part] / 12) for part in parts[:3]] + [(parts[3], us[parts[3]])]
        totals[when] = (sum(us.values()), launches)
    scale = (WIDTH - 12) / max(total for total, _ in totals.values())
    for top, when, words in ((0, "first", "first version"), (52, "now", "after three corrections")):
        axes.text(6, top + 13, f"{words}: {totals[when][0]:.0f} µs in {totals[when][1]} launches", fontsize=10)
        x = 6.0
        for part, us in steps[when]:
            axes.add_patch(plt.Rectangle((x, top + 18), us * scale, 20, color=colours[part], lw=0))
            x += us * scale
    x, y = 6.0, 118
    for part in parts:
        axes.add_patch(plt.Rectangle((x, y - 8), 9, 9, color=colours[part], lw=0))
        axes.text(x + 12, y, part, fontsize=9)
        x += 26 + 4.7 * len(part)
        if x > 300:
            x, y = 6.0, y + 16


def training_step() -> None:
    from style import ALERT, OTHER, OURS, PEER, QUIET, WIDTH, canvas, plt
    from training_floor import Floor

    found = lines("profile/training-124M-bf16.jsonl")
    batch = max(line["batch"] for line in found)
    found = [line for line in found if line["batch"] == batch]
    floor = Floor(found[0], {line["part"] for line in found})
    left, right = 208, 34
    scale = (WIDTH - left - right) / max(line["us"] for line in found)
    axes = canvas(22 + 14 * len(found) + 6)
    axes.text(2, 13, f"ms of a step, {batch} sequences; the line is the floor", fontsize=10, color=QUIET)
    y = 20.0
    for line in found:
        part, us = line["part"], line["us"]
        colour = OTHER if not floor.operations(part) else PEER if part.startswith("attention,") or part == "attention" else OURS
        axes.text(left - 5, y + 10.5, part, ha="right", fontsize=9.5)
        axes.add_patch(plt.Rectangle((left, y + 2), max(us * scale, 0.5), 10, color=colour, lw=0))
        x = left + floor.us(part) * scale
        axes.plot([x, x], [y + 0.5, y + 13.5], color=ALERT, lw=1.2)
        axes.text(WIDTH - 4, y + 10.5, f"{us * 1e-3:.1f}", ha="right", fontsize=9.5)
        y += 14


def loss() -> None:
    from style import OURS, PEER, chart

    rows = [line for line in lines("loss/small.jsonl") if "step" in line]
    axes = chart(220, left=32, right=14)
    axes.plot([r["step"] for r in rows], [r["loss"] for r in rows], color=OURS, lw=1)
    held = [r for r in rows if "val_loss" in r]
    axes.plot([r["step"] for r in held], [r["val_loss"] for r in held], color=PEER, lw=1.5)
    axes.set(xlim=(0, rows[-1]["step"]))
    axes.set_xlabel("step")
    axes.text(0.98, 0.95, "loss of a step", color=OURS, ha="right", va="top", transform=axes.transAxes)
    axes.text(0.98, 0.85, "held out", color=PEER, ha="right", va="top", transform=axes.transAxes)


def profile() -> None:
    from style import OTHER, OURS, PEER, bar_rows

    rows: list[tuple] = [("title", "milliseconds of one pass, by part")]
    found = {line["variant"]: line for line in lines("pytorch/profile.jsonl")}
    most = max(value for line in found.values() for value in line["row"].values())
    for by, colour in (("eager", OTHER), ("sdpa", PEER), ("ours", OURS)):
        rows.append(("head", f"{by}: {sum(found[by]['row'].values()):.2f} ms"))
        for part, value in sorted(found[by]["row"].items(), key=lambda item: -item[1]):
            if value >= 0.03 * most:
                rows.append((part, value, f"{value:.2f}", colour))
    bar_rows(rows, most, label_width=132, value_width=36)


BY = {"compile": "torch.compile", "sdpa-graph": "sdpa, graph", "ours-graph": "ours, graph", "ours-sdpa": "ours, sdpa", "ours-softmax": "ours, causal"}


def pytorch(name: str, unit: str, key: str, **wanted) -> None:
    from style import OTHER, OURS, PEER, bar_rows

    cells: dict[tuple, list[dict]] = {}
    for line in lines(name, **wanted):
        cells.setdefault((line["size"], line["type"], line["batch"], line.get("cached", line["tokens"])), []).append(line)
    rows: list[tuple] = [("title", f"{unit}, relative to eager (shorter is better)")]
    for (size, kind, batch, tokens), found in cells.items():
        base = next(line for line in found if line["by"] == "eager")[key]
        rows.append(("head", f"{size} {kind}, {batch} x {tokens}"))
        for line in found:
            by = line["by"]
            colour = OURS if by.startswith("ours") else PEER if by == "compile" else OTHER
            rows.append((BY.get(by, by), line[key] / base, f"{line[key]:.2f} ms", colour))
    bar_rows(rows, 1.0, label_width=84, value_width=62)


# ---- several GPUs ----

SCALING = "scaling/nvidia-h200.jsonl"
LAYER, EMBEDDINGS, VECTORS = 28.3116, 157.6796, 0.4854  # MB of gradients


def predicted(gpus: int, batch: int, tree: bool) -> dict[str, float]:
    """A training step of 124M on `gpus` of them, in machines of 8: docs/scaling.md has the assumptions."""
    speed = 0.360 if gpus <= 8 else 0.320  # GB/s over 1000: MB a microsecond
    hops = 2 * math.ceil(math.log2(gpus)) if tree else 2 * (gpus - 1)

    def ms(megabytes: float, sums: int) -> float:
        return megabytes * 2 * (gpus - 1) / gpus / speed / 1e3 + sums * hops * 0.005

    sent = 12 * LAYER + EMBEDDINGS + VECTORS
    whole, step = ms(sent, 14), rates(batch=batch, by="ours", setting="alone")[0]["ms_p50"]
    shown = max(ms(EMBEDDINGS + VECTORS, 2), whole - step * 2 / 3)
    return {"sent": sent * 2 * (gpus - 1) / gpus, "sums": whole, "shown": shown, "efficiency": step / (step + shown)}


def rates(**wanted) -> list[dict]:
    return [line for line in lines(SCALING, what="train", size="124M", **wanted) if "tokens_per_s" in line and not line.get("sockets")]


def scaling() -> None:
    from style import OURS, PEER, QUIET, bar_rows

    rows: list[tuple] = [("title", "thousand tokens/s of all GPUs")]
    most = max(line["tokens_per_s"] for line in rates())
    for batch in (16, 64):
        rows.append(("head", f"{batch} sequences of 1024 tokens a GPU"))
        found = [
            ("gpt2, one GPU", QUIET, rates(batch=batch, by="ours", setting="alone")),
            ("four, one sum", OURS, rates(batch=batch, by="ours", setting="together", zero=0, gpus=4)),
            ("four, --zero 1", OURS, rates(batch=batch, by="ours", setting="together", zero=1, gpus=4)),
            ("PyTorch, four, DDP", PEER, rates(batch=batch, by="compile", setting="together", gpus=4)),
        ]
        for label, colour, measured in found:
            if measured:
                rows.append((label, measured[0]["tokens_per_s"], f"{measured[0]['tokens_per_s'] / 1e3:.0f}", colour))
    bar_rows(rows, most, label_width=112, value_width=40)


def curve() -> None:
    from style import ALERT, OURS, PEER, chart

    axes = chart(230, left=38, right=12)
    gpus = [2**power for power in range(1, 11)]
    for batch, colour in ((64, OURS), (16, PEER)):
        for tree, dashes in ((True, "-"), (False, "--")):
            axes.plot(gpus, [100 * predicted(n, batch, tree)["efficiency"] for n in gpus], dashes, color=colour, lw=1.5)
        for together in rates(batch=batch, by="ours", setting="together"):
            for apart in rates(batch=batch, by="ours", setting="apart", gpus=together["gpus"], run=together["run"]):
                efficiency = 100 * together["tokens_per_s"] / apart["tokens_per_s"]
                axes.plot([together["gpus"]], [efficiency], "s" if together["zero"] else "o", color=ALERT, ms=4)
    axes.set_xscale("log", base=2)
    axes.set(xlim=(1.7, 1200), ylim=(0, 104), xticks=[2, 8, 64, 1024], xticklabels=["2", "8", "64", "1024"])
    axes.minorticks_off()
    axes.set_xlabel("GPUs")
    axes.text(2, 60, "efficiency, percent", ha="left")
    axes.text(2, 48, "predicted, 64 sequences a GPU", color=OURS, ha="left")
    axes.text(2, 36, "predicted, 16 sequences a GPU", color=PEER, ha="left")
    axes.text(2, 24, "measured on two and four H200", color=ALERT, ha="left")
    axes.text(2, 12, "full: trees; dashed: rings", ha="left")


H200, BENCH = "on an H200", "`make bench"
PLOTS = {
    "peers_forward": Plot(
        lambda: peers(False), (PEERS,), "Bars for each forward op of lab 3: the course's kernels are near a copy's speed, torch.compile at or below it, eager far below",
        f"Each forward op of lab 3 in bf16 {H200}, as a fraction of the speed of a copy that moves the same number of bytes. A bar that reaches the line leaves nothing to gain.", BENCH + " STEP=step3`"),
    "peers_backward": Plot(
        lambda: peers(True), (PEERS,), "Bars for each backward op of lab 3 beside torch.compile and aten, as fractions of a copy's speed",
        "The backward ops, measured in the same way.", BENCH + " STEP=step3`"),
    "ladder_step1": Plot(
        lambda: ladder("step1", ""), (LADDERS["step1"][1], COUNTED), "Bytes and time of each kernel of lab 1: softmax and LayerNorm take more than ten times the time of a copy",
        f"Lab 1, in fp32. Green: bytes that the lanes request; grey: bytes of the sectors that they touch; blue: time {H200}, 65536 rows of 768. The red line is 1, and a bar with a gap is longer than 4. A thread per row requests few bytes but touches many sectors, and the time follows the sectors.", BENCH + "` and `tools/plots/record`"),
    "ladder_step2": Plot(
        lambda: ladder("step2", ""), (LADDERS["step2"][1], COUNTED), "Bytes and time of each kernel of lab 2: the time falls to a tenth when the lanes read neighbours, at the same bytes",
        "Lab 2. The second kernel of each ladder requests the bytes of the first from neighbouring addresses. The sectors fall to the requested bytes, and the time with them.", BENCH + "` and `tools/plots/record`"),
    "ladder_step3": Plot(
        lambda: ladder("step3", "forward"), (LADDERS["step3"][1], COUNTED), "Bytes and time of each forward kernel of lab 3: both fall to 1 when the row stays in registers",
        "Lab 3, forward: with the row in registers the bytes fall to the floor, and the time follows.", BENCH + "` and `tools/plots/record`"),
    "ladder_step3_backward": Plot(
        lambda: ladder("step3", "backward"), (LADDERS["step3"][1], COUNTED), "Bytes and time of each backward kernel of lab 3",
        "Lab 3, backward: two kernels read the inputs twice. One pass reads them once and pays for the sums of the columns, until the tuned kernel.", BENCH + "` and `tools/plots/record`"),
    "ladder_step4": Plot(
        ladder_of_model, (ABLATION, COUNTED), "Bytes of each kernel and time of the whole model with it: fused attention shortens the model most, a causal softmax with a thread per row makes it many times slower",
        f"Lab 4: a whole pass of GPT-2 small, 16 x 1024 tokens in fp16 {H200}, with one op at each of its kernels and all others at their best. In all rows below attention's own, attention takes three steps. Bytes of attention come from the shapes, the others are counted. Fewer bytes help the model as much as the op weighs in it.", "`experiments.py ablation` and `tools/plots/record`"),
    "roofline": Plot(
        roofline, (LADDERS["step1"][1], LADDERS["step3"][1], "gpt2/nvidia-h200.jsonl", "pytorch/prompts.jsonl"),
        "Roofline of an H200: lab 3's kernels lie at the slope of 4.8 TB/s, lab 1's below it, decoding and prompts of GPT-2 to the right",
        "The roofs are those of NVIDIA's data sheet for the H200 SXM. Red: lab 1's first kernels; blue: lab 3's best kernel of each op, in fp32; green: GPT-2 124M. The ops of the labs lie left of the ridge, so only bytes count. Operations are counted in the formulas.", BENCH + "`, `make bench-gpt2` and `benchmark.py prompts`"),
    "sectors_traced": Plot(
        sectors, ("counted/sectors.jsonl",), "The first load of a warp in three kernels: 32 sectors with 4 used bytes each, 4 full sectors, 16 full sectors",
        "The first load of a warp, traced by the CPU backend. Blue: the 32 lanes; boxes: the sectors of 32 bytes that they touch; green: the part of a sector that is used."),
    "decode_timeline": Plot(
        decode, ("profile/decode-124M-bf16.jsonl",), "A decoding step as a sequence of kernels, of the first version and of the shorter current one",
        "One decoding step of GPT-2 124M in bf16, its kernels in their order, with the last three products of a block as one piece; each time is the mean of the kernel run alone under ncu. The products, which read the weights, take most of it."),
    "training_step": Plot(
        training_step, ("profile/training-124M-bf16.jsonl",), "Bars of the time of each kind of kernel in a training step, each with a line at its floor",
        "A training step of GPT-2 124M in bf16: products of the library (blue), attention (green) and kernels that are limited by their bytes (grey). Each kernel ran alone under ncu. What is right of a line is above the floor; a product that ends left of its line runs faster alone than in a whole step.",
        programs=("training_floor.py",)),
    "scaling": Plot(
        scaling, (SCALING,), "Bars of tokens a second for one and four GPUs: four are nearly four times as fast as one, and faster than PyTorch's four",
        "Training steps of 124M in bf16 on one and four H200. Compare a bar of four GPUs with four times that of one. With 64 sequences the sums are a smaller part of a step than with 16. PyTorch's bar is of another run, on other GPUs of the same kind."),
    "scaling_curve": Plot(
        curve, (SCALING,), "Efficiency over the number of GPUs: with trees it stays near 95 percent up to 1024 GPUs, with rings it falls",
        "The part of each GPU's speed that remains when many train together. The curves are predictions of the model in the text, for H200s in machines of 8; only the points are measured, on two and on four H200, a circle with one sum at the end and a square with `--zero 1`. Bytes bend no curve: a ring's latencies do."),
    "loss": Plot(
        loss, ("loss/small.jsonl",), "The loss of a small model over 500 steps: it falls fast at first, then slowly, and the held-out loss stays close",
        "The loss of a model of two blocks on the CPU backend: its file `loss.csv`. It begins at the logarithm of the number of tokens, as if every token were as likely, and falls fast while the model learns which tokens are frequent."),
    "pytorch_prompts": Plot(
        lambda: pytorch("pytorch/prompts.jsonl", "time", "ms", size="small"), ("pytorch/prompts.jsonl",),
        "Bars of the time of a pass over a prompt, for eager, sdpa, torch.compile, ours and CUDA graphs",
        "A pass over whole prompts, GPT-2 small. For short prompts the GPU waits for Python, so CUDA graphs and torch.compile help most. For long ones the kernels decide."),
    "pytorch_training": Plot(
        lambda: pytorch("pytorch/training.jsonl", "time of a step", "ms"), ("pytorch/training.jsonl",),
        "Bars of the time of a training step in four cells, for six variants", "A training step of three sizes of GPT-2. `ours` is faster than eager and sdpa; torch.compile is faster still."),
    "pytorch_decode": Plot(
        lambda: pytorch("pytorch/decode.jsonl", "time of a token", "ms"), ("pytorch/decode.jsonl",),
        "Bars of the time of a decoding step in four cells, with and without CUDA graphs", "One new token on a cache. A CUDA graph is many times as fast, because without one Python launches every kernel."),
    "pytorch_profile": Plot(
        profile, ("pytorch/profile.jsonl",), "Bars of the GPU's time by part of the model, for eager, sdpa and ours",
        "Where the GPU's time goes in one pass of GPT-2 small (8 x 512 tokens, fp16). The activation is the largest part of eager and sdpa; one kernel for bias and GELU shortens it."),
}
