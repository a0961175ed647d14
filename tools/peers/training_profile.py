#!/usr/bin/env python3
"""training_profile.py CSV --size 124M --batch B --command COMMAND — the kernels of one training step as JSON lines, by purpose.

CSV is the output of `ncu --metrics gpu__time_duration.sum --csv` for `gpt2 train` in bf16. Of several steps the last one counts. A
product's purpose is known by its place, because the library's kernels have the same names. All other kernels are known by name.
docs/results/profile/training-SIZE-bf16.jsonl has the lines, and tools/generated/training-profile makes a table of them.
"""

import argparse
import csv
import datetime
import json
import re
import sys

from gpt2_bench import SHAPES

PRODUCT = "nvjet|gemm|cutlass|xmma"
OTHERS = [  # names of kernels, the purpose of the kernel
    ("embed_kernel", "embedding"),
    ("embed_tokens|embed_positions", "embedding, gradient"),
    ("attention.*(_dq_|_dkv_|delta|backward)", "attention, gradient"),
    ("attention", "attention"),
    ("layernorm_backward", "LayerNorm, gradient"),
    ("layernorm", "LayerNorm"),
    ("bias_gelu_backward", "GELU, gradient"),
    ("bias_gelu", "GELU"),
    ("bias_parts|bias_finish", "biases, gradient"),
    ("cross_entropy|add_up", "loss and its gradient"),
    ("squares|root_kernel", "norm of the gradients"),
    ("adamw", "AdamW"),
]


def rows(path: str) -> list[tuple[str, float]]:
    """Name and microseconds of each launch, in order."""
    with open(path, encoding="utf-8") as file:
        table = [line for line in file if line.startswith('"')]
    factor = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "nsecond": 1e-3, "usecond": 1.0, "msecond": 1e3}
    found = csv.DictReader(table)
    return [(row["Kernel Name"], float(row["Metric Value"].replace(",", "")) * factor[row["Metric Unit"]]) for row in found]


def last_step(launches: list[tuple[str, float]]) -> list[tuple[str, float]]:
    ends = [i for i, (name, _) in enumerate(launches) if "adamw" in name]
    starts = [i for i, (name, _) in enumerate(launches) if "embed_kernel" in name and i < ends[-1]]
    return launches[starts[-1] : ends[-1] + 1]


def purposes(step: list[tuple[str, float]], layers: int) -> list[str]:
    chunks = sum("cross_entropy" in name for name, _ in step)
    forward = ["qkv", "attention's projection", "MLP's first product", "MLP's second product"]
    backward = [name + suffix for name in reversed(forward) for suffix in (", weights' gradient", ", gradient")]
    products = iter(layers * forward + chunks * ["logits", "logits, gradient", "logits, weights' gradient"] + layers * backward)
    found: list[str] = []
    for name, _ in step:
        if "splitKreduce" in name:
            found.append(found[-1])  # the end of the product before it
        elif re.search(PRODUCT, name):
            found.append(next(products))
        else:
            found.append(next((purpose for names, purpose in OTHERS if re.search(names, name)), name))
    if next(products, None):
        sys.exit("training_profile.py: there are fewer products than a step has")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("csv")
    parser.add_argument("--size", default="124M", choices=SHAPES)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--device", default="NVIDIA H100 80GB HBM3")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--command", required=True, help="that wrote the CSV")
    parser.add_argument("--step-ms", type=float, required=True, help="time of a step without ncu")
    parser.add_argument("--note", default="", help="of the program, where it is not that of today")
    arguments = parser.parse_args()
    step = last_step(rows(arguments.csv))
    total: dict[str, list] = {}
    for (_, us), purpose in zip(step, purposes(step, SHAPES[arguments.size][0])):
        entry = total.setdefault(purpose, [0, 0.0])
        entry[0], entry[1] = entry[0] + 1, entry[1] + us
    for purpose, (launches, us) in total.items():
        line = {"part": purpose, "launches": launches, "us": round(us, 1), "size": arguments.size, "batch": arguments.batch}
        line |= {"tokens": arguments.tokens, "step_ms": arguments.step_ms, "device": arguments.device, "date": arguments.date}
        print(json.dumps(line | ({"note": arguments.note} if arguments.note else {}) | {"command": arguments.command}))


main()
