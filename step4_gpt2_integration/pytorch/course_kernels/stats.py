"""How often each op ran on the course's kernels and how often on PyTorch's, and why.

A kernel is counted where it is launched, so calls from compiled code count too. A replay of a CUDA graph launches nothing from
Python: it is not counted. The standard path is counted in eager code only, because compiled code contains the decision, not
its count.
"""

import warnings
from collections import Counter

import torch

_kernels: Counter[str] = Counter()  # by op
_standard: Counter[tuple[str, str]] = Counter()  # by op and reason
_warned: set[str] = set()


def count_kernel(op: str) -> None:
    """One launch of the course's kernel for `op`."""
    _kernels[op] += 1


def count_standard(op: str, reason: str, *, warn: bool = True) -> None:
    """One call of `op` that took the standard PyTorch path. Each reason gives one warning, unless it is expected (`warn`)."""
    if torch.compiler.is_compiling():
        return
    _standard[op, reason] += 1
    if warn and reason not in _warned:
        _warned.add(reason)
        warnings.warn(f"course_kernels: {op} takes the standard PyTorch path: {reason}", stacklevel=4)


def stats() -> dict[str, dict]:
    """What ran since the last reset_stats().

    {"kernels": {op: launches}, "standard": {op: {reason: calls}}}
    """
    standard: dict[str, dict[str, int]] = {}
    for (op, reason), calls in sorted(_standard.items()):
        standard.setdefault(op, {})[reason] = calls
    return {"kernels": dict(sorted(_kernels.items())), "standard": standard}


def reset_stats() -> None:
    """All counts to zero. Warnings that were given are given again."""
    _kernels.clear()
    _standard.clear()
    _warned.clear()


def report() -> str:
    """stats() as a table for people."""
    counted = stats()
    lines = [f"  {op:<28} {launches:>8}  course's kernel" for op, launches in counted["kernels"].items()]
    for op, reasons in counted["standard"].items():
        lines += [f"  {op:<28} {calls:>8}  PyTorch: {reason}" for reason, calls in reasons.items()]
    return "\n".join(lines) or "  nothing ran"
