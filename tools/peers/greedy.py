#!/usr/bin/env python3
"""greedy.py — the greedy tokens of a model that is divided among GPUs, or of a form of decoding, beside those of one GPU's taught form.

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


def tokens(arguments, folder, kind, together, *options):
    """Of each prompt: its tokens, and those that follow. together: one command has all prompts."""
    command = [arguments.gpt2, "generate", "--model", folder, "--type", kind, "--tokens", str(arguments.tokens)]
    command += ["--no-stop", "--json", "--quiet", *options]
    found = []
    for texts in [PROMPTS] if together else [[text] for text in PROMPTS]:
        prompts = [word for text in texts for word in ("--prompt", text)]
        done = subprocess.run([*command, *prompts], stdout=subprocess.PIPE, text=True, check=True)
        found += [(s["prompt_tokens"], s["tokens"]) for s in json.loads(done.stdout)["sequences"]]
    return found


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
    parser.add_argument("--gpus", type=int, default=2, help="beside one (%(default)s)")
    parser.add_argument("--decode", help="instead, on one GPU: this form of decoding; it runs twice")
    parser.add_argument("--tokens", type=int, default=64, help="of each text (%(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = make(folder, arguments.size)
        for kind in arguments.types.split(","):
            form = arguments.decode
            options = ("--decode", "taught"), ("--decode", form), ("--decode", form)
            if not form:
                options = ("--gpus", "1"), ("--gpus", str(arguments.gpus))
            runs = [tokens(arguments, folder, kind, not form, *words) for words in options]
            for (prompt, one), (_, other), *again in zip(*runs):
                line = {"what": "greedy", "size": arguments.size, "type": kind}
                line |= {"decode": form, "again": again[0][1] == other} if form else {"gpus": arguments.gpus}
                line |= {"prompt": len(prompt), "tokens": len(one), "distinct": len(set(one)), "same": one == other}
                if one != other:
                    line |= dict(zip(("at", "margin", "spread"), margin(model, prompt, one, other)))
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
