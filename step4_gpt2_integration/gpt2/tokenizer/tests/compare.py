#!/usr/bin/env python3
"""compare.py TOKENIZE [STRINGS] — the tokenizer against Hugging Face's `tokenizers`, on random strings.

Trains a vocabulary with both on the same seeded text and compares the merges; then encodes STRINGS (100,000) random strings
with both and compares the ids; the files of each are read by the other. Strings hold only characters that both class alike
(letter, number, blank, other): tables of a newer Unicode know more letters. How many those are is printed; a character that
has been in Unicode since Python's oldest table and is classed differently is an error. Prints TAP.
"""
import random
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 3000
tokenize, wanted = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
seed = random.Random(1)
number = failed = 0


def check(what, ok, found=""):
    global number, failed
    number += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {number} - {what}" + (f"\n# {found}" if found else ""), flush=True)


def run(*arguments, text=b""):
    return subprocess.run([tokenize, *map(str, arguments)], input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=True).stdout


# ---- characters that both know ----

BLANKS = set("\t\n\v\f\r\x85") | {c for c in map(chr, range(0x110000)) if unicodedata.category(c)[0] == "Z"}


def class_of(c):
    kind = unicodedata.category(c)
    return "b" if c in BLANKS else "l" if kind[0] == "L" else "n" if kind[0] == "N" else "-" if kind == "Cs" else "o"


ours = run("classes").decode()
known = [c for c in map(chr, range(0x110000)) if class_of(c) == ours[ord(c)] != "-"]
other = [c for c in map(chr, range(0x110000)) if class_of(c) != ours[ord(c)]]
# Python's own table may be another Unicode than that of `tokenizers`: ask the latter, too.
cut = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
joins = {"l": "a", "n": "1", "b": "\n"}
alike = [c for c in known if unicodedata.category(c) != "Cn" and
         all((len(cut.pre_tokenize_str(w + c)) == 1) == (kind == ours[ord(c)]) for kind, w in joins.items())]
assigned = sum(unicodedata.category(c) not in ("Cn", "Cs") for c in map(chr, range(0x110000)))
old = unicodedata.ucd_3_2_0
wrong = [c for c in other if old.category(c) != "Cn" and unicodedata.category(c) == old.category(c)]
check("no character of Unicode 3.2 is classed differently", not wrong, str([hex(ord(c)) for c in wrong[:10]]) if wrong else "")
check("U+180E is no blank", "\u180e" in alike)
print(f"# {len(alike)} of the {assigned} characters of Unicode {unicodedata.unidata_version} are classed alike by both")

# ---- random text ----

common = [c for c in alike if ord(c) < 0x250]
blanks = [c for c in alike if c in BLANKS]
by_class = {k: [c for c in alike if ours[ord(c)] == k] for k in "lno"}
words = ["".join(seed.choices("etaoinshrdlucmfwypvbgkjqxz", weights=range(26, 0, -1), k=seed.randint(1, 9))) for _ in range(3000)]
words += ["".join(seed.choices(by_class["l"][s:s + 60], k=seed.randint(1, 6))) for s in range(0, 40000, 40)]
TAILS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "\u2019s", "'", "''s", "'x"]


def word():
    kind = seed.random()
    if kind < 0.55:
        w = words[min(int(seed.paretovariate(0.6)), len(words)) - 1]
        return w.capitalize() if seed.random() < 0.1 else w
    if kind < 0.65:
        return seed.choice(words[:500]) + seed.choice(TAILS)
    if kind < 0.75:
        return str(seed.randint(0, 10 ** seed.randint(1, 12)))
    if kind < 0.80:
        return "".join(seed.choices("(){}[]<>.,;:!?-+*/=&|^%$#@~`\"'\\_", k=seed.randint(1, 5)))
    if kind < 0.85:
        return seed.choice(words[:50]) * seed.randint(2, 20)
    pool = seed.choice([common, alike, by_class["l"], by_class["n"], by_class["o"], blanks])
    return "".join(seed.choices(pool, k=seed.randint(1, 8)))


def text(most):
    parts = []
    for _ in range(seed.randint(0, most)):
        parts += [word(), " " if seed.random() < 0.7 else "".join(seed.choices(" \n\t\u00a0\u3000\u180e\r", k=seed.randint(0, 4)))]
    return "".join(parts)


with tempfile.TemporaryDirectory() as scratch:
    folder = Path(scratch)
    for name in "ours", "theirs", "both", "json":
        (folder / name).mkdir()
    corpus = "\n".join(text(200) for _ in range(3000))
    run("train", folder / "ours", VOCABULARY, text=corpus.encode())

    # ---- the same merges ----
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = cut
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY - 1, min_frequency=2, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    theirs.train_from_iterator([corpus], trainer)
    theirs.model.save(str(folder / "theirs"))
    mine, other = ((folder / n / "merges.txt").read_text().splitlines()[1:] for n in ("ours", "theirs"))
    same = next((i for i, (a, b) in enumerate(zip(mine, other)) if a != b), min(len(mine), len(other)))
    check(f"{len(mine)} merges are learned alike from {len(corpus.encode()) / 1e6:.1f} MB", mine == other,
          "" if mine == other else f"the first {same} are; {len(mine)} and {len(other)}: {mine[same:same+2]}, {other[same:same+2]}")

    # ---- the same ids, from our files ----
    theirs = Tokenizer(models.BPE.from_file(str(folder / "ours/vocab.json"), str(folder / "ours/merges.txt")))
    theirs.pre_tokenizer = cut
    theirs.decoder = decoders.ByteLevel()
    strings = [text(8) for _ in range(wanted)]
    records = b"".join(s.encode() + b"\xff" for s in strings)
    expected = [e.ids for e in theirs.encode_batch(strings)]

    def differences(path, *options):
        lines = run("encode", path, "--records", *options, text=records).decode().split("\n")
        got = [list(map(int, line.split())) for line in lines[:-1]]
        return [] if got == expected else [(s, e, g) for s, e, g in zip(strings, expected, got) if e != g] or [(len(expected), len(got))]

    bad = differences(folder / "ours")
    check(f"{wanted} strings of {len(records) - wanted} bytes give the same ids", not bad,
          f"{len(bad)} differ: {bad[0]!r}" if bad else f"{sum(map(len, expected))} ids")
    ids = " ".join(str(i) for e in expected for i in e).encode()
    check("and the ids give the strings", run("decode", folder / "ours", text=ids) == "".join(strings).encode())

    # ---- other forms of file ----
    theirs.save(str(folder / "json/tokenizer.json"))
    check("tokenizer.json is read alike", not differences(folder / "json"))
    run("convert", folder / "ours", folder / "tokenizer.bin")
    check("llm.c's file is read alike", not differences(folder / "tokenizer.bin"))

    # ---- <|endoftext|> ----
    theirs.add_special_tokens(["<|endoftext|>"])
    marked = [seed.choice(["", " ", "<|", "<|endoftext|>"]) + s + "<|endoftext|>" + text(2) + seed.choice(["|>", "<|endoftext", ""])
              for s in strings[:2000]]
    records = b"".join(s.encode() + b"\xff" for s in marked)
    strings, expected = marked, [e.ids for e in theirs.encode_batch(marked)]
    check("<|endoftext|> as a special", not differences(folder / "ours", "--special"))

print(f"1..{number}")
sys.exit(failed > 0)
