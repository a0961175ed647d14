"""gpt2_from_scratch.py: the numbers of Hugging Face's model, and a profile in its rows."""

import json

import pytest
import torch

import gpt2_from_scratch
from test_integration import LAYERS, model_on, tokens


def test_its_logits_are_those_of_hugging_face(device):
    """Biases and LayerNorm weights are random here, so a parameter that went to another place shows."""
    theirs, ids = model_on(device), tokens(device)
    own = gpt2_from_scratch.from_hugging_face(theirs)
    assert gpt2_from_scratch.largest_difference(own, theirs, ids) <= 1e-5
    assert len(own.h) == LAYERS and sum(one.numel() for one in own.parameters()) == sum(one.numel() for one in theirs.parameters())


def test_another_output_layer_is_refused():
    theirs = model_on("cpu", tie_word_embeddings=False)
    with torch.no_grad():
        theirs.lm_head.weight.add_(1)
    with pytest.raises(ValueError, match="weights of its own"):
        gpt2_from_scratch.from_hugging_face(theirs)


def test_its_profile_has_every_row(run, device, tmp_path):
    out = tmp_path / "out.jsonl"
    shape = ("--size", "tiny", "--batch", 1, "--tokens", 16, "--type", "f32", "--times", 2, "--device", device)
    assert "transformers" in run("gpt2_from_scratch.py", *shape, "--out", out, "--trace", tmp_path / "trace.json")
    line = json.loads(out.read_text())
    rows = """token embedding, position embedding, embedding add, LayerNorm 1, QKV, reshapes, scores, mask, softmax, values, projection,
        residual 1, LayerNorm 2, MLP expansion, activation, MLP projection, residual 2, last LayerNorm, output layer"""
    assert set(line["row"]) - {"other"} == {" ".join(row.split()) for row in rows.split(",")}
    assert line["difference"] <= 1e-4 and all(ms > 0 for ms in line["wall_ms"].values())
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
