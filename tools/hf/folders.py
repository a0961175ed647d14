"""folders.py — folders of GPT-2's relatives, with the files that they have on the hub: the program beside transformers. Prints TAP.

Each folder has random weights and a vocabulary learned from README.md. `gpt2 generate` and generate() of transformers write the same
greedy text after each prompt, or the program refuses the folder in one line that says why.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

from hf import GPT2Config, GPT2LMHeadModel, torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import write_weights

PROMPTS = ("The kernel is", "make test<|endoftext|>", "GPU")
TOKENS = 40


class Maker:
    """Writes models and the files of their tokenizer."""

    def __init__(self, tokenize, scratch):
        self.scratch, self.tokenizer = scratch, os.path.join(scratch, "tokenizer")
        os.mkdir(self.tokenizer)
        with open("README.md", "rb") as text:
            subprocess.run([tokenize, "train", self.tokenizer, "500"], stdin=text, stderr=subprocess.DEVNULL, check=True)
        with open(os.path.join(self.tokenizer, "vocab.json"), encoding="utf-8") as file:
            self.vocabulary = json.load(file)
        self.end = self.vocabulary["<|endoftext|>"]

    def model(self, settings):
        config = GPT2Config(
            n_layer=3, n_head=3, n_embd=48, vocab_size=len(self.vocabulary), n_positions=96, bos_token_id=self.end,
            eos_token_id=self.end, attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, **settings,
        )  # fmt: skip
        model = GPT2LMHeadModel(config).eval()
        write_weights.fill(model, 1)
        write_weights.scale_rest(model, 2.0)
        return model

    def folder(self, name, files=(), changes=(), shard="1GB", **settings):
        """files: {name: object} to write as JSON; changes: {file: {key: value}} of those that transformers writes."""
        path = os.path.join(self.scratch, name)
        model = self.model(settings)
        model.save_pretrained(path, max_shard_size=shard)
        for vocabulary in "vocab.json", "merges.txt":
            with open(os.path.join(self.tokenizer, vocabulary), "rb") as source, open(os.path.join(path, vocabulary), "wb") as target:
                target.write(source.read())
        for file, content in dict(files).items():
            self.write(path, file, content)
        for file, keys in dict(changes).items():
            with open(os.path.join(path, file), encoding="utf-8") as old:
                content = json.load(old)
            self.write(path, file, {**content, **keys})
        return path, model

    @staticmethod
    def write(path, file, content):
        with open(os.path.join(path, file), "w", encoding="utf-8") as target:
            json.dump(content, target)

    def tokenizer_json(self, merges):
        with open(os.path.join(self.tokenizer, "merges.txt"), encoding="utf-8") as file:
            lines = file.read().splitlines()[1:][:merges]
        flags = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        return {
            "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": level, "post_processor": level,
            "added_tokens": [{"id": self.end, "content": "<|endoftext|>", **flags}], "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
                      "fuse_unk": False, "vocab": self.vocabulary, "merges": lines},
        }  # fmt: skip


def ours(program, path, prompt):
    run = subprocess.run([program, "generate", "--model", path, "--prompt", prompt, "--tokens", str(TOKENS), "--quiet"],
                         capture_output=True, check=False)  # fmt: skip
    return run.returncode, run.stdout.decode("utf-8", "replace").removesuffix("\n"), run.stderr.decode().strip()


def theirs(path, prompt):
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="eager").eval()
    given = tokenizer(prompt, return_tensors="pt")
    new = model.generate(**given, max_new_tokens=TOKENS, do_sample=False, pad_token_id=0)[0, given["input_ids"].shape[1] :].tolist()
    ends = model.generation_config.eos_token_id
    if new and new[-1] in (ends if isinstance(ends, list) else [ends]):
        new.pop()
    return prompt + tokenizer.decode(new, clean_up_tokenization_spaces=False)


def differences(program, path):
    """What is wrong, as a list of texts."""
    found = []
    for prompt in PROMPTS:
        status, text, line = ours(program, path, prompt)
        if status != 0 or text != theirs(path, prompt):
            found.append(f"{prompt!r}: {line or text!r}")
    return found


def pickle_weights(path, model):
    """The weights as before safetensors."""
    os.remove(os.path.join(path, "model.safetensors"))
    torch.save(model.state_dict(), os.path.join(path, "pytorch_model.bin"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--gpt2", default="build/gpt2/cpu/gpt2", help="the program (%(default)s)")
    parser.add_argument("--tokenize", default="build/gpt2/tokenize", help="(%(default)s)")
    options = parser.parse_args()
    results = []

    def report(name, wrong):
        results.append(not wrong)
        print(f"{'not ok' if wrong else 'ok'} {len(results)} - {name}", *[f"# {line}" for line in wrong], sep="\n", flush=True)

    def refused(path, reason):
        status, _, line = ours(options.gpt2, path, PROMPTS[0])
        return [] if status == 2 and reason in line and "\n" not in line else [f"exit {status}: {line}"]

    with tempfile.TemporaryDirectory() as scratch:
        maker = Maker(options.tokenize, scratch)
        end, size = maker.end, len(maker.vocabulary)
        length = {"tokenizer_config.json": {"model_max_length": 1024}}
        path, _ = maker.folder("distilgpt2", {"tokenizer.json": maker.tokenizer_json(None), **length},
                               {"config.json": {"_num_labels": 1, "n_ctx": 96}, "generation_config.json": {"eos_token_id": end}})  # fmt: skip
        report("DistilGPT-2's files", differences(options.gpt2, path))
        path, model = maker.folder("DialoGPT", length, {"config.json": {"n_ctx": 96}})
        pickle_weights(path, model)
        _, _, line = ours(options.gpt2, path, PROMPTS[0])
        report("DialoGPT's files: pytorch_model.bin is refused", refused(path, "two lines of Python"))
        code = line.partition("from transformers")
        subprocess.run([sys.executable, "-c", (code[1] + code[2]).replace("; ", "\n")], capture_output=True, check=True)
        report("and the message's two lines convert it", differences(options.gpt2, path))
        for name, settings in {
            "GELU by erf": {"activation_function": "gelu"},
            "ReLU, an untied head, scores divided by the layer": {
                "activation_function": "relu", "tie_word_embeddings": False, "scale_attn_by_inverse_layer_idx": True},
            "reorder_and_upcast_attn": {"reorder_and_upcast_attn": True},
        }.items():  # fmt: skip
            report(name, differences(options.gpt2, maker.folder(name, **settings)[0]))
        path, _ = maker.folder("sharded", shard="60KB", tie_word_embeddings=False)
        report(f"weights in {sum('-of-' in name for name in os.listdir(path))} files", differences(options.gpt2, path))
        path, _ = maker.folder("alias", changes={"config.json": {"num_attention_heads": 6}})
        report("num_attention_heads beside n_head", differences(options.gpt2, path))
        path, _ = maker.folder("ends", changes={"generation_config.json": {"eos_token_id": list(range(200, size))}})
        report("a list of end tokens that is too long is refused", refused(path, "eos_token_id names more than"))
        path, _ = maker.folder("ends2", changes={"generation_config.json": {"eos_token_id": list(range(260, 276))}})
        report("a list of end tokens", differences(options.gpt2, path))
        path, _ = maker.folder("merges", {"tokenizer.json": maker.tokenizer_json(30)})
        report("tokenizer.json that differs from vocab.json", differences(options.gpt2, path))
        path, _ = maker.folder("prefix", {"tokenizer_config.json": {"add_prefix_space": True, "eos_token": "kernel"}})
        report("add_prefix_space, an added token within words", differences(options.gpt2, path))
        for key, value in ("activation_function", "silu"), ("n_inner", 64), ("scale_attn_weights", False):
            report(f"{key} {value} is refused", refused(maker.folder(key, **{key: value})[0], key))
    print(f"1..{len(results)}")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
