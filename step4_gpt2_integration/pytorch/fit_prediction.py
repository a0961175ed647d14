"""Derives the constants of course_kernels/prediction.py from the stored measurements, and tests the prediction on them.

    python3 fit_prediction.py            print the constants, and how often should_optimize is right
    python3 fit_prediction.py --write    and store them in course_kernels/h200.json

Python's time of a layer is the median over the cells in which a pass takes at least 1.5 times its CUDA graph's time. The GPU's
constants are a least-squares fit, in relative error, to the graphs and to the cells whose pass takes at least 1.2 times Python's
time. The fit sees the cells that it is then tested on. So a second count leaves one size of the model out of the fit and tests
on this size, for each size.
"""

import argparse
import json
import statistics
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

FOLDER = Path(__file__).resolve().parent
STORED = FOLDER.parents[1] / "docs/results/pytorch"
sys.path.insert(0, str(FOLDER / "course_kernels"))  # the module alone: no PyTorch is needed here
from prediction import Machine, should_optimize, work_of  # noqa: E402

del sys.path[0]

SIZES = {"small": (12, 768), "medium": (24, 1024), "large": (36, 1280)}
VARIANTS = ("sdpa", "ours")  # without and with the patch
BYTES = {"f32": 4, "f16": 2}


def config_of(size: str) -> SimpleNamespace:
    layers, channels = SIZES[size]
    return SimpleNamespace(model_type="gpt2", num_hidden_layers=layers, hidden_size=channels)


def read_cells(name: str) -> dict[tuple, dict[str, float]]:
    """Milliseconds by variant, of each (size, batch, tokens, type)."""
    cells: dict[tuple, dict[str, float]] = {}
    for text in (STORED / f"{name}.jsonl").read_text().splitlines():
        line = json.loads(text)
        if "ms" in line and "size" in line:
            of = cells.setdefault((line["size"], line["batch"], line["tokens"], line["type"], line.get("cached", 0)), {})
            of[line["by"]] = line["ms"]
    return {key[:4] if not key[4] else key: of for key, of in cells.items()}


def python_a_layer(cells: dict, variant: str, layers_of) -> float:
    """Seconds."""
    graph = f"{variant}-graph"
    bound = [of[variant] / layers_of(key[0]) for key, of in cells.items() if graph in of and of[variant] >= 1.5 * of[graph]]
    return statistics.median(bound) / 1e3


def least_squares(rows: list[list[float]]) -> list[float]:
    """The x for which the products of the rows and x are nearest to 1: the normal equations, by Gauss and Jordan."""
    n = len(rows[0])
    scale = [max(abs(row[i]) for row in rows) for i in range(n)]
    rows = [[value / by for value, by in zip(row, scale)] for row in rows]
    table = [[sum(row[i] * row[j] for row in rows) for j in range(n)] + [sum(row[i] for row in rows)] for i in range(n)]
    for i in range(n):
        table[i] = [value / table[i][i] for value in table[i]]
        for j in range(n):
            if j != i:
                table[j] = [value - table[j][i] * pivot for value, pivot in zip(table[j], table[i])]
    return [row[n] / by for row, by in zip(table, scale)]


def fit(cells: dict, neox: dict) -> Machine:
    python = [python_a_layer(cells, variant, lambda size: SIZES[size][0]) for variant in VARIANTS]
    rows = []
    for (size, batch, tokens, kind), of in cells.items():
        config = config_of(size)
        for patched, variant in enumerate(VARIANTS):
            seconds = of.get(f"{variant}-graph", of[variant]) / 1e3
            if f"{variant}-graph" in of or seconds >= 1.2 * python[patched] * config.num_hidden_layers:
                operations, moved = work_of(config, batch, tokens, BYTES[kind], bool(patched))
                terms = [operations * (kind == "f16"), operations * (kind == "f32"), moved, config.num_hidden_layers]
                rows.append([term / seconds for term in terms])
    half, single, byte, layer = least_squares(rows)
    if min(half, single, byte, layer) <= 0:
        raise ValueError(f"the fit gives a cost that is not positive: {half:.3g}, {single:.3g}, {byte:.3g}, {layer:.3g}")
    of_neox = [python_a_layer(neox, variant, lambda size: int(size.split()[1].split("x")[0])) for variant in VARIANTS]
    rounded = lambda value: float(f"{value:.3g}")
    return Machine(
        flops_a_second={"2": rounded(1 / half), "4": rounded(1 / single)},
        bytes_a_second=rounded(1 / byte),
        launches_a_layer=rounded(layer),
        python_a_layer={"gpt2": [rounded(value) for value in python], "gpt_neox": [rounded(value) for value in of_neox]},
    )


def judged(cells: dict, machine: Machine) -> dict[tuple, tuple[bool, bool]]:
    """Of each cell: is the patch predicted to be faster, and is it?"""
    found = {}
    for key, of in cells.items():
        size, batch, tokens, kind = key[:4]
        found[key] = should_optimize(config_of(size), batch, tokens, BYTES[kind], machine), of["ours"] < of["sdpa"]
    return found


def left_out(cells: dict, neox: dict) -> dict[tuple, tuple[bool, bool]]:
    """judged(), each size by the constants of the others."""
    found = {}
    for size in SIZES:
        machine = fit({key: of for key, of in cells.items() if key[0] != size}, neox)
        found |= judged({key: of for key, of in cells.items() if key[0] == size}, machine)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="store the constants in course_kernels/h200.json")
    arguments = parser.parse_args()
    prompts, decode, neox = (read_cells(name) for name in ("prompts", "decode", "lone-add"))
    machine = fit(prompts, neox)
    text = json.dumps(asdict(machine), indent=2) + "\n"
    print(text, end="")
    for name, found in (
        ("prompts", judged(prompts, machine)),
        ("prompts, each size by the constants of the others", left_out(prompts, neox)),
        ("decode", judged(decode, machine)),
    ):
        print(f"{name}: right in {sum(guess == fact for guess, fact in found.values())} of {len(found)}")
        for key, (guess, fact) in found.items():
            if guess != fact:
                print(f"    {' '.join(map(str, key))}: predicted {'faster' if guess else 'slower'}")
    if arguments.write:
        (FOLDER / "course_kernels/h200.json").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
