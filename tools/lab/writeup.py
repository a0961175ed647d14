"""writeup.py — what the write-ups share: mark a lab, take figures from its report, draw them.

Each stepN_*/writeup.ipynb imports it from here, the folder of the labs.
"""

import json
import re
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt

LABS = Path(__file__).resolve().parent
COLORS = ("#888888", "#3d85c6", "#b5651d", "#4a9a6e", "#8a6fa8")  # can be seen on a white and on a dark page


class Stop(Exception):
    """Ends a cell with one sentence: notebooks show it without a traceback."""

    def _render_traceback_(self):
        return [str(self)]


def require(*values):
    """Stops while one of the values, or of the values of a dictionary, is None: it is the reader's to fill in."""
    for value in values:
        if value is None:
            raise Stop("First put your own values in place of each None, here and in the cells above. Then run this cell again.")
        if isinstance(value, dict):
            require(*value.values())


def grader(*arguments):
    """Run ./grader in the folder of the labs. An error of use stops the notebook with the grader's message."""
    if not (LABS / "grader").exists():
        raise Stop(f"There is no grader in {LABS}. Type there first:  make step1")
    return subprocess.run(["./grader", *arguments], cwd=LABS, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def mark(step, *predictions):
    """Mark a lab and return the report. `predictions`: what must be filled in before."""
    require(*predictions)
    path = LABS / "build" / f"{step}.json"
    path.parent.mkdir(exist_ok=True)
    done = grader(step, "--json", str(path))
    if done.returncode > 1:  # 0: full marks, 1: fewer
        raise Stop(done.stdout + done.stderr)
    return json.loads(path.read_text())


def show(report):
    """The report as a table, a check a line. An optional exercise is in it once it is started."""
    print(f"{report['points']:g} of {report['points_max']:g} points, seed {report['seed']}, {report['device']}")
    for o in report["outcomes"]:
        if o["optional"] and o["verdict"] in ("not started", "not run"):
            continue
        points = "optional" if o["optional"] else f"{o['points']:g}/{o['points_max']:g}"
        print(f"{o['exercise']:31} {o['check']:12} {o['verdict']:12} {points:>8}  {o.get('measured', '')}".rstrip())


def figures(report, check):
    """What was counted or measured in one check, by exercise: traffic in multiples of the byte floor, parallelism in warps,
    launches as a number, speed as a fraction of a copy's."""
    if not report["predictions"]["made"]:
        raise Stop(f"The grader shows figures after its own questions. Answer them in a terminal, in {LABS}:  "
                   f"./grader {report['step']} --predict   Then run the notebook again.")
    return {o["exercise"]: o["figure"] for o in report["outcomes"] if o["check"] == check and "figure" in o}


def bars(series, words, line=None):
    """Horizontal bars and their figures. `series`: {legend: {name: value}}; drawn are the names that all of them have. `line`: where
    a vertical line stands."""
    first, *others = series.values()
    names = [name for name in first if all(name in other for other in others)]
    if not names:
        raise Stop("There is no such figure in the report yet: the correctness checks of an exercise must pass first.")
    _, axes = plt.subplots(figsize=(7, 1 + 0.22 * len(names) * (1 + len(series))), layout="constrained")
    height = 0.8 / len(series)
    for i, (legend, values) in enumerate(series.items()):
        places = [place + (i - (len(series) - 1) / 2) * height for place in range(len(names))]
        axes.barh(places, [values[name] for name in names], height * 0.9, label=legend, color=COLORS[i])
    if line is not None:
        axes.axvline(line, color="#e06666", linewidth=1)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()  # the first name on top
    axes.set_xlabel(words)
    if others:
        axes.legend(frameon=False, ncols=len(series), loc="lower left", bbox_to_anchor=(0, 1))
    plt.show()
    print(f"{'':32}" + "".join(f"{legend:>12}" for legend in series))
    for name in names:
        print(f"{name:32}" + "".join(f"{values[name]:12.3f}" for values in series.values()))


def speeds(report):
    """The measured speed of each exercise; without a GPU a sentence."""
    if report["backend"] == "cuda":
        bars({"measured": figures(report, "speed")}, "fraction of a same-footprint copy", line=1)
    else:
        print("No GPU here: no times. The counted figures are the same on every machine.")


def profile():
    """Lab 1's table, a GPT-2 on naive kernels: {part: (milliseconds at the floor, milliseconds naive)}. Products have no naive form."""
    bandwidth = 320e9  # of the nominal GPU
    rows = {}
    for line in grader("step1", "--predict").stdout.splitlines():
        row = re.match(r"  (\S.*?) +\d+  (.*)%$", line)  # part, launches, then the columns
        if row:
            columns = [float(number) for number in re.findall(r"[\d.]+", row[2])]
            naive = columns[-2]  # before the share
            rows[row[1]] = (columns[0] * 1e6 / bandwidth * 1e3 if "GF" not in line else naive, naive)
    if not rows:
        raise Stop("./grader step1 --predict prints no profile.")
    return rows
