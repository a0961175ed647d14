"""write_weights.py SIZE FOLDER — write a GPT-2 with random weights that show mistakes, through transformers.

Default-initialised weights hide mistakes: biases are 0, LayerNorms change nothing, attention is almost uniform. Here biases
are N(0, 0.1), LayerNorm weights are 1 + N(0, 0.2), and a few channels are outliers. Two scales are increased:
  - that of queries and keys, until the mean entropy of attention is below half of that of uniform attention
  - that of the other matrices, until a quarter of the greedily generated tokens (200, or as many as the context allows) differ

FOLDER gets config.json, model.safetensors, vocab.json and merges.txt. The same SIZE, seed, PyTorch and device give the same
numbers.
"""

import argparse
import copy
import json
import math
import os

from hf import GPT2Config, GPT2LMHeadModel, fail, greedy, torch, use_device

import vocabulary

#         layers, heads, channels, vocabulary, context
SIZES = {
    "124M": (12, 12, 768, 50257, 1024),
    "355M": (24, 16, 1024, 50257, 1024),
    "774M": (36, 20, 1280, 50257, 1024),
    "1558M": (48, 25, 1600, 50257, 1024),
    "tiny": (3, 3, 48, 1000, 64),
    "odd": (2, 3, 51, 515, 260),  # a head has 17 channels; no size is a multiple of 4
}
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
CALIBRATION, WRITTEN, STEP = 64, 200, 1.25  # tokens that are measured; tokens that are generated; factor of one increase
OUTLIERS = 3


def add_settings(parser):
    parser.add_argument("--setting", action="append", default=[], metavar="KEY=VALUE",
                        help='of GPT2Config, VALUE in JSON or a text: activation_function=relu, tie_word_embeddings=false')  # fmt: skip


def settings_of(texts):
    """The settings as a dictionary."""
    settings = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not hasattr(GPT2Config(), key):
            fail(f"--setting {text}: not KEY=VALUE with a setting of GPT2Config")
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value
    return settings


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("folder", help="the model's folder; it is created")
    parser.add_argument("--type", choices=TYPES, default="f32", help="of the numbers in the file (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    add_settings(parser)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="for the computation (%(default)s)")
    return parser.parse_args()


def new_model(size, settings):
    layers, heads, channels, tokens, context = SIZES[size]
    config = GPT2Config(
        n_layer=layers, n_head=heads, n_embd=channels, vocab_size=tokens, n_positions=context,
        bos_token_id=tokens - 1, eos_token_id=tokens - 1, attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, **settings,
    )  # fmt: skip
    config._attn_implementation = "eager"  # it returns the attention weights
    return GPT2LMHeadModel(config).eval()


@torch.no_grad()
def fill(model, seed):
    """Fills every tensor. Matrices preserve the magnitude of their input; the rows of wte, or of an untied head, give logits of about N(0, 3)."""
    random = torch.Generator().manual_seed(seed)
    channels = model.config.n_embd
    for name, tensor in model.named_parameters():
        normal = torch.randn(tensor.shape, generator=random, device="cpu").to(tensor.device)
        if name.endswith("bias"):
            tensor.copy_(0.1 * normal)
        elif ".ln_" in name:
            tensor.copy_(1.0 + 0.2 * normal)
        elif name.endswith(("wte.weight", "wpe.weight", "lm_head.weight")):
            tensor.copy_(3.0 / math.sqrt(channels) * normal)
        else:
            tensor.copy_(normal / math.sqrt(tensor.shape[0]))  # Conv1D: (in, out)
    blocks, outliers = model.transformer.h, torch.randperm(channels, generator=random, device="cpu")[:OUTLIERS]
    blocks[0].mlp.c_proj.bias[outliers] += 8.0
    blocks[len(blocks) // 2].mlp.c_proj.weight[:, outliers] *= 6.0


@torch.no_grad()
def entropy(model, ids):
    """Mean entropy of attention, as a fraction of uniform attention's, over layers, heads and all positions but the first."""
    shares = []
    for weights in model(ids, output_attentions=True).attentions:  # (1, H, T, T)
        bits = -(weights * weights.clamp_min(1e-30).log()).sum(-1)[..., 1:]
        shares.append((bits / torch.arange(2, ids.shape[1] + 1).log()).mean())
    return float(torch.stack(shares).mean())


@torch.no_grad()
def scale_attention(model, factor):
    for block in model.transformer.h:
        queries_and_keys = 2 * model.config.n_embd
        block.attn.c_attn.weight[:, :queries_and_keys] *= factor
        block.attn.c_attn.bias[:queries_and_keys] *= factor


@torch.no_grad()
def scale_rest(model, factor):
    """Scales the branches and the positions, so that the next token depends on more than the last one."""
    model.transformer.wpe.weight *= factor
    for block in model.transformer.h:
        block.attn.c_proj.weight *= factor
        block.mlp.c_fc.weight *= factor
        block.mlp.c_proj.weight *= factor


def rounded(model, dtype):
    """The model with weights rounded to this type, as a file of the type holds them."""
    return model if dtype == torch.float32 else copy.deepcopy(model).to(dtype).float()


def liven(model, seed, dtype):
    """Increases both scales until the weights show mistakes. Returns the measurements as text."""
    random = torch.Generator().manual_seed(seed + 1)
    shape = (1, min(CALIBRATION, model.config.n_positions))
    ids = torch.randint(model.config.vocab_size, shape, generator=random, device="cpu").to(model.device)
    prompt = ids[0, :8].tolist()
    count = min(WRITTEN, model.config.n_positions - len(prompt))
    for grown in range(40):
        scales = 0
        while (share := entropy(rounded(model, dtype), ids)) >= 0.5 and scales < 40:
            scale_attention(model, STEP)
            scales += 1
        different = len(set(greedy(rounded(model, dtype), prompt, count)))
        if share < 0.5 and 4 * different >= count:
            return (
                f"attention entropy {share:.2f} of uniform's; {different} different tokens of {count} written greedily; "
                f"the branches grew {STEP**grown:.2f} times"
            )
        scale_rest(model, STEP)
    fail("no scale of these weights shows mistakes: choose another --seed")


def write(size, folder, type_name="f32", seed=1, settings=()):
    """Writes the model. Returns the measurements as text."""
    model = new_model(size, settings_of(settings))
    fill(model, seed)
    measured = liven(model, seed, TYPES[type_name])
    os.makedirs(folder, exist_ok=True)
    vocabulary.write(folder, model.config.vocab_size)
    model.to(TYPES[type_name]).save_pretrained(folder)
    return f"{size}, {type_name}, seed {seed}: {measured}"


def main():
    options = arguments()
    use_device(options.device)
    print(write(options.size, options.folder, options.type, options.seed, options.setting))


if __name__ == "__main__":
    main()
