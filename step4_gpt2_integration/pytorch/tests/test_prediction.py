"""should_optimize: its constants are those of the stored measurements, and it agrees with them."""

import json
from dataclasses import asdict, replace

import pytest
from transformers import GPT2Config, GPTNeoXConfig, LlamaConfig

import course_kernels as ck
import fit_prediction
from course_kernels import prediction
from fit_prediction import SIZES, fit, judged, left_out, least_squares, read_cells

PROMPTS, DECODE, NEOX = (read_cells(name) for name in ("prompts", "decode", "lone-add"))


def right(found):
    return sum(guess == fact for guess, fact in found.values())


def test_the_constants_are_those_of_the_stored_measurements():
    stored = json.loads((fit_prediction.FOLDER / "course_kernels/h200.json").read_text())
    assert asdict(fit(PROMPTS, NEOX)) == stored, "run fit_prediction.py --write"


def test_it_predicts_most_stored_cells_rightly():
    machine = fit(PROMPTS, NEOX)
    assert right(judged(PROMPTS, machine)) >= 18 and right(left_out(PROMPTS, NEOX)) >= 18
    assert right(judged(DECODE, machine)) >= len(DECODE) / 2


def test_a_cell_that_is_measured_otherwise_is_a_wrong_prediction():
    exchanged = {key: {**of, "ours": of["sdpa"], "sdpa": of["ours"]} for key, of in PROMPTS.items()}
    assert right(judged(exchanged, prediction.H200)) == 24 - right(judged(PROMPTS, prediction.H200))


@pytest.mark.parametrize("size", SIZES)
def test_hugging_faces_config_will_do(size):
    layers, channels = SIZES[size]
    config = GPT2Config(n_layer=layers, n_embd=channels)
    for (name, batch, tokens, kind), _ in PROMPTS.items():
        if name == size:
            ours = fit_prediction.config_of(size)
            element = fit_prediction.BYTES[kind]
            assert ck.should_optimize(config, batch, tokens, element) == ck.should_optimize(ours, batch, tokens, element)


def test_python_or_the_gpu_takes_the_longer_time():
    pythia = GPTNeoXConfig(hidden_size=2560, num_hidden_layers=32, num_attention_heads=32, intermediate_size=10240)
    slow_python = replace(prediction.H200, python_a_layer={"gpt_neox": [5e-4, 6e-4]})
    assert not ck.should_optimize(pythia, batch=1, tokens=1, machine=slow_python)
    assert ck.should_optimize(pythia, batch=32, tokens=1024, machine=slow_python)
    assert ck.should_optimize(pythia, batch=1, tokens=1, machine=replace(slow_python, python_a_layer={"gpt_neox": [0, 0]}))
    assert prediction.pass_seconds(pythia, 1, 1, 2, True, slow_python) == pytest.approx(32 * 6e-4)


def test_the_adds_of_neox_are_counted():
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 256}
    # Parallel: 6 tensors or 4; serial: an add and a LayerNorm, 5 or 4. LayerNorms: 4 more each where PyTorch's count twice.
    for parallel, fewer in ((True, 2 + 4), (False, 1 + 4)):
        config = GPTNeoXConfig(use_parallel_residual=parallel, **sizes)
        moved = [prediction.work_of(config, 1, 10, 2, patched)[1] for patched in (False, True)]
        assert moved[0] - moved[1] == fewer * 2 * 10 * 64 * 2


def test_another_model_is_refused():
    with pytest.raises(ValueError, match="gpt2 and gpt_neox, not llama"):
        ck.should_optimize(LlamaConfig(), 1, 1)


def test_least_squares():
    assert least_squares([[1.0, 1.0], [1.0, 2.0], [2.0, 3.0]]) == pytest.approx([2 / 3, 0])
    assert least_squares([[2.0, 0.0], [0.0, 4.0]]) == pytest.approx([0.5, 0.25])
