"""A byte-level vocabulary of any size: the 256 bytes, artificial merges, <|endoftext|>; as vocab.json and merges.txt.

The merges allow only one tokenisation of a text. A letter of LEFT and one of RIGHT make a pair ("em"), a blank and a pair make
a token (" em"), and two pairs make a word ("emtf", " emtf"). The tokens are in the order of the merges, which llm.c's
tokenizer file requires.
"""

import itertools
import json
import os

BLANK = "\u0120"  # GPT-2's spelling of the byte 32
LEFT, RIGHT = "etaoinshrdluc", "mfwypvbgkjqxz"


def byte_spellings():
    """In GPT-2's order: printable bytes are spelled as themselves, the others as characters from U+0100."""
    prints = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [chr(byte) for byte in prints] + [chr(0x100 + i) for i in range(256 - len(prints))]


def merges():
    """(left, right): 57,460 merges, more than any GPT-2 has."""
    pairs = [a + b for a in LEFT for b in RIGHT]
    yield from ((pair[0], pair[1]) for pair in pairs)
    yield from ((BLANK, pair) for pair in pairs)
    words = list(itertools.product(pairs, pairs))
    yield from words
    yield from ((BLANK + first, second) for first, second in words)


def write(folder, size):
    """vocab.json and merges.txt with `size` tokens, the last one <|endoftext|>."""
    chosen = list(itertools.islice(merges(), size - 257))
    if size < 257 or len(chosen) < size - 257:
        raise ValueError(f"a vocabulary has 257 to {257 + len(chosen)} tokens, not {size}")
    tokens = byte_spellings() + [left + right for left, right in chosen] + ["<|endoftext|>"]
    with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as file:
        json.dump({token: number for number, token in enumerate(tokens)}, file, ensure_ascii=False)
    with open(os.path.join(folder, "merges.txt"), "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n")
        file.writelines(f"{left} {right}\n" for left, right in chosen)
