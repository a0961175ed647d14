"""How benchmark.py and experiments.py measure: times, memory and energy of calls that take turns, and the lines that they store.

A time is wall clock from an idle GPU to an idle GPU, so Python's part is in it. In each round every variant takes its turn, so a
GPU that slows down slows all of them. judge() compares such lines with stored ones.
"""

import argparse
import ctypes
import datetime
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
import transformers

import course_kernels as ck

FEWEST_ROUNDS = 5


@dataclass
class Samples:
    """Times of one variant in ms, and the memory and the energy of a call."""

    times: list[float] = field(default_factory=list)
    peak_mib: float | None = None
    average_mib: float | None = None
    joules: float | None = None

    def record(self) -> dict:
        ordered = sorted(self.times)
        at = lambda part: ordered[min(len(ordered) - 1, int(part * len(ordered)))]
        return {
            "ms": round(statistics.median(ordered), 5),
            "p5": round(at(0.05), 5),
            "p95": round(at(0.95), 5),
            "mean": round(statistics.fmean(ordered), 5),
            "std": round(statistics.pstdev(ordered), 5),
            "samples": len(ordered),
            "peak_mib": self.peak_mib,
            "average_mib": self.average_mib,
            "joules": self.joules,
        }


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def once(call: Callable[[], object], device: str) -> float:
    """Milliseconds of one call, from idle to idle."""
    wait(device)
    begin = time.perf_counter()
    call()
    wait(device)
    return (time.perf_counter() - begin) * 1e3


# ---- memory ----


def average_bytes(events: list[dict]) -> float | None:
    """The allocated bytes on top of those before the first event, averaged over the time from the first event to the last.

    events: the allocator's history, in order of time: action, size in bytes, time_us.
    """
    changes = {"alloc": 1, "free_completed": -1}
    events = [event for event in events if event["action"] in changes]
    if not events or events[-1]["time_us"] <= events[0]["time_us"]:
        return None
    allocated, area, last = 0, 0, events[0]["time_us"]
    for event in events:
        area += allocated * (event["time_us"] - last)
        allocated += changes[event["action"]] * event["size"]
        last = event["time_us"]
    return area / (last - events[0]["time_us"])


def memory_of(call: Callable[[], object], device: str) -> tuple[float | None, float | None]:
    """MiB that a call needs on top of what was allocated before it: at most, and on average while Python runs the call. A CUDA
    graph has its memory all the time."""
    if device != "cuda":
        return None, None
    if isinstance(call, Graph):
        return call.mib, call.mib
    mib = lambda size: None if size is None else round(size / 2**20, 1)
    empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    wait(device)
    peak = torch.cuda.max_memory_allocated() - before
    return mib(peak), mib(average_bytes(history_of(call)))


def history_of(call: Callable[[], object]) -> list[dict]:
    """What the allocator does in a call. [] where PyTorch's interface, which is not public, is another one."""
    try:
        torch.cuda.memory._record_memory_history("all", context=None, max_entries=100_000)
        begin = time.time_ns() // 1000
        call()
        torch.cuda.synchronize()
        events = torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]
        return [event for event in events if event["time_us"] >= begin]
    except (AttributeError, KeyError, TypeError) as error:
        print(f"no average memory: the allocator's history cannot be read ({error!r})", file=sys.stderr)
        return []
    finally:
        torch.cuda.memory._record_memory_history(None)


def empty_cache() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


class Graph:
    """A call as a CUDA graph. It must not read a tensor's value. mib: the memory that the graph keeps for itself."""

    def __init__(self, call: Callable[[], object]):
        self.call = call  # keeps the tensors that the graph reads
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(side)
        empty_cache()
        before = torch.cuda.memory_reserved()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            call()
        empty_cache()
        self.mib = round((torch.cuda.memory_reserved() - before) / 2**20, 1)

    def __call__(self) -> None:
        self.graph.replay()


# ---- energy ----


class EnergyMeter:
    """The energy counter of the current GPU, through NVML. It advances in steps of about 100 ms."""

    def __init__(self):
        self.nvml, self.handle = None, ctypes.c_void_p()
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
            uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}".encode()
            if nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(self.handle)) == 0:
                self.nvml = nvml
        except (OSError, AttributeError, RuntimeError, AssertionError):
            pass  # no GPU, or no NVML: no energy

    def read(self) -> float | None:
        """Joules since the driver was loaded."""
        millijoules = ctypes.c_ulonglong()
        if self.nvml is None or self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle, ctypes.byref(millijoules)) != 0:
            return None
        return millijoules.value / 1e3


def joules_of(call: Callable[[], object], device: str, ms: float, meter: EnergyMeter, seconds: float) -> float | None:
    """Joules of one call, which takes `ms`: calls one after the other from one step of the counter to a later one, at least
    `seconds` apart."""
    last = meter.read()
    if last is None:
        return None
    between_reads = max(1, round(5 / ms))

    def calls_to_a_step(least: float) -> tuple[int, float | None]:
        begin, calls = time.perf_counter(), 0
        while time.perf_counter() - begin < least + 2:
            for _ in range(between_reads):
                call()
                wait(device)
            calls += between_reads
            now = meter.read()
            if now != last and time.perf_counter() - begin >= least:
                return calls, now
        return calls, None  # the counter stands still

    _, last = calls_to_a_step(0)
    if last is None:
        return None
    calls, end = calls_to_a_step(seconds)
    return None if end is None else round((end - last) / calls, 6)


# ---- variants side by side ----


def side_by_side(
    makers: dict[str, Callable[[], Callable]], arguments: argparse.Namespace, repeats: int = 1, energy: bool = False
) -> dict[str, Samples | str]:
    """Samples by variant, or the error that it gave.

    makers: each makes the call that is timed. repeats: how often a call does its work; times are divided by it.
    arguments: device; seconds and most, the time and the number of the samples.
    """
    device = arguments.device
    results: dict[str, Samples | str] = {}
    calls: dict[str, Callable] = {}
    for name, make in makers.items():
        try:
            call = make()
            for _ in range(3):
                call()
            peak, average = memory_of(call, device) if repeats == 1 else (None, None)
            results[name] = Samples(peak_mib=peak, average_mib=average)
            calls[name] = call
        except Exception as error:  # out of memory, no compiler: this variant has no figures, the others do
            results[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]
            empty_cache()
    begin = time.perf_counter()
    rounds = 0
    while calls and rounds < arguments.most and (rounds < FEWEST_ROUNDS or time.perf_counter() - begin < arguments.seconds):
        for name, call in calls.items():
            results[name].times.append(once(call, device) / repeats)
        rounds += 1
    meter = EnergyMeter() if device == "cuda" and energy else None
    for name, call in calls.items() if meter else ():
        results[name].joules = joules_of(call, device, results[name].record()["ms"], meter, arguments.seconds / 3)
    return results


def in_a_chain(function: Callable[[], object], repeats: int) -> Callable[[], None]:
    """`repeats` calls one after the other, without gradients."""

    def call():
        with torch.no_grad():
            for _ in range(repeats):
                function()

    return call


def forget(device: str) -> None:
    """Between cells: compiled code and cached memory."""
    torch._dynamo.reset()
    empty_cache()


# ---- the lines that are stored ----


def command_of(words: list[str]) -> str:
    """A command without the folders of its files, which are one machine's."""
    return " ".join(Path(word).name if "/" in word else word for word in words)


class Report:
    """Appends lines to the file arguments.out, if there is one, and shows each cell as a row. Raises OSError."""

    def __init__(self, arguments: argparse.Namespace):
        self.lines: list[dict] = []
        self.out = arguments.out
        if self.out:
            Path(self.out).parent.mkdir(parents=True, exist_ok=True)
            open(self.out, "a").close()  # an error now, and not after the measurement
        self.about = {"torch": torch.__version__, "transformers": transformers.__version__, "device": arguments.device}
        if arguments.device == "cuda":
            self.about |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda}
        self.about |= {"date": datetime.date.today().isoformat(), "command": command_of(sys.argv)}

    def line(self, line: dict) -> None:
        """With the versions, the GPU, the date and the command."""
        line = {**line, **self.about}
        self.lines.append(line)
        if self.out:
            with open(self.out, "a") as file:
                file.write(json.dumps(line) + "\n")

    def cell(self, about: dict, results: dict[str, Samples | str], least_bytes: float | None = None) -> None:
        """about: what is measured. least_bytes: that one call has to move; it gives the effective bandwidth."""
        for name, samples in results.items():
            line = {**about, "by": name}
            if isinstance(samples, str):
                self.line({**line, "error": samples})
                continue
            line |= samples.record()
            if least_bytes:
                line |= {"least_bytes": least_bytes, "gb_a_second": round(least_bytes / line["ms"] / 1e6, 2)}
            if "tokens" in about:
                tokens = about["batch"] * about["tokens"]
                line["tokens_a_second"] = round(tokens / line["ms"] * 1e3, 1)
                line["joules_a_token"] = None if samples.joules is None else round(samples.joules / tokens, 9)
            self.line(line)
        shown = [
            f"{name} {'failed' if isinstance(samples, str) else format(samples.record()['ms'], '.4f')}"
            for name, samples in results.items()
        ]
        print("  ".join(str(value) for value in about.values()), "|", "  ".join(shown), flush=True)
        for name, samples in results.items():
            if isinstance(samples, str):
                print(f"    {name}: {samples}", file=sys.stderr)


# ---- a new run against a stored one ----

NAMES_A_CELL = ("experiment", "size", "op", "shape", "layout", "rung", "batch", "tokens", "cached", "type")
PEERS = ("sdpa", "eager")
BETWEEN_RUNS = 1.05  # the same code on two H200s, without a peer: up to 4 % beyond the samples of either run


def read_lines(path: str) -> list[dict]:
    """The lines of a stored result. Raises ValueError with the line's number."""
    lines = []
    for number, text in enumerate(Path(path).read_text().splitlines(), 1):
        try:
            line = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number}, is no JSON ({error}): measure it again with --out") from None
        lines.append(line)
    return lines


def _by_cell(lines: list[dict]) -> dict[tuple, dict[str, dict]]:
    cells: dict[tuple, dict[str, dict]] = {}
    for line in lines:
        if "ms" in line or "error" in line:
            cells.setdefault(tuple(line.get(name) for name in NAMES_A_CELL), {})[line["by"]] = line
    return cells


def _relative(line: dict, peer: dict | None) -> tuple[float, float, float]:
    """The least, the median and the largest time that the samples support, relative to the peer's of the same run."""
    if peer is None:
        return line["p5"], line["ms"], line["p95"]
    return line["p5"] / peer["p95"], line["ms"] / peer["ms"], line["p95"] / peer["p5"]


def _peer_of(by: str, now: dict[str, dict], then: dict[str, dict]) -> str | None:
    """The variant beside which `by` is judged: of the same type ("f16 ours"), and a CUDA graph beside a CUDA graph, because the
    calls from Python are slower on another machine and the GPU's work is not."""
    kind, graph = by.rpartition(" ")[:2], "-graph" if by.endswith("-graph") else ""
    names = [prefix + name + graph for prefix in ("".join(kind), "") for name in PEERS]
    return next((name for name in names if "ms" in now.get(name, {}) and "ms" in then.get(name, {})), None)


def judge(new: list[dict], stored: list[dict]) -> tuple[list[str], list[str]]:
    """What is worse now than stored, and what was compared: one text each.

    A time counts relative to that of a peer (sdpa, else eager) in the same cell and run, so that another machine's speed does not
    count. It is worse if the whole range of the new samples, p5 to p95, lies above BETWEEN_RUNS times that of the stored ones.
    """
    worse, compared = [], []
    before = _by_cell(stored)
    for key, now in _by_cell(new).items():
        then = before.get(key, {})
        for by in now:
            peer = _peer_of(by, now, then)
            if by == peer or "ms" not in then.get(by, {}):
                continue
            what = " ".join([*(str(value) for value in key if value is not None), by])
            if "error" in now[by]:
                worse.append(f"{what}: {now[by]['error']}")
                continue
            low, middle, _ = _relative(now[by], now.get(peer))
            _, stored_middle, stored_high = _relative(then[by], then.get(peer))
            most = BETWEEN_RUNS * stored_high
            unit = f"times {peer}'s time" if peer else "ms"
            text = f"{what}: {middle:.3f} {unit}, stored {stored_middle:.3f}"
            compared.append(text)
            if not low <= most:
                worse.append(f"{text}, at most {most:.3f} by its samples; now at least {low:.3f}")
    return worse, compared


def check_against(path: str, new: list[dict], stored: list[dict]) -> int:
    """Prints judge()'s result. Exit status: 0 nothing is worse, 1 something is, 2 nothing could be compared."""
    worse, compared = judge(new, stored)
    for text in worse:
        print(f"slower than {path}: {text}", file=sys.stderr)
    if not compared and not worse:
        print(f"{path} has no cell of this run, so nothing was compared: give the same --cell and --variants", file=sys.stderr)
        return 2
    print(f"{len(compared)} compared with {path}, {len(worse)} slower beyond the noise of the samples")
    return 1 if worse else 0


# ---- what the programs' command lines have in common ----


def add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", help="append JSON lines to this file")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cuda", "cpu"])
    parser.add_argument("--seconds", type=float, default=2.0, help="time for the samples of a cell")
    parser.add_argument("--most", type=int, default=100, help="samples of a variant")
    parser.add_argument("--against", metavar="FILE", help="compare with these stored lines; exit status 1 if anything is slower")


def run(program: str, arguments: argparse.Namespace, experiment: Callable, needs_kernels: bool = True) -> int:
    """Measures, compares with --against, and makes sure that the kernels ran."""
    if arguments.device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = False
    else:
        ck.run_cpu_tensors_on_the_cpu_backend(True)
    try:
        stored = read_lines(arguments.against) if arguments.against else []
        ck.library(arguments.device)  # without it "ours" would be PyTorch's own
        report = Report(arguments)
    except (OSError, ValueError, ck.LibraryMissing) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    ck.reset_stats()
    experiment(arguments, report)
    print(ck.report())
    if needs_kernels and not ck.stats()["kernels"]:
        print(f"{program}: no kernel of the course ran, so no figure of `ours` is one", file=sys.stderr)
        return 1
    return check_against(arguments.against, report.lines, stored) if arguments.against else 0
