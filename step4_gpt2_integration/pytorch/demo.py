"""A minute with the kernels: the same text with and without them, what ran, and how long it took.

    python3 demo.py                         the course's tiny trained model
    python3 demo.py --model gpt2            a model of the Hugging Face hub, or a folder
    python3 demo.py --prompt "To be" --tokens 60

Without a GPU the kernels run on the CPU backend, which emulates every thread: then the times say nothing.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import torch
import transformers
from transformers import AutoTokenizer, GPT2LMHeadModel

import course_kernels as ck
from course_kernels import gpt2_model

TINY = Path(__file__).resolve().parents[1] / "gpt2" / "tiny"


def write(model, tokenizer, prompt: str, tokens: int) -> tuple[list[int], float]:
    """The greedy continuation, and its seconds."""
    ids = tokenizer(prompt, return_tensors="pt").input_ids.to(model.device)
    begin = time.perf_counter()
    out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False, pad_token_id=0)
    return out[0].tolist(), time.perf_counter() - begin


def largest_difference(model, ids: list[int]) -> float:
    """The largest difference of a logit, patched and not, relative to the largest logit."""
    batch = torch.tensor([ids], device=model.device)
    with torch.no_grad():
        gpt2_model.disable(model)
        plain = model(batch).logits.float()
        with gpt2_model.enabled(model):
            patched = model(batch).logits.float()
    return ((plain - patched).abs().max() / plain.abs().max()).item()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(TINY), help="a folder or a name of the Hugging Face hub")
    parser.add_argument("--prompt", default="In the beginning")
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    try:
        loaded = ck.library(arguments.device)
    except ck.LibraryMissing as error:
        print(f"demo.py: {error}", file=sys.stderr)
        return 2
    ck.run_cpu_tensors_on_the_cpu_backend(True)
    transformers.utils.logging.disable_progress_bar()
    model = GPT2LMHeadModel.from_pretrained(arguments.model, dtype=torch.float32).to(arguments.device).eval()
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)

    write(model, tokenizer, arguments.prompt, 2)  # the first call loads libraries
    plain, plain_seconds = write(model, tokenizer, arguments.prompt, arguments.tokens)
    gpt2_model.enable(model)
    write(model, tokenizer, arguments.prompt, 2)
    ck.reset_stats()
    patched, seconds = write(model, tokenizer, arguments.prompt, arguments.tokens)
    ran = ck.report()

    print(tokenizer.decode(patched))
    print(f"\n{'the same' if patched == plain else 'OTHER'} tokens as without the kernels")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(f"largest difference of a logit: {largest_difference(model, plain):.1e} of the largest")
    print(f"kernels: {loaded.path}\n{ran}")
    emulated = " (emulated: no GPU here)" if arguments.device == "cpu" else ""
    print(f"{seconds:.2f} s with the kernels{emulated}, {plain_seconds:.2f} s without")
    return 0 if patched == plain else 1


if __name__ == "__main__":
    sys.exit(main())
