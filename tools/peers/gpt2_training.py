"""The training cells of gpt2_bench.py: steps of `gpt2 train`, and of PyTorch with transformers.

A step is the forward pass of a batch, its losses, the backward pass, the gradients clipped to a global norm of 1, and
AdamW on fp32 master weights. Our step also reads the batch from a file of tokens; PyTorch's batches are on the device.
There bf16 is autocast, and the optimizer is the fused one. hf is eager; compile is torch.compile of forward pass and
loss.
"""

import array
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

STEPS, WARM_UP = 24, 4  # of `gpt2 train`; no candidate counts the warm-up, in which libraries choose their algorithms
MOST_NORM = 1.0  # of all gradients together: the default of `gpt2 train --clip`
WORK = "clipped step"  # stored with each figure; older ones have no such field: see tools/generated/gpt2-bench
LLMC_TOKENS = 20240520, 1  # magic and version of the file


def write_tokens(path, count, vocabulary):
    numbers = random.Random(1)
    with open(path, "wb") as file:
        file.write(struct.pack("<256i", *LLMC_TOKENS, count, *[0] * 253))
        array.array("H", (numbers.randrange(vocabulary) for _ in range(count))).tofile(file)


def write_tokenizer(folder, vocabulary):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hf"))
    import vocabulary as made_up

    made_up.write(folder, vocabulary)


# Each process of one machine is a machine of its own to NCCL, which connects them through the loopback's sockets.
SOCKETS = {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo", "OMPI_MCA_plm_rsh_agent": "/bin/sh"}


def over_sockets(command, gpus):
    start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(gpus)]
    return [*start, "sh", "-c", 'NCCL_HOSTID=$OMPI_COMM_WORLD_RANK exec "$@"', "sh", *command]


def measure_ours(cell, arguments, environment):
    from gpt2_bench import SHAPES

    steps = cell.get("steps", STEPS)
    layers, heads, channels = SHAPES[cell["size"]]
    with tempfile.TemporaryDirectory() as folder:
        data, out = os.path.join(folder, "tokens.bin"), os.path.join(folder, "run")
        write_tokens(data, 1 + 4 * cell["batch"] * cell["tokens"], 50257)
        write_tokenizer(folder, 50257)
        options = {"--data": data, "--tokenizer": folder, "--out": out, "--type": cell["type"], "--steps": steps}
        options |= {"--layers": layers, "--heads": heads, "--channels": channels, "--context": cell["tokens"]}
        options |= {"--batch": cell["batch"], "--lr": 1e-4, "--warmup": 1, "--gpus": cell.get("gpus", 1)}
        if cell.get("zero"):
            options["--zero"] = cell["zero"]
        command = [arguments.gpt2, "train", *(str(word) for item in options.items() for word in item)]
        if cell.get("sockets"):
            command, environment = over_sockets(command, cell["gpus"]), environment | SOCKETS
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rates = [float(rate) for rate in re.findall(r"([0-9]+) tok/s", done.stdout)]
    taken = re.findall(r"([0-9.]+) MB of device memory", done.stdout)
    if done.returncode or len(rates) != steps or not taken:
        return cell | {"not_measured": done.stderr.strip() or "the output of gpt2 train has no rates"}
    rates = sorted(rates[WARM_UP:])
    tokens = cell.get("gpus", 1) * cell["batch"] * cell["tokens"]
    return cell | {
        "ms_p50": 1e3 * tokens / statistics.median(rates),
        "samples": len(rates),
        "tokens_per_s": statistics.median(rates),
        "bytes": 1e6 * float(taken[0]),
        "mfu": float(re.findall(r"MFU ([0-9.]+)%", done.stdout)[-1]) / 100 if "MFU" in done.stdout else None,
    }


def update(loss, model, optimizer):
    """The step after the forward pass."""
    import torch

    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), MOST_NORM)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def loss_module(model, cell, device):
    """Tokens (B, T) -> the mean loss of predicting each one's successor."""
    import torch

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, tokens):
            with torch.autocast(device, dtype=torch.bfloat16, enabled=cell["type"] == "bf16"):
                logits = self.model(tokens).logits
                flat = logits.view(-1, logits.shape[-1])
                return torch.nn.functional.cross_entropy(flat, tokens.roll(-1, 1).reshape(-1))

    return Loss()


def measure_theirs(cell, arguments):
    """Like the cells of gpt2_torch.py: seconds of each step, tokens/s, processor seconds of a step."""
    import torch
    import transformers

    import gpt2_torch
    from gpt2_bench import SHAPES

    gpus, device, own = cell.get("gpus", 1), arguments.device, None
    if gpus > 1:
        if device == "cuda":
            own = [int(os.environ["LOCAL_RANK"])]
            torch.cuda.set_device(own[0])
        torch.distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = cell["type"] != "f32"
    layers, heads, channels = SHAPES[cell["size"]]
    config = transformers.GPT2Config(
        n_layer=layers, n_head=heads, n_embd=channels, n_positions=cell["tokens"],
        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, attn_implementation="sdpa", use_cache=False,
    )  # fmt: skip
    with torch.device(device):
        model = transformers.GPT2LMHeadModel(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    batches = gpt2_torch.prompts_of(cell, device)
    loss = loss_module(model, cell, device)
    if gpus > 1:
        loss = torch.nn.parallel.DistributedDataParallel(loss, device_ids=own, gradient_as_bucket_view=True)
    if cell["by"] == "compile":
        loss = torch.compile(loss)
    turn = 0

    def step():
        nonlocal turn
        turn += 1
        update(loss(batches[turn % len(batches)]), model, optimizer)

    for _ in range(WARM_UP):
        step()
    if gpus > 1:  # every process makes the same number of steps
        began = time.process_time()
        times = [gpt2_torch.timed(step, device) for _ in range(cell.get("steps", STEPS) - WARM_UP)]
        processors = (time.process_time() - began) / len(times)
        torch.distributed.destroy_process_group()
    else:
        times, processors = gpt2_torch.sample(step, device, max(arguments.seconds, 2.0))
    return times, gpus * cell["batch"] * cell["tokens"] / statistics.median(times), processors
