"""tools/generated/pytorch: every block of the pages is printed, and says what the measurements say."""

import importlib.machinery
import importlib.util
import json
import re
import shutil

import pytest

from conftest import FOLDER

ROOT = FOLDER.parents[1]
PAGES = [ROOT / "docs/pytorch.md", ROOT / "docs/pytorch-experiments.md"]


@pytest.fixture
def tables(monkeypatch, tmp_path):
    """The generator, with a copy of the measurements."""
    loader = importlib.machinery.SourceFileLoader("tables", str(ROOT / "tools/generated/pytorch"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tables", loader))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    module.STORED = tmp_path / "stored"
    shutil.copytree(ROOT / "docs/results/pytorch", module.STORED)
    return module


def change(tables, name, changed):
    """Every line of a stored file becomes changed(line)."""
    path = tables.STORED / f"{name}.jsonl"
    lines = [changed(json.loads(text)) for text in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def times(line, factor):
    return {**line, **{name: line[name] * factor for name in ("ms", "p5", "p95")}}


def test_the_pages_show_every_block(tables, capsys):
    shown = re.findall(r"<!-- begin pytorch (\S+) -->", "".join(page.read_text() for page in PAGES))
    assert set(shown) == set(tables.BLOCKS)
    for block in tables.BLOCKS.values():
        block()
        assert "nan" not in capsys.readouterr().out.split()


def test_a_table_has_all_cells(tables, capsys):
    tables.prompt_table()
    assert len(re.findall(r"^\| (small|medium|large) ", capsys.readouterr().out, re.M)) == 24


def test_targets_follow_the_measurements(tables, capsys):
    for factor, missed in ((1e-3, 0), (1e3, 8)):
        shutil.copytree(ROOT / "docs/results/pytorch", tables.STORED, dirs_exist_ok=True)
        for name in ("prompts", "training"):
            change(tables, name, lambda line: times(line, factor) if line["by"].startswith("ours") else line)
        tables.targets()
        out = capsys.readouterr().out
        assert out.count("**missed**") == missed
        assert ("Cells in which `ours` is slower than sdpa" in out) == (factor > 1)


def test_a_slower_kernel_is_bold(tables, capsys):
    change(tables, "layouts", lambda line: times(line, 1e3) if line["by"] == "ours" else line)
    tables.layouts()
    out = capsys.readouterr().out
    assert "contiguous: ours is faster than eager in 0 of 6 ops" in out and "| **0.00** |" in out


def test_amdahl(tables):
    assert tables.amdahl(0.5, 2) == pytest.approx(4 / 3)
    assert tables.amdahl(0.046, 4.5 / 4.9) == pytest.approx(0.996, abs=5e-4)


def test_a_row_of_the_profile_is_not_lost(tables):
    change(tables, "profile", lambda line: {**line, "row": {**line["row"], "rotary": 1.0}})
    with pytest.raises(SystemExit, match="rotary"):
        tables.profile()


def test_lines_of_both_languages_are_counted(tables):
    assert tables.lines_of_code("// a\n\nint b;\n  // c\nint d; // e\n", "//") == 2
    assert tables.triton_lines("softmax") > 5 and tables.cuda_lines("softmax")[1] > tables.triton_lines("softmax")


def test_kernels_have_short_names(tables):
    add = "void at::native::elementwise_kernel<128, at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<c10::Half> >(int)"
    assert tables.short(add) == "elementwise_kernel CUDAFunctor_add"
    assert tables.short("void attention_tensor_kernel<__half, 64, 2>(__half*)") == "attention_tensor_kernel"
    assert tables.short("Memset (Device)") == "Memset (Device)"
