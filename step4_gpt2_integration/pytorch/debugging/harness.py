"""Marks the exercise debug-integration for the grader, and shows a learner what their patch does.

    python3 harness.py show FILE [--type fp16] [--serial] [--layout time-major]      for people

FILE has enable(model, library) and disable(model). The other ways of calling it are the grader's (grader/script.h):

    check          is everything here that the exercise needs? Prints this Python, or what is missing
    run FILE       runs the patched models: the hidden states and the library's trace. This process loads FILE
    judge          compares such an answer with unpatched models. This process loads no FILE

cases.py and PyTorch are imported where they are used, because `check` runs without them.
"""

import argparse
import base64
import ctypes.util
import importlib.util
import json
import os
import socket
import struct
import sys
import tempfile
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARY = Path(os.environ.get("COURSE_KERNELS", HERE.parents[2] / "build" / "pytorch")) / "libcourse_trace.so"
MODULES = ("torch", "transformers")
CHECKS = ("calls", "layers", "config", "tensors", "secret")
MOST_BYTES = 64 << 20


def what_is_missing() -> str:
    missing = [name for name in MODULES if importlib.util.find_spec(name) is None]
    if missing:
        return (
            f"{sys.executable} has no {' and no '.join(missing)}, which this optional exercise needs. Make a Python that has them,"
            " and name it:\n"
            f"  python3 -m venv venv && venv/bin/pip install {HERE.parent}\n"
            "  PYTHON=venv/bin/python ./grader step4 --kernel debug-integration"
        )
    if not LIBRARY.is_file():
        return f"{LIBRARY} is not built. Build it:\n  make -C {HERE.parents[2]} pytorch"
    return ""


# ---- run: in the process that loads the learner's file ----


def module_of(path: str):
    spec = importlib.util.spec_from_file_location("debug_integration", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def observe(case, model, patch, library) -> dict:
    """The states and calls of one case, or the error."""
    import cases

    before = library.trace_count()
    try:
        patch.enable(model, library)
        if case.disabled:
            patch.disable(model)
        states = cases.states_of(model, cases.input_of(case))
    except Exception as error:
        at = error.__traceback__
        while at.tb_next:
            at = at.tb_next
        where = f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}"
        return {"error": f"{type(error).__name__}: {str(error)[:300]} ({where})"}
    packed = [{"shape": list(x.shape), "type": str(x.dtype), "data": base64.b64encode(cases.bytes_of(x)).decode()} for x in states]
    return {"states": packed, "calls": cases.calls_of(library, before)}


def run(path: str, request: dict) -> dict:
    """All models are made before any is patched."""
    import cases

    library = cases.load(str(LIBRARY))
    todo = [(case, cases.model_of(case)) for case in cases.cases_of(request["seed"])]
    try:
        patch = module_of(path)
    except Exception as error:
        return {"error": f"{Path(path).name} cannot be imported: {type(error).__name__}: {error}"[:600]}
    return {"cases": [observe(case, model, patch, library) for case, model in todo]}


# ---- judge: in a process that trusts nothing but bytes ----


def tensor_from(packed, like):
    """The tensor that a submission sent, or why it is none of that shape and type."""
    import torch

    if packed["shape"] != list(like.shape) or packed["type"] != str(like.dtype):
        return None, f"it has shape {packed['shape']} and type {packed['type']}, expected {list(like.shape)} and {like.dtype}"
    data = bytearray(base64.b64decode(packed["data"], validate=True))
    if len(data) != like.numel() * like.element_size():
        return None, "it is incomplete"
    return torch.frombuffer(data, dtype=like.dtype).view(like.shape), ""


def difference(found, wanted) -> str:
    """Where two tensors differ, in any bit; "" if nowhere."""
    import torch

    whole = {4: torch.int32, 2: torch.int16}[wanted.element_size()]
    other = found.contiguous().view(whole) != wanted.contiguous().view(whole)
    if not other.any():
        return ""
    at = tuple(other.nonzero()[0].tolist())
    largest = (found.double() - wanted.double()).abs().max().item()
    place = "".join(f"[{i}]" for i in at)
    return (
        f"{int(other.sum())} of {other.numel()} elements differ from the unpatched model's, the first at {place}: expected"
        f" {wanted[at].item():.9g}, got {found[at].item():.9g}; the largest difference is {largest:.2g}, the largest element"
        f" {wanted.double().abs().max().item():.2g}"
    )


def wrong_states(case, observed: dict, wanted: list) -> str:
    if len(observed["states"]) != len(wanted):
        return f"{len(observed['states'])} hidden states and logits were seen, expected {len(wanted)}"
    for number, (packed, state) in enumerate(zip(observed["states"], wanted), 1):
        what = f"the hidden state after layer {number} of {case.layers}" if number <= case.layers else "the logits"
        found, reason = tensor_from(packed, state)
        reason = reason or difference(found, state)
        if reason:
            return f"{what} is the first that is wrong: {reason}" if number <= case.layers else f"{what} are wrong: {reason}"
    return ""


def wrong_number(case, calls: list) -> str:
    """A layer with a parallel residual is one call. In a serial one the kernel may be used or not."""
    if case.disabled:
        return f"three_way_add was called {len(calls)} times after disable()" if calls else ""
    if case.parallel and len(calls) != case.layers:
        return f"the library's trace has {len(calls)} calls of three_way_add, and a pass needs {case.layers}: one for each layer"
    return ""


def wrong_calls(case, calls: list, wanted: list) -> str:
    """The result of a call is the hidden state after its layer."""
    import cases

    if wrong := wrong_number(case, calls):
        return wrong
    for number, (call, state) in enumerate(zip(calls if case.parallel else [], wanted), 1):
        if call["type"] != case.type:
            return f"call {number} was of the launcher for {call['type']}, and the tensors are {case.type}"
        if call["N"] * call["C"] != state.numel() or call["checksum"] != cases.checksum_of(cases.bytes_of(state)):
            return f"call {number} of three_way_add did not compute the hidden state after layer {number}"
    return ""


def judge_case(case, observed: dict) -> str:
    """What is wrong, or ""."""
    import cases

    if "error" in observed:
        return str(observed["error"])
    if case.check == "calls":
        return wrong_number(case, observed["calls"])
    wanted = cases.states_of(cases.model_of(case), cases.input_of(case))
    return wrong_states(case, observed, wanted) or wrong_calls(case, observed["calls"], wanted)


def judge_safely(case, observed) -> str:
    """judge_case with the case's name, for answers that make no sense too."""
    try:
        wrong = judge_case(case, observed)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        wrong = f"the answer makes no sense: {type(error).__name__}: {error}"
    return wrong and f"{case.name}:\n{wrong}"


def judge(request: dict) -> dict:
    """The verdict of each check: "" or what is wrong. None: not run, because an earlier one failed."""
    import cases

    answer, todo = request["answer"], cases.cases_of(request["seed"])
    observed = answer.get("cases") if isinstance(answer, dict) else None
    wrong = ""
    if not isinstance(observed, list) or len(observed) != len(todo):
        wrong = str(answer["error"]) if isinstance(answer, dict) and "error" in answer else "the answer is no list of all cases"
    verdicts = []
    for check in CHECKS:
        failed_before = bool(verdicts and verdicts[-1]["wrong"] != "")
        for case, seen in zip(todo, [] if failed_before or wrong else observed):
            if case.check == check and not wrong:
                wrong = judge_safely(case, seen)
        verdicts.append({"check": check, "wrong": None if failed_before else wrong})
    return {"verdicts": verdicts}


# ---- show: for people ----


def show(arguments) -> int:
    import cases

    case = cases.Case("", arguments.type, not arguments.serial, arguments.layout, seed=1)
    model, library = cases.model_of(case), cases.load(str(LIBRARY))
    wanted, before = cases.states_of(model, cases.input_of(case)), library.trace_count()
    module_of(arguments.file).enable(model, library)
    found = cases.states_of(model, cases.input_of(case))
    print(case.name)
    print(f"  calls in the library's trace: {[call['type'] for call in cases.calls_of(library, before)] or 'none'}")
    for number, (one, other) in enumerate(zip(found, wanted), 1):
        what = f"after layer {number}" if number <= case.layers else "logits"
        print(f"  {what}: {difference(one, other) or 'equal bit for bit'}")
    return 0


# ---- the grader's side: grader/script.h ----


def receive(channel: socket.socket) -> bytes:
    def exactly(size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = channel.recv(min(size - len(data), 1 << 20))
            if not part:
                raise EOFError("the grader has closed its connection")
            data += part
        return bytes(data)

    (size,) = struct.unpack("<Q", exactly(8))
    return exactly(min(size, MOST_BYTES))


def send(channel: socket.socket, data: bytes) -> None:
    channel.sendall(struct.pack("<Q", len(data)) + data)


def import_in_sandbox() -> None:
    """PyTorch, where no file can be written and no process started. Some versions ask for a temporary folder, start gcc to find a
    library, and write a module for remote calls."""
    tempfile.tempdir = "/nonexistent"
    ctypes.util.find_library = lambda name: None
    name = "torch.distributed.nn.jit.instantiator"
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].instantiate_non_scriptable_remote_module_template = lambda: None
    import torch

    torch.set_num_threads(1)


def answer_grader(action: str, path: str) -> int:
    import_in_sandbox()
    channel = socket.socket(fileno=3)
    request = json.loads(receive(channel))
    if action == "run":
        send(channel, json.dumps(run(path, request)).encode())
        return 0
    try:
        request["answer"] = json.loads(receive(channel))
    except ValueError as error:
        request["answer"] = {"error": f"the answer is no JSON: {error}"}
    lines = []
    for one in judge(request)["verdicts"]:
        lines.append(f"{'not run' if one['wrong'] is None else 'FAIL' if one['wrong'] else 'pass'} {one['check']}")
        lines += [f" {line}" for line in (one["wrong"] or "").splitlines()]
    send(channel, "\n".join(lines).encode())
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["show", "check", "run", "judge"])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--type", default="fp32", choices=["fp32", "fp16", "bf16"])
    parser.add_argument("--serial", action="store_true", help="a model with a serial residual")
    parser.add_argument("--layout", default="contiguous", choices=["contiguous", "time-major", "expanded", "strided"])
    arguments = parser.parse_args()
    missing = what_is_missing()
    if arguments.action == "check" or missing:
        print(missing or sys.executable)
        return 2 if missing else 0
    sys.path.insert(0, str(HERE))
    if arguments.action != "judge" and not (arguments.file or "").endswith(".py"):
        parser.error(f"{arguments.action} needs FILE, such as lab/step4_gpt2_integration/debug_integration.py")
    if arguments.action == "show":
        if not Path(arguments.file).is_file():
            parser.error(f"there is no file {arguments.file}")
        return show(arguments)
    return answer_grader(arguments.action, arguments.file)


if __name__ == "__main__":
    sys.exit(main())
