#!/usr/bin/env python3
"""compare.py GPT2 TOKENIZE — `gpt2 train` against transformers' GPT-2 and PyTorch's AdamW.

A small random model, not at rest, is written by transformers; or --model names one, of any size (tools/hf/write_weights.py). Both
train it for ten steps on the same four sequences, of which every step takes all, so that their order does not matter: AdamW with
decay on matrices, clipping, warm-up and cosine. Compared are the gradients of the first step, tensor by tensor (from the first
moments of a run of one step), and the losses, norms and final weights. The same in float64 says how far PyTorch's own fp32 is
off. Prints TAP. --json adds the figures to a file.
"""
import argparse
import datetime
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import torch
from safetensors.torch import load_file
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.utils import logging

logging.disable_progress_bar()
parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
parser.add_argument("gpt2")
parser.add_argument("tokenize")
parser.add_argument("--model", default="", help="a folder of transformers', in float32; else a small one is made")
parser.add_argument("--length", type=int, default=24, help="of the sequences, in tokens (%(default)s)")
parser.add_argument("--rate", type=float, default=2e-3, help="of learning (%(default)s)")
parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of PyTorch's steps (%(default)s)")
parser.add_argument("--kernels", default="reference,naive", help="the sets (%(default)s)")
parser.add_argument("--json", default="", help="add the figures to this file")
options = parser.parse_args()
gpt2, tokenize, T, RATE = options.gpt2, options.tokenize, options.length, options.rate
B, STEPS, WARMUP, LEAST, DECAY, CLIP = 4, 10, 3, RATE / 10, 0.1, 2.0
VOCABULARY, HEADS = 300, 4
GRADIENTS = 1e-4 if options.model else 1e-5  # of a tensor's norm
number = failed = 0
figures = {"model": options.model.rstrip("/").rsplit("/", 1)[-1] or "small", "tokens": [B, T], "rate": RATE, "torch": torch.__version__,
           "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu", "date": datetime.date.today().isoformat(),
           "command": " ".join(os.path.basename(argument) for argument in sys.argv)}  # no machine's folders
torch.set_default_device(options.device)


def check(what, ok, found=""):
    global number, failed
    number += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {number} - {what}" + (f"\n# {found}" if found else ""), flush=True)


def random_model():
    if options.model:
        return GPT2LMHeadModel.from_pretrained(options.model, attn_implementation="eager").to(options.device)
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=32, n_embd=64, n_layer=3, n_head=HEADS,
                                       resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=VOCABULARY - 1,
                                       eos_token_id=VOCABULARY - 1))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if ".ln_" in name and name.endswith("weight"):
                weight.normal_(1, 0.2)
            elif weight.dim() == 1:
                weight.normal_(0, 0.1)
            elif "c_attn" in name:
                weight.normal_(0, 0.15)
    return model


def rate_of(step):
    if step <= WARMUP:
        return RATE * step / WARMUP
    return LEAST + 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))) * (RATE - LEAST)


def train(model, tokens, dtype):
    """(losses, norms, gradients of step 1, final weights) of PyTorch in one type."""
    model = model.to(dtype).train()
    inputs, targets = tokens[:-1].reshape(B, T), tokens[1:].reshape(B, T)
    groups = [{"params": [p for p in model.parameters() if (p.dim() >= 2) == decays], "weight_decay": DECAY * decays}
              for decays in (True, False)]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)
    losses, norms, first = [], [], {}
    for step in range(1, STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = rate_of(step)
        optimizer.zero_grad()
        logits = model(inputs).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        if step == 1:
            first = {name: p.grad.double().cpu().clone() for name, p in model.named_parameters()}
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP).item())
        losses.append(loss.item())
        optimizer.step()
    return losses, norms, first, {name: p.detach().double().cpu().clone() for name, p in model.named_parameters()}


def relative(got, wanted):
    return ((got - wanted).norm() / wanted.norm()).item()


def without_k_bias(name, tensor):
    return tensor.reshape(3, -1)[[0, 2]] if name.endswith("c_attn.bias") else tensor


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    text = "".join(f"{i} {i * i} the cat and the dog; " for i in range(300))
    if not options.model:
        subprocess.run([tokenize, "train", folder, str(VOCABULARY)], input=text.encode(), check=True, capture_output=True)
        random_model().save_pretrained(folder)
    model = Path(options.model) if options.model else folder
    tokens = numpy.random.default_rng(3).integers(0, VOCABULARY, B * T + 1)
    header = numpy.zeros(256, numpy.int32)
    header[:3] = 20240520, 1, len(tokens)
    (folder / "data.bin").write_bytes(header.tobytes() + tokens.astype(numpy.uint16).tobytes())
    tokens = torch.tensor(tokens)

    def ours(*arguments):
        """(losses, norms, folder of the checkpoint)"""
        out = folder / f"run{len(list(folder.glob('run*')))}"
        text = subprocess.run([gpt2, "train", "--model", model, "--data", folder / "data.bin", "--out", out, "--batch", str(B),
                               "--length", str(T), "--lr", str(RATE), "--min-lr", str(LEAST), "--warmup", str(WARMUP),
                               "--weight-decay", str(DECAY), "--clip", str(CLIP), *arguments],
                              check=True, capture_output=True, text=True).stdout
        lines = re.findall(r"^step \d+/\d+  loss (\S+)  lr \S+  norm (\S+)", text, re.M)
        return [float(a) for a, _ in lines], [float(b) for _, b in lines], out / "latest"

    exact = train(random_model(), tokens, torch.float64)
    single = train(random_model(), tokens, torch.float32)

    for kernels in options.kernels.split(","):
        _, _, last = ours("--steps", "1", "--warmup", "1", "--clip", "0", "--kernels", kernels)  # its first moments: 0.1 gradient
        moments = load_file(last / "optimizer.safetensors")
        off = {}
        for name, wanted in exact[2].items():
            got = moments["m." + name.removeprefix("transformer.")].double() * 10
            got = got.T if re.search(r"\.c_\w+\.weight$", name) else got
            off[name] = relative(without_k_bias(name, got), without_k_bias(name, wanted))
        name, worst = max(off.items(), key=lambda item: item[1])
        torchs = max(relative(without_k_bias(name, g), without_k_bias(name, exact[2][name])) for name, g in single[2].items())
        check(f"{kernels}: {len(off)} gradients within {GRADIENTS:g}", worst <= GRADIENTS,
              f"off by {worst:.1e} of its norm in {name}; PyTorch in fp32: {torchs:.1e}")
        figures |= {"kernels": kernels, "gradients": worst, "torch_gradients": torchs, "worst": name}
        losses, norms, last = ours("--steps", str(STEPS), "--kernels", kernels)
        off = max(abs(a / b - 1) for a, b in zip(losses, exact[0]))
        figures |= {"losses": off, "torch_losses": max(abs(a / b - 1) for a, b in zip(single[0], exact[0]))}
        check(f"{kernels}: ten losses within 1e-4", len(losses) == STEPS and off <= 1e-4, f"off by {off:.1e}")
        off = max(abs(a / b - 1) for a, b in zip(norms, exact[1]))
        check(f"{kernels}: ten norms within 1e-4", off <= 1e-4, f"off by {off:.1e}")
        weights = {"transformer." + name.removeprefix("transformer."): t.double()
                   for name, t in load_file(last / "model.safetensors").items()}
        start = dict(random_model().cpu().named_parameters())

        def furthest(found):
            moved = {name: relative(without_k_bias(name, found[name] - start[name].detach().double()),
                                    without_k_bias(name, w - start[name].detach().double()))
                     for name, w in exact[3].items() if name in found}
            return max(moved.items(), key=lambda item: item[1])

        name, off = furthest(weights)
        _, torchs = furthest(single[3])
        check(f"{kernels}: what ten steps moved, by tensor", off <= 3 * torchs + 1e-5,
              f"off by {off:.1e} in {name}; PyTorch in fp32: {torchs:.1e}")
        if options.json:
            with open(options.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(figures) + "\n")

print(f"1..{number}")
sys.exit(failed > 0)
