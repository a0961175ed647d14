"""Hugging Face's GPT-2 and GPT-NeoX on the course's kernels: the same numbers, and nothing around the model changes."""

import contextlib
import copy
import datetime
import filecmp
import gc
import pickle
import socket
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.checkpoint import checkpoint
from transformers import (
    AutoTokenizer,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
    GPT2Model,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
)
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.pytorch_utils import Conv1D

import course_kernels as ck
from course_kernels import gpt_neox_model
from course_kernels.gpt2_model import (
    FusedAttentionLayerNorm,
    OptimizedGPT2Block,
    OptimizedGPT2MLP,
    disable,
    enable,
    enabled,
    is_enabled,
)

TINY = Path(__file__).resolve().parents[1] / "gpt2" / "tiny"
LAYERS, VOCABULARY, POSITIONS = 3, 101, 64
ATTENTIONS = ["course", "course_softmax"]


def config(**changes):
    no_dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    sizes = {"n_embd": 64, "n_layer": LAYERS, "n_head": 4, "vocab_size": VOCABULARY, "n_positions": POSITIONS}
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    return GPT2Config(**{**no_dropout, **sizes, **ends, **changes})


def model_on(device, dtype=torch.float32, kind=GPT2LMHeadModel, **changes):
    torch.manual_seed(14)
    model = kind(config(**changes)).to(device, dtype).eval()
    with torch.no_grad():  # biases and LayerNorms that are not 0 and 1, so that a forgotten one shows
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def tokens(device, batch=2, length=17):
    return torch.randint(1, VOCABULARY, (batch, length), device=device)


def standard_reasons():
    return {reason for reasons in ck.stats()["standard"].values() for reason in reasons}


# ---- inference ----


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("padding", [None, "right"])
def test_hidden_states_are_as_near_to_float64(attention, padding, device, dtype):
    """At every layer, the patched model's error against float64 is at most about that of the unpatched one."""
    model, ids = model_on(device, dtype), tokens(device)
    mask = None
    if padding:
        mask = torch.ones_like(ids)
        mask[1, -6:] = 0
    call = {"input_ids": ids, "attention_mask": mask, "output_hidden_states": True, "use_cache": False}
    with torch.no_grad():
        precise = copy.deepcopy(model).cpu().double()(**{k: v.cpu() if hasattr(v, "cpu") else v for k, v in call.items()})
        plain = model(**call)
        ck.reset_stats()
        with enabled(model, attention=attention):
            found = model(**call)
    counted = ck.stats()
    assert counted["standard"] == {}
    attended = "course_attention_forward" if attention == "course" else "causal_softmax_forward"
    assert counted["kernels"] == {
        "layernorm_forward": 1,
        "residual_layernorm_forward": 2 * LAYERS,
        "bias_gelu_forward": LAYERS,
        attended: LAYERS,
    }
    states = zip(*((*out.hidden_states, out.logits) for out in (found, plain, precise)))
    rows = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.bool()
    for layer, (one, other, exact) in enumerate(states):
        exact = exact.to(device)[rows]
        mine, theirs = (one.double()[rows] - exact).abs().max().item(), (other.double()[rows] - exact).abs().max().item()
        assert mine <= 1.5 * theirs + 1e-6 * exact.abs().max().item(), f"layer {layer}: {mine:.3g}, unpatched {theirs:.3g}"


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("cache", [None, "static"])
def test_generate_gives_the_same_tokens(attention, cache, device):
    model, ids = model_on(device), tokens(device, 1, 6)
    options = {"max_new_tokens": 20, "do_sample": False, "cache_implementation": cache, "disable_compile": True}
    wanted = model.generate(ids, **options)
    ck.reset_stats()
    with enabled(model, attention=attention):
        found = model.generate(ids, **options)
    assert torch.equal(found, wanted) and ck.stats()["kernels"]["residual_layernorm_forward"] == 2 * LAYERS * 20


def test_generate_a_batch_with_padding_on_the_left(device):
    model, ids = model_on(device), tokens(device, 3, 8)
    mask = torch.ones_like(ids)
    mask[1, :3] = mask[2, :5] = 0
    options = {"attention_mask": mask, "max_new_tokens": 12, "do_sample": False}
    wanted = model.generate(ids, **options)
    with enabled(model), pytest.warns(UserWarning, match="a mask other than causal"):
        assert torch.equal(model.generate(ids, **options), wanted)
    assert ck.stats()["kernels"]["bias_gelu_forward"] > 0


def test_a_cache_that_is_continued_with_several_tokens(device):
    model, ids = model_on(device), tokens(device, 2, 12)
    with torch.no_grad(), enabled(model):
        whole = model(ids).logits
        cache = model(ids[:, :7]).past_key_values
        assert torch.allclose(model(ids[:, 7:], past_key_values=cache).logits, whole[:, 7:], atol=1e-5)
    assert "new tokens on a cache" in standard_reasons()


def test_a_prompt_with_a_cache_copies_nothing_for_attention(device, monkeypatch):
    """The kernel reads the projection's output, though the cache gives copies of its keys and values; and the cache is right."""
    model, ids = model_on(device), tokens(device, 2, 9)
    with torch.no_grad():
        wanted = model(ids, use_cache=True)
        monkeypatch.setattr(torch, "stack", lambda *arguments, **named: pytest.fail("q, k and v were copied"))
        found = enable(model)(ids, use_cache=True)
    assert torch.allclose(found.logits, wanted.logits, atol=1e-5)
    for one, other in zip(found.past_key_values.layers, wanted.past_key_values.layers):
        assert torch.allclose(one.keys, other.keys, atol=1e-5) and torch.allclose(one.values, other.values, atol=1e-5)


def test_packed_sequences_take_the_standard_path(device):
    model, ids = model_on(device), tokens(device, 1, 10)
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4, 5]], device=device)
    call = {"position_ids": positions, "use_cache": False}
    with torch.no_grad():
        wanted = model(ids, **call).logits
        with enabled(model), pytest.warns(UserWarning, match="a mask other than causal"):
            assert torch.allclose(model(ids, **call).logits, wanted, atol=1e-5)


def test_the_softmax_attention_returns_its_weights(device):
    model, ids = model_on(device), tokens(device)
    with torch.no_grad():
        eager = copy.deepcopy(model)
        eager.set_attn_implementation("eager")
        wanted = eager(ids, output_attentions=True).attentions
        with enabled(model, attention="course_softmax"):
            found = model(ids, output_attentions=True).attentions
    assert len(found) == LAYERS
    for one, other in zip(found, wanted):
        assert torch.allclose(one, other, atol=1e-6)


@pytest.mark.skipif(not (TINY / "model.safetensors").exists(), reason="the tiny model is not here")
def test_the_tiny_model_writes_the_same_and_its_perplexity_stays(device):
    model = GPT2LMHeadModel.from_pretrained(TINY, dtype=torch.float32).to(device).eval()
    tokenizer = AutoTokenizer.from_pretrained(TINY)
    ids = tokenizer("In the beginning", return_tensors="pt").input_ids.to(device)
    options = {"max_new_tokens": 40, "do_sample": False, "pad_token_id": 0}
    with torch.no_grad():
        wanted = model.generate(ids, **options)
        loss = model(wanted, labels=wanted).loss
        with enabled(model):
            assert torch.equal(model.generate(ids, **options), wanted)
            assert model(wanted, labels=wanted).loss.item() == pytest.approx(loss.item(), rel=1e-5)


# ---- inference without a call of the modules inside a block (gpt2_inference.py) ----


@pytest.fixture
def calls(monkeypatch):
    """The name of each module class whose forward() runs inside a block, while the test runs."""
    seen = []
    for kind in (GPT2Attention, OptimizedGPT2MLP, Conv1D, torch.nn.Dropout):

        def forward(module, *arguments, original=kind.forward, **named):
            seen.append(type(module).__name__)
            return original(module, *arguments, **named)

        monkeypatch.setattr(kind, "forward", forward)
    return seen


def padded(ids):
    mask = torch.ones_like(ids)
    mask[1, -6:] = 0
    return mask


@pytest.mark.parametrize("padding", [None, "right"])
def test_inference_without_modules_is_as_near_to_float64(padding, device, dtype, calls):
    model, ids = model_on(device, dtype), tokens(device)
    mask = padded(ids) if padding else None
    rows = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.bool()
    with torch.no_grad():
        exact = copy.deepcopy(model).cpu().double()(ids.cpu(), attention_mask=mask if mask is None else mask.cpu()).logits
        plain = model(ids, attention_mask=mask).logits
        enable(model)
        calls.clear()
        for use_cache in (False, True):
            found = model(ids, attention_mask=mask, use_cache=use_cache).logits
            mine, theirs = ((logits.cpu().double() - exact)[rows.cpu()].abs().max().item() for logits in (found, plain))
            assert mine <= 1.5 * theirs + 1e-6 * exact.abs().max().item()
    assert calls == ["Dropout"] * 2  # of the embeddings
    counted = {"layernorm_forward": 1, "residual_layernorm_forward": 2 * LAYERS, "bias_gelu_forward": LAYERS}
    counted["course_attention_forward"] = LAYERS
    assert ck.stats() == {"kernels": {op: 2 * launches for op, launches in counted.items()}, "standard": {}}


@pytest.mark.parametrize("cache", [None, "static"])
def test_generate_calls_no_module_inside_a_block(cache, device, calls):
    model, ids = enable(model_on(device)), tokens(device, 2, 6)
    options = {"max_new_tokens": 5, "do_sample": False, "cache_implementation": cache, "disable_compile": True}
    model.generate(ids, **options)
    assert set(calls) == {"Dropout"} and len(calls) == 5


@pytest.mark.parametrize(
    "name",
    "ln_1 attn attn.c_attn attn.c_proj attn.resid_dropout mlp mlp.c_fc mlp.act mlp.c_proj mlp.dropout".split(),
)
@pytest.mark.parametrize("kind", ["hook", "pre-hook", "forward", "global"])
@pytest.mark.filterwarnings("ignore:course_kernels")  # the standard path's
def test_what_is_hung_on_a_module_inside_a_block_runs(name, kind, device):
    model, ids, ran = enable(model_on(device)), tokens(device), []
    module = model.transformer.h[1].get_submodule(name)
    if kind == "hook":
        module.register_forward_hook(lambda *arguments: ran.append(1))
    elif kind == "pre-hook":
        module.register_forward_pre_hook(lambda *arguments: ran.append(1))
    elif kind == "forward":
        module.forward = lambda *arguments, **named: ran.append(1) or type(module).forward(module, *arguments, **named)
    seen = contextlib.nullcontext()
    if kind == "global":
        seen = torch.nn.modules.module.register_module_forward_hook(lambda one, *_: ran.append(1) if one is module else None)
    with torch.no_grad():
        with seen:
            found = model(ids).logits
        assert ran == [1]
        assert torch.allclose(found, disable(model)(ids).logits, atol=1e-5)


def test_dropout_without_gradients_is_applied(device):
    model, ids = enable(model_on(device, resid_pdrop=0.5)), tokens(device)
    with torch.no_grad():
        wanted = model(ids).logits
        model.transformer.h[1].mlp.dropout.train()
        assert not torch.allclose(model(ids).logits, wanted, atol=1e-3)


def test_a_replaced_module_is_called(device, calls):
    class Adapted(Conv1D):
        def forward(self, x):
            return super().forward(x) + 1.0

    model, ids = model_on(device), tokens(device)
    for block in model.transformer.h:
        block.attn.c_attn.__class__ = Adapted
    with torch.no_grad():
        wanted = model(ids).logits
        assert torch.allclose(enable(model)(ids).logits, wanted, atol=1e-5)


@pytest.mark.parametrize("name", ["attn.c_attn", "attn.c_proj", "mlp.c_proj"])
def test_a_product_of_another_size_is_refused(name, device):
    """No kernel reads past the end of a product's result."""
    model, ids = enable(model_on(device)), tokens(device)
    block = model.transformer.h[1]
    rows, columns = block.get_submodule(name).weight.shape
    block.set_submodule(name, Conv1D(columns // 2, rows).to(device))
    with torch.no_grad(), pytest.raises((RuntimeError, ValueError)):
        model(ids)


def test_another_attention_is_chosen_while_patched(device):
    model, ids = model_on(device), tokens(device)
    with torch.no_grad():
        wanted = model(ids).logits
        enable(model).set_attn_implementation("eager")
        assert torch.allclose(model(ids).logits, wanted, atol=1e-5)
    assert "course_attention_forward" not in ck.stats()["kernels"]


def test_parameters_that_change_are_seen(device):
    """New values, another Parameter object, and another type, after a first pass."""
    model, ids = enable(model_on(device)), tokens(device)
    block = model.transformer.h[1]
    for change in (
        lambda: block.ln_2.weight.data.mul_(2),
        lambda: setattr(block.mlp.c_fc, "bias", torch.nn.Parameter(torch.ones_like(block.mlp.c_fc.bias))),
        lambda: setattr(block.ln_1.weight, "data", block.ln_1.weight.data * 3),
        lambda: setattr(block.ln_1.weight, "data", torch.stack([block.ln_1.weight.data] * 2, dim=1)[:, 0]),  # strided
        lambda: model.bfloat16(),
    ):
        with torch.no_grad():
            model(ids)
            change()
            found = model(ids).logits
            with_modules = disable(model)(ids).logits
            enable(model)
        assert torch.allclose(found, with_modules, atol=1e-5 if found.dtype == torch.float32 else 3e-2)


def test_results_of_blocks_are_not_overwritten(device):
    """What a hook keeps of a block stays what it was."""
    model, ids = model_on(device), tokens(device)
    kept, copies = [], []
    for block in model.transformer.h:
        block.register_forward_hook(lambda block, inputs, output: (kept.append(output), copies.append(output.clone())) and None)
    with torch.no_grad():
        enable(model)(ids)
    assert len(kept) == LAYERS and all(torch.equal(one, other) for one, other in zip(kept, copies))


# ---- training ----


def gradients(model, ids, mask=None):
    model.zero_grad()
    model(ids, attention_mask=mask, labels=ids, use_cache=False).loss.backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("attention", [*ATTENTIONS, None])
def test_gradients_are_as_near_to_float64(attention, device, dtype):
    model, ids = model_on(device, dtype).train(), tokens(device)
    precise = gradients(copy.deepcopy(model).cpu().double(), ids.cpu())
    plain = gradients(model, ids)
    ck.reset_stats()
    with enabled(model, attention=attention):
        found = gradients(model, ids)
    kernels = ck.stats()["kernels"]
    assert kernels["residual_layernorm_backward"] == 2 * LAYERS - 1 and kernels["bias_gelu_backward"] == LAYERS
    assert kernels["layernorm_backward"] == 2  # of the first block, and of the last LayerNorm, whose sum goes nowhere else
    for name, exact in precise.items():
        exact = exact.to(device)
        mine, theirs = ((gradient[name].double() - exact).norm() / exact.norm() for gradient in (found, plain))
        assert mine <= 1.5 * theirs + 1e-6, f"{name}: {mine:.3g}, unpatched {theirs:.3g}"


@pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", "saved"])
def test_gradient_checkpointing(reentrant, device):
    model, ids = model_on(device).train(), tokens(device)
    wanted = gradients(enable(model), ids)
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    found = gradients(model, ids)
    for name, gradient in wanted.items():
        assert torch.allclose(found[name], gradient, rtol=1e-4, atol=1e-6), name


@pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", "saved"])
def test_checkpointing_by_hand(reentrant, device):
    model = enable(model_on(device).train())
    hidden = torch.randn(2, 9, 64, device=device, requires_grad=True)

    def run(through):
        for parameter in model.parameters():
            parameter.grad = None
        state = hidden
        for block in model.transformer.h:
            state = through(block, state)
        model.transformer.ln_f(state).square().sum().backward()
        return [parameter.grad.clone() for parameter in model.transformer.h.parameters()] + [model.transformer.ln_f.bias.grad]

    wanted = run(lambda block, state: block(state))
    for one, other in zip(run(lambda block, state: checkpoint(block, state, use_reentrant=reentrant)), wanted):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5)


def test_dropout_in_training_takes_the_standard_path_and_is_counted(device):
    model, ids = enable(model_on(device, attn_pdrop=0.1, resid_pdrop=0.1)), tokens(device)
    with torch.no_grad():
        model(ids)
    assert standard_reasons() == set()
    with pytest.warns(UserWarning, match="dropout of attention weights"):
        model.train()(ids, labels=ids).loss.backward()
    assert ck.stats()["standard"]["attention"] == {"dropout of attention weights, in training": LAYERS}


@pytest.mark.parametrize("half", [torch.bfloat16])
def test_autocast(half, device):
    model, ids = model_on(device).train(), tokens(device)
    losses = []
    for patched in (False, True):
        (enable if patched else disable)(model)
        model.zero_grad()
        with torch.autocast(device, half):
            loss = model(ids, labels=ids).loss
        loss.backward()
        losses.append(loss.item())
        assert all(parameter.grad.dtype == torch.float32 for parameter in model.parameters())
    assert losses[1] == pytest.approx(losses[0], rel=2e-3)
    assert standard_reasons() == set() and ck.stats()["kernels"]["course_attention_backward"] == LAYERS


def test_training_steps_give_the_same_weights(device):
    """Five steps of AdamW, patched and not, with the patch switched off and on again in the middle of one."""
    results = []
    for patched in (False, True):
        model = model_on(device).train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for step in range(5):
            if patched:
                (disable if step == 2 else enable)(model)
            torch.manual_seed(step)
            ids = tokens(device)
            optimizer.zero_grad()
            model(ids, labels=ids).loss.backward()
            optimizer.step()
        results.append(model.state_dict())
    for name, weight in results[0].items():
        assert torch.allclose(results[1][name], weight, atol=2e-4), name


# ---- what must not change ----


def test_modules_and_parameters_stay_the_same_objects(device):
    model = model_on(device)
    modules = {name: id(module) for name, module in model.named_modules()}
    parameters = {name: id(parameter) for name, parameter in model.named_parameters()}
    keys = list(model.state_dict())
    classes = {name: type(module) for name, module in model.named_modules()}
    enable(model)
    assert is_enabled(model) and isinstance(model.transformer.h[0], OptimizedGPT2Block)
    assert {name: id(module) for name, module in model.named_modules()} == modules
    assert {name: id(parameter) for name, parameter in model.named_parameters()} == parameters
    assert list(model.state_dict()) == keys
    disable(model)
    assert {name: type(module) for name, module in model.named_modules()} == classes and not is_enabled(model)
    assert not any(key.startswith(("_course", "_ready", "_following")) for module in model.modules() for key in module.__dict__)


def test_save_pretrained_writes_the_same_files(tmp_path, device):
    model = model_on(device)
    model.save_pretrained(tmp_path / "plain")
    enable(model).save_pretrained(tmp_path / "patched")
    names = sorted(path.name for path in (tmp_path / "plain").iterdir())
    assert "model.safetensors" in names
    assert filecmp.cmpfiles(tmp_path / "plain", tmp_path / "patched", names, shallow=False) == (names, [], [])
    assert names == sorted(path.name for path in (tmp_path / "patched").iterdir())


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["copy", "pickle"])
def test_copies_are_patched_and_apart(duplicate, device):
    model, ids = enable(model_on(device)), tokens(device)
    twin = duplicate(model)
    with torch.no_grad():
        wanted = model(ids).logits
        twin.transformer.h[1].ln_1.weight.add_(1.0)
        assert torch.equal(model(ids).logits, wanted) and not torch.allclose(twin(ids).logits, wanted)
    disable(twin)
    assert is_enabled(model) and not is_enabled(twin)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_a_hook_on_a_block_is_respected(mode, device):
    """A LayerNorm that was computed ahead is not used once a hook has changed the hidden state, in place or not."""
    model, ids = model_on(device), tokens(device)

    def run():
        with mode():
            return model(ids).logits

    for hook in (lambda block, inputs, output: output * 2, lambda block, inputs, output: output.mul_(2)):
        handle = model.transformer.h[1].register_forward_hook(hook)
        wanted = run()
        with enabled(model):
            assert torch.allclose(run(), wanted, atol=1e-5)
        handle.remove()


def test_a_pass_that_stops_early_keeps_no_memory(device):
    model, ids = enable(model_on(device).train()), tokens(device)

    def stop(block, inputs):
        raise KeyboardInterrupt

    model.transformer.h[2].register_forward_pre_hook(stop)
    with pytest.raises(KeyboardInterrupt):
        model(ids)
    gc.collect()
    assert all(block.__dict__["_following"]._entry is None for block in model.transformer.h)


def test_a_hook_on_a_layer_norm_runs(device):
    model, ids, calls = model_on(device), tokens(device), []
    model.transformer.h[1].ln_2.register_forward_hook(lambda *arguments: calls.append(1))
    with torch.no_grad(), enabled(model), pytest.warns(UserWarning, match="with hooks"):
        model(ids)
    assert calls == [1] and ck.stats()["standard"]["block"] == {"a LayerNorm of another class, without bias, or with hooks": 1}


def test_a_batch_without_sequences(device):
    block, hidden = enable(model_on(device)).transformer.h[1], torch.randn(0, 5, 64, device=device)
    with torch.no_grad():
        assert block.mlp(hidden).shape == (0, 5, 64)


def test_another_activation_is_left_alone(device):
    model, ids = model_on(device, activation_function="gelu"), tokens(device)
    with torch.no_grad():
        wanted = model(ids).logits
        with enabled(model), pytest.warns(UserWarning, match="GELUActivation"):
            assert torch.allclose(model(ids).logits, wanted, atol=1e-5)


def test_cross_attention_is_left_alone(device):
    model, ids = model_on(device, kind=GPT2Model, add_cross_attention=True), tokens(device)
    encoded = torch.randn(2, 5, 64, device=device)
    with torch.no_grad():
        wanted = model(ids, encoder_hidden_states=encoded).last_hidden_state
        with enabled(model), pytest.warns(UserWarning, match="cross-attention"):
            assert torch.allclose(model(ids, encoder_hidden_states=encoded).last_hidden_state, wanted, atol=1e-5)


def test_scale_by_layer_is_kept(device):
    model, ids = model_on(device, scale_attn_by_inverse_layer_idx=True), tokens(device)
    with torch.no_grad():
        wanted = model(ids).logits
        with enabled(model, attention="course_softmax"):
            assert torch.allclose(model(ids).logits, wanted, atol=1e-5)
        with enabled(model), pytest.warns(UserWarning, match="a scale other than"):
            assert torch.allclose(model(ids).logits, wanted, atol=1e-5)


def test_other_heads_of_the_model(device):
    model = model_on(device, kind=GPT2ForSequenceClassification, num_labels=3)
    ids = tokens(device)
    with torch.no_grad():
        wanted = model(ids).logits
        with enabled(model):
            assert torch.allclose(model(ids).logits, wanted, atol=1e-5)
    assert ck.stats()["kernels"]["residual_layernorm_forward"] == 2 * LAYERS


def test_fused_attention_layer_norm_is_the_first_half_of_a_block(device):
    model, hidden = model_on(device), torch.randn(2, 9, 64, device=device)
    block = model.transformer.h[1]
    half = FusedAttentionLayerNorm.of(block)
    assert {id(parameter) for parameter in half.parameters()} <= {id(parameter) for parameter in block.parameters()}
    with torch.no_grad():
        normed, total = half(hidden)
        wanted = block.attn(block.ln_1(hidden))[0] + hidden
    assert torch.allclose(total, wanted, atol=1e-5) and torch.allclose(normed, block.ln_2(wanted), atol=1e-5)


def test_a_model_that_is_no_gpt2():
    with pytest.raises(TypeError, match="holds no GPT2Model"):
        enable(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="must be"):
        enable(model_on("cpu"), attention="flash")


def test_compiled_without_a_graph_break(device):
    model, ids = enable(model_on(device)), tokens(device)
    with torch.no_grad():
        wanted = model(ids, use_cache=False).logits
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        ck.reset_stats()
        assert torch.allclose(compiled(ids, use_cache=False).logits, wanted, atol=1e-5)
    assert ck.stats()["kernels"]["residual_layernorm_forward"] >= LAYERS


def test_compiled_training_step(device):
    model, ids = enable(model_on(device).train(), attention="course_softmax"), tokens(device)

    def gradients_of(function):
        model.zero_grad()
        logits = function(ids, use_cache=False).logits
        torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()
        return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}

    wanted = gradients_of(model)
    found = gradients_of(torch.compile(model, fullgraph=True, backend="aot_eager"))
    for name, gradient in wanted.items():
        assert torch.allclose(found[name], gradient, rtol=1e-3, atol=1e-6), name


# ---- GPT-NeoX ----


def neox_on(device, dtype=torch.float32, **changes):
    torch.manual_seed(14)
    sizes = {"hidden_size": 80, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 160}
    model = GPTNeoXForCausalLM(GPTNeoXConfig(**{**sizes, "vocab_size": VOCABULARY, "max_position_embeddings": 64, **changes}))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model.to(device, dtype).eval()


def states_of(model, ids):
    with torch.no_grad():
        return model(ids, output_hidden_states=True, use_cache=False).hidden_states


@pytest.mark.parametrize("parallel", [True, False], ids=["parallel", "serial"])
def test_neox_adds_are_equal_bit_for_bit(parallel, device, dtype):
    model, ids = neox_on(device, dtype, use_parallel_residual=parallel), tokens(device)
    wanted = states_of(model, ids)
    with gpt_neox_model.enabled(model, norms=False):
        found = states_of(model, ids)
    assert len(found) == LAYERS + 1 and all(torch.equal(one, other) for one, other in zip(found, wanted))
    assert ck.stats()["kernels"] == ({"three_way_add": LAYERS} if parallel else {})


@pytest.mark.parametrize("parallel", [True, False], ids=["parallel", "serial"])
def test_neox_norms_stay_within_their_rounding(parallel, device, dtype):
    model, ids = neox_on(device, dtype, use_parallel_residual=parallel), tokens(device)
    precise = states_of(copy.deepcopy(model).cpu().double(), ids.cpu())
    plain = states_of(model, ids)
    ck.reset_stats()
    with gpt_neox_model.enabled(model):
        found = states_of(model, ids)
    for layer, (one, other, exact) in enumerate(zip(found, plain, precise)):
        mine, theirs = ((state.cpu().double() - exact).abs().max().item() for state in (one, other))
        assert mine <= 1.5 * theirs + 1e-6 * exact.abs().max().item(), f"layer {layer}: {mine:.3g}, unpatched {theirs:.3g}"
    if parallel:
        kernels = {"layernorm_forward": 2 * LAYERS + 1, "three_way_add": LAYERS}
    else:
        kernels = {"layernorm_forward": LAYERS + 1, "residual_layernorm_forward": LAYERS}
    assert ck.stats() == {"kernels": kernels, "standard": {}}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_neox_at_the_shape_of_pythia_2_8b():
    """32 layers of 2560 channels in fp16, random weights: with the adds replaced, every hidden state and token is the same."""
    layers = 32
    sizes = {"hidden_size": 2560, "num_hidden_layers": layers, "num_attention_heads": 32, "intermediate_size": 10240}
    with torch.device("cuda"):
        model = neox_on("cuda", torch.float16, **sizes)
    ids = tokens("cuda", 2, 40)
    wanted = states_of(model, ids)
    options = {"max_new_tokens": 10, "do_sample": False, "pad_token_id": 0}
    text = model.generate(ids, **options)
    ck.reset_stats()
    with gpt_neox_model.enabled(model, norms=False):
        found = states_of(model, ids)
        assert ck.stats() == {"kernels": {"three_way_add": layers}, "standard": {}}  # each is the two adds of a layer
        assert torch.equal(model.generate(ids, **options), text)
    assert len(found) == layers + 1 and all(torch.equal(one, other) for one, other in zip(found, wanted))
    with gpt_neox_model.enabled(model):
        assert torch.equal(model.generate(ids, **options), text)


def test_neox_writes_the_same_tokens_and_trains(device):
    model, ids = neox_on(device), tokens(device, 1, 5)
    options = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    wanted, gradient = model.generate(ids, **options), gradients(model, ids)
    with gpt_neox_model.enabled(model):
        assert torch.equal(model.generate(ids, **options), wanted)
        found = gradients(model, ids)
    for name, exact in gradient.items():
        assert torch.allclose(found[name], exact, rtol=1e-3, atol=1e-6), name


@pytest.mark.parametrize("register", ["register_forward_hook", "register_full_backward_hook"])
def test_a_hook_on_a_neox_layer_norm_runs(register, device):
    model, ids, calls = neox_on(device, use_parallel_residual=False).train(), tokens(device), []
    getattr(model.gpt_neox.layers[1].post_attention_layernorm, register)(lambda *arguments: calls.append(1))
    with gpt_neox_model.enabled(model), pytest.warns(UserWarning, match="a LayerNorm with hooks"):
        model(ids, labels=ids).loss.backward()
    assert calls == [1] and ck.stats()["kernels"]["residual_layernorm_forward"] == LAYERS - 1


def test_neox_parameters_stay_the_same_objects(device):
    model = neox_on(device)
    before = {name: (id(module), type(module)) for name, module in model.named_modules()}
    parameters = {name: id(parameter) for name, parameter in model.named_parameters()}
    gpt_neox_model.enable(model)
    assert gpt_neox_model.is_enabled(model)
    assert {name: id(parameter) for name, parameter in model.named_parameters()} == parameters
    gpt_neox_model.disable(model)
    assert {name: (id(module), type(module)) for name, module in model.named_modules()} == before
    with pytest.raises(TypeError, match="holds no GPTNeoXModel"):
        gpt_neox_model.enable(model_on(device))


# ---- several processes ----


def _one_of_two(rank, device, port):
    """Gradients of the patched model after a step on half of the batch and DDP's all-reduce."""
    backend = "nccl" if device == "cuda" else "gloo"
    place = f"cuda:{rank}" if device == "cuda" else "cpu"
    if device == "cuda":
        torch.cuda.set_device(rank)
    dist.init_process_group(
        backend, f"tcp://127.0.0.1:{port}", rank=rank, world_size=2, timeout=datetime.timedelta(seconds=120)
    )
    try:
        model = enable(model_on(place).train(), attention="course_softmax")
        torch.manual_seed(3)
        ids = tokens("cpu", batch=4).to(place)[2 * rank : 2 * rank + 2]
        wrapped = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank] if device == "cuda" else None)
        ck.reset_stats()
        wrapped(ids, labels=ids, use_cache=False).loss.backward()
        assert ck.stats()["kernels"]["residual_layernorm_backward"] == 2 * LAYERS - 1
        return {name: parameter.grad.cpu() for name, parameter in model.named_parameters()}
    finally:
        dist.destroy_process_group()


@pytest.mark.skipif(not dist.is_available(), reason="this PyTorch has no torch.distributed")
def test_ddp_gives_the_gradients_of_one_process(device):
    """The second process is a new one, the first is this one."""
    if device == "cuda" and torch.cuda.device_count() < 2:
        pytest.skip("NCCL needs two GPUs, and this machine has one")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    other = mp.get_context("spawn").Process(target=_one_of_two, args=(1, device, port))
    other.start()
    found = _one_of_two(0, device, port)
    other.join()
    assert other.exitcode == 0
    model = model_on(device).train()
    torch.manual_seed(3)
    wanted = gradients(model, tokens("cpu", batch=4).to(device))
    for name, gradient in wanted.items():
        assert torch.allclose(found[name], gradient.cpu(), rtol=1e-3, atol=1e-6), name
