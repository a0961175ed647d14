"""compare SIZE — does the program gpt2 compute the same as Hugging Face's GPT-2? Prints a table; exit status 0: it does.

transformers writes random weights of that size (write_weights.py) and computes all tensors of some prompts in float64 and in
float32 (reference.py). `gpt2 check` reads the same files and compares. The error of a tensor is the norm of the difference
from float64, divided by the norm of float64, over all rows. The target is twice the error of Hugging Face's float32.

Prompts are random tokens; --lengths gives their numbers. Hugging Face computes each prompt alone. The program computes all
of them at once, padded to the longest one, so the comparison also shows that padding changes nothing.
"""

import argparse
import datetime
import json
import math
import multiprocessing
import os
import platform
import random
import subprocess
import sys
import tempfile
from concurrent import futures

from hf import fail, torch, transformers, use_device

import reference
import write_weights
from write_weights import SIZES, TYPES

INNER = ["ln1", "qkv", "attention", "attention projection", "residual after attention", "ln2", "gelu", "mlp projection"]


def arguments():
    parser = argparse.ArgumentParser(prog="compare", description=__doc__.split("\n\n")[0])
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("--gpt2", default="build/gpt2/cpu/gpt2", help="the program (%(default)s)")
    parser.add_argument("--kernels", default="reference", help="its kernel set (%(default)s)")
    parser.add_argument("--type", choices=TYPES, default="f32", help="of the numbers in the file (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the weights and the prompts (%(default)s)")
    write_weights.add_settings(parser)
    parser.add_argument("--lengths", default="64,1,17,33", help="of the prompts, in tokens (%(default)s)")
    parser.add_argument("--tokens", type=int, default=200, help="generated greedily after each prompt (%(default)s)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="for Hugging Face's passes (%(default)s)")
    parser.add_argument("--all", action="store_true", help="a line for every stage of every layer")
    parser.add_argument("--json", default="", help="append every figure to this file")
    return parser.parse_args()


def on_device(device, function, given):
    use_device(device)
    return function(*given)


def apart(device, function, *given):
    """The function's result. It runs in a process of its own, whose memory is freed at its end."""
    with futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        try:
            return pool.submit(on_device, device, function, given).result()
        except futures.process.BrokenProcessPool:
            sys.exit(2)  # it has printed why


def check(program, *options):
    """Runs `gpt2 check`. A difference is a result; any other failure ends this program."""
    if subprocess.run([program, "check", *options], stdout=subprocess.DEVNULL, check=False).returncode not in (0, 1):
        sys.exit(2)


def write_prompts(options, path):
    _, _, _, vocabulary, context = SIZES[options.size]
    source = random.Random(options.seed)
    lengths = [min(int(length), context - 1) for length in options.lengths.split(",")]
    with open(path, "w", encoding="utf-8") as file:
        for length in lengths:
            print(*(source.randrange(vocabulary) for _ in range(length)), file=file)
    return lengths


def figures(options, folder):
    """The measurements of the weights, the prompts' lengths, and the lines that `gpt2 check` writes."""
    model, prompts, dumped = (os.path.join(folder, name) for name in ("model", "prompts", "dump.safetensors"))
    report = os.path.join(folder, "report.jsonl")
    weights = apart(options.device, write_weights.write, options.size, model, options.type, options.seed, options.setting)
    lengths = write_prompts(options, prompts)
    apart(options.device, reference.write, model, prompts, dumped, options.tokens)
    check(options.gpt2, "--model", model, "--against", dumped, "--kernels", options.kernels, "--json", report)
    with open(report, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    for line in lines:  # a NaN is null in JSON
        line.update({key: math.nan if line[key] is None else line[key] for key in ("ours", "theirs", "ratio")})
    return weights, lengths, lines


# ---- the table ----


def worst(lines):
    return max(lines, key=lambda line: (math.isnan(line["ratio"]), not line["good"], line["ratio"]))


def chosen(lines, everything):
    """(words, line) of each row: the hidden state after every layer, and the worst layer of each stage inside a layer."""
    by_stage = {}
    for line in lines:
        by_stage.setdefault(line["stage"], []).append(line)
    rows = []
    for stage, found in by_stage.items():
        if stage in INNER and not everything:
            rows.append((f"{stage}, worst layer: {worst(found)['layer']}", worst(found)))
        else:
            rows += [(f"{stage}, layer {line['layer']}" if len(found) > 1 else stage, line) for line in found]
    return rows


def number(value, stage):
    return f"{value:.0f}" if stage == "greedy tokens" else f"{value:.4f}" if stage == "perplexity" else f"{value:.2e}"


def print_table(rows):
    cells = [("quantity", "ours", "HF float32's", "ratio", "target", "verdict")]
    for words, line in rows:
        stage = line["stage"]
        figure = [number(line[by], stage) for by in ("ours", "theirs")]
        target = {"greedy tokens": "identical", "perplexity": "4 digits"}.get(stage, f"{line['target']:.2f}")
        cells.append((words, *figure, f"{line['ratio']:.2f}", target, "same" if line["good"] else "DIFFERENT"))
    widths = [max(map(len, column)) for column in zip(*cells)]
    for row in cells:
        print(row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:])), sep="  ")


def about(options, lengths, weights):
    """The run, as stored with every figure."""
    backend = "cpu" if f"{os.sep}cpu{os.sep}" in options.gpt2 else "cuda"
    command = f"tools/hf/compare {options.size}"
    for name, usual in (("type", "f32"), ("seed", 1), ("kernels", "reference"), ("tokens", 200), ("lengths", "64,1,17,33"), ("device", "cpu")):
        if getattr(options, name) != usual:
            command += f" --{name} {getattr(options, name)}"
    command += "".join(f" --setting {setting}" for setting in options.setting)
    return {
        "size": options.size, "type": options.type, "seed": options.seed, "kernels": options.kernels, "backend": backend,
        "machine": f"CPU backend, {platform.machine()}, {os.cpu_count()} cores" if backend == "cpu" else torch.cuda.get_device_name(),
        "lengths": lengths, "torch": torch.__version__, "transformers": transformers.__version__,
        "date": datetime.date.today().isoformat(), "weights": weights, "command": command,
    }  # fmt: skip


def main():
    options = arguments()
    if not os.access(options.gpt2, os.X_OK):
        fail(f"{options.gpt2}: there is no such program: make gpt2 builds it (BACKEND=cuda for a GPU's)")
    with tempfile.TemporaryDirectory() as folder:
        weights, lengths, lines = figures(options, folder)
    print(f"{weights}\n")
    print_table(chosen(lines, options.all))
    wrong = [line for line in lines if not line["good"]]
    if wrong:
        print(f"\ndifferent, first in {wrong[0]['stage']}, layer {wrong[0]['layer']}")
    if options.json:
        run_of = about(options, lengths, weights)
        with open(options.json, "a", encoding="utf-8") as file:
            for line in lines:
                finite = {key: None if value != value else value for key, value in line.items()}
                file.write(json.dumps(finite | run_of) + "\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
