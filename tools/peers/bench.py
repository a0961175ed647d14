#!/usr/bin/env python3
"""bench.py STEP_FOLDER — time a lab's ops on this GPU, beside PyTorch's and beside copies of the same bytes.

Each candidate is captured in a CUDA graph. All candidates have the same inputs. Each launch works on a set of tensors
of its own, and the L2 cache holds other data when a batch begins. Batches of all candidates alternate. The figure is the
median, with the quartiles. The program prints a table; --json appends a line for each figure. The libraries come from
tools/peers/peers.mk. Without PyTorch, the lab and the copies are measured alone.
"""

import argparse
import ctypes
import datetime
import importlib
import json
import os
import statistics
import sys
import time

from device import CudaError, Device, capture
from sets import Sets

try:
    import pytorch
except ImportError:
    pytorch = None

SWEEP_RUNS = 3
MOST_RUNGS = 16


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("step", help="the lab's folder, step3_fused")
    parser.add_argument("--op", default="", help="only ops whose name contains this text: softmax, layernorm_backward")
    parser.add_argument("--shape", default="", help="only these shapes, separated by commas: 8192x768,1x2560")
    parser.add_argument("--type", default="", help="only these types: f32,bf16,f16")
    parser.add_argument("--json", default="", help="append the figures to this file")
    parser.add_argument("--samples", type=int, default=15, help="batches per figure (%(default)s)")
    parser.add_argument("--rungs", action="store_true", help="also each rung of the lab's ladders")
    parser.add_argument("--no-torch", action="store_true", help="do not use PyTorch")
    parser.add_argument("--quick", action="store_true", help="5 samples, no torch.compile")
    parser.add_argument("--build", default="build/peers", help="folder of the libraries (%(default)s)")
    return parser.parse_args()


def chosen(options):
    shapes, types = options.shape.split(","), options.type.split(",")
    return [
        cell
        for cell in importlib.import_module(options.step).cells()
        if options.op in cell.op.name
        and (not options.shape or cell.label in shapes)
        and (not options.type or cell.type in types)
    ]


def best_copy(sets, copies):
    """The description, the graph and the launch of the fastest copy; None if there is none."""
    best = None
    for text, launch in copies:
        graph = capture(sets.device, sets.count, launch)
        us = min(graph.time_us(sets.flush) for _ in range(SWEEP_RUNS))
        slower = graph
        if not best or us < best[0]:
            slower, best = best and best[2], (us, text, graph, launch)
        if slower:
            slower.close()
    return best and best[1:]


def lab_graphs(sets, lab, rungs):
    """(name, graph) of the lab's launcher and, with --rungs, of its rungs."""
    for rung in range(MOST_RUNGS if rungs else 1):
        launch = sets.launcher(lab, rung)
        try:
            if launch:
                launch(0)
                sets.device.synchronize()
                yield (f"rung {rung}" if rung else "ours"), capture(sets.device, sets.count, launch)
                if rung == 0 and sets.cell.rows == 1:
                    yield "ours alone", capture(sets.device, 1, launch)
        except CudaError as error:
            if rung == 0:
                print(f"  not measured: {error}")
            else:
                return


def candidates(sets, peer, lab, options):
    """name: (description, graph)."""
    text, graph, launch = best_copy(sets, sets.copies())
    found = {"copy": (text, graph)}
    found["copy early"] = text, capture(sets.device, sets.count, lambda i: launch(i, early=True))
    triangle = best_copy(sets, sets.triangles())
    if triangle:
        found["triangle"] = triangle[:2]
    for name, graph in lab_graphs(sets, lab, options.rungs):
        found[name] = "", graph
    if sets.cell.rows == 1:
        found["row"] = "one block", capture(sets.device, sets.count, sets.launch_row)
        found["row alone"] = "one block", capture(sets.device, 1, sets.launch_row)
    if peer:
        name = "aten" if "backward" in sets.cell.op.name else "eager"
        found[name] = "", peer.capture(pytorch.eager_function(sets.cell))
        if not options.quick:
            for name, mode in pytorch.MODES.items():
                found[name] = mode, peer.capture(pytorch.compiled_function(sets.cell, mode))
    return found


def quartiles(values):
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"us": round(median, 3), "us_low": round(low, 3), "us_high": round(high, 3)}


def measure(sets, found, samples):
    """name: the quartiles of microseconds per launch, and the fraction of the copy's speed."""
    times = {name: [] for name in found}
    for i in range(samples + 1):
        for name, (_, graph) in found.items():
            us = graph.time_us(sets.flush)
            if i > 0:  # the first batch warms up
                times[name].append(us)
    figures = {}
    for name, (how, graph) in found.items():
        figures[name] = quartiles(times[name]) | {"launches": graph.launches, "samples": samples, "how": how}
        of_copy = [copy / us for copy, us in zip(times["copy"], times[name])]
        figures[name]["of_copy"] = round(statistics.median(of_copy), 4)
    return figures


def bench(cell, device, lab, options):
    """Lines to store: the figures of one cell, and the errors of its outputs."""
    sets = Sets(device, cell)
    known = pytorch and cell.op.name in pytorch.FUNCTIONS
    peer = pytorch.Peer(sets) if known else None
    about = {"op": cell.op.name, "type": cell.type, "shape": cell.label, "rows": cell.rows, "columns": cell.columns}
    about["bytes"] = cell.bytes
    errors = []
    launch = sets.launcher(lab)
    if peer and launch:
        for tensor, ours, theirs in peer.errors(launch):
            count = {"tensor": tensor.name, "elements": cell.elements(tensor)}
            errors.append(about | count | {"error": ours, "torch_error": theirs})
    found = candidates(sets, peer, lab, options)
    figures = measure(sets, found, options.samples)
    print(f"{cell.op.name:30} {cell.type:4} {cell.label:>18} ", end="")
    print("  ".join(f"{name} {f['us']:.2f} ({f['of_copy']:.2f})" for name, f in figures.items()))
    for line in errors:
        print(f"    {line['tensor']}: error {line['error']:.2e}, PyTorch's {line['torch_error']:.2e}")
    sys.stdout.flush()
    for _, graph in found.values():
        graph.close()
    if peer:
        peer.release()
    return [about | {"by": name} | figure for name, figure in figures.items()] + errors


def main():
    global pytorch
    arguments = options()
    cells = chosen(arguments)
    if arguments.no_torch:
        pytorch = None
    if arguments.quick:
        arguments.samples = 5
    if not pytorch:
        print("PyTorch is not installed: eager, aten, torch.compile and the errors against float64 are not measured.")
    began = time.monotonic()
    if pytorch and not arguments.quick:
        known = [cell for cell in cells if cell.op.name in pytorch.FUNCTIONS]
        pytorch.fill_caches(known, os.path.join(os.path.abspath(arguments.build), "inductor"))
        print(f"compiled in {time.monotonic() - began:.0f} s")
    library = os.path.join(os.path.abspath(arguments.build), "yardsticks.so")
    device = Device(ctypes.CDLL(library))
    lab = ctypes.CDLL(os.path.join(os.path.abspath(arguments.build), f"{arguments.step}.so"))
    machine = device.describe() | {
        "torch": pytorch.torch.__version__ if pytorch else "",
        "date": datetime.date.today().isoformat(),
        "command": " ".join(os.path.basename(argument) for argument in sys.argv),  # without folders of this machine
    }
    print(machine["gpu"], "— microseconds per launch (fraction of the copy's speed)")
    for cell in cells:
        try:
            lines = bench(cell, device, lab, arguments)
        except CudaError as error:
            lines = []
            print(f"{cell.op.name} {cell.type} {cell.label}: not measured: {error}")
        if arguments.json:
            with open(arguments.json, "a", encoding="utf-8") as file:
                file.writelines(json.dumps(line | machine) + "\n" for line in lines)
    print(f"{len(cells)} cells in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
