"""The course's kernels in PyTorch and in Hugging Face models. See README.md beside this package."""

from . import autograd_function, ops
from .autograd_function import (
    bias_gelu,
    causal_attention,
    causal_softmax,
    layer_norm,
    layer_norm_residual,
    reload,
    residual_layer_norm,
    run_cpu_tensors_on_the_cpu_backend,
    softmax,
    three_way_add,
)
from .libraries import KernelFailed, LibraryMissing, library
from .prediction import should_optimize
from .stats import report, reset_stats, stats

__all__ = [
    "autograd_function",
    "KernelFailed",
    "LibraryMissing",
    "bias_gelu",
    "causal_attention",
    "causal_softmax",
    "layer_norm",
    "layer_norm_residual",
    "library",
    "ops",
    "reload",
    "report",
    "reset_stats",
    "residual_layer_norm",
    "run_cpu_tensors_on_the_cpu_backend",
    "should_optimize",
    "softmax",
    "stats",
    "three_way_add",
]
