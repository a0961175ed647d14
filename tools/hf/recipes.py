"""recipes.py FOLDER TEXT GPT2 — compare the program's `eval --stride` and `generate --repetition-penalty` with transformers.

Perplexity: the code of "Perplexity of fixed-length models" in transformers' documentation, in float64. Tokens: `generate` of
transformers, greedy, with the same penalty, until the context is full. Exit status: 0 equal, 1 different, 2 an error.
"""

import argparse
import json
import re
import subprocess

from hf import fail, open_model, torch, transformers


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", help="a Hugging Face folder with vocab.json and merges.txt")
    parser.add_argument("text", help="a file")
    parser.add_argument("gpt2", help="the program")
    return parser.parse_args()


def run(gpt2, *words):
    done = subprocess.run([gpt2, *words, "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        fail(done.stderr.strip())
    return done.stdout


@torch.no_grad()
def recipe(model, ids, length, stride):
    """The perplexity of the page's code, and that of all predicted tokens, each counted once."""
    losses, weights, summed, predicted, last = 0.0, 0, 0.0, 0, 0
    for begin in range(0, len(ids), stride):
        end = min(begin + length, len(ids))
        inputs = torch.tensor([ids[begin:end]])
        targets = inputs.clone()
        targets[:, : -(end - last)] = -100
        loss = model(inputs, labels=targets).loss
        counted = (targets != -100).sum().item() - 1
        real = (targets[:, 1:] != -100).sum().item()
        if real > 0:
            losses, summed = losses + loss * counted, summed + loss * real
        weights, predicted, last = weights + counted, predicted + real, end
        if end == len(ids):
            break
    return torch.exp(losses / weights).item(), torch.exp(summed / predicted).item()


def main():
    options = arguments()
    model = open_model(options.folder, torch.float64)
    context, same = model.config.n_positions, True

    def ids_of(name):
        found = json.loads(run(options.gpt2, "generate", "--model", options.folder, "--json", *name))
        return found["sequences"][0]

    def report(what, ours, theirs, equal):
        nonlocal same
        same = same and equal
        print(f"{what}: {ours}, transformers {theirs}{'' if equal else '  <- different'}")

    with open(options.text, encoding="utf-8") as file:
        text = file.read()
    ids = transformers.GPT2Tokenizer.from_pretrained(options.folder)(text)["input_ids"]
    for length, stride in ((context, context // 2), (context, context), (context // 2, 5), (context, 1)):
        said = run(options.gpt2, "eval", "--model", options.folder, "--file", options.text, "--context", str(length),
                   "--stride", str(stride), "--batch", "4")  # fmt: skip
        ours = [float(re.search(f"{name} ([0-9.]+)", said).group(1)) for name in ("recipe", "perplexity")]
        for name, our, their in zip(("recipe", "perplexity"), ours, recipe(model, ids, length, stride)):
            report(f"{name}, windows of {length}, stride {stride}", our, f"{their:.4f}", abs(our / their - 1) < 1e-4)

    for penalty in (0.8, 1.3, 2.0):
        ours = ids_of(["--prompt", text[:20], "--repetition-penalty", str(penalty), "--no-stop", "--tokens", str(context)])
        prompt = torch.tensor([ours["prompt_tokens"]])
        theirs = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), do_sample=False, repetition_penalty=penalty,
            max_length=context, eos_token_id=None, pad_token_id=0,
        )[0].tolist()  # fmt: skip
        both = ours["prompt_tokens"] + ours["tokens"]
        equal = sum(a == b for a, b in zip(both, theirs))
        report(f"equal tokens with a penalty of {penalty}", f"{equal} of {len(both)}", len(theirs), both == theirs)
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
