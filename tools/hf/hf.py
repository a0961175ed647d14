"""Shared by the scripts of this folder: import PyTorch and transformers, open a model, generate greedily."""

import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # all models are in folders of this machine
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # waiting threads do not occupy a core
try:
    import torch
    import transformers
    from transformers import GPT2Config, GPT2LMHeadModel
except ImportError as missing:
    print(
        f"{os.path.basename(sys.argv[0])}: this Python has no module {missing.name}. The comparison with Hugging Face needs torch and "
        "transformers: pip install torch transformers in a virtual environment, and set PYTHON= to its python",
        file=sys.stderr,
    )
    sys.exit(2)
transformers.utils.logging.disable_progress_bar()


def fail(message):
    """Prints one line and ends the program with exit status 2."""
    print(f"{os.path.basename(sys.argv[0])}: {message}", file=sys.stderr)
    sys.exit(2)


def use_device(name):
    """Sets the device of all later computations of this process: "cpu", or "cuda" for sizes that take hours on a CPU."""
    if name != "cpu" and not torch.cuda.is_available():
        fail(f"--device {name}: PyTorch sees no GPU here")
    torch.set_default_device(name)


def open_model(folder, dtype=torch.float32):
    """The GPT2LMHeadModel of a folder, converted to this type, in evaluation mode."""
    if not os.path.isfile(os.path.join(folder, "config.json")):
        fail(f"{folder}: no config.json: this is no folder of a Hugging Face model")
    model = GPT2LMHeadModel.from_pretrained(folder, dtype=dtype, attn_implementation="eager")
    return model.to(torch.get_default_device()).eval()


def read_prompts(path, config):
    """Reads one prompt per line: token ids separated by blanks. Path "-" is standard input."""
    prompts = []
    with sys.stdin if path == "-" else open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                ids = [int(word) for word in line.split()]
            except ValueError:
                fail(f"{path}, line {number}: these are no token ids separated by blanks")
            if not ids or len(ids) > config.n_positions or not all(0 <= i < config.vocab_size for i in ids):
                fail(f"{path}, line {number}: 1 to {config.n_positions} ids below {config.vocab_size} are needed")
            prompts.append(ids)
    if not prompts:
        fail(f"{path}: there is no prompt")
    return prompts


def decode_step(model, ids, cache):
    """The output for `ids`, which follow the tokens in the cache."""
    return model(torch.tensor([ids]), past_key_values=cache, use_cache=True)


@torch.no_grad()
def greedy(model, prompt, count, step=decode_step):
    """`count` tokens after the prompt, each the most likely one, with a cache."""
    ids, cache, written = prompt, None, []
    for _ in range(count):
        output = step(model, ids, cache)
        cache = output.past_key_values
        ids = [int(output.logits[0, -1].argmax())]
        written += ids
    return written
