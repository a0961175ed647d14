"""streaming.py: a cache of sinks and a window is attention over just these tokens, with the kernels as without them."""

import json

import pytest
import torch

import course_kernels as ck
import streaming
from test_integration import model_on, neox_on, tokens


def kept_of(ids, sinks, window):
    """The tokens that the cache holds when the last of ids is the newest."""
    return ids if ids.shape[1] <= sinks + window else torch.cat([ids[:, :sinks], ids[:, -window:]], 1)


@pytest.mark.parametrize("by", ["pytorch", "ours"])
@pytest.mark.parametrize("sinks", [0, 3])
@torch.no_grad()
def test_neox_counts_positions_within_the_cache(by, sinks, device):
    """With one layer, keys and values depend on their own token only, so a pass over the kept tokens gives the same logits."""
    model, ids, window = neox_on(device, num_hidden_layers=1), tokens(device, 2, 30), 9
    stream = streaming.Stream(model, sinks, window)
    with streaming.patched(model, by):
        stream(ids[:, :5])  # not yet full
        found = [stream(ids[:, at : at + 1]) for at in range(5, 30)]
    for at, logits in zip(range(6, 31), found):
        assert torch.allclose(logits, model(kept_of(ids[:, :at], sinks, window)).logits[:, -1], atol=1e-4), at
    assert ("three_way_add" in ck.stats()["kernels"]) == (by == "ours")


@pytest.mark.parametrize("by", ["pytorch", "ours"])
@torch.no_grad()
def test_gpt2_keeps_the_positions_of_its_keys(by, device):
    model, ids, sinks, window = model_on(device, n_layer=1), tokens(device, 2, 30), 3, 9
    positions = torch.arange(30, device=device).clamp(max=sinks + window - 1)[None]
    stream = streaming.Stream(model, sinks, window)
    with streaming.patched(model, by):
        stream(ids[:, : sinks + window])
        found = [stream(ids[:, at : at + 1]) for at in range(sinks + window, 30)]
    for at, logits in zip(range(sinks + window + 1, 31), found):
        kept = kept_of(ids[:, :at], sinks, window)
        call = {"attention_mask": torch.ones_like(kept), "position_ids": kept_of(positions[:, :at], sinks, window)}
        assert torch.allclose(logits, model(kept, **call).logits[:, -1], atol=1e-4), at


@torch.no_grad()
def test_losses_before_and_after_the_cache_is_full(device):
    """A window as long as the text forgets nothing; a text read again in windows agrees with itself."""
    model, ids = model_on(device), tokens(device, 1, 20)
    logits = model(ids).logits[0, 15:19]
    wanted = torch.nn.functional.cross_entropy(logits, ids[0, 16:]).item()
    stream = streaming.Stream(model, 2, 18)
    stream(ids[:, :15])
    found = torch.cat([stream(ids[:, at : at + 1]) for at in range(15, 19)])
    assert torch.nn.functional.cross_entropy(found, ids[0, 16:]).item() == pytest.approx(wanted, rel=1e-5)
    one = torch.nn.functional.cross_entropy(model(ids[:, :19]).logits[:, -1], ids[:, 19]).item()
    assert streaming.recomputed_loss(model, ids, 19) == pytest.approx(one, rel=1e-5)


def test_the_program(run, device, tmp_path):
    out = tmp_path / "out.jsonl"
    shape = ("--size", "tiny", "--sinks", 2, "--window", 14, "--tokens", 6, "--device", device)
    assert "three_way_add" in run("streaming.py", *shape, "--out", out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["by"] for line in lines if line["experiment"] == "streaming_time"] == ["pytorch", "ours"]
    perplexities = {(line["by"], line["cache"]): line["perplexity"] for line in lines if "perplexity" in line}
    assert len(perplexities) == 5
    for cache in ("0 sinks + window", "2 sinks + window"):
        assert perplexities["ours", cache] == pytest.approx(perplexities["pytorch", cache], rel=1e-4)
    assert "at least 1" in run("streaming.py", "--window", 0, status=2)
