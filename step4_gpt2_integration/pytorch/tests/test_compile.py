"""torch.compile, fake tensors, dispatcher checks and, on a GPU, streams and CUDA graphs."""

import pytest
import torch

import course_kernels as ck
from conftest import tensor
from test_ops import OPS, arguments_of, outputs_of

BACKENDS = ["eager", "aot_eager"]


def samples(device):
    """For every op of torch.ops.course: arguments."""
    x, residual, out, dout, dsum = (tensor(4, 24, device=device) for _ in range(5))
    weight, bias = tensor(24, device=device), tensor(24, device=device)
    mean, rstd = x.mean(-1), (x.var(-1, correction=0) + 1e-5).rsqrt()
    scores, dscores = tensor(2, 3, 8, 8, device=device), tensor(2, 3, 8, 8, device=device)
    lengths = torch.tensor([8, 3], dtype=torch.int32, device=device)
    q, k, v, da = (tensor(1, 2, 9, 16, device=device, dtype=torch.bfloat16) for _ in range(4))
    lse = tensor(1, 2, 9, device=device)
    return {
        "softmax_forward": (x,),
        "softmax_backward": (dout, out),
        "causal_softmax_forward": (scores, lengths, 0.5),
        "causal_softmax_backward": (dscores, scores.softmax(-1), None, 0.5),
        "layernorm_forward": (x, weight, bias, 1e-5),
        "layernorm_backward": (dout, x, weight, mean, rstd),
        "residual_layernorm_forward": (x, residual, weight, bias, 1e-5),
        "residual_layernorm_backward": (dout, dsum, x, weight, mean, rstd),
        "layernorm_residual_forward": (x, residual, weight, bias, 1e-5),
        "layernorm_residual_backward": (dout, x, weight, mean, rstd),
        "bias_gelu_forward": (x, bias),
        "bias_gelu_backward": (dout, x, bias),
        "three_way_add": (x, residual, out),
        "attention_forward": (q, k, v, None),
        "attention_backward": (da.transpose(1, 2), da.transpose(1, 2).contiguous(), lse, q, k, v),
    }


@pytest.mark.parametrize("op", ck.ops.SCHEMAS)
def test_opcheck(op, device):
    """Schema, fake kernel, autograd registration, AOT dispatch: PyTorch's own checks of a custom op."""
    arguments = samples(device)[op]
    if op in ck.autograd_function.DIFFERENTIABLE and op != "attention_forward":
        arguments = tuple(
            value.clone().requires_grad_() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
            for value in arguments
        )
    torch.library.opcheck(getattr(torch.ops.course, op).default, arguments)


def test_every_op_is_sampled():
    assert set(samples("cpu")) == set(ck.ops.SCHEMAS)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("op", OPS)
def test_compiled_without_a_graph_break(op, backend, device, dtype):
    function, arguments = OPS[op][0], arguments_of(op, (6, 40), device, dtype)

    def loss(*inputs):
        return sum(out.float().square().sum() for out in outputs_of(function(*inputs)))

    compiled = torch.compile(loss, fullgraph=True, backend=backend)
    ck.reset_stats()
    found = torch.autograd.grad(compiled(*arguments), arguments)
    assert ck.stats()["kernels"][OPS[op][3]] >= 1, "the compiled code did not run the kernel"
    wanted = torch.autograd.grad(loss(*arguments), arguments)
    for one, other in zip(found, wanted):
        assert torch.equal(one, other)


def test_compiled_causal_softmax_and_attention(device):
    def both(x, q, lengths):
        return ck.causal_softmax(x, 0.5, lengths), ck.causal_attention(q, q, q)

    x, q = tensor(2, 3, 8, 8, device=device), tensor(1, 2, 9, 16, device=device)
    lengths = torch.tensor([8, 3], device=device)
    for one, other in zip(torch.compile(both, fullgraph=True, backend="aot_eager")(x, q, lengths), both(x, q, lengths)):
        assert torch.equal(one, other)


def test_compiled_once_for_any_number_of_rows(device):
    graphs = []

    def count(module, inputs):
        graphs.append(module)
        return module.forward

    compiled = torch.compile(ck.layer_norm, fullgraph=True, backend=count, dynamic=True)
    weight, bias = tensor(32, device=device), tensor(32, device=device)
    for rows in (3, 5, 11, 64):
        x = tensor(rows, 7, 32, device=device)
        assert torch.equal(compiled(x, weight, bias), ck.layer_norm(x, weight, bias))
    assert len(graphs) == 1


def test_compiled_under_autocast(device):
    linear = torch.nn.Linear(24, 24).to(device)
    norm = torch.nn.LayerNorm(24).to(device)

    def step(x):
        with torch.autocast(device, torch.bfloat16):
            return ck.residual_layer_norm(linear(x), x, norm.weight, norm.bias)[0]

    x = tensor(4, 24, device=device)
    out = torch.compile(step, fullgraph=True, backend="aot_eager")(x)
    assert out.dtype == torch.float32 and torch.equal(out, step(x))


def test_function_transforms_differentiate(device):
    x = tensor(5, 16, device=device)
    weight, bias = tensor(16, device=device), tensor(16, device=device)
    found = torch.func.grad(lambda x: ck.layer_norm(x, weight, bias).square().sum())(x)
    leaf = x.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(ck.layer_norm(leaf, weight, bias).square().sum(), leaf)
    assert torch.equal(found, wanted)


def test_fake_tensors_run_no_kernel(device):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(3, 8, device=device)
        out, total = ck.residual_layer_norm(x, x, torch.empty(8, device=device), torch.empty(8, device=device))
    assert out.shape == total.shape == (3, 8) and ck.stats()["kernels"] == {}


# ---- a GPU only ----

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@gpu
def test_the_current_stream_is_used():
    """A kernel on a side stream that waits for a long job: the result is right only if it is in that stream's order."""
    x = torch.zeros(64, 1024, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        x.copy_(torch.arange(1024, device="cuda").float().expand(64, -1) / 100)
        out = ck.softmax(x)
    torch.cuda.synchronize()
    assert torch.allclose(out, x.softmax(-1), atol=1e-6)


@gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_the_tensors_device_is_used():
    x = torch.randn(33, 700, device="cuda:1", requires_grad=True)
    weight, bias = torch.ones(700, device="cuda:1"), torch.zeros(700, device="cuda:1")
    assert torch.cuda.current_device() == 0
    out = ck.layer_norm(x, weight, bias)
    out.square().sum().backward()
    assert out.device == x.device and torch.cuda.current_device() == 0
    assert torch.allclose(out, torch.nn.functional.layer_norm(x, (700,)), atol=1e-5)


@gpu
@pytest.mark.parametrize("op", OPS)
def test_cuda_graph(op):
    """Forward and backward in one CUDA graph, replayed on new values."""
    arguments = arguments_of(op, (512, 768), "cuda", torch.float32)
    function = OPS[op][0]

    def step():
        outs = outputs_of(function(*arguments))
        return outs, torch.autograd.grad(sum(out.square().sum() for out in outs), arguments)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured, gradients = step()
    with torch.no_grad():
        for argument in arguments:
            argument.copy_(torch.randn_like(argument))
    graph.replay()
    wanted, wanted_gradients = step()
    torch.cuda.synchronize()
    for one, other in zip((*captured, *gradients), (*wanted, *wanted_gradients)):
        assert torch.equal(one, other)


@gpu
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_inductor(mode):
    arguments = arguments_of("residual_layer_norm", (512, 768), "cuda", torch.bfloat16)

    def loss(*inputs):
        out, total = ck.residual_layer_norm(*inputs)
        return (out.float().square() + total.float()).sum()

    compiled = torch.compile(loss, fullgraph=True, mode=mode)
    for _ in range(3):
        found = torch.autograd.grad(compiled(*arguments), arguments)
    wanted = torch.autograd.grad(loss(*arguments), arguments)
    for one, other in zip(found, wanted):
        assert torch.allclose(one, other, rtol=2e-2, atol=2e-2)
