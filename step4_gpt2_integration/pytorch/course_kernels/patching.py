"""What the patches of Hugging Face models have in common: which models, which classes were replaced, on for a while.

A patched model has the attribute _course_patch in its __dict__: how to undo the patch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import nn
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks


def models_of(model: nn.Module, kind: type) -> list[nn.Module]:
    """Every module of that class in `model`. Raises TypeError if there is none."""
    found = [module for module in model.modules() if isinstance(module, kind)]
    if not found:
        raise TypeError(f"course_kernels: {type(model).__name__} holds no {kind.__name__}, so there is nothing to patch")
    return found


def swap(module: nn.Module, original: type, optimized: type, swapped: list[tuple[nn.Module, type]]) -> None:
    """Gives the module the optimized subclass, if its class is exactly `original`, and notes how to undo that."""
    if type(module) is original:
        swapped.append((module, original))
        module.__class__ = optimized


def is_plain(module: nn.Module, *classes: type) -> bool:
    """Is it exactly one of these classes, without hooks, its own or all modules', or a forward() of its own, which a kernel would
    pass by?"""
    return type(module) in classes and not (
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
        or "forward" in module.__dict__
        or _global_forward_hooks
        or _global_forward_pre_hooks
    )


def is_patched(model: nn.Module, kind: type) -> bool:
    """Is every module of that class in `model` patched? Raises TypeError if there is none."""
    return all("_course_patch" in module.__dict__ for module in models_of(model, kind))


def for_a_while(enable: Callable, disable: Callable) -> Callable:
    """The context manager that enables with its arguments, and disables at its end."""

    @contextmanager
    def enabled(model: nn.Module, **choices) -> Iterator[nn.Module]:
        """enable(model, ...) for a while."""
        enable(model, **choices)
        try:
            yield model
        finally:
            disable(model)

    return enabled
