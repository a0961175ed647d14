"""demo.py, benchmark.py, experiments.py and profile_model.py run, write what they say, and do not pass off PyTorch's figures as
the kernels'."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from conftest import FOLDER, assert_close


def test_demo(run, device):
    out = run("demo.py", "--tokens", 8, "--device", device)
    assert "the same tokens as without the kernels" in out and "residual_layernorm_forward" in out


def test_benchmark(run, device, tmp_path):
    out = tmp_path / "out.jsonl"
    common = ("--device", device, "--seconds", 0.1, "--most", 3, "--out", out, "--variants", "sdpa", "ours")
    run("benchmark.py", "prompts", "--cell", "tiny:1:32:f32", *common)
    run("benchmark.py", "training", "--cell", "tiny:1:16:bf16", *common)
    run("benchmark.py", "decode", "--cell", "tiny:1:16:f32", *common)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(line["experiment"], line["by"]) for line in lines] == [
        (experiment, by) for experiment in ("prompts", "training", "decode") for by in ("sdpa", "ours")
    ]
    assert all(line["ms"] > 0 and line["p5"] <= line["ms"] <= line["p95"] and line["samples"] >= 3 for line in lines)


def test_a_cell_that_does_not_exist_is_named(run, device):
    out = run("benchmark.py", "prompts", "--cell", "huge:1:16:f32", "--device", device, status=2)
    assert "huge:1:16:f32" in out and "tiny, distil, small" in out


def test_profile(run, device, tmp_path, monkeypatch):
    """Also that the profiled blocks are those that a user runs: without a call of the modules inside them."""
    from course_kernels import gpt2_inference, gpt2_model

    inferred = []
    monkeypatch.setattr(gpt2_model, "infer", lambda *of: inferred.append(gpt2_inference.infer(*of)) or inferred[-1])
    common = ("--size", "tiny", "--batch", 1, "--tokens", 32, "--type", "f32", "--times", 2, "--device", device)
    for variant, row in (("eager", "softmax"), ("ours", "residuals + LayerNorms")):
        trace, out = tmp_path / f"{variant}.json", tmp_path / "out.jsonl"
        run("profile_model.py", "--variant", variant, "--trace", trace, "--out", out, *common)
        line = json.loads(out.read_text().splitlines()[-1])
        assert line["variant"] == variant and line["layer"]["block 1"] > 0
        rows = {row, "QKV", "projection", "MLP expansion", "MLP projection", "output layer", "embedding"}
        assert all(line["row"][row] > 0 for row in rows)
        assert json.loads(trace.read_text())["traceEvents"]
        total = pytest.approx(sum(line["kernel"].values()), abs=1e-3)
        assert sum(line["row"].values()) == total and sum(line["layer"].values()) == total
    passes = 3 + 2 + 1 + 2  # to warm up, timed, before the trace, traced
    assert len(inferred) == 2 * passes and None not in inferred


def test_decode_steps_are_all_the_same(device):
    import torch

    from benchmark import decode_inputs, decode_step, model_of, prepared

    step = decode_step(prepared(model := model_of("tiny", device, "f32", 17), "ours"), *decode_inputs(model, 2, 16))
    assert torch.equal(step(), step())


@pytest.mark.parametrize("experiment", ["fused-norm", "lone-add", "types", "softmax-chain", "ablation", "layouts"])
def test_experiment(run, device, tmp_path, experiment):
    out = tmp_path / "out.jsonl"
    common = ("--small", "--device", device, "--type", "f32", "--seconds", 0.05, "--most", 2, "--out", out)
    run("experiments.py", experiment, *common)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert not [line for line in lines if "error" in line]
    some = {"ablation": {"ours", "1"}, "types": {"f32 ours", "f16 sdpa"}}.get(experiment, {"eager", "ours"})
    assert {line["by"] for line in lines} >= some
    assert all(line["command"].startswith(f"experiments.py {experiment} --small") for line in lines)


def test_a_library_with_another_block_size(device, monkeypatch, tmp_path):
    """Computed in a process of its own: two libraries of the CPU backend cannot share one."""
    import experiments

    kernels = experiments.ROOT / "build/pytorch/block-size/kernels"
    made = experiments.build_with_block_size(64, device, ["three_way_add"])
    assert "enum { threads_per_block = 64 };" in (kernels / "three_way_add.cu").read_text()
    check = f"""
import torch, course_kernels as ck
ck.run_cpu_tensors_on_the_cpu_backend(True)
a, b, c = torch.arange(3 * 1000, device="{device}").float().view(3, 1000)
launch = ck.library("{device}").rung("three_way_add", torch.float32, 3)
out = torch.empty_like(a)
assert launch(out.data_ptr(), a.data_ptr(), b.data_ptr(), c.data_ptr(), 1, 1000, None) == 0
assert torch.equal(out, a + b + c)
"""
    subprocess.run([sys.executable, "-c", check], env={**os.environ, "COURSE_KERNELS": str(made)}, cwd=FOLDER, check=True)


def test_triton_gives_the_kernels_results(tmp_path):
    pytest.importorskip("triton")
    out = tmp_path / "out.jsonl"
    common = ("--small", "--device", "cpu", "--type", "f16", "--seconds", 0.01, "--most", 1, "--out", out)
    # Triton reads the variable when it is imported, so this is a process of its own.
    command = [sys.executable, FOLDER / "experiments.py", "triton", *map(str, common)]
    subprocess.run(command, env={**os.environ, "TRITON_INTERPRET": "1"}, check=True, timeout=600)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len({line["op"] for line in lines if line["by"] == "triton" and line["ms"] > 0}) == 7


@pytest.mark.parametrize("rung", range(1, 7))
def test_a_kernel_of_a_ladder_takes_the_launchers_place(device, rung, monkeypatch):
    import torch

    import course_kernels as ck
    from experiments import on_rung

    x, weight, bias = torch.randn(5, 2560, device=device).half(), *torch.randn(2, 2560, device=device).half()
    kernel_of, launched = ck.library(device).rung, []

    def noted(op, dtype, number):
        launcher = kernel_of(op, dtype, number)
        return lambda *arguments: launched.append((op, number)) or launcher(*arguments)

    monkeypatch.setattr(ck.library(device), "rung", noted)
    ck.layer_norm(x, weight, bias)  # the launcher is ready, and the kernel still takes its place
    arguments = SimpleNamespace(type="f16", device=device)
    found = on_rung("layernorm_forward", rung, arguments, lambda: ck.layer_norm(x, weight, bias))()
    assert launched == [("layernorm_forward", rung)]
    ck.layer_norm(x, weight, bias)
    assert len(launched) == 1
    wanted = torch.nn.functional.layer_norm(x.cpu().double(), (2560,), weight.cpu().double(), bias.cpu().double())
    assert_close(found, wanted, torch.float16)


def test_two_implementations_that_differ_are_not_compared():
    import torch

    from experiments import same

    same("softmax", torch.ones(4), torch.ones(4))
    with pytest.raises(RuntimeError, match="softmax differs by 0.5"):
        same("softmax", torch.ones(4), torch.full((4,), 0.5))


# ---- a run against a stored one ----


def line(by, ms, spread=0.01, **others):
    around = {"p5": ms * (1 - spread), "p95": ms * (1 + spread)}
    return {"experiment": "prompts", "size": "small", "by": by, "ms": ms, **around, **others}


STORED = [line("sdpa", 10.0), line("ours", 8.0)]


@pytest.mark.parametrize(
    "new, worse",
    [
        ([line("sdpa", 10.0), line("ours", 8.1)], 0),  # within the noise of both
        ([line("sdpa", 10.0), line("ours", 9.0)], 1),
        ([line("sdpa", 20.0), line("ours", 16.1)], 0),  # a machine of half the speed
        ([line("sdpa", 5.0), line("ours", 8.0)], 1),
        ([line("sdpa", 10.0), line("ours", 9.0, spread=0.2)], 0),  # the samples do not say
        ([line("ours", 9.0)], 1),  # without a peer: the times themselves
        ([line("sdpa", 10.0), line("ours", float("nan"))], 1),
        ([line("sdpa", 10.0), {"experiment": "prompts", "size": "small", "by": "ours", "error": "no memory"}], 1),
        ([line("sdpa", 10.0), line("ours", 4.0)], 0),
    ],
)
def test_what_counts_as_slower(new, worse):
    from measuring import judge

    found, compared = judge(new, STORED)
    assert len(found) == worse and all("ours" in text for text in found)
    assert len(compared) == (0 if "error" in new[-1] else 1)


def test_a_variant_is_judged_beside_its_like():
    from measuring import judge

    stored = [line("eager", 10.0), line("eager-graph", 2.0), line("ours", 8.0), line("ours-graph", 1.0)]
    stored += [line("f16 sdpa", 5.0), line("f16 ours", 4.0)]
    slow_python = [line("eager", 40.0), line("eager-graph", 2.0), line("ours", 32.0), line("ours-graph", 1.5)]
    worse, compared = judge(slow_python + [line("f16 sdpa", 10.0), line("f16 ours", 8.0)], stored)
    assert [text.split(":")[0] for text in worse] == ["prompts small ours-graph"] and len(compared) == 3


def test_runs_differ_by_more_than_their_samples():
    from measuring import BETWEEN_RUNS, judge

    for factor, worse in ((BETWEEN_RUNS * 0.99, 0), (BETWEEN_RUNS * 1.01, 1)):
        assert len(judge([line("ours", 8.0 * factor, spread=0)], [line("ours", 8.0, spread=0)])[0]) == worse


def test_against_stored_results(run, device, tmp_path):
    stored = tmp_path / "stored.jsonl"
    common = ("decode", "--cell", "tiny:1:16:f32", "--device", device, "--seconds", 0.1, "--most", 5)
    common += ("--variants", "sdpa", "ours")
    run("benchmark.py", *common, "--out", stored)
    lines = [json.loads(text) for text in stored.read_text().splitlines()]
    for factor, status, text in ((1e6, 0, "1 compared"), (1e-6, 1, "slower than")):
        slower = lambda one: {name: one[name] * factor for name in ("ms", "p5", "p95")} if one["by"] == "ours" else {}
        changed = [{**one, **slower(one)} for one in lines]
        stored.write_text("".join(json.dumps(one) + "\n" for one in changed))
        assert text in run("benchmark.py", *common, "--against", stored, status=status)
    stored.write_text("")
    assert "nothing was compared" in run("benchmark.py", *common, "--against", stored, status=2)
    stored.write_text("{}\n{")
    assert "line 2" in run("benchmark.py", *common, "--against", stored, status=2)


# ---- a profile's sums ----


def event(cat, name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": tid, "args": args}


GPU_TRACE = {
    "traceEvents": [
        event("user_annotation", "layer: block 0", 0, 100),
        event("user_annotation", "row: QKV", 10, 20),
        event("cpu_op", "aten::addmm", 12, 15),
        event("cuda_runtime", "cudaLaunchKernel", 14, 5, correlation=1),
        event("cpu_op", "aten::addmm", 30, 9, **{"Input Dims": [[64], [5, 256], [256, 64], [], []]}),
        event("cuda_runtime", "cudaLaunchKernel", 31, 5, correlation=5),
        event("user_annotation", "course::bias_gelu_forward", 40, 10),
        event("cuda_runtime", "cudaLaunchKernel", 42, 5, correlation=2),  # by ctypes: no op around it
        event("cuda_runtime", "cudaLaunchKernel", 60, 5, correlation=3),
        event("user_annotation", "row: scores", 55, 30, tid=2),  # another thread's
        event("kernel", "gemm", 1000, 7000, tid=7, correlation=1),
        event("kernel", "bias_gelu_kernel4", 9000, 2000, tid=7, correlation=2),
        event("kernel", "gemm", 8500, 200, tid=7, correlation=5),
        event("kernel", "add", 12000, 1000, tid=7, correlation=3),
        event("gpu_memset", "Memset", 14000, 500, tid=7, correlation=4),  # its launch is not in the trace
        {"ph": "i", "name": "a mark", "ts": 0},
    ]
}


def test_every_kernel_of_a_trace_has_a_row():
    from profile_model import launches_of, sums_of

    spent = sums_of(GPU_TRACE, "cuda", 2)
    rows = {"QKV": 3.5, "MLP projection": 0.1, "bias + activation": 1.0, "residuals": 0.5, "launch not in the trace": 0.25}
    assert spent["row"] == rows
    assert spent["layer"] == {"block 0": 5.1, "other": 0.25}
    assert spent["kernel"] == {"gemm": 3.6, "bias_gelu_kernel4": 1.0, "add": 0.5, "Memset": 0.25}
    assert launches_of(GPU_TRACE, 2) == {"kernels": 2.5, "launch_us": 5}


def test_ops_of_the_cpu_count_once():
    from profile_model import sums_of

    trace = {
        "traceEvents": [
            event("user_annotation", "row: scores", 0, 100),
            event("cpu_op", "aten::matmul", 0, 50),
            event("cpu_op", "aten::bmm", 10, 30),
            event("user_annotation", "course::softmax_forward", 60, 20),
            event("cpu_op", "aten::mm", 100, 10),
        ]
    }
    spent = sums_of(trace, "cpu", 1)
    kernels = {"aten::matmul": 0.02, "aten::bmm": 0.03, "course::softmax_forward": 0.02, "aten::mm": 0.01}
    assert spent["kernel"] == pytest.approx(kernels)
    assert spent["row"] == pytest.approx({"scores": 0.05, "course::softmax_forward": 0.02, "other": 0.01})


def test_average_of_allocated_bytes():
    from measuring import average_bytes

    entry = lambda action, size, time_us: {"action": action, "size": size, "time_us": time_us}
    history = [entry("alloc", 100, 0), entry("segment_alloc", 999, 5), entry("alloc", 300, 10)]
    history += [entry("free_completed", 100, 30), entry("free_completed", 300, 40)]
    assert average_bytes(history) == (100 * 10 + 400 * 20 + 300 * 10) / 40
    assert average_bytes([]) is None
