#!/usr/bin/env python3
"""scaling.py — training steps on the GPUs of a machine: `gpt2 train` beside PyTorch's DistributedDataParallel.

Each batch is measured in these settings. The batch is of each GPU, the tokens/s are of all GPUs that are used.
  alone     one GPU; the others are idle
  apart     one process on each GPU, at the same time and independent of each other
  together  the processes train one model
Then NCCL's all-reduce is timed alone, through PyTorch, at the sizes of our buckets (docs/scaling.md).

--by divided: `gpt2 bench` with the model on one GPU, and divided among --gpus.

--json appends a line for each figure to a file, from which tools/generated/scaling makes tables.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile

import gpt2_bench
import gpt2_training

LAYER, EMBEDDINGS, VECTORS = 12 * 768 * 768, (50304 + 1024) * 768, 121344  # parameters of GPT-2 124M
BUCKETS = [LAYER] * 12 + [EMBEDDINGS, VECTORS]
STEPS, SUMS, WARM_UP = 44, 50, 10


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--gpt2", default="build/gpt2/cuda/gpt2", help="the program (%(default)s)")
    parser.add_argument("--gpus", type=int, default=2, help="(%(default)s)")
    parser.add_argument("--sizes", default="124M", help="(%(default)s)")
    parser.add_argument("--batch", default="16,64", help="(%(default)s)")
    parser.add_argument("--by", default="ours,compile,sums", help="(%(default)s)")
    parser.add_argument("--settings", default="alone,apart,together", help="(%(default)s)")
    parser.add_argument("--zero", type=int, default=0, help="of gpt2 train, in the setting together (%(default)s)")
    parser.add_argument("--lengths", default="1024", help="of prompts, of --by divided (%(default)s)")
    parser.add_argument("--positions", default="short,1000", help="of decoding, likewise (%(default)s)")
    parser.add_argument("--sockets", action="store_true", help="each process stands for a machine: NCCL connects them by TCP")
    parser.add_argument("--run", default="", help="stored with each figure (default: the time)")
    parser.add_argument("--json", default="", help="append the figures to this file")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)  # a process of the sums
    return parser.parse_args()


def sockets_of(arguments):
    return {"sockets": True} if arguments.sockets else {}


# ---- steps ----


def ours(cell, arguments):
    if cell["setting"] != "apart":
        return gpt2_training.measure_ours(cell, arguments, os.environ)
    with concurrent.futures.ThreadPoolExecutor(arguments.gpus) as pool:
        runs = [
            pool.submit(gpt2_training.measure_ours, cell, arguments, os.environ | {"CUDA_VISIBLE_DEVICES": str(gpu)})
            for gpu in range(arguments.gpus)
        ]
        lines = [run.result() for run in runs]
    for line in lines:
        if "not_measured" in line:
            return line
    rates = [line["tokens_per_s"] for line in lines]
    return lines[0] | {"gpus": arguments.gpus, "tokens_per_s": sum(rates), "each": rates}


def theirs(cell, arguments):
    if cell["setting"] == "apart":
        return None
    arguments.device, arguments.threads, arguments.seconds, arguments.tokens = "cuda", 0, 2.0, 0
    return gpt2_bench.measure_theirs(cell, arguments)


def steps(arguments):
    for size in arguments.sizes.split(","):
        for batch in map(int, arguments.batch.split(",")):
            for by in arguments.by.split(","):
                for setting in arguments.settings.split(",") if by in ("ours", "compile", "hf") else ():
                    cell = {"size": size, "type": "bf16", "what": "train", "batch": batch, "tokens": 1024, "by": by}
                    cell |= {"setting": setting, "gpus": arguments.gpus if setting == "together" else 1, "steps": STEPS}
                    if by == "ours" and setting == "together":
                        cell |= {"zero": arguments.zero} | sockets_of(arguments)
                    yield (ours if by == "ours" else theirs)(cell, arguments)


# ---- sums alone ----


def one_of_sums(arguments):
    import torch

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if arguments.sockets:
        os.environ.update(gpt2_training.SOCKETS | {"NCCL_HOSTID": os.environ["RANK"]})
    torch.distributed.init_process_group("nccl")
    lines = []
    for name, counts in (("layer", [LAYER]), ("embeddings", [EMBEDDINGS]), ("vectors", [VECTORS]), ("all", BUCKETS)):
        buckets = [torch.ones(count, device="cuda") for count in counts]
        times = []
        for turn in range(WARM_UP + SUMS):
            torch.distributed.barrier()
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            for bucket in buckets:
                torch.distributed.all_reduce(bucket)
            last.record()
            torch.cuda.synchronize()
            times.append(first.elapsed_time(last))
            for bucket in buckets:
                bucket.fill_(1.0)
        line = {"what": "sum", "bucket": name, "bytes": 4 * sum(counts), "sums": len(counts)}
        line |= {"gpus": torch.distributed.get_world_size(), "ms_p50": statistics.median(times[WARM_UP:]), "samples": SUMS}
        lines.append(line | sockets_of(arguments) | {"nccl": ".".join(map(str, torch.cuda.nccl.version()))})
    if os.environ["RANK"] == "0":
        print("\n".join(json.dumps(line) for line in lines))
    torch.distributed.destroy_process_group()


def sums(arguments):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={arguments.gpus}"]
    done = subprocess.run([*command, os.path.abspath(__file__), "--one", *["--sockets"] * arguments.sockets], capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    last = (done.stderr.strip().splitlines() or ["it ended without a message"])[-1]
    return lines or [{"what": "sum", "gpus": arguments.gpus, "not_measured": last[:200]}]


# ---- a divided model ----


def divided(arguments):
    for gpus in (1, arguments.gpus):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "bench.jsonl")
            command = [arguments.gpt2, "bench", "--sizes", arguments.sizes, "--types", "bf16", "--seconds", "1"]
            command += ["--batch", arguments.batch, "--lengths", arguments.lengths, "--positions", arguments.positions]
            done = subprocess.run([*command, "--gpus", str(gpus), "--json", out], capture_output=True, text=True)
            if done.returncode:
                yield {"by": "divided", "gpus": gpus, "not_measured": done.stderr.strip()[-200:]}
                continue
            with open(out, encoding="utf-8") as file:
                for line in file:
                    yield json.loads(line) | {"by": "divided", "gpus": gpus}


def main():
    arguments = options()
    if arguments.one:
        one_of_sums(arguments)
        return
    names = subprocess.run(
        ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    now = datetime.datetime.now(datetime.timezone.utc)
    about = {
        "device": names[0],
        "present": len(names),
        "run": arguments.run or now.strftime("%Y-%m-%dT%H:%M"),
        "date": now.date().isoformat(),
        "command": " ".join(os.path.basename(argument) for argument in sys.argv),  # without folders of this machine
    }

    def report(line):
        line = about | line
        keys = ["size", "batch", "by", "setting", "bucket", "gpus"] + ["what", "tokens"] * (line.get("by") == "divided")
        words = [str(line[key]) for key in keys if key in line]
        if "not_measured" in line:
            print(f"{' '.join(words):48} not measured: {line['not_measured']}", flush=True)
        else:
            rate = f"{line['tokens_per_s']:12.0f} tokens/s" if "tokens_per_s" in line else ""
            print(f"{' '.join(words):48} {line['ms_p50']:10.3f} ms{rate}", flush=True)
        if arguments.json:
            with open(arguments.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    for line in steps(arguments):
        if line is not None:
            report(line)
    if "divided" in arguments.by.split(","):
        for line in divided(arguments):
            report(line)
    if "sums" in arguments.by.split(","):
        for line in sums(arguments):
            report(line)


if __name__ == "__main__":
    main()
