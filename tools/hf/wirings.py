"""wirings.py FOLDER PROMPTS — GPT-2s with one mistake each, which the comparison must find.

Hugging Face's model with FOLDER's weights gets a mistake in its code or in its weights. Its tensors for PROMPTS are written
as reference.py writes them. `gpt2 check` compares the program with them: it must find a difference, and the first stage that
it names must be the wrong one. If a mistake passes, the weights do not show it. Prints TAP; exit status 0: all are found.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import types

from hf import decode_step, open_model, read_prompts, torch
from reference import dump
from transformers import AttentionInterface

LAST = -2  # stands for the layer after the last block
WIRINGS = []


def wiring(words, layer, stage):
    """Registers a function that gives a model a mistake: its description, and the layer and stage of the first difference."""

    def add(function):
        WIRINGS.append((words, layer, stage, function))
        return function

    return add


# ---- attention: functions of queries, keys and values (B, H, T, D) ----


def attend(query, key, value, scale=None, ahead=0):
    """Causal attention. A query attends to `ahead` keys after its own; negative: fewer keys, but always the first."""
    scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    positions = torch.arange(key.shape[-2])
    seen = positions <= positions[-query.shape[-2] :, None] + ahead
    seen[:, 0] = True
    return scores.masked_fill(~seen, float("-inf")).softmax(-1) @ value


def rewire_attention(model, function):
    def attention(module, query, key, value, mask, **_):
        return function(query, key, value).transpose(1, 2), None

    AttentionInterface.register("wrong", attention)
    model.config._attn_implementation = "wrong"


def attention_wiring(words, function):
    wiring(words, 0, "attention")(lambda model: rewire_attention(model, function))


def regroup(out):
    """The heads' outputs, merged as (D, H)."""
    batch, heads, length, channels = out.shape
    return out.permute(0, 2, 3, 1).reshape(batch, length, heads, channels).transpose(1, 2)


attention_wiring("the mask lets each token see the next one", lambda q, k, v: attend(q, k, v, ahead=1))
attention_wiring("the mask hides each token from itself", lambda q, k, v: attend(q, k, v, ahead=-1))
attention_wiring("no scale", lambda q, k, v: attend(q, k, v, scale=1.0))
attention_wiring("the scale twice", lambda q, k, v: attend(q, k, v, scale=1.0 / q.shape[-1]))
attention_wiring("the scale of all channels", lambda q, k, v: attend(q, k, v, scale=(q.shape[1] * q.shape[-1]) ** -0.5))
attention_wiring("heads put together as (D, H)", lambda q, k, v: regroup(attend(q, k, v)))
attention_wiring("keys and values exchanged", lambda q, k, v: attend(q, v, k))


# ---- blocks ----


def rewire_blocks(model, forward):
    for block in model.transformer.h:
        block.forward = types.MethodType(forward, block)


@wiring("the residuals in parallel: LayerNorm 2 reads the block's input", 0, "residual after attention")
def _(model):
    def forward(block, x, *rest, **options):
        return x + block.attn(block.ln_1(x), *rest[:2], **options)[0] + block.mlp(block.ln_2(x))

    rewire_blocks(model, forward)


@wiring("the MLP reads LayerNorm 1", 0, "gelu")
def _(model):
    def forward(block, x, *rest, **options):
        first = block.ln_1(x)
        x = x + block.attn(first, *rest[:2], **options)[0]
        block.ln_2(x)  # computed for the dump, and not used
        return x + block.mlp(first)

    rewire_blocks(model, forward)


@wiring("LayerNorm after each branch instead of before it", 0, "ln1")
def _(model):
    def forward(block, x, *rest, **options):
        x = block.ln_1(x + block.attn(x, *rest[:2], **options)[0])
        return block.ln_2(x + block.mlp(x))

    rewire_blocks(model, forward)


@wiring("LayerNorm 2 reads the attention's branch alone", 0, "residual after attention")
def _(model):
    def forward(block, x, *rest, **options):
        branch = block.attn(block.ln_1(x), *rest[:2], **options)[0]
        return x + branch + block.mlp(block.ln_2(branch))

    rewire_blocks(model, forward)


@wiring("the MLP's branch is added to the block's input", 0, "residual after mlp")
def _(model):
    def forward(block, x, *rest, **options):
        return x + block.mlp(block.ln_2(x + block.attn(block.ln_1(x), *rest[:2], **options)[0]))

    rewire_blocks(model, forward)


# ---- layers and weights ----


@wiring("heads split as (H, 3, D)", 0, "qkv")
def _(model):
    for block in model.transformer.h:
        for tensor in (block.attn.c_attn.weight, block.attn.c_attn.bias):
            parts = tensor.data.unflatten(-1, (block.attn.num_heads, 3, -1))
            tensor.data = parts.transpose(-2, -3).flatten(-3).contiguous()


@wiring("GELU by erf instead of tanh", 0, "gelu")
def _(model):
    for block in model.transformer.h:
        block.mlp.act.forward = torch.nn.functional.gelu


@wiring("the attention's projection transposed", 0, "attention projection")
def _(model):
    for block in model.transformer.h:
        block.attn.c_proj.weight.data = block.attn.c_proj.weight.data.T.contiguous()


@wiring("the attention's projection without its bias", 0, "attention projection")
def _(model):
    for block in model.transformer.h:
        block.attn.c_proj.bias.data.zero_()


@wiring("LayerNorm divides by C - 1", 0, "ln1")
def _(model):
    def forward(layer, x):
        deviation = (x.var(-1, keepdim=True, unbiased=True) + layer.eps).sqrt()
        return (x - x.mean(-1, keepdim=True)) / deviation * layer.weight + layer.bias

    for layer in model.modules():
        if isinstance(layer, torch.nn.LayerNorm):
            layer.forward = types.MethodType(forward, layer)


@wiring("LayerNorm's epsilon is 1e-12", 0, "ln1")
def _(model):
    for layer in model.modules():
        if isinstance(layer, torch.nn.LayerNorm):
            layer.eps = 1e-12


@wiring("no position embedding", -1, "embedding")
def _(model):
    model.transformer.wpe.weight.data.zero_()


@wiring("positions count from 1", -1, "embedding")
def _(model):
    model.transformer.wpe.weight.data = model.transformer.wpe.weight.data.roll(-1, 0)


@wiring("no last LayerNorm", LAST, "final layernorm")
def _(model):
    model.transformer.ln_f.forward = lambda x: x + 0


@wiring("a head of its own, not tied", LAST, "logits")
def _(model):
    random = torch.Generator().manual_seed(1)
    weight = model.lm_head.weight.data
    model.lm_head.weight = torch.nn.Parameter(weight.std() * torch.randn(weight.shape, generator=random))


# ---- decoding: the passes over whole prompts are right ----


@wiring("the cache's index one behind: the newest entry is overwritten", LAST, "decoded logits")
def _(model):
    def step(model, ids, cache):
        if cache is not None:
            cache.crop(-1)
        return decode_step(model, ids, cache)

    return step


@wiring("the decoding step's position one behind", LAST, "decoded logits")
def _(model):
    def step(model, ids, cache):
        first = max(0, cache.get_seq_length() - 1) if cache is not None else 0
        positions = torch.arange(first, first + len(ids))[None]
        return model(torch.tensor([ids]), past_key_values=cache, use_cache=True, position_ids=positions)

    return step


# ---- the comparison ----


def first_difference(program, folder, dumped, report):
    """The exit status of `gpt2 check`, and the first stage of its report that differs."""
    command = [program, "check", "--model", folder, "--against", dumped, "--json", report]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode == 2:
        return 2, ran.stderr.strip()
    with open(report, encoding="utf-8") as file:
        wrong = [line for line in map(json.loads, file) if not line["good"]]
    return ran.returncode, f"{wrong[0]['layer']} {wrong[0]['stage']}" if wrong else "no difference"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("prompts")
    parser.add_argument("--gpt2", default="build/gpt2/cpu/gpt2", help="the program (%(default)s)")
    parser.add_argument("--only", default="", help="the mistakes whose description contains this text")
    options = parser.parse_args()
    chosen = [one for one in WIRINGS if options.only in one[0]]
    missed = 0
    print(f"1..{len(chosen)}")
    for number, (words, layer, stage, rewire) in enumerate(chosen, 1):
        model = open_model(options.folder)
        prompts = read_prompts(options.prompts, model.config)
        step = rewire(model) or decode_step
        expected = f"{model.config.n_layer if layer == LAST else layer} {stage}"
        with tempfile.TemporaryDirectory() as scratch:
            dumped, report = os.path.join(scratch, "wrong.safetensors"), os.path.join(scratch, "report.jsonl")
            dump(model, prompts, 2, dumped, step)
            status, found = first_difference(options.gpt2, options.folder, dumped, report)
        good = status == 1 and found == expected
        missed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {words}: {found}", flush=True)
        if not good:
            print(f"# expected exit status 1, and {expected}; got {status}")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
