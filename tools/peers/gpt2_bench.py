#!/usr/bin/env python3
"""gpt2_bench.py — time the cells of `gpt2 bench` with this course's program and with PyTorch and transformers.

The candidates:
  ours     the program gpt2
  hf       Hugging Face's GPT-2 without changes (sdpa attention, generate)
  compile  its forward pass under torch.compile; decoding uses a static cache and one CUDA graph per step
Each candidate measures each cell in a process of its own, so peak memory is that of this cell. The candidates alternate,
--rounds times. The weights are random, in the shapes of the real models. The program prints a line for each figure;
--json appends them to a file, from which tools/generated/gpt2-bench makes tables.

With --device cpu, times are wall-clock times of this machine. cpu_ms, the processor time of all threads, depends less on
other load.
"""

import argparse
import datetime
import functools
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SHAPES = {  # layers, heads, channels
    "124M": (12, 12, 768),
    "355M": (24, 16, 1024),
    "774M": (36, 20, 1280),
    "1558M": (48, 25, 1600),
}
SHORT = 64  # --positions short
CANDIDATES = ("ours", "hf", "compile")
TARGETS = [  # size, type, what, batch, tokens: the cells for which the course has a target
    *(("124M", "bf16", "decode", batch, tokens) for batch in (1, 8) for tokens in (SHORT, 1000)),
    *(("1558M", "bf16", "decode", 1, tokens) for tokens in (SHORT, 1000)),
    *((size, "f16", "prompt", batch, 1024) for size in ("124M", "774M") for batch in (1, 32)),
    *(("124M", "bf16", "train", batch, 1024) for batch in (16, 64)),
]


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--gpt2", default="build/gpt2/cuda/gpt2", help="the program (%(default)s)")
    parser.add_argument("--sizes", default="124M,355M,774M,1558M", help="(%(default)s)")
    parser.add_argument("--batch", default="1,4,8,16,32", help="(%(default)s)")
    parser.add_argument("--lengths", default="128,256,512,1024", help="tokens of the prompts; 0: none (%(default)s)")
    parser.add_argument("--positions", default="short,1000", help="position of the first decoding step; 0: none (%(default)s)")
    parser.add_argument("--train", default="0", help="tokens of a sequence in a training step; 0: none (%(default)s)")
    parser.add_argument("--targets", action="store_true", help="the cells that have a target, in place of the lists")
    parser.add_argument("--types", default="bf16,f32", help="f32, tf32, f16, bf16 (%(default)s)")
    parser.add_argument("--by", default=",".join(CANDIDATES), help="(%(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="minimum time for each cell (%(default)s)")
    parser.add_argument("--tokens", type=int, default=64, help="consecutive decoding steps (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="measurements of each cell by each candidate (%(default)s)")
    parser.add_argument("--threads", type=int, default=0, help="threads on a CPU; 0: all")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--json", default="", help="append the figures to this file")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)  # the cell of this process, as JSON
    return parser.parse_args()


def cells(arguments):
    def numbers(text):
        return [SHORT if item == "short" else int(item) for item in text.split(",")]

    passes = [("prompt", n) for n in numbers(arguments.lengths) if n > 0]
    steps = [("decode", n) for n in numbers(arguments.positions) if n > 0]
    updates = [("train", n) for n in numbers(arguments.train) if n > 0]
    whats = passes + steps + updates
    lists = arguments.sizes.split(","), arguments.types.split(","), numbers(arguments.batch), whats
    listed = ((size, type, what, batch, n) for size, type, batch, (what, n) in itertools.product(*lists))
    for cell in TARGETS if arguments.targets else listed:
        yield dict(zip(("size", "type", "what", "batch", "tokens"), cell))


# ---- ours ----


def measure_ours(cell, arguments):
    threads = {"SIMT_THREADS": str(arguments.threads), "OPENBLAS_NUM_THREADS": str(arguments.threads)}
    environment = os.environ | (threads if arguments.threads else {})
    if cell["what"] == "train":
        import gpt2_training

        return gpt2_training.measure_ours(cell, arguments, environment)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cell.json")
        lists = {"--sizes": cell["size"], "--types": cell["type"], "--batch": cell["batch"]}
        lists |= {"--lengths": 0, "--positions": 0}
        lists["--lengths" if cell["what"] == "prompt" else "--positions"] = cell["tokens"]
        lists |= {"--seconds": arguments.seconds, "--tokens": arguments.tokens, "--json": path}
        command = [arguments.gpt2, "bench", *(str(word) for item in lists.items() for word in item)]
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            return cell | {"by": "ours", "not_measured": done.stderr.strip()}
        with open(path, encoding="utf-8") as file:
            return json.loads(file.read())


# ---- PyTorch, in a process of its own ----


def replaced_libraries(packages, maps):
    """Of the libraries that this process has loaded, those that the Python packages bring too, but that came from
    elsewhere: with LD_LIBRARY_PATH another version takes the place of PyTorch's own. packages: their folders; maps: the
    text of /proc/self/maps"""
    brought = {}
    for folder in packages:
        for path in pathlib.Path(folder).glob("**/lib*.so*"):
            brought.setdefault(path.name, set()).add(os.path.realpath(path))
    loaded = {line.split(maxsplit=5)[5] for line in maps.splitlines() if line.count("/")}
    return sorted(path for path in loaded if os.path.realpath(path) not in brought.get(os.path.basename(path), {os.path.realpath(path)}))


@functools.cache
def compiler_cache():
    """Of this program's run: what torch.compile stored under another environment would be used again."""
    return tempfile.TemporaryDirectory()


def measure_theirs(cell, arguments):
    command = [sys.executable, os.path.abspath(__file__), "--one", json.dumps(cell)]
    if cell.get("gpus", 1) > 1:
        command[1:1] = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={cell['gpus']}"]
    command += ["--device", arguments.device, "--threads", str(arguments.threads)]
    command += ["--seconds", str(arguments.seconds), "--tokens", str(arguments.tokens)]
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": compiler_cache().name}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        last = (done.stderr.strip().splitlines() or ["it ended without a message"])[-1]
        return cell | {"not_measured": last[:200]}


def believable(line, cell):
    """The line, or why it is none: some times are differences of two runs, and noise can make them negative."""
    for key in ("ms_p5", "ms_p50", "ms_p95"):
        if key in line and not line[key] > 0:
            return cell | {"not_measured": f"{key} is {line[key]:.3f}: a time must be above 0"}
    return line


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else os.uname().machine


def main():
    arguments = options()
    if arguments.one:
        import gpt2_torch

        line = gpt2_torch.measure(json.loads(arguments.one), arguments)
        if os.environ.get("RANK", "0") == "0":
            print(json.dumps(line))
        return
    about = {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(os.path.basename(argument) for argument in sys.argv),  # without folders of this machine
    }
    if arguments.device == "cpu":
        about |= {"processor": processor(), "threads": arguments.threads or os.cpu_count()}
    for cell in cells(arguments):
        for turn in range(arguments.rounds):
            for by in arguments.by.split(","):
                measure = measure_ours if by == "ours" else measure_theirs
                line = believable(measure(cell | {"by": by}, arguments), cell | {"by": by}) | {"turn": turn} | about
                name = " ".join(str(cell[key]) for key in ("size", "type", "what", "batch", "tokens"))
                if "not_measured" in line:
                    print(f"{name:28} {by:8} not measured: {line['not_measured']}")
                else:
                    print(f"{name:28} {by:8} {line['ms_p50']:10.3f} ms {line['tokens_per_s']:12.1f} tokens/s", end="")
                    print(f" {line['bytes'] / 1e6:10.1f} MB", end="")
                    print(f" {line['cpu_ms']:10.2f} ms of processors" if "cpu_ms" in line else "")
                sys.stdout.flush()
                if arguments.json:
                    with open(arguments.json, "a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
