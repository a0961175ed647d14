#!/usr/bin/env python3
"""greedy.py — the greedy tokens of a model that is divided among GPUs, beside those of one GPU.

The model has random weights and the shape of one of GPT-2's sizes. Where a text differs, PyTorch computes the logits at the first token that
does, in fp32: the margin between the two tokens there, beside the spread of all logits, says whether rounding can exchange them.
"""

import argparse
import json
import subprocess
import tempfile

import gpt2_training
from gpt2_bench import SHAPES

PROMPTS = ["In the beginning", "And the sun and the moon", "etmf", "a long time ago, in a house by the river"]


def make(folder, size):
    import torch
    import transformers

    layers, heads, channels = SHAPES[size]
    torch.manual_seed(1)
    config = transformers.GPT2Config(n_layer=layers, n_head=heads, n_embd=channels, initializer_range=0.04)
    with torch.device("cuda"):
        model = transformers.GPT2LMHeadModel(config).eval()
    model.to(torch.bfloat16).save_pretrained(folder)
    gpt2_training.write_tokenizer(folder, 50257)
    return model


def tokens(arguments, folder, kind, gpus):
    command = [arguments.gpt2, "generate", "--model", folder, "--type", kind, "--tokens", str(arguments.tokens)]
    command += [word for text in PROMPTS for word in ("--prompt", text)] + ["--no-stop", "--json", "--quiet"]
    done = subprocess.run([*command, "--gpus", str(gpus)], stdout=subprocess.PIPE, text=True, check=True)
    return [(s["prompt_tokens"], s["tokens"]) for s in json.loads(done.stdout)["sequences"]]


def margin(model, prompt, one, other):
    """Of the first token that differs: its number, the two logits' difference, the standard deviation of all."""
    import torch

    at = next(i for i in range(len(one)) if one[i] != other[i])
    with torch.no_grad():
        logits = model.float()(torch.tensor([prompt + one[:at]], device="cuda")).logits[0, -1]
    return at, (logits[one[at]] - logits[other[at]]).item(), logits.std().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--gpt2", default="build/gpt2/cuda/gpt2", help="the program (%(default)s)")
    parser.add_argument("--size", default="774M", help="(%(default)s)")
    parser.add_argument("--types", default="f32,bf16", help="(%(default)s)")
    parser.add_argument("--gpus", type=int, default=2, help="(%(default)s)")
    parser.add_argument("--tokens", type=int, default=64, help="of each text (%(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = make(folder, arguments.size)
        for kind in arguments.types.split(","):
            both = [tokens(arguments, folder, kind, gpus) for gpus in (1, arguments.gpus)]
            for (prompt, one), (_, other) in zip(*both):
                line = {"what": "greedy", "size": arguments.size, "type": kind, "gpus": arguments.gpus}
                line |= {"prompt": len(prompt), "tokens": len(one), "distinct": len(set(one)), "same": one == other}
                if one != other:
                    line |= dict(zip(("at", "margin", "spread"), margin(model, prompt, one, other)))
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
