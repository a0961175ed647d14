"""The stored measurements can be compared with a new run, and tell how they were made."""

import pytest

from conftest import FOLDER
from measuring import command_of, judge, read_lines

STORED = sorted((FOLDER.parents[1] / "docs/results/pytorch").glob("*.jsonl"))


MEASURED = ["prompts", "training", "decode", "fused-norm", "lone-add", "types", "softmax-chain", "triton", "ablation", "layouts"]


def test_there_are_stored_results():
    assert {path.stem for path in STORED} >= {"profile", *MEASURED}


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_every_stored_line_names_its_command_and_no_folder(path):
    lines = read_lines(path)
    assert all(line["command"].split()[0].endswith(".py") and "/" not in line["command"] for line in lines)
    assert all(line[name] for line in lines for name in ("gpu", "date", "torch", "transformers", "cuda"))


@pytest.mark.parametrize("path", [path for path in STORED if path.stem in MEASURED], ids=lambda path: path.stem)
def test_a_run_is_compared_with_the_stored_one(path):
    stored = read_lines(path)
    times = [line for line in stored if "ms" in line]
    same, compared = judge(stored, stored)
    assert not same and len(compared) >= len(times) / 2

    def slower(line):
        return {**line, **{name: 100 * line[name] for name in ("ms", "p5", "p95")}} if "ours" in line["by"] else line

    worse, _ = judge([slower(line) for line in times], stored)
    assert len(worse) == sum("ours" in line["by"] for line in times)


def test_a_command_is_stored_without_folders():
    assert command_of(["/a/benchmark.py", "prompts", "--out", "/b/c.jsonl"]) == "benchmark.py prompts --out c.jsonl"
