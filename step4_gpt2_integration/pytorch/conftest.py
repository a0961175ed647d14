"""What the tests share: the devices, tensors in every layout, comparison with float64, and the run of a program.

CPU tensors run on the course's CPU backend, CUDA tensors, where there is a GPU, on the CUDA library. A missing library is a
failure, not a skip: these tests are about it.
"""

import os
import runpy
import sys
import warnings
from pathlib import Path

os.environ["COURSE_KERNELS_CPU"] = "1"

import pytest
import torch
import torch._dynamo

import course_kernels
from course_kernels import library

FOLDER = Path(__file__).resolve().parent

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
TYPES = [torch.float32, torch.float16, torch.bfloat16]

# One rounding to the type, and the error of fp32 sums, as parts of the largest element.
TOLERANCE = {torch.float32: 2e-6, torch.float16: 1.2e-3, torch.bfloat16: 9e-3}


@pytest.fixture(params=DEVICES)
def device(request):
    library(request.param)  # raises LibraryMissing, which says what to run
    return request.param


@pytest.fixture(params=TYPES, ids=["f32", "f16", "bf16"])
def dtype(request):
    return request.param


@pytest.fixture(autouse=True)
def fresh():
    """Each test starts with counts of zero and with the same random numbers."""
    torch.manual_seed(14)
    course_kernels.run_cpu_tensors_on_the_cpu_backend(True)
    course_kernels.reset_stats()
    yield
    course_kernels.reload()
    torch._dynamo.reset()


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs a program with these arguments in this process, because importing PyTorch takes longer than most of them. Gives what it
    printed."""

    def run(program, *arguments, status=0):
        monkeypatch.setattr(sys, "argv", [program, *map(str, arguments)])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
            warnings.simplefilter("default")
            runpy.run_path(str(FOLDER / program), run_name="__main__")
        out = "".join(capsys.readouterr())
        assert (ended.value.code or 0) == status, out
        return out

    return run


def tensor(*shape, device="cpu", dtype=torch.float32, layout="contiguous", scale=1.0):
    """Random normal numbers with that shape, in memory laid out in that way. A leaf without gradient."""
    values = (torch.randn(*shape, device=device) * scale).to(dtype)
    if layout == "contiguous" or values.dim() == 0:
        return values
    if layout == "transposed":  # the first and the last dimension are swapped in memory
        return values.transpose(0, -1).contiguous().transpose(0, -1)
    if layout == "strided":  # every second element of longer rows
        wide = torch.zeros(*shape[:-1], 2 * shape[-1], dtype=dtype, device=device)
        wide[..., ::2] = values
        return wide[..., ::2]
    if layout == "misaligned":  # dense, one element past an aligned address
        buffer = torch.zeros(values.numel() + 1, dtype=dtype, device=device)
        buffer[1:] = values.reshape(-1)
        return buffer[1:].view(*shape)
    raise ValueError(layout)


def doubled(tensors):
    """The same values as float64 leaves with gradients, on the CPU."""
    return [value.detach().cpu().double().requires_grad_() for value in tensors]


def assert_close(found, wanted, dtype, what="", factor=1.0, cancelled=0.0):
    """`found` equals the float64 `wanted` to the rounding of `dtype`, where terms of size `cancelled` may have cancelled. NaN is
    never close."""
    assert found.shape == wanted.shape, f"{what}: shape {tuple(found.shape)}, expected {tuple(wanted.shape)}"
    difference = (found.detach().cpu().double() - wanted.detach()).abs()
    largest = wanted.detach().abs().max().item() if wanted.numel() else 0.0
    bound = TOLERANCE[dtype] * factor * max(largest, cancelled, 1e-6)
    worst = difference.max().item() if difference.numel() else 0.0
    assert worst <= bound, f"{what}: largest error {worst:.3g}, allowed {bound:.3g}"
