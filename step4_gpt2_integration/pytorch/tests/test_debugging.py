"""The exercise debug-integration: each fault fails the check that is about it, and the solution passes all."""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers.models.gpt_neox import modeling_gpt_neox

STEP = Path(__file__).resolve().parents[2]
SOLUTION = STEP / "solution" / "debug_integration.py"
sys.path.insert(0, str(STEP / "pytorch" / "debugging"))

import cases
import harness

# name: what of the solution is replaced, and by what; the check that fails, and words of its message
FAULTS = {
    "never called": (
        "layer.__class__ = PatchedLayer",
        "pass",
        "calls",
        "trace has 0 calls of three_way_add, and a pass needs 3",
    ),
    "serial instead of parallel": (
        "if not self.use_parallel_residual:",
        "if True:",
        "layers",
        "the hidden state after layer 1 of 3 is the first that is wrong",
    ),
    "order of the adds": (
        "return three_way_add(self.library, self.post_mlp_dropout(self.mlp(normed)), attended, hidden_states)",
        "return three_way_add(self.library, attended, hidden_states, self.post_mlp_dropout(self.mlp(normed)))",
        "layers",
        "after layer 1 of 3",
    ),
    "parallel instead of serial": ("if not self.use_parallel_residual:", "if False:", "config", "serial residual, fp32"),
    "never off": ("layer.__class__ = GPTNeoXLayer", "pass", "config", "4 layers|called 3 times after disable"),
    "not contiguous": (
        "a, b, c = a.contiguous(), b.contiguous(), c.contiguous()",
        "pass",
        "tensors",
        "time-major input",
    ),
    "bf16 as fp16": ("library.three_way_add_bf16", "library.three_way_add_f16", "tensors", "bf16, 3 layers"),
    "calls without use": (
        "return three_way_add(self.library, self.post_mlp_dropout(self.mlp(normed)), attended, hidden_states)",
        "three_way_add(self.library, normed, normed, normed)\n        return self.mlp(normed) + attended + hidden_states",
        "layers",
        "did not compute the hidden state",
    ),
    "does not import": ("import torch\n", "import torc\n", "calls", "cannot be imported: ModuleNotFoundError"),
    "raises": ("C = a.shape[-1]", "C = a.shape[7]", "calls", r"IndexError.*debug_integration.py:\d+"),
}


@pytest.fixture(autouse=True)
def unpatched(monkeypatch):
    """The skeleton patches transformers' module, and the grader runs it in a process of its own."""
    monkeypatch.setattr(modeling_gpt_neox, "GPTNeoXLayer", modeling_gpt_neox.GPTNeoXLayer)


def verdicts_of(path, seed=5):
    answer = harness.run(str(path), {"seed": seed})
    judged = harness.judge({"seed": seed, "answer": answer})["verdicts"]
    return {one["check"]: one["wrong"] for one in judged}


@pytest.mark.parametrize("seed", range(3))
def test_the_solution_passes(seed):
    assert verdicts_of(SOLUTION, seed) == dict.fromkeys(harness.CHECKS, "")


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_fails_its_check(fault, tmp_path):
    good, bad, check, message = FAULTS[fault]
    text = SOLUTION.read_text()
    assert text.count(good) == 1
    (tmp_path / "wrong.py").write_text(text.replace(good, bad))
    found = verdicts_of(tmp_path / "wrong.py")
    at = harness.CHECKS.index(check)
    assert [found[name] for name in harness.CHECKS[:at]] == [""] * at, found
    assert re.search(message, found[check].replace("wrong.py", "debug_integration.py")), found[check]
    assert all(found[name] is None for name in harness.CHECKS[at + 1 :])


def test_the_skeleton_runs_and_never_calls_a_kernel():
    found = verdicts_of(STEP / "skeleton" / "debug_integration.py")
    assert "0 calls of three_way_add" in found["calls"] and found["secret"] is None


def test_the_judge_believes_bytes_only():
    """Answers that no run gives are wrong, and never an error of the judge."""
    honest = harness.run(str(SOLUTION), {"seed": 5})
    for forge in (
        lambda case: case["states"].pop(),
        lambda case: case["states"][0].update(data=""),
        lambda case: case["states"][0].update(data="no base64"),
        lambda case: case["states"][0].update(shape=[1]),
        lambda case: case["calls"][0].update(checksum=1),
        lambda case: case.pop("calls"),
        lambda case: case.update(states=7),
    ):
        answer = copy.deepcopy(honest)
        forge(answer["cases"][2])
        judged = {one["check"]: one["wrong"] for one in harness.judge({"seed": 5, "answer": answer})["verdicts"]}
        assert judged["calls"] == "" and judged["layers"], forge
    for answer in ({"cases": []}, {"cases": [7] * len(honest["cases"])}, {"cases": 3}, {}, 3):
        assert harness.judge({"seed": 5, "answer": answer})["verdicts"][0]["wrong"], answer


def test_the_library_writes_down_what_it_computes():
    library = cases.load(str(harness.LIBRARY))
    before = library.trace_count()
    a, b, c = (torch.randn(3, 40).bfloat16() for _ in range(3))
    out = torch.empty_like(a)
    assert library.three_way_add_bf16(out.data_ptr(), a.data_ptr(), b.data_ptr(), c.data_ptr(), 3, 40, None) == 0
    assert torch.equal(out, (a + b) + c)
    (call,) = cases.calls_of(library, before)
    assert call == {"type": "bf16", "N": 3, "C": 40, "checksum": cases.checksum_of(cases.bytes_of(out))}


GRADER = STEP.parent / "build" / "grader" / "grader"


@pytest.mark.skipif(not GRADER.exists(), reason="build/grader/grader is not built: make programs")
def test_the_grader_marks_the_solution():
    command = [GRADER, "step4", "--files", STEP / "solution", "--kernel", "debug-integration", "--seed", "3"]
    environment = {**os.environ, "PYTHON": sys.executable, "COURSE": str(STEP.parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^  (\w+) +pass$", done.stdout, re.M) == list(harness.CHECKS)


def test_show(run):
    out = run("debugging/harness.py", "show", SOLUTION, "--type", "fp16")
    assert "['fp16', 'fp16', 'fp16']" in out and out.count("equal bit for bit") == 4
    out = run("debugging/harness.py", "show", STEP / "skeleton" / "debug_integration.py")
    assert "none" in out
    assert "there is no file" in run("debugging/harness.py", "show", "nowhere.py", status=2)
