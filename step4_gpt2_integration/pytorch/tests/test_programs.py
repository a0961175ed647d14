"""demo.py, benchmark.py and profile_model.py run, write what they say, and do not pass off PyTorch's figures as the kernels'."""

import json


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


def test_profile(run, device, tmp_path):
    common = ("--size", "tiny", "--batch", 1, "--tokens", 32, "--type", "f32", "--times", 2, "--device", device)
    for variant, row in (("eager", "softmax"), ("ours", "residuals + LayerNorms")):
        trace, out = tmp_path / f"{variant}.json", tmp_path / "out.jsonl"
        run("profile_model.py", "--variant", variant, "--trace", trace, "--out", out, *common)
        line = json.loads(out.read_text().splitlines()[-1])
        assert line["variant"] == variant and line["row"][row] > 0 and line["layer"]["block 1"] > 0
        assert json.loads(trace.read_text())["traceEvents"]
