"""Does the patch pay? should_optimize() predicts it from shapes, without a GPU.

A forward pass takes the GPU's time or Python's, whichever is longer. The GPU's time is that of the floating-point operations,
plus that of the bytes, plus a constant for the launches of a layer. Python's time is a constant for each layer. The patch moves
fewer bytes; how much Python it saves or costs is measured. The constants are those of an H200, in h200.json: fit_prediction.py
derives them from the stored measurements.
"""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    flops_a_second: dict[str, float]  # by the bytes of an element
    bytes_a_second: float
    launches_a_layer: float  # seconds of the GPU between the kernels of a layer
    python_a_layer: dict[str, tuple[float, float]]  # by model type: seconds without and with the patch


H200 = Machine(**json.loads(Path(__file__).with_name("h200.json").read_text()))

# Tensors of (rows, C) that the parts of a layer read and write. PyTorch's LayerNorm runs at about half of a copy's speed
# (docs/results.md), so its tensors count twice.
_PRODUCTS = (1 + 3) + (3 + 1) + (1 + 1) + (1 + 4) + (4 + 1)  # QKV, attention, projection, MLP expansion, MLP projection
_NORMS = 2 * (2 * 2)
_ADDS = 2 * 3


def tensors_moved(config, patched: bool) -> int:
    """Tensors of (rows, C) that a layer reads and writes."""
    if config.model_type == "gpt2":  # PyTorch computes the GELU over 4 C channels in eight ops, two of which have two inputs
        return _PRODUCTS + (2 * 4 + 4 * 2 if patched else _NORMS + _ADDS + 4 * (6 * 2 + 2 * 3))
    if config.model_type == "gpt_neox":  # its GELU is one op, with or without the patch
        others = _PRODUCTS + 4 * 2
        if not patched:
            return others + _NORMS + _ADDS
        return others + (2 * 2 + 4 if config.use_parallel_residual else 2 + 4 + 3)
    raise ValueError(f"should_optimize knows models of type gpt2 and gpt_neox, not {config.model_type}")


def work_of(config, batch: int, tokens: int, element_bytes: int, patched: bool) -> tuple[float, float]:
    """Floating-point operations and bytes of a forward pass, without embedding and output layer."""
    rows, C, layers = batch * tokens, config.hidden_size, config.num_hidden_layers
    wide = getattr(config, "intermediate_size", None) or getattr(config, "n_inner", None) or 4 * C
    weights = layers * (4 * C * C + 2 * C * wide)
    attention = layers * 2 * batch * tokens * tokens * C  # two products over the lower triangle
    return 2.0 * weights * rows + attention, (weights + layers * rows * C * tensors_moved(config, patched)) * element_bytes


def pass_seconds(config, batch: int, tokens: int, element_bytes: int, patched: bool, machine: Machine = H200) -> float:
    operations, moved = work_of(config, batch, tokens, element_bytes, patched)
    gpu = operations / machine.flops_a_second[str(element_bytes)] + moved / machine.bytes_a_second
    layers = config.num_hidden_layers
    return max(gpu + layers * machine.launches_a_layer, layers * machine.python_a_layer[config.model_type][patched])


def should_optimize(config, batch: int, tokens: int, element_bytes: int = 2, machine: Machine = H200) -> bool:
    """Is a forward pass over (batch, tokens) predicted to be faster with the patch? element_bytes: 2 for fp16 and bf16, or 4.
    This is for calls from Python. A CUDA graph has no Python in it, so the patch only has to save the GPU's time."""
    without, patched = (pass_seconds(config, batch, tokens, element_bytes, with_it, machine) for with_it in (False, True))
    return patched < without
