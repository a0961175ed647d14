"""What the scripts of this folder share: asking for PyTorch and transformers, opening a model, going on greedily."""

import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # every model here comes from a folder
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait leave the cores to others
try:
    import torch
    import transformers
    from transformers import GPT2Config, GPT2LMHeadModel
except ImportError as missing:
    print(
        f"{os.path.basename(sys.argv[0])}: this Python has no module {missing.name}. The comparison with Hugging Face needs torch and "
        "transformers: pip install torch transformers in an environment of your own, and name its python in PYTHON=",
        file=sys.stderr,
    )
    sys.exit(2)
transformers.utils.logging.disable_progress_bar()


def fail(message):
    """One line, exit status 2."""
    print(f"{os.path.basename(sys.argv[0])}: {message}", file=sys.stderr)
    sys.exit(2)


def use_device(name):
    """Where all that follows in this process is computed: "cpu", or "cuda" for the sizes that a CPU takes hours for."""
    if name != "cpu" and not torch.cuda.is_available():
        fail(f"--device {name}: PyTorch sees no GPU here")
    torch.set_default_device(name)


def open_model(folder, dtype=torch.float32):
    """The GPT2LMHeadModel of a folder, whatever type its file has, in this type, ready to be asked."""
    if not os.path.isfile(os.path.join(folder, "config.json")):
        fail(f"{folder}: no config.json: not a folder of Hugging Face's")
    model = GPT2LMHeadModel.from_pretrained(folder, dtype=dtype, attn_implementation="eager")
    return model.to(torch.get_default_device()).eval()


def read_prompts(path, config):
    """One prompt a line, token ids with blanks between them; "-": from standard input."""
    prompts = []
    with sys.stdin if path == "-" else open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                ids = [int(word) for word in line.split()]
            except ValueError:
                fail(f"{path}, line {number}: not token ids with blanks between them")
            if not ids or len(ids) > config.n_positions or not all(0 <= i < config.vocab_size for i in ids):
                fail(f"{path}, line {number}: 1 to {config.n_positions} ids below {config.vocab_size} are needed")
            prompts.append(ids)
    if not prompts:
        fail(f"{path}: there is no prompt")
    return prompts


def decode_step(model, ids, cache):
    """The logits after `ids`, which follow what the cache holds."""
    return model(torch.tensor([ids]), past_key_values=cache, use_cache=True)


@torch.no_grad()
def greedy(model, prompt, count, step=decode_step):
    """`count` tokens after the prompt, always the likeliest, with a cache."""
    ids, cache, written = prompt, None, []
    for _ in range(count):
        output = step(model, ids, cache)
        cache = output.past_key_values
        ids = [int(output.logits[0, -1].argmax())]
        written += ids
    return written
