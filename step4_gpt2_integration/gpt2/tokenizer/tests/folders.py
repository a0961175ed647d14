#!/usr/bin/env python3
"""folders.py TOKENIZE [FOLDERS] — random tokenizer folders, read by the program and by transformers' AutoTokenizer.

Each of FOLDERS (400) folders has a random choice of tokenizer.json, vocab.json and merges.txt, tokenizer_config.json,
special_tokens_map.json and added_tokens.json, whose contents may disagree: added tokens that overlap, that hold or strip blanks,
that are special or normalized, with ids that are taken or beyond the vocabulary; classes; post-processors. Random texts are
encoded with both. The program must give the same ids, or refuse the folder in one line. A folder that transformers cannot
read counts for neither. Prints TAP, and how many folders were refused for which reason. --seed N: other folders; --show N: the
folder number N stays for a look at it.
"""

import argparse
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
os.environ["RUST_BACKTRACE"] = "0"
import transformers  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402

warnings.simplefilter("ignore")
parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
parser.add_argument("tokenize")
parser.add_argument("folders", nargs="?", type=int, default=400)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--show", type=int, default=-1, metavar="N")
options = parser.parse_args()

LESSONS = [
    "the cat sat on the mat, and the cats' mats are that way. The dog's 12 dogs said: don't! naïve cafés 日本語\n" * 9,
    "a banana band; ananas and the mango. 1999 and 2024, <pad> isn't [MASK] the theatre  of the   day\n\n" * 9,
]
POOL = ["<pad>", "<|im_start|>", "<|im_end|>", "<s>", "</s>", "[MASK]", "<|endoftext|>", "<|end", "oftext|>", " the", "the", "th",
        "the cat", "cat ", "cat", "  ", " ", "\n", "Ġthe", "Ġ", "é", "日本", "日", "a", "an", "ana", "banana", "'s", ".", "12", "\u00a0",
        "Ċ", "sat on", "\u3000x", "mat", "at"]  # fmt: skip
ROLES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]
WORDS = ["the", "The", "cat", "cats", "sat", "mat", "banana", "naïve", "日本語", "isn't", "12", "2024", "!", "...", "<|", "|>", "dogs",
         "theatre", "\U0001f600"]  # fmt: skip
BLANKS = ["", " ", " ", " ", "  ", "\n", "\t", "\u00a0", "\u3000", " \n "]


class Folder:
    """The files of one folder, from its own random numbers."""

    def __init__(self, number, vocabularies):
        self.seed = random.Random(options.seed * 1_000_003 + number)
        self.vocabularies = vocabularies
        self.files = {}
        self.make()

    def chance(self, probability):
        return self.seed.random() < probability

    def flags(self, text, complete=True):
        token = {"content": text}
        for key, probability in (("lstrip", 0.3), ("rstrip", 0.3), ("normalized", 0.5), ("single_word", 0.02), ("special", 0.5)):
            if complete or self.chance(0.8):
                token[key] = self.chance(probability)
        return token

    def text(self):
        return self.seed.choice(POOL)

    def some(self, most):
        return self.seed.sample(POOL, self.seed.randint(0, most))

    def role(self):
        kind = self.seed.random()
        if kind < 0.7:
            return self.text()
        if kind < 0.8:
            return None
        return {"__type": "AddedToken", **self.flags(self.text(), complete=False)}

    def decoder(self, size):
        ids, decoder = self.seed.sample(range(size - 3, size + 12), 8), {}
        for text, identity in zip(self.some(6), ids):
            decoder[str(identity)] = self.flags(text, complete=self.chance(0.8))
        return decoder

    def settings(self, size):
        found = {}
        if self.chance(0.6):
            found["tokenizer_class"] = self.seed.choice(
                ["GPT2Tokenizer"] * 6 + ["GPT2TokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend", "PreTrainedTokenizer", "RobertaTokenizer"])
        if self.chance(0.3):
            found["add_prefix_space"] = self.chance(0.5)
        for role in ROLES:
            if self.chance(0.3):
                found[role] = self.role()
        if self.chance(0.5):
            found["added_tokens_decoder"] = self.decoder(size)
        if self.chance(0.15):
            found["additional_special_tokens"] = [self.text() for _ in range(self.seed.randint(0, 3))]
        if self.chance(0.15):
            found["extra_special_tokens"] = (
                [self.text() for _ in range(self.seed.randint(0, 3))] if self.chance(0.6) else {"image_token": self.text()})
        for key, probability in (("add_bos_token", 0.08), ("add_eos_token", 0.05), ("split_special_tokens", 0.04)):
            if self.chance(probability):
                found[key] = self.chance(0.4)
        if self.chance(0.05):
            found["audio_token"] = self.text()
        if self.chance(0.03):
            found["tokenizer_file"] = self.seed.choice([None, "/nowhere/tokenizer.json"])
        found["model_max_length"] = 1024
        items = list(found.items())
        self.seed.shuffle(items)
        return dict(items)

    def special_map(self):
        found = {}
        for role in ROLES:
            if self.chance(0.35):
                found[role] = self.text() if self.chance(0.5) else self.flags(self.text(), complete=self.chance(0.5))
        if self.chance(0.2):
            found[self.seed.choice(["additional_special_tokens", "extra_special_tokens"])] = self.some(3)
        return found

    def tokenizer_json(self, vocabulary, merges):
        size = len(vocabulary)
        added = [{"id": identity, **self.flags(text)} for identity, text in zip(range(size, size + 9), self.some(5))]
        if "<|endoftext|>" in vocabulary and self.chance(0.8):
            added.insert(0, {"id": vocabulary["<|endoftext|>"], **self.flags("<|endoftext|>")})
        for token in added:
            token["id"] = vocabulary.get(token["content"], token["id"])
        plain = {"type": "ByteLevel", "add_prefix_space": self.chance(0.3), "trim_offsets": True, "use_regex": not self.chance(0.03)}
        end = [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}]
        single = [{"Sequence": {"id": "A", "type_id": 0}}]
        template = {"type": "TemplateProcessing", "single": single + (end if self.chance(0.1) else []),
                    "pair": single + [{"Sequence": {"id": "B", "type_id": 1}}],
                    "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}}}
        normalizer = {"type": "NFC"} if self.chance(0.04) else None
        return {
            "version": "1.0", "truncation": None,
            "padding": {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
                        "pad_token": self.text()} if self.chance(0.05) else None,
            "added_tokens": added, "normalizer": normalizer,
            "pre_tokenizer": plain if self.chance(0.97) else {"type": "Whitespace"},
            "post_processor": self.seed.choice([None, {**plain, "use_regex": True}, template]),
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": 0.1 if self.chance(0.03) else None, "unk_token": None,
                      "continuing_subword_prefix": self.seed.choice([None, ""]), "end_of_word_suffix": self.seed.choice([None, ""]),
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": self.chance(0.03), "vocab": vocabulary,
                      "merges": merges if self.chance(0.5) else [merge.split(" ") for merge in merges]},
        }  # fmt: skip

    def vocabulary(self):
        """One of the two; sometimes with tokens in it that are added elsewhere, or without its last one, <|endoftext|>."""
        vocabulary, merges = self.seed.choice(self.vocabularies)
        vocabulary = dict(vocabulary)
        if self.chance(0.2):
            del vocabulary["<|endoftext|>"]
        for text in self.some(3) if self.chance(0.3) else []:
            if re.fullmatch("[!-~]+", text) and text not in vocabulary:
                vocabulary[text] = len(vocabulary)
        return vocabulary, merges

    def make(self):
        kind = self.seed.random()
        vocabulary, merges = self.vocabulary()
        self.files["config.json"] = {"model_type": "gpt2", "n_head": 2, "n_layer": 1, "n_embd": 8}
        if self.chance(0.05):
            self.files["config.json"]["tokenizer_class"] = self.seed.choice(["GPT2Tokenizer", "PreTrainedTokenizerFast"])
        if kind < 0.7:
            self.files["vocab.json"] = vocabulary
            self.files["merges.txt"] = "#version: 0.2\n" + "".join(merge + "\n" for merge in merges)
        if kind > 0.4:
            vocabulary, merges = self.vocabulary() if self.chance(0.5) else (vocabulary, merges)
            self.files["tokenizer.json"] = self.tokenizer_json(vocabulary, merges)
        if self.chance(0.7):
            self.files["tokenizer_config.json"] = self.settings(len(vocabulary))
        if self.chance(0.35):
            self.files["special_tokens_map.json"] = self.special_map()
        if self.chance(0.3):
            size = len(vocabulary)
            self.files["added_tokens.json"] = dict(zip(self.some(5), self.seed.sample(range(size - 2, size + 9), 6)))
        self.strings = [self.string() for _ in range(24)] + ["", " ", "<|endoftext|>"]

    def string(self):
        parts = []
        for _ in range(self.seed.randint(0, 9)):
            parts += [self.text() if self.chance(0.5) else self.seed.choice(WORDS), self.seed.choice(BLANKS)]
        return "".join(parts)

    def write(self, path):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for name, content in self.files.items():
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=self.seed.random() < 0.5)
            (path / name).write_text(text, encoding="utf-8")


def ours(path, strings):
    """(ids of each string, None), or (None, the line that refuses the folder)."""
    records = b"".join(string.encode() + b"\xff" for string in strings)
    run = subprocess.run([options.tokenize, "encode", path, "--special", "--records"], input=records, capture_output=True, check=False)
    if run.returncode == 0:
        return [[int(word) for word in line.split()] for line in run.stdout.decode().split("\n")[:-1]], None
    line = run.stderr.decode()
    if run.returncode != 2 or line.count("\n") != 1:
        return None, f"NO REFUSAL: exit {run.returncode}, {line!r}"
    return None, line.strip()


def theirs(path, strings):
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(path))
    except Exception:  # every kind: the folder is broken for it
        return None
    return [ids_of(tokenizer, string) for string in strings]


def ids_of(tokenizer, string):
    """None where the tokenizers library fails: it panics at some overlaps of blanks and tokens."""
    try:
        return tokenizer(string)["input_ids"]
    except BaseException as problem:  # a panic is no Exception
        if type(problem).__name__ != "PanicException":
            raise
        return None


def reason(line, path):
    """The message without names."""
    return re.sub(r'"[^"]*"|\d+', "*", line.replace(str(path), "").removeprefix("tokenize: "))


def main():
    counts, reasons, wrong = collections.Counter(), collections.Counter(), []
    with tempfile.TemporaryDirectory() as scratch:
        vocabularies = []
        for lesson in LESSONS:
            path = Path(scratch) / "learned"
            path.mkdir(exist_ok=True)
            subprocess.run([options.tokenize, "train", path, "340"], input=lesson.encode(), stderr=subprocess.DEVNULL, check=True)
            merges = (path / "merges.txt").read_text(encoding="utf-8").splitlines()[1:]
            vocabularies.append((json.loads((path / "vocab.json").read_text(encoding="utf-8")), merges))
        for number in range(options.folders):
            folder, path = Folder(number, vocabularies), Path(scratch) / "folder"
            folder.write(path)
            if number == options.show:
                shutil.copytree(path, f"folder-{number}", dirs_exist_ok=True)
            got, line = ours(path, folder.strings)
            expected = theirs(path, folder.strings)
            if line is not None:
                counts["refused" if not line.startswith("NO REFUSAL") else "crashed"] += 1
                reasons[reason(line, path)] += expected is not None
                if line.startswith("NO REFUSAL"):
                    wrong.append(f"folder {number}: {line}")
            elif expected is None:
                counts["read, but not by transformers"] += 1
            elif len(got) == len(expected) and all(b in (a, None) for a, b in zip(got, expected)):
                counts["equal"] += 1
            else:
                counts["different"] += 1
                index = next(i for i, (a, b) in enumerate(zip(got, expected)) if b not in (a, None))
                wrong.append(f"folder {number}, {sorted(folder.files)}: {folder.strings[index]!r}: {got[index]}, not {expected[index]}")
    print(f"# transformers {transformers.__version__}; {options.folders} folders: {dict(counts)}")
    for text, count in reasons.most_common():
        print(f"#   {count} times where transformers reads the folder: {text}")
    for line in wrong[:10]:
        print(f"# {line}")
    print(f"{'not ok' if wrong else 'ok'} 1 - every folder gives transformers' ids or one line")
    enough = counts["equal"] >= options.folders // 3
    print(f"{'ok' if enough else 'not ok'} 2 - at least a third of them gives ids")
    print("1..2")
    sys.exit(bool(wrong) or not enough)


main()
