"""Every op: results and gradients of the kernel itself against float64, in every type, layout and way of being called."""

import threading

import pytest
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

import course_kernels as ck
from conftest import TYPES, assert_close, doubled, tensor

LAYOUTS = ["contiguous", "transposed", "strided", "misaligned"]


def causal_reference(x, scale=1.0, lengths=None):
    T = x.shape[-1]
    allowed = torch.ones(T, T, dtype=torch.bool).tril().expand(x.shape).clone()
    if lengths is not None:
        for b, length in enumerate(lengths.tolist()):
            allowed[b, ..., max(0, min(T, length)) :] = False
    weights = torch.where(allowed, torch.exp(scale * x - (scale * x).amax(-1, keepdim=True)), 0.0)
    return weights / weights.sum(-1, keepdim=True).clamp_min(1e-300)


# name: the op, its float64 formula, the shapes of its arguments from the rows' shape (..., C), the forward and the backward
# kernel
OPS = {
    "softmax": (ck.softmax, lambda x: F.softmax(x, -1), ["x"], "softmax_forward", "softmax_backward"),
    "layer_norm": (
        ck.layer_norm,
        lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b, 1e-5),
        ["x", "c", "c"],
        "layernorm_forward",
        "layernorm_backward",
    ),
    "residual_layer_norm": (
        ck.residual_layer_norm,
        lambda x, r, w, b: (F.layer_norm(x + r, x.shape[-1:], w, b, 1e-5), x + r),
        ["x", "x", "c", "c"],
        "residual_layernorm_forward",
        "residual_layernorm_backward",
    ),
    "layer_norm_residual": (
        ck.layer_norm_residual,
        lambda x, r, w, b: F.layer_norm(x, x.shape[-1:], w, b, 1e-5) + r,
        ["x", "x", "c", "c"],
        "layernorm_residual_forward",
        "layernorm_residual_backward",
    ),
    "bias_gelu": (
        ck.bias_gelu,
        lambda x, b: F.gelu(x + b, approximate="tanh"),
        ["x", "c"],
        "bias_gelu_forward",
        "bias_gelu_backward",
    ),
    "three_way_add": (ck.three_way_add, lambda a, b, c: (a + b) + c, ["x", "x", "x"], "three_way_add", None),
}


def arguments_of(op, shape, device, dtype, layout="contiguous"):
    return [
        tensor(*(shape if kind == "x" else shape[-1:]), device=device, dtype=dtype, layout=layout).requires_grad_()
        for kind in OPS[op][2]
    ]


def outputs_of(result):
    return result if isinstance(result, tuple) else (result,)


def cancelled(op, arguments):
    """The size of the terms that cancel in a gradient: with one column, LayerNorm's is rstd - rstd, times the weight."""
    one_column = op in ("layer_norm", "layer_norm_residual", "residual_layer_norm") and arguments[0].shape[-1] == 1
    return 10 * 1e-5**-0.5 if one_column else 0.0


def check_against_float64(op, arguments, dtype):
    """Forward and backward, with a random gradient for every result."""
    function, formula, _, forward, backward = OPS[op]
    found = outputs_of(function(*arguments))
    precise = doubled(arguments)
    wanted = outputs_of(formula(*precise))
    gradients = [torch.randn_like(out) for out in found]
    torch.autograd.backward(found, gradients)
    torch.autograd.backward(wanted, [gradient.cpu().double() for gradient in gradients])
    rounded_twice = 2.0 if op in ("three_way_add", "residual_layer_norm") else 1.0  # a sum in the op's own type
    for number, (one, other) in enumerate(zip(found, wanted)):
        assert one.dtype == dtype
        assert_close(one, other, dtype, f"{op}, result {number}", 2 * rounded_twice)
    for number, (one, other) in enumerate(zip(arguments, precise)):
        assert one.grad.dtype == dtype
        assert_close(one.grad, other.grad, dtype, f"{op}, gradient {number}", 4 * rounded_twice, cancelled(op, precise))
    counted = ck.stats()
    assert counted["standard"] == {}, counted
    assert counted["kernels"].get(forward) == 1 and (backward is None or counted["kernels"].get(backward) == 1), counted


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (2, 3, 64), (5, 257), (33, 768)], ids=str)
def test_results_and_gradients(op, shape, device, dtype):
    check_against_float64(op, arguments_of(op, shape, device, dtype), dtype)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_layouts(op, layout, device, dtype):
    check_against_float64(op, arguments_of(op, (4, 3, 40), device, dtype, layout), dtype)


def test_three_way_add_keeps_the_order_of_its_adds(device):
    a, b, c = (torch.full((1, 8), value, dtype=torch.float16, device=device) for value in (2048.0, 1.0, 1.0))
    assert ck.three_way_add(a, b, c).eq(2048).all() and ck.three_way_add(b, c, a).eq(2050).all()


def test_residual_layer_norm_is_an_add_and_a_layer_norm_bit_for_bit(device, dtype):
    x, residual, weight, bias = arguments_of("residual_layer_norm", (17, 320), device, dtype)
    out, total = ck.residual_layer_norm(x, residual, weight, bias)
    assert torch.equal(total, x + residual)
    assert torch.equal(out, ck.layer_norm(total, weight, bias))


# ---- causal softmax and attention ----


@pytest.mark.parametrize("T", [1, 5, 64, 130])
@pytest.mark.parametrize("lengths", [None, "some"], ids=["whole", "lengths"])
def test_causal_softmax(T, lengths, device, dtype):
    scale, x = 0.25, tensor(3, 2, T, T, device=device, dtype=dtype, scale=3.0).requires_grad_()
    lengths = None if lengths is None else torch.tensor([T, max(1, T // 2), 0], device=device)
    out = ck.causal_softmax(x, scale, lengths)
    (precise,) = doubled([x])
    wanted = causal_reference(precise, scale, lengths)
    gradient = torch.randn_like(out)
    out.backward(gradient)
    wanted.backward(gradient.cpu().double())
    assert_close(out, wanted, dtype, "causal_softmax", 2)
    assert_close(x.grad, precise.grad, dtype, "its gradient", 4)
    above = torch.ones(T, T, dtype=torch.bool, device=device).triu(1)
    assert out[..., above].eq(0).all() and x.grad[..., above].eq(0).all()
    assert ck.stats()["kernels"] == {"causal_softmax_backward": 1, "causal_softmax_forward": 1}


@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_causal_softmax_layouts(layout, device):
    x = tensor(2, 2, 16, 16, device=device, layout=layout)
    assert_close(ck.causal_softmax(x), causal_reference(x.cpu().double()), torch.float32)


@pytest.mark.parametrize("shape", [(6, 6), (3, 6, 6), (2, 2, 2, 6, 6)], ids=str)
def test_causal_softmax_takes_any_leading_dimensions(shape, device):
    x = tensor(*shape, device=device)
    assert_close(ck.causal_softmax(x), causal_reference(x.cpu().double()), torch.float32)


def test_causal_softmax_ignores_what_is_masked(device):
    x = tensor(1, 1, 8, 8, device=device)
    clean = ck.causal_softmax(x)
    x[..., torch.ones(8, 8, dtype=torch.bool, device=device).triu(1)] = float("nan")
    assert torch.equal(ck.causal_softmax(x), clean)


def attention_inputs(B, H, T, D, device, dtype, packed):
    if packed:
        qkv = tensor(B, T, 3, H, D, device=device, dtype=dtype).requires_grad_()
        return qkv, [part.transpose(1, 2) for part in qkv.unbind(2)]
    parts = [tensor(B, H, T, D, device=device, dtype=dtype).requires_grad_() for _ in range(3)]
    return parts, parts


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "apart"])
@pytest.mark.parametrize("lengths", [None, "some"], ids=["whole", "lengths"])
@pytest.mark.parametrize("D", [16, 64, 128])
def test_causal_attention(packed, lengths, D, device, dtype):
    _, (q, k, v) = attention_inputs(2, 3, 33, D, device, dtype, packed)
    lengths = None if lengths is None else torch.tensor([33, 10], device=device)
    with torch.no_grad():
        out = ck.causal_attention(q, k, v, lengths)
    a, b, c = doubled([q, k, v])
    weights = causal_reference(a @ b.transpose(-1, -2), D**-0.5, lengths)
    assert_close(out, (weights @ c).transpose(1, 2), dtype, "causal_attention", 4)
    assert ck.stats()["kernels"] == {"course_attention_forward": 1}


# Lengths around those of the tiles. The last has more tiles of queries than a GPU has multiprocessors, in an odd number for each head.
@pytest.mark.parametrize("shape", [(1, 1), (1, 63), (1, 65), (2, 127), (2, 128), (2, 129), (1, 257), (80, 257)], ids=str)
@pytest.mark.parametrize("D", [64, 128])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "f16"])
def test_causal_attention_around_tiles(shape, D, dtype, device):
    B, T = shape
    if B > 2 and device == "cpu":
        pytest.skip("many sequences take too long on the CPU backend")
    _, (q, k, v) = attention_inputs(B, 2, T, D, device, dtype, packed=True)
    lengths = torch.tensor([T, max(1, T // 3)] * B, device=device)[:B]
    with torch.no_grad():
        out = ck.causal_attention(q, k, v, lengths)
    a, b, c = doubled([q, k, v])
    weights = causal_reference(a @ b.transpose(-1, -2), D**-0.5, lengths)
    assert_close(out, (weights @ c).transpose(1, 2), dtype, "causal_attention", 4)


# Autograd computes gradients in a thread of its own. Its first call may be this one.
def test_causal_attention_in_a_new_thread(device):
    _, (q, k, v) = attention_inputs(1, 2, 33, 64, device, torch.bfloat16, packed=True)
    out = []
    with torch.no_grad():
        expected = ck.causal_attention(q, k, v)

    def call():
        with torch.no_grad():
            out.append(ck.causal_attention(q, k, v))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert len(out) == 1 and torch.equal(out[0], expected)


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "apart"])
@pytest.mark.parametrize("T", [33, 129])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "f16"])
def test_gradient_of_causal_attention(packed, T, dtype, device):
    leaves, (q, k, v) = attention_inputs(2, 2, T, 64, device, dtype, packed)
    out = ck.causal_attention(q, k, v)
    gradient = torch.randn_like(out)
    out.backward(gradient)
    precise = doubled([q, k, v])
    weights = causal_reference(precise[0] @ precise[1].transpose(-1, -2), 64**-0.5)
    (weights @ precise[2]).transpose(1, 2).backward(gradient.cpu().double())
    found = [part.transpose(1, 2) for part in leaves.grad.unbind(2)] if packed else [leaf.grad for leaf in leaves]
    for name, one, other in zip("qkv", found, precise):
        assert_close(one, other.grad, dtype, f"gradient of {name}", 4)
    assert ck.stats()["kernels"] == {"course_attention_backward": 1, "course_attention_forward": 1}


def test_attention_without_a_gradient_kernel_takes_the_standard_path(device):
    _, (q, k, v) = attention_inputs(1, 2, 9, 16, device, torch.float32, packed=True)
    with pytest.warns(UserWarning, match="a gradient in fp32"):
        ck.causal_attention(q, k, v).sum().backward()
    assert ck.stats()["kernels"] == {}


# ---- special numbers, shapes ----


def test_softmax_of_special_rows(device, dtype):
    inf = float("inf")
    x = torch.tensor([[0.0, -inf, 1.0], [-inf, -inf, -inf], [inf, 0.0, 0.0], [1.0, 1.0, 1.0]], dtype=dtype, device=device)
    out = ck.softmax(x)
    assert out[0, 1] == 0 and out[0].sum().float().item() == pytest.approx(1, abs=1e-2)
    assert out[1].isnan().all() and out[2].isnan().all() and out[3].isfinite().all()


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_softmax_along_any_dimension(dim, device):
    x = tensor(4, 5, 6, device=device).requires_grad_()
    gradient = torch.randn(4, 5, 6, device=device)
    ck.softmax(x, dim).backward(gradient)
    (precise,) = doubled([x])
    F.softmax(precise, dim).backward(gradient.cpu().double())
    assert_close(x.grad, precise.grad, torch.float32, factor=4)


@pytest.mark.parametrize("op", OPS)
def test_no_rows(op, device):
    arguments = arguments_of(op, (0, 12), device, torch.float32)
    outs = outputs_of(OPS[op][0](*arguments))
    sum(out.sum() for out in outs).backward()
    for argument, kind in zip(arguments, OPS[op][2]):
        assert argument.grad.shape == argument.shape and (kind == "x" or argument.grad.eq(0).all())


# ---- gradients in the ways that training uses them ----


@pytest.mark.parametrize("op", OPS)
def test_expanded_gradients(op, device, dtype):
    """sum() gives a gradient with strides of 0."""
    arguments = arguments_of(op, (6, 48), device, dtype)
    outs = outputs_of(OPS[op][0](*arguments))
    torch.autograd.backward(outs, [torch.ones((), dtype=dtype, device=device).expand_as(out) for out in outs])
    precise = doubled(arguments)
    sum(out.sum() for out in outputs_of(OPS[op][1](*precise))).backward()
    for one, other in zip(arguments, precise):
        # Gradients of a sum through LayerNorm and softmax cancel to nearly 0, so the bound is that of terms of size 1.
        bound = 40 * {torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}[dtype]
        assert (one.grad.cpu().double() - other.grad).abs().max().item() <= bound


@pytest.mark.parametrize("op", OPS)
def test_gradients_accumulate(op, device):
    arguments = arguments_of(op, (6, 48), device, torch.float32)
    once = None
    for _ in range(2):
        outs = outputs_of(OPS[op][0](*arguments))
        torch.autograd.backward(outs, [out.detach().cos() for out in outs])
        once = once or [argument.grad.clone() for argument in arguments]
    for argument, single in zip(arguments, once):
        assert torch.allclose(argument.grad, 2 * single, rtol=1e-6)


@pytest.mark.parametrize("op", OPS)
def test_nothing_aliases(op, device):
    """Results, inputs and the gradients of leaves have memory of their own."""
    arguments = arguments_of(op, (6, 48), device, torch.float32)
    outs = outputs_of(OPS[op][0](*arguments))
    torch.autograd.backward(outs, [torch.randn_like(out) for out in outs])
    everything = [*arguments, *outs, *(argument.grad for argument in arguments)]
    places = [value.untyped_storage().data_ptr() for value in everything]
    assert len(set(places)) == len(places)
    before = [value.detach().clone() for value in everything]
    outs[0].detach().fill_(7)
    arguments[0].grad.fill_(8)
    changed = {len(arguments), len(arguments) + len(outs)}
    for number, (value, old) in enumerate(zip(everything, before)):
        assert (number in changed) or torch.equal(value, old)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("wanted", range(4))
def test_some_gradients_only(op, wanted, device):
    arguments = arguments_of(op, (6, 48), device, torch.float32)
    if wanted >= len(arguments):
        return
    all_gradients = torch.autograd.grad(outputs_of(OPS[op][0](*arguments))[0].square().sum(), arguments)
    for number, argument in enumerate(arguments):
        argument.requires_grad_(number == wanted)
    alone = torch.autograd.grad(outputs_of(OPS[op][0](*arguments))[0].square().sum(), arguments[wanted])
    assert torch.equal(alone[0], all_gradients[wanted])


def test_either_result_of_residual_layer_norm_may_be_unused(device):
    for used in (0, 1):
        arguments = arguments_of("residual_layer_norm", (6, 48), device, torch.float32)
        gradient = torch.randn(6, 48, device=device)
        ck.residual_layer_norm(*arguments)[used].backward(gradient)
        precise = doubled(arguments)
        OPS["residual_layer_norm"][1](*precise)[used].backward(gradient.cpu().double())
        for one, other in zip(arguments, precise):
            assert (one.grad is None) == (other.grad is None)
            if one.grad is not None:
                assert_close(one.grad, other.grad, torch.float32, factor=8)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", "saved"])
def test_checkpointing(op, reentrant, device):
    arguments = arguments_of(op, (6, 48), device, torch.float32)

    def loss(*inputs):
        return sum(out.square().sum() for out in outputs_of(OPS[op][0](*inputs)))

    direct = torch.autograd.grad(loss(*arguments), arguments)
    checkpoint(loss, *arguments, use_reentrant=reentrant).backward()
    for argument, gradient in zip(arguments, direct):
        assert torch.equal(argument.grad, gradient)


@pytest.mark.parametrize("op", ["softmax", "layer_norm", "residual_layer_norm", "layer_norm_residual", "bias_gelu"])
def test_autocast_gives_the_types_of_pytorch(op, device):
    half = torch.bfloat16
    arguments = arguments_of(op, (6, 48), device, torch.float32)
    linear = torch.nn.Linear(48, 48).to(device)
    with torch.autocast(device, half):
        first = linear(arguments[0])
        assert first.dtype == half
        outs = outputs_of(OPS[op][0](first, *arguments[1:]))
    wanted = half if op == "bias_gelu" else torch.float32
    assert all(out.dtype == wanted for out in outs) and ck.stats()["standard"] == {}
    sum(out.float().square().sum() for out in outs).backward()
    assert all(argument.grad.dtype == torch.float32 for argument in arguments)
    precise = doubled([first, *arguments[1:]])
    for one, other in zip(outs, outputs_of(OPS[op][1](*precise))):
        assert_close(one, other, wanted, op, 4)


def test_autocast_leaves_float64_alone(device):
    x, weight, bias = (tensor(*shape, device=device).double() for shape in ((6, 48), (48,), (48,)))
    with torch.autocast(device, torch.bfloat16), pytest.warns(UserWarning, match="torch.float64"):
        assert torch.equal(ck.softmax(x), F.softmax(x, -1))
        assert torch.equal(ck.layer_norm(x, weight, bias), F.layer_norm(x, (48,), weight, bias))


def test_backward_ops_take_any_strides(device):
    """Also what the forward op made: mean, rstd, and attention's results."""
    dout, x, weight = tensor(6, 48, device=device), tensor(6, 48, device=device), tensor(48, device=device)
    mean, rstd = x.mean(-1), (x.var(-1, correction=0) + 1e-5).rsqrt()
    strided = [value.repeat_interleave(2)[::2] for value in (mean, rstd)]
    wanted = torch.ops.course.layernorm_backward(dout, x, weight, mean, rstd)
    for one, other in zip(torch.ops.course.layernorm_backward(dout, x, weight, *strided), wanted):
        assert torch.equal(one, other)
    q, k, v, dout = (tensor(2, 2, 9, 16, device=device, dtype=torch.bfloat16) for _ in range(4))
    out, lse = torch.ops.course.attention_forward(q, k, v, None)
    strided = out.repeat_interleave(2, -1)[..., ::2], lse.repeat_interleave(2, -1)[..., ::2]
    wanted = torch.ops.course.attention_backward(dout.transpose(1, 2), out, lse, q, k, v)
    assert torch.equal(torch.ops.course.attention_backward(dout.transpose(1, 2), *strided, q, k, v), wanted)


def test_lengths_on_another_device_are_an_error(device):
    elsewhere = torch.ones(1, dtype=torch.int32, device="meta")
    q = tensor(1, 2, 9, 16, device=device)
    with pytest.raises(ValueError, match="lengths must be there too"):
        ck.causal_attention(q, q, q, elsewhere)
    with pytest.raises(ValueError, match="lengths must be there too"):
        ck.causal_softmax(tensor(1, 2, 9, 9, device=device), 1.0, elsewhere)


def test_second_derivatives_are_refused(device):
    x = tensor(3, 8, device=device).requires_grad_()
    (gradient,) = torch.autograd.grad(ck.softmax(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only"):
        gradient.sum().backward()


def test_vmap_is_refused(device):
    x = tensor(4, 3, 8, device=device)
    for function in (ck.softmax, torch.ops.course.softmax_forward, torch.func.grad(lambda row: ck.softmax(row).square().sum())):
        with pytest.raises(NotImplementedError, match="no rule for torch.vmap"):
            torch.vmap(function)(x)


def test_two_threads(device):
    """Launches from two threads at once give what they give one after the other."""
    inputs = [tensor(64, 256, device=device) for _ in range(2)]
    wanted = [ck.softmax(x) for x in inputs]
    wrong = []

    def work(number):
        for _ in range(20):
            if not torch.equal(ck.softmax(inputs[number]), wanted[number]):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_workspace_comes_from_pytorch(device, monkeypatch):
    """The partial sums of a backward pass lie in a tensor; without memory the launcher fails and says so."""
    arguments = arguments_of("bias_gelu", (512, 768), device, torch.float32)
    loaded = ck.library(device)
    before = loaded.workspace_calls
    ck.bias_gelu(*arguments).square().sum().backward()
    assert loaded.workspace_calls > before and not getattr(loaded._workspace, "tensors", [])
    out = ck.bias_gelu(*arguments).square().sum()
    monkeypatch.setattr(loaded, "allocate_tensor", lambda size: None)
    with pytest.raises(ck.KernelFailed, match="out of memory|memory"):
        out.backward()


def test_types_are_those_of_the_library(device):
    assert {dtype for _, dtype in ck.library(device).launchers} == set(TYPES)
