"""When a kernel cannot run: the standard path with one warning and a count, or an error where silence would be wrong."""

import subprocess
import sys
import warnings

import pytest
import torch
import torch.nn.functional as F

import course_kernels as ck
from conftest import FOLDER, tensor
from course_kernels import launch, libraries


def layer_norm_arguments(device="cpu", dtype=torch.float32):
    return tensor(3, 8, device=device, dtype=dtype), tensor(8, device=device, dtype=dtype), tensor(8, device=device, dtype=dtype)


def standard_layer_norm(x, weight, bias):
    return F.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


def expect_standard(match):
    """The call inside takes the standard path, says why once, and runs no kernel."""
    return pytest.warns(UserWarning, match=match)


def test_an_unsupported_type(device):
    arguments = layer_norm_arguments(device, torch.float64)
    with expect_standard("there are no kernels for torch.float64"):
        assert torch.equal(ck.layer_norm(*arguments), standard_layer_norm(*arguments))
    assert ck.stats() == {"kernels": {}, "standard": {"layer_norm": {"there are no kernels for torch.float64": 1}}}


def test_one_warning_for_each_reason(device):
    arguments = layer_norm_arguments(device, torch.float64)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in range(3):
            ck.layer_norm(*arguments)
            ck.softmax(arguments[0])
    assert len(given) == 1
    counted = ck.stats()["standard"]
    assert sum(counted["layer_norm"].values()) == 3 and sum(counted["softmax"].values()) == 3


def test_two_types(device):
    x, weight, bias = layer_norm_arguments(device)
    with expect_standard("two types"):
        out = ck.residual_layer_norm(x, x.half(), weight, bias)[1]
    assert torch.equal(out, x + x.half()) and ck.stats()["kernels"] == {}


def test_cpu_tensors_without_the_cpu_backend():
    ck.run_cpu_tensors_on_the_cpu_backend(False)
    arguments = layer_norm_arguments()
    with expect_standard("CPU tensors"):
        assert torch.equal(ck.layer_norm(*arguments), standard_layer_norm(*arguments))
    assert ck.stats()["kernels"] == {}


def test_a_device_without_kernels():
    x = torch.empty(3, 8, device="meta")
    with expect_standard("there are no kernels for meta devices"):
        assert ck.softmax(x).shape == (3, 8)


def test_no_library(device, monkeypatch, tmp_path):
    monkeypatch.setattr(libraries, "folders", lambda: [tmp_path])
    ck.reload()
    arguments = layer_norm_arguments(device)
    with expect_standard("is not built .* run make pytorch-"):
        assert torch.equal(ck.layer_norm(*arguments), standard_layer_norm(*arguments))
    with pytest.raises(ck.LibraryMissing, match="run make pytorch"):
        ck.library(device)


def test_an_installed_package_without_a_library_is_to_be_installed_again(device, monkeypatch, tmp_path):
    monkeypatch.delenv("COURSE_KERNELS", raising=False)
    monkeypatch.setattr(libraries, "__file__", str(tmp_path / "lib" / "site-packages" / "course_kernels" / "libraries.py"))
    ck.reload()
    with pytest.raises(ck.LibraryMissing, match=rf"run make pytorch-{device} .* and there pip install \./step4\S+ again"):
        ck.library(device)


def test_an_install_takes_the_libraries_along(tmp_path):
    pytest.importorskip("setuptools", reason="setuptools is not installed")
    command = [sys.executable, "setup.py", "--quiet", "build", "--build-lib", str(tmp_path)]
    subprocess.run(command, cwd=FOLDER, check=True, capture_output=True)
    built = {path.name for path in (FOLDER.parents[1] / "build" / "pytorch").glob("libcourse_kernels_*.so")}
    package = tmp_path / "course_kernels"
    assert built and {path.name for path in (package / "lib").iterdir()} == built
    assert {path.name for path in package.glob("*.*")} == {path.name for path in (FOLDER / "course_kernels").glob("*.[pj]*")}


def test_a_file_that_is_no_library(monkeypatch, tmp_path):
    (tmp_path / "libcourse_kernels_cpu.so").write_text("not a library")
    monkeypatch.setattr(libraries, "folders", lambda: [tmp_path])
    ck.reload()
    with expect_standard("cannot be loaded"):
        ck.softmax(tensor(2, 4))


def test_a_library_of_another_version(device, monkeypatch):
    monkeypatch.setattr(libraries, "VERSION", 99)
    ck.reload()
    with pytest.raises(ck.LibraryMissing, match="this package needs 99"):
        ck.library(device)


def test_a_library_without_an_op(device):
    del ck.library(device).launchers["bias_gelu_forward", torch.float32]
    x, bias = tensor(3, 8, device=device), tensor(8, device=device)
    with expect_standard("has no bias_gelu_forward"):
        assert torch.equal(ck.bias_gelu(x, bias), F.gelu(x + bias, approximate="tanh"))
    ck.softmax(x)
    assert ck.stats()["kernels"] == {"softmax_forward": 1}


def test_a_gpu_that_the_library_was_not_built_for(device, monkeypatch):
    loaded = ck.library(device)
    monkeypatch.setitem(loaded.launchers, ("softmax_forward", torch.float32), lambda *arguments: 209)
    if device == "cpu":
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "GPU")
    with expect_standard("was built for other GPUs"):
        ck.softmax(tensor(3, 8, device=device))


def test_a_kernel_that_is_not_written_yet(device, monkeypatch):
    loaded = ck.library(device)
    launch.why_unusable(torch.device(device))
    monkeypatch.setitem(loaded.launchers, ("layernorm_forward", torch.float32), lambda *arguments: 801)
    with pytest.raises(ck.KernelFailed, match="layernorm_forward_f32 of .* not written yet"):
        ck.layer_norm(*layer_norm_arguments(device))


def test_layer_norm_without_parameters(device):
    x = tensor(3, 8, device=device)
    with expect_standard("without weight or bias"):
        assert torch.equal(ck.layer_norm(x, None, None), F.layer_norm(x, (8,)))


def test_rows_without_elements(device):
    with expect_standard("rows without elements"):
        assert ck.softmax(torch.empty(4, 0, device=device)).shape == (4, 0)


# ---- errors ----


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ck.layer_norm(torch.zeros(3, 8), torch.zeros(9), torch.zeros(9)), r"\(9,\) does not fit x, \(3, 8\)"),
        (lambda: ck.residual_layer_norm(torch.zeros(3, 8), torch.zeros(1, 8), torch.zeros(8), torch.zeros(8)), "one shape"),
        (lambda: ck.layer_norm_residual(torch.zeros(3, 8), torch.zeros(3), torch.zeros(8), torch.zeros(8)), "one shape"),
        (lambda: ck.three_way_add(torch.zeros(2, 4), torch.zeros(2, 4), torch.zeros(4)), "one shape"),
        (lambda: ck.bias_gelu(torch.zeros(3, 8), torch.zeros(1)), "does not fit"),
        (lambda: ck.softmax(torch.zeros(())), "single number"),
        (lambda: ck.softmax(torch.zeros(2, 3), 2), "none is number 2"),
        (lambda: ck.causal_softmax(torch.zeros(2, 3, 4)), "square of T queries by T keys"),
        (lambda: ck.causal_softmax(torch.zeros(2, 1, 4, 4), 1.0, torch.zeros(3, dtype=torch.int)), "each of the 2 sequences"),
        (lambda: ck.causal_softmax(torch.zeros(2, 1, 4, 4), 0.0), "scale is 0.0"),
        (lambda: ck.causal_attention(*[torch.zeros(1, 2, 4, 256)] * 3), "D <= 128"),
    ],
)
def test_wrong_shapes_are_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_tensors_on_two_devices_are_an_error(device):
    x, weight, bias = layer_norm_arguments(device)
    with pytest.raises(ValueError, match="Move all of them to one device"):
        ck.layer_norm(x, weight, bias.to("meta"))


# ---- what ran ----


def test_report(device):
    ck.softmax(tensor(2, 4, device=device))
    with expect_standard("no kernels"):
        ck.softmax(tensor(2, 4, device=device, dtype=torch.float64))
    lines = ck.report().splitlines()
    assert len(lines) == 2 and "course's kernel" in lines[0] and "there are no kernels for torch.float64" in lines[1]
    ck.reset_stats()
    assert ck.report().strip() == "nothing ran"


def test_sources(device):
    sources = ck.library(device).sources()
    assert sources["softmax.cu"].endswith("step3_fused/solution") and len(sources) >= 13
