"""colab.ipynb runs from top to bottom in a checkout, and shows the kernels and a measurement."""

import re
import subprocess
from pathlib import Path

import pytest
import torch

from conftest import FOLDER

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install nbclient ipykernel")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install nbclient ipykernel")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install nbclient ipykernel")


def printed(cell):
    return "".join(output.get("text", "") for output in cell.get("outputs", []) if output.output_type == "stream")


def test_the_notebook_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(FOLDER / "colab.ipynb", as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert first.source.count("here = Path.cwd()") == 1
    first.source = first.source.replace("here = Path.cwd()", f"here = Path({str(FOLDER)!r})")
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    out = "\n".join(printed(cell) for cell in notebook.cells if cell.cell_type == "code")
    assert "the same tokens as without the kernels" in out
    difference = float(re.search(r"largest difference of a logit: (\S+) of the largest\n +", out)[1])
    assert 0 <= difference < 1e-4 and "course's kernel" in out
    assert re.search(r"^sdpa +[\d.]+ +[\d.]+ +[\d.]+ +1\.00$", out, re.M) and re.search(r"^ours +[\d.]+ .* [\d.]+$", out, re.M)


def test_without_a_gpu_it_installs_the_compiler(monkeypatch):
    """Colab's g++ may be older than the CPU backend's: the root's target `pytorch` checks it, and `pytorch-cpu` does not."""
    cells = nbformat.read(FOLDER / "colab.ipynb", as_version=4).cells
    build = next(cell.source for cell in cells if cell.cell_type == "code" and '"make"' in cell.source)
    commands = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    exec(build, {"run": lambda *command, cwd: commands.append(command), "course": FOLDER, "Path": Path})
    target = commands[0][-1]
    dry = subprocess.run(["make", "-n", target], cwd=FOLDER.parents[1], text=True, capture_output=True, check=True).stdout
    assert len(commands) == 1 and "tools/install.sh build" in dry


def first_cell():
    cells = nbformat.read(FOLDER / "colab.ipynb", as_version=4).cells
    return next(cell for cell in cells if cell.cell_type == "code").source


def test_elsewhere_it_clones_the_course(tmp_path, monkeypatch, capsys):
    root = FOLDER.parents[1]
    if subprocess.run(["git", "-C", root, "rev-parse"], capture_output=True).returncode != 0:
        pytest.skip("this course is no git repository")
    monkeypatch.chdir(tmp_path)
    exec(first_cell().replace('REPOSITORY = ""', f'REPOSITORY = "file://{root}"'), {})
    assert f"the course is in {tmp_path}/course" in capsys.readouterr().out and (tmp_path / "course/Makefile").is_file()


def test_without_the_course_it_says_what_to_set(tmp_path):
    with pytest.raises(SystemExit, match="set REPOSITORY"):
        exec(first_cell().replace("here = Path.cwd()", f"here = Path({str(tmp_path)!r})"), {})
